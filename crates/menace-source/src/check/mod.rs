//! Static checks of one Python module: dangerous constructs and lint.
//!
//! [`check_module`] checks a parsed module in one walk over its tree, and [`external::scan`] runs
//! an installed Ruff or Bandit instead. The caller decides which results are used; [`score`]
//! computes scores from either.
//!
//! Invariant: rule ids, severities and confidences are Bandit's, and lint codes are Ruff's,
//! whichever scanner found them. Constructs without a rule in Bandit have `M9xx`.

mod builtin;
pub mod external;
mod lint;
mod rules;
pub mod score;
mod suppress;
mod walk;

use menace_model::{LintWarning, StaticFinding};
use ruff_python_ast::ModModule;
use ruff_python_ast::token::Tokens;
use ruff_source_file::LineIndex;
use ruff_text_size::TextSize;

use self::builtin::SecurityChecker;
use self::lint::BuiltinLinter;
use self::suppress::SuppressionComments;
use self::walk::walk_tree;

/// A parsed module, with the data that checks need beside the tree.
#[derive(Debug, Clone, Copy)]
pub struct ParsedModule<'a> {
    pub tree: &'a ModModule,
    /// Comments are found here: `# nosec` and `# noqa` take findings back.
    pub tokens: &'a Tokens,
    /// The text that the tree was parsed from.
    pub source: &'a str,
    /// The starts of the text's lines.
    pub lines: &'a LineIndex,
    /// Whether the file is an `__init__.py`, which imports names for other modules.
    pub is_package_init: bool,
}

/// Which results the caller has a use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckSelection {
    /// The rules that Bandit numbers; off when Bandit or Ruff has reported them.
    pub bandit_rules: bool,
    /// Menace's own `M9xx` rules, which no other tool reports.
    pub menace_rules: bool,
    /// Lint; off when Ruff has reported it.
    pub lint: bool,
}

impl CheckSelection {
    pub const ALL: Self = Self { bandit_rules: true, menace_rules: true, lint: true };
}

/// The results of [`check_module`] for one module, in the order of lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckResults {
    pub findings: Vec<StaticFinding>,
    pub lints: Vec<LintWarning>,
}

/// Checks one module in a single walk that needs no stack in proportion to nesting.
pub fn check_module(module: &ParsedModule<'_>, selection: CheckSelection) -> CheckResults {
    let mut security =
        SecurityChecker::new(&module.tree.body, selection.bandit_rules, selection.menace_rules);
    let mut linter = BuiltinLinter::new(&module.tree.body, module.is_package_init);
    let any_security = selection.bandit_rules || selection.menace_rules;
    walk_tree(&module.tree.body, |node, above| {
        if any_security {
            security.enter_node(node, above);
        }
        if selection.lint {
            linter.enter_node(node, above);
        }
    });
    let hits = if any_security { security.finish(module.source) } else { Vec::new() };
    let notes = if selection.lint { linter.finish() } else { Vec::new() };
    if hits.is_empty() && notes.is_empty() {
        return CheckResults::default();
    }

    let lines = module.lines;
    let suppressions = SuppressionComments::parse(module.tokens, module.source, lines);
    let mut findings: Vec<StaticFinding> = hits
        .into_iter()
        .filter_map(|hit| {
            let line = hit.line(lines);
            let (first, last) = hit.context_lines(lines);
            let hidden = suppressions.hides_finding(hit.rule, line, first, last);
            (!hidden).then(|| hit.into_finding(line))
        })
        .collect();
    let mut lint: Vec<LintWarning> = notes
        .into_iter()
        .filter_map(|note| {
            let line = line_of(lines, note.range.start());
            let last = line_of(lines, note.range.end());
            let hidden = suppressions.hides_lint(note.code, line, last);
            (!hidden).then(|| LintWarning {
                code: note.code.into(),
                line,
                message: note.message.into(),
            })
        })
        .collect();
    findings.sort_by(|a, b| (a.line, &a.rule).cmp(&(b.line, &b.rule)));
    lint.sort_by(|a, b| (a.line, &a.code).cmp(&(b.line, &b.code)));
    CheckResults { findings, lints: lint }
}

/// The one-based line of an offset.
fn line_of(lines: &LineIndex, offset: TextSize) -> u32 {
    lines.line_index(offset).get() as u32
}

#[cfg(test)]
mod tests;

//! Static checks of one Python module: dangerous constructs and lint.
//!
//! [`check`] looks at a module that is parsed already, in one walk over its tree, and
//! [`external::scan`] asks an installed Ruff or Bandit instead. Which of the two counts is for the
//! caller to say; [`score`] turns either into numbers.
//!
//! Invariant: the rule ids, severities and confidences are Bandit's, and the lint codes Ruff's,
//! whoever found them. What Bandit has no number for is `M9xx`.

mod builtin;
pub mod external;
mod lint;
mod rules;
pub mod score;
mod suppress;
mod walk;

use menace_model::{Finding, Lint};
use ruff_python_ast::ModModule;
use ruff_python_ast::token::Tokens;
use ruff_source_file::LineIndex;
use ruff_text_size::TextSize;

use self::builtin::Security;
use self::lint::Linter;
use self::suppress::Suppressions;
use self::walk::walk;

/// A parsed module and what of it the checks need beside the tree.
#[derive(Debug, Clone, Copy)]
pub struct Module<'a> {
    pub tree: &'a ModModule,
    /// Comments are found here: `# nosec` and `# noqa` take findings back.
    pub tokens: &'a Tokens,
    /// The text that the tree was parsed from.
    pub source: &'a str,
    /// Where the lines of that text start.
    pub lines: &'a LineIndex,
    /// An `__init__.py` imports names for others to use.
    pub is_package_init: bool,
}

/// Which results the caller has a use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The rules that Bandit numbers; off when Bandit or Ruff has reported them.
    pub bandit_class: bool,
    /// Menace's own `M9xx` rules, which no other tool reports.
    pub own: bool,
    /// Lint; off when Ruff has reported it.
    pub lint: bool,
}

impl Wanted {
    pub const ALL: Self = Self { bandit_class: true, own: true, lint: true };
}

/// What [`check`] found in one module, in order of line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    pub findings: Vec<Finding>,
    pub lints: Vec<Lint>,
}

/// Checks one module in a single walk that needs no stack in proportion to nesting.
pub fn check(module: &Module<'_>, wanted: Wanted) -> Checked {
    let mut security = Security::new(&module.tree.body, wanted.bandit_class, wanted.own);
    let mut linter = Linter::new(&module.tree.body, module.is_package_init);
    let any_security = wanted.bandit_class || wanted.own;
    walk(&module.tree.body, |node, above| {
        if any_security {
            security.enter(node, above);
        }
        if wanted.lint {
            linter.enter(node, above);
        }
    });
    let hits = if any_security { security.finish(module.source) } else { Vec::new() };
    let notes = if wanted.lint { linter.finish() } else { Vec::new() };
    if hits.is_empty() && notes.is_empty() {
        return Checked::default();
    }

    let lines = module.lines;
    let suppressions = Suppressions::read(module.tokens, module.source, lines);
    let mut findings: Vec<Finding> = hits
        .into_iter()
        .filter_map(|hit| {
            let line = hit.line(lines);
            let (first, last) = hit.context_lines(lines);
            let hidden = suppressions.hide_finding(hit.rule, line, first, last);
            (!hidden).then(|| hit.into_finding(line))
        })
        .collect();
    let mut lint: Vec<Lint> = notes
        .into_iter()
        .filter_map(|note| {
            let line = line_of(lines, note.range.start());
            let last = line_of(lines, note.range.end());
            let hidden = suppressions.hide_lint(note.code, line, last);
            (!hidden).then(|| Lint { code: note.code.into(), line, message: note.message.into() })
        })
        .collect();
    findings.sort_by(|a, b| (a.line, &a.rule).cmp(&(b.line, &b.rule)));
    lint.sort_by(|a, b| (a.line, &a.code).cmp(&(b.line, &b.code)));
    Checked { findings, lints: lint }
}

/// The one-based line of an offset.
fn line_of(lines: &LineIndex, offset: TextSize) -> u32 {
    lines.line_index(offset).get() as u32
}

#[cfg(test)]
mod tests;

//! A small lint for use without Ruff: few rules, without false positives.
//!
//! Codes are those of Ruff and pyflakes. Layout is left to formatters.

mod comparisons;
mod dict_keys;
mod imports;
mod statements;
mod strings;

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::TextRange;

use self::imports::UnusedImportCheck;
use super::walk::SyntaxNode;

/// One lint warning, with its position as a range.
#[derive(Debug)]
pub(super) struct LintNote {
    pub(super) code: &'static str,
    pub(super) range: TextRange,
    pub(super) message: &'static str,
}

/// The state of the lint while one module is walked.
#[derive(Debug)]
pub(super) struct BuiltinLinter<'a> {
    notes: Vec<LintNote>,
    imports: UnusedImportCheck<'a>,
}

impl<'a> BuiltinLinter<'a> {
    pub(super) fn new(module: &'a [Stmt], is_package_init: bool) -> Self {
        Self { notes: Vec::new(), imports: UnusedImportCheck::new(module, is_package_init) }
    }

    pub(super) fn enter_node(&mut self, node: SyntaxNode<'a>, above: &[SyntaxNode<'a>]) {
        let notes = &mut self.notes;
        match node {
            SyntaxNode::Stmt(stmt) => {
                self.imports.visit_statement(stmt, above, notes);
                match stmt {
                    Stmt::Assert(assert) => statements::check_assert(assert, notes),
                    Stmt::Raise(raise) => statements::check_raise(raise, notes),
                    Stmt::Assign(assign) => statements::check_assign(assign, notes),
                    Stmt::AnnAssign(assign) => {
                        statements::check_annotated_assign(assign, above, notes);
                    }
                    _ => {}
                }
            }
            SyntaxNode::Expr(expr) => match expr {
                Expr::Compare(compare) => comparisons::check_compare(compare, notes),
                Expr::UnaryOp(unary) => comparisons::check_negation(unary, notes),
                Expr::Dict(dict) => dict_keys::check(dict, notes),
                Expr::FString(string) => strings::check(string, above, notes),
                Expr::Name(name) => self.imports.mark_used(&name.id),
                Expr::StringLiteral(string) => self.imports.visit_string(string, above),
                _ => {}
            },
            SyntaxNode::Handler(handler) => statements::check_handler(handler, notes),
            _ => {}
        }
    }

    pub(super) fn finish(self) -> Vec<LintNote> {
        let mut notes = self.notes;
        self.imports.finish(&mut notes);
        notes
    }
}

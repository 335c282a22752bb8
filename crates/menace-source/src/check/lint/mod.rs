//! A small lint for where Ruff is not installed: few rules, and only what is certain.
//!
//! Codes are those of Ruff and pyflakes. Layout is left to formatters.

mod comparisons;
mod dict_keys;
mod imports;
mod statements;
mod strings;

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::TextRange;

use self::imports::ImportUse;
use super::walk::Node;

/// One lint while its place is still a range.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) code: &'static str,
    pub(super) range: TextRange,
    pub(super) message: &'static str,
}

/// The state of the lint while one module is walked.
#[derive(Debug)]
pub(super) struct Linter<'a> {
    notes: Vec<Note>,
    imports: ImportUse<'a>,
}

impl<'a> Linter<'a> {
    pub(super) fn new(module: &'a [Stmt], is_package_init: bool) -> Self {
        Self { notes: Vec::new(), imports: ImportUse::new(module, is_package_init) }
    }

    pub(super) fn enter(&mut self, node: Node<'a>, above: &[Node<'a>]) {
        let notes = &mut self.notes;
        match node {
            Node::Stmt(stmt) => {
                self.imports.statement(stmt, above, notes);
                match stmt {
                    Stmt::Assert(assert) => statements::assert(assert, notes),
                    Stmt::Raise(raise) => statements::raise(raise, notes),
                    Stmt::Assign(assign) => statements::assign(assign, notes),
                    Stmt::AnnAssign(assign) => statements::annotated(assign, above, notes),
                    _ => {}
                }
            }
            Node::Expr(expr) => match expr {
                Expr::Compare(compare) => comparisons::compare(compare, notes),
                Expr::UnaryOp(unary) => comparisons::negation(unary, notes),
                Expr::Dict(dict) => dict_keys::check(dict, notes),
                Expr::FString(string) => strings::check(string, above, notes),
                Expr::Name(name) => self.imports.name(&name.id),
                Expr::StringLiteral(string) => self.imports.string(string, above),
                _ => {}
            },
            Node::Handler(handler) => statements::handler(handler, notes),
            _ => {}
        }
    }

    pub(super) fn finish(self) -> Vec<Note> {
        let mut notes = self.notes;
        self.imports.finish(&mut notes);
        notes
    }
}

//! A call, with what the rules need to know about it.

use ruff_python_ast::{Expr, ExprCall, Keyword};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::literal::ArgumentLiteral;

#[derive(Debug, Clone, Copy)]
pub(super) struct CheckedCall<'a, 'q> {
    pub(super) node: &'a ExprCall,
    /// The dotted name of the callee, imports resolved: `subprocess.run`.
    pub(super) qualified_name: &'q str,
    /// The last part of that name.
    pub(super) name: &'q str,
}

impl<'a, 'q> CheckedCall<'a, 'q> {
    pub(super) fn new(node: &'a ExprCall, qualified_name: &'q str) -> Self {
        let name = qualified_name.rsplit('.').next().unwrap_or_default();
        Self { node, qualified_name, name }
    }

    /// The first part of the qualified name.
    pub(super) fn root_name(&self) -> &'q str {
        self.qualified_name.split('.').next().unwrap_or_default()
    }

    /// Whether `part` is one of the dotted parts of the name.
    pub(super) fn has_part(&self, part: &str) -> bool {
        self.qualified_name.split('.').any(|one| one == part)
    }

    /// Names are short: comparing windows beats preparing a search for every call.
    pub(super) fn name_contains(&self, text: &[u8]) -> bool {
        self.name.as_bytes().windows(text.len()).any(|part| part == text)
    }

    pub(super) fn args(&self) -> &'a [Expr] {
        &self.node.arguments.args
    }

    pub(super) fn arg(&self, position: usize) -> ArgumentLiteral<'a> {
        self.args().get(position).map_or(ArgumentLiteral::Unknown, ArgumentLiteral::from_expr)
    }

    pub(super) fn has_keywords(&self) -> bool {
        !self.node.arguments.keywords.is_empty()
    }

    pub(super) fn keywords(&self) -> &'a [Keyword] {
        &self.node.arguments.keywords
    }

    pub(super) fn keyword(&self, name: &str) -> Option<&'a Expr> {
        let named = |keyword: &&Keyword| keyword.arg.as_ref().is_some_and(|arg| arg == name);
        self.keywords().iter().find(named).map(|keyword| &keyword.value)
    }

    /// The value of a keyword; `Unknown` also when it is not there, as Bandit has it.
    pub(super) fn keyword_value(&self, name: &str) -> ArgumentLiteral<'a> {
        self.keyword(name).map_or(ArgumentLiteral::Unknown, ArgumentLiteral::from_expr)
    }

    /// The position of the keyword's value, or else of the call: the line that Bandit reports.
    pub(super) fn keyword_start(&self, name: &str) -> TextSize {
        self.keyword(name).map_or(self.node.start(), Ranged::start)
    }
}

impl Ranged for CheckedCall<'_, '_> {
    fn range(&self) -> TextRange {
        self.node.range()
    }
}

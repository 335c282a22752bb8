//! F541: an f-string without placeholders.

use ruff_python_ast::{ExprFString, InterpolatedStringElement};
use ruff_text_size::Ranged;

use super::LintNote;
use crate::check::walk::SyntaxNode;

/// One warning for each part of an implicit concatenation. Format specifications are left out.
pub(super) fn check(string: &ExprFString, above: &[SyntaxNode<'_>], notes: &mut Vec<LintNote>) {
    if matches!(above.last(), Some(SyntaxNode::FormatSpec(_)))
        || string.value.elements().any(InterpolatedStringElement::is_interpolation)
    {
        return;
    }
    for part in string.value.f_strings() {
        let message = "an f-string without placeholders; take the `f` away";
        notes.push(LintNote { code: "F541", range: part.range(), message });
    }
}

//! F541: an f-string without placeholders.

use ruff_python_ast::{ExprFString, InterpolatedStringElement};
use ruff_text_size::Ranged;

use super::Note;
use crate::check::walk::Node;

/// One lint for each part of an implicit concatenation. Format specifications are left alone.
pub(super) fn check(string: &ExprFString, above: &[Node<'_>], notes: &mut Vec<Note>) {
    if matches!(above.last(), Some(Node::FormatSpec(_)))
        || string.value.elements().any(InterpolatedStringElement::is_interpolation)
    {
        return;
    }
    for part in string.value.f_strings() {
        let message = "an f-string without placeholders; take the `f` away";
        notes.push(Note { code: "F541", range: part.range(), message });
    }
}

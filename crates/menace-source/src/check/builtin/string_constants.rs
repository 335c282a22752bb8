//! B104: `0.0.0.0` listens on every interface.
//! B108: a path under a shared temporary directory can be created by another user first.
//!
//! Also divides f-strings into their constant pieces, which count as strings of their own.

use std::borrow::Cow;

use ruff_python_ast::{ExprFString, FStringPart, InterpolatedStringElement};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::rule_match::FindingSink;
use super::sql;
use crate::check::walk::SyntaxNode;

const SHARED_TEMP_DIRS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// `at` is where the string stands, `context` the construct that holds it.
pub(super) fn check(value: &str, at: TextSize, context: TextRange, sink: &mut FindingSink) {
    if value == "0.0.0.0" {
        sink.report_at(at, "B104", context, "`0.0.0.0` binds to all network interfaces");
    }
    if value.starts_with('/') && SHARED_TEMP_DIRS.iter().any(|shared| value.starts_with(shared)) {
        let message = "a fixed path in a shared temporary directory; use `tempfile`";
        sink.report_at(at, "B108", context, message);
    }
}

pub(super) fn check_f_string(text: &ExprFString, above: &[SyntaxNode<'_>], sink: &mut FindingSink) {
    let pieces = constant_pieces(text);
    for piece in &pieces {
        check(piece, text.start(), text.range(), sink);
    }
    sql::check_f_string(text, &pieces, above, sink);
}

/// The constant text between the placeholders, neighbours joined as Python joins them.
fn constant_pieces(string: &ExprFString) -> Vec<Cow<'_, str>> {
    let mut pieces: Vec<Cow<'_, str>> = Vec::new();
    let mut joins = false;
    for text in f_string_runs(string) {
        match (text, pieces.last_mut()) {
            (None, _) => joins = false,
            (Some(""), _) => {}
            (Some(text), Some(last)) if joins => last.to_mut().push_str(text),
            (Some(text), _) => {
                pieces.push(Cow::Borrowed(text));
                joins = true;
            }
        }
    }
    pieces
}

/// The parts of an f-string: constant text, and `None` for each placeholder.
fn f_string_runs(string: &ExprFString) -> impl Iterator<Item = Option<&str>> {
    string.value.iter().flat_map(|part| {
        let (literal, elements): (_, &[InterpolatedStringElement]) = match part {
            FStringPart::Literal(literal) => (Some(Some(&*literal.value)), &[]),
            FStringPart::FString(part) => (None, &part.elements),
        };
        literal.into_iter().chain(elements.iter().map(|element| match element {
            InterpolatedStringElement::Literal(literal) => Some(&*literal.value),
            InterpolatedStringElement::Interpolation(_) => None,
        }))
    })
}

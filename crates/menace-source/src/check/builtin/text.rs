//! B104: `0.0.0.0` listens on every interface.
//! B108: a path under a shared temporary directory can be taken by someone else first.
//!
//! Also divides f-strings into their constant pieces, which count as strings of their own.

use std::borrow::Cow;

use menace_model::{Confidence, Severity};
use ruff_python_ast::{ExprFString, FStringPart, InterpolatedStringElement};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::hit::{Ranks, Sink};
use super::sql;
use crate::check::walk::Node;

const RANKS: Ranks = (Severity::Medium, Confidence::Medium);
const SHARED: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// `at` is where the string stands, `context` the construct that holds it.
pub(super) fn check(value: &str, at: TextSize, context: TextRange, sink: &mut Sink) {
    if value == "0.0.0.0" {
        let message = "`0.0.0.0` binds to all network interfaces";
        sink.report_at(at, "B104", RANKS, context, message);
    }
    if value.starts_with('/') && SHARED.iter().any(|shared| value.starts_with(shared)) {
        let message = "a fixed path in a shared temporary directory; use `tempfile`";
        sink.report_at(at, "B108", RANKS, context, message);
    }
}

pub(super) fn f_string(string: &ExprFString, above: &[Node<'_>], sink: &mut Sink) {
    let pieces = pieces(string);
    for piece in &pieces {
        check(piece, string.start(), string.range(), sink);
    }
    sql::f_string(string, &pieces, above, sink);
}

/// The constant text between the placeholders, neighbours joined as Python joins them.
fn pieces(string: &ExprFString) -> Vec<Cow<'_, str>> {
    let mut pieces: Vec<Cow<'_, str>> = Vec::new();
    let mut joins = false;
    for text in texts(string) {
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

/// Each run of constant text, and `None` for each placeholder.
fn texts(string: &ExprFString) -> impl Iterator<Item = Option<&str>> {
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

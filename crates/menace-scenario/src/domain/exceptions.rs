//! Exceptions that are answers: those of Python's protocols, and those that a docstring promises.

use menace_model::RaisedException;

/// Methods, and the exceptions with which Python's protocols let them refuse.
const PROTOCOL_EXCEPTIONS: [(&str, &[&str]); 27] = [
    ("__getitem__", &["KeyError", "IndexError", "TypeError"]),
    ("__setitem__", &["KeyError", "IndexError", "TypeError"]),
    ("__delitem__", &["KeyError", "IndexError", "TypeError"]),
    ("__getattr__", &["AttributeError"]),
    ("__getattribute__", &["AttributeError"]),
    ("__delattr__", &["AttributeError"]),
    ("__next__", &["StopIteration"]),
    ("__anext__", &["StopAsyncIteration"]),
    ("__hash__", &["TypeError"]),
    ("__lt__", &["TypeError"]),
    ("__le__", &["TypeError"]),
    ("__gt__", &["TypeError"]),
    ("__ge__", &["TypeError"]),
    ("__int__", &["ValueError", "TypeError", "OverflowError"]),
    ("__float__", &["ValueError", "TypeError", "OverflowError"]),
    ("__index__", &["TypeError"]),
    ("__truediv__", &["ZeroDivisionError"]),
    ("__floordiv__", &["ZeroDivisionError"]),
    ("__mod__", &["ZeroDivisionError"]),
    ("__divmod__", &["ZeroDivisionError"]),
    ("pop", &["KeyError", "IndexError"]),
    ("popitem", &["KeyError", "IndexError"]),
    ("popleft", &["IndexError"]),
    ("remove", &["KeyError", "ValueError"]),
    ("index", &["ValueError", "IndexError"]),
    ("insert", &["IndexError"]),
    ("next", &["StopIteration"]),
];

/// Whether Python's protocols let this method refuse an input with this exception.
pub fn is_protocol_exception(qualname: &str, exception: &RaisedException) -> bool {
    let method = last_name(qualname);
    let allowed = PROTOCOL_EXCEPTIONS.iter().find(|(name, _)| *name == method);
    allowed.is_some_and(|(_, classes)| {
        let is_one = |class: &str| classes.contains(&class);
        is_one(&exception.kind) || exception.bases.iter().any(|base| is_one(base))
    })
}

/// Whether a docstring says that this very class of exception is raised.
pub fn is_documented_exception(docstring: &str, exception: &RaisedException) -> bool {
    let class = last_name(&exception.kind);
    let mut in_list = false;
    for line in docstring.lines() {
        let trimmed = line.trim();
        let lower = trimmed.to_ascii_lowercase();
        let heading = lower.trim_end_matches(':');
        if ["raises", "raise", "exceptions", "throws"].contains(&heading) {
            in_list = true;
        } else if trimmed.is_empty() {
            // A blank line separates the entries of a list, too.
        } else if in_list && is_section_heading(heading) {
            in_list = false;
        }
        let says_raise = in_list || lower.contains("rais") || lower.contains("throw");
        if says_raise && has_word(trimmed, class) {
            return true;
        }
    }
    false
}

fn is_section_heading(heading: &str) -> bool {
    ["returns", "args", "arguments", "parameters", "yields", "examples", "example", "notes", "note"]
        .contains(&heading)
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|char: char| !char.is_alphanumeric() && char != '_').any(|part| part == word)
}

fn last_name(dotted: &str) -> &str {
    dotted.rsplit('.').next().unwrap_or(dotted)
}

//! Oracle for injection and path traversal: a part of a hostile input was executed or interpreted.

use menace_model::{Call, InputIntent, TouchedFile, Value};

use crate::input::INJECTION_MARKER;

use super::{JudgeInput, SectionWeakness, WeaknessKind, is_exception_of};

/// A line of `/etc/passwd` in the sandbox.
const PASSWD_LINE_START: &str = "sandbox:x:1000:";

/// Messages of SQLite for a malformed query; other messages are about files and locks.
const SQL_SYNTAX_ERRORS: [&str; 6] = [
    "syntax error",
    "unrecognized token",
    "incomplete input",
    "no such column",
    "no such function",
    "unterminated",
];

/// Parameters that take any path by design.
const PATH_PARAM_NAMES: [&str; 9] =
    ["path", "file", "filename", "filepath", "src", "dst", "source", "target", "directory"];

pub(super) fn judge(judge_input: &JudgeInput<'_>) -> Option<SectionWeakness> {
    let JudgeInput { call, outcome, .. } = judge_input;
    if call.intent != InputIntent::Hostile {
        return None;
    }
    let weakness = |kind, evidence: &str| Some(SectionWeakness::new(kind, evidence));
    let made = |file: &TouchedFile| names_marker(&file.path) && !is_argument_path(call, &file.path);
    if outcome.files.touched.iter().any(made) {
        return weakness(
            WeaknessKind::Injection,
            "a part of the input was executed and created a file",
        );
    }
    if let Some(exception) = &outcome.exception
        && is_exception_of(exception, "sqlite3.OperationalError")
        && SQL_SYNTAX_ERRORS.iter().any(|words| exception.message.contains(words))
    {
        let weakness = SectionWeakness::new(
            WeaknessKind::Injection,
            "a part of the input was interpreted as SQL",
        );
        return Some(weakness.with_place_of(exception));
    }
    let result = outcome.value.as_ref().map_or("", |value| value.repr.as_str());
    if has_markup(result) {
        return weakness(WeaknessKind::Injection, "a tag of the input is markup in the result");
    }
    if result.contains(PASSWD_LINE_START)
        && has_parent_traversal(call)
        && !takes_any_path(judge_input)
    {
        return weakness(WeaknessKind::Traversal, "`..` in the input led out of the directory");
    }
    None
}

/// Is it a file that an injected command or code creates?
fn names_marker(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(INJECTION_MARKER))
}

/// The input was used as a file name, which is no injection.
fn is_argument_path(call: &Call, path: &str) -> bool {
    argument_texts(call).any(|text| {
        let text = text.trim_start_matches("../").trim_start_matches("./");
        path == text || path.strip_suffix(text).is_some_and(|before| before.ends_with('/'))
    })
}

/// An injected tag inside of other markup.
fn has_markup(shown: &str) -> bool {
    let Some(at) = shown.find(&format!("<script>{INJECTION_MARKER}")) else { return false };
    shown[..at].contains('<') && shown[at..].contains("</")
}

fn has_parent_traversal(call: &Call) -> bool {
    argument_texts(call).any(|text| text.contains("../"))
}

fn argument_texts(call: &Call) -> impl Iterator<Item = &str> {
    let values = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
    values.filter_map(|value| match value {
        Value::Str(text) => text.as_str(),
        _ => None,
    })
}

/// A function that reads any file by design has no traversal.
fn takes_any_path(judge_input: &JudgeInput<'_>) -> bool {
    let names = judge_input.call.kwargs.iter().map(|(name, _)| name.as_str());
    names
        .chain(judge_input.params.iter().map(String::as_str))
        .any(|name| PATH_PARAM_NAMES.contains(&name))
}

//! Input that became something else: a command, a query, markup, a way to other files.

use menace_model::{Call, Intent, Touched, Value};

use super::{Weakness, WeaknessKind, Witness, is_a};

/// In the name of every file that a hostile input tries to have created, and in its markup.
pub const MARKER: &str = "menace_was_here";
/// A line of `/etc/passwd` as guests see it.
const PASSWD: &str = "sandbox:x:1000:";

/// What SQLite says of a query that it cannot read; other complaints are about files and locks.
const MISREAD: [&str; 6] = [
    "syntax error",
    "unrecognized token",
    "incomplete input",
    "no such column",
    "no such function",
    "unterminated",
];

/// Parameters that say themselves that any path will do.
const PATHS: [&str; 9] =
    ["path", "file", "filename", "filepath", "src", "dst", "source", "target", "directory"];

pub(super) fn judge(witness: &Witness<'_>) -> Option<Weakness> {
    let Witness { call, outcome, .. } = witness;
    if call.intent != Intent::Hostile {
        return None;
    }
    let blame = |kind, evidence: &str| Some(Weakness::new(kind, evidence));
    let made = |file: &Touched| names_marker(&file.path) && !is_given(call, &file.path);
    if outcome.files.touched.iter().any(made) {
        return blame(WeaknessKind::Injection, "a part of the input was run: it made a file");
    }
    if let Some(exception) = &outcome.exception
        && is_a(exception, "sqlite3.OperationalError")
        && MISREAD.iter().any(|words| exception.message.contains(words))
    {
        let weakness = Weakness::new(WeaknessKind::Injection, "a part of the input became SQL");
        return Some(weakness.at(exception));
    }
    let shown = outcome.value.as_ref().map_or("", |value| value.repr.as_str());
    if is_markup(shown) {
        return blame(WeaknessKind::Injection, "a tag of the input is a tag of the result");
    }
    if shown.contains(PASSWD) && climbs(call) && !takes_any_path(witness) {
        return blame(WeaknessKind::Traversal, "`..` in the input led it out of its directory");
    }
    None
}

/// The file that a command or code of an input makes.
fn names_marker(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(MARKER))
}

/// Somebody took the input for the name of a file, which is no harm in itself.
fn is_given(call: &Call, path: &str) -> bool {
    texts(call).any(|text| {
        let text = text.trim_start_matches("../").trim_start_matches("./");
        path == text || path.strip_suffix(text).is_some_and(|before| before.ends_with('/'))
    })
}

/// Markup of its own around a tag that came in.
fn is_markup(shown: &str) -> bool {
    let Some(at) = shown.find(&format!("<script>{MARKER}")) else { return false };
    shown[..at].contains('<') && shown[at..].contains("</")
}

fn climbs(call: &Call) -> bool {
    texts(call).any(|text| text.contains("../"))
}

fn texts(call: &Call) -> impl Iterator<Item = &str> {
    let values = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
    values.filter_map(|value| match value {
        Value::Str(text) => text.as_str(),
        _ => None,
    })
}

/// A function that reads whatever file it is told to is not to blame for doing so.
fn takes_any_path(witness: &Witness<'_>) -> bool {
    let names = witness.call.kwargs.iter().map(|(name, _)| name.as_str());
    names.chain(witness.params.iter().map(String::as_str)).any(|name| PATHS.contains(&name))
}

//! What makes a failure the one that it is.
//!
//! Its section, the kind of weakness, the type of the exception, and what is written on the line that
//! raised it. Where that line is does not count: a failure stays itself when code above it changes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use menace_model::{Call, Failure, FailureId, Outcome, Place, Section, SectionId, WeaknessKind};
use menace_scenario::judge::Weakness;

use super::source::source;

/// Hexadecimal digits of an id.
const DIGITS: usize = 10;

/// The text of a repository's lines.
#[derive(Debug)]
pub struct Lines {
    root: PathBuf,
    files: RefCell<HashMap<String, Vec<String>>>,
}

impl Lines {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), files: RefCell::default() }
    }

    /// Without the blanks around it; none when there is no such line, or nothing on it.
    pub fn text(&self, place: &Place) -> Option<String> {
        let mut files = self.files.borrow_mut();
        let lines = files.entry(place.file.clone()).or_insert_with(|| {
            // A file that cannot be read has no lines.
            let text = source(&self.root, &place.file).unwrap_or_default();
            text.lines().map(|line| line.trim().to_owned()).collect()
        });
        let at = usize::try_from(place.line).ok()?.checked_sub(1)?;
        lines.get(at).filter(|text| !text.is_empty()).cloned()
    }
}

/// What was seen of a failure.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub section: &'a Section,
    pub weakness: &'a Weakness,
    pub call: &'a Call,
    pub outcome: &'a Outcome,
    /// Under which it was seen.
    pub scenario: &'a str,
}

/// The failure that was seen.
pub fn of(seen: &Seen<'_>, lines: &Lines) -> Failure {
    let Seen { section, weakness, call, outcome, scenario } = *seen;
    let start = Place { file: section.id.path().to_owned(), line: section.line };
    Failure {
        id: identity(&section.id, weakness, outcome, lines),
        section: section.id.clone(),
        kind: weakness.kind,
        scenario: scenario.to_owned(),
        verdict: outcome.verdict,
        exception: exception(weakness.kind, outcome).map(str::to_owned),
        message: weakness.evidence.clone(),
        location: place(weakness, outcome).or_else(|| stumbled_at(outcome)).unwrap_or(start),
        call: call.clone(),
        outcome: outcome.clone(),
    }
}

/// Does this outcome, judged like this, show the failure again?
pub fn same(failure: &Failure, weakness: &Weakness, outcome: &Outcome, lines: &Lines) -> bool {
    let as_before = Weakness { kind: failure.kind, ..weakness.clone() };
    failure.kind.is_shown_by(weakness.kind)
        && identity(&failure.section, &as_before, outcome, lines) == failure.id
}

fn identity(
    section: &SectionId,
    weakness: &Weakness,
    outcome: &Outcome,
    lines: &Lines,
) -> FailureId {
    // A stack that is used up ends on whatever line comes last.
    let place = place(weakness, outcome).filter(|_| weakness.kind != WeaknessKind::Recursion);
    let text = place.map(|place| match lines.text(&place) {
        Some(text) => text,
        None => format!("line {}", place.line),
    });
    id(section, weakness.kind, exception(weakness.kind, outcome), text.as_deref())
}

/// `line` is the text of the raising line, or its number where it has no text.
pub fn id(
    section: &SectionId,
    kind: WeaknessKind,
    exception: Option<&str>,
    line: Option<&str>,
) -> FailureId {
    let mut hasher = blake3::Hasher::new();
    for part in [section.as_str(), kind.as_str(), exception.unwrap_or(""), line.unwrap_or("")] {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    FailureId(format!("f{}", &hasher.finalize().to_hex()[..DIGITS]))
}

/// The type of the exception, for weaknesses that are about one.
fn exception(kind: WeaknessKind, outcome: &Outcome) -> Option<&str> {
    let exception = outcome.exception.as_ref().filter(|_| is_raised(kind));
    exception.map(|exception| exception.kind.as_str())
}

/// What else is left, changed or done does not depend on what is raised beside it.
fn is_raised(kind: WeaknessKind) -> bool {
    matches!(
        kind,
        WeaknessKind::Unhandled
            | WeaknessKind::Encoding
            | WeaknessKind::Recursion
            | WeaknessKind::Crash
            | WeaknessKind::UncheckedResponse
            | WeaknessKind::Import
    )
}

/// Where the repository's code was when it happened, for weaknesses that this is a part of.
fn place(weakness: &Weakness, outcome: &Outcome) -> Option<Place> {
    match weakness.place.clone() {
        Some((file, line)) => Some(Place { file, line }),
        None => raised_at(outcome).filter(|_| is_raised(weakness.kind)),
    }
}

/// The best that can be shown of a weakness that does not depend on what was raised beside it. A `raise` on
/// purpose comes after whatever went wrong.
fn stumbled_at(outcome: &Outcome) -> Option<Place> {
    let raised = outcome.exception.as_ref()?;
    let is_meant = raised.explicit && raised.frames.last().is_some_and(|frame| frame.own);
    raised_at(outcome).filter(|_| !is_meant)
}

/// The repository's own line that an exception came from.
fn raised_at(outcome: &Outcome) -> Option<Place> {
    let frames = &outcome.exception.as_ref()?.frames;
    let own = frames.iter().rev().find(|frame| frame.own)?;
    Some(Place { file: own.file.clone(), line: own.line })
}

#[cfg(test)]
mod tests {
    use menace_model::{Frame, Raised, Stage, Verdict};

    use super::*;

    fn raised_at(line: u32) -> (Weakness, Outcome) {
        let frame = Frame { file: "shop.py".to_owned(), line, function: "f".to_owned(), own: true };
        let exception = Raised {
            kind: "IndexError".to_owned(),
            message: "list index out of range".to_owned(),
            bases: Vec::new(),
            explicit: false,
            frames: vec![frame],
            errno: None,
            cause: None,
            group: Vec::new(),
            notes: Vec::new(),
        };
        let outcome =
            Outcome { exception: Some(exception), ..Outcome::of(Verdict::Raised, Stage::Call) };
        let place = Some(("shop.py".to_owned(), line));
        (Weakness { kind: WeaknessKind::Unhandled, evidence: String::new(), place }, outcome)
    }

    fn id_at(source: &str, line: u32) -> FailureId {
        let repository = tempfile::tempdir().expect("a directory");
        std::fs::write(repository.path().join("shop.py"), source).expect("a file");
        let (weakness, outcome) = raised_at(line);
        let section = SectionId::new("shop.py", "f");
        identity(&section, &weakness, &outcome, &Lines::new(repository.path()))
    }

    #[test]
    fn a_failure_stays_itself_when_code_above_it_changes() {
        let before = id_at("def f(x):\n    return x[0]\n", 2);
        let after = id_at("import os\n\n\ndef f(x):\n    return x[0]\n", 5);
        assert_eq!(before, after);
        assert_ne!(before, id_at("def f(x):\n    return x[1]\n", 2));
    }

    #[test]
    fn what_fills_the_memory_is_the_same_failure_when_it_runs_out_of_time_first() {
        let repository = tempfile::tempdir().expect("a directory");
        let source = "def f(n: int) -> int:\n    return n\n";
        std::fs::write(repository.path().join("shop.py"), source).expect("a file");
        let options = menace_source::Options::default();
        let analysis = menace_source::analyze(repository.path(), &options, &|_, _| {});
        let analysis = analysis.expect("Python");
        let mut sections = analysis.modules.iter().flat_map(|module| &module.sections);
        let section = sections.find(|one| one.id.qualname() == "f").expect("a section");
        let lines = Lines::new(repository.path());
        let seen = |kind| Weakness { kind, evidence: String::new(), place: None };
        let full = Outcome::of(Verdict::OutOfMemory, Stage::Call);
        let late = Outcome::of(Verdict::TimedOut, Stage::Call);
        let target = menace_model::Target {
            module: menace_model::ModuleRef { name: "shop".to_owned(), path: None },
            qualname: "f".to_owned(),
            how: menace_model::How::Function,
        };
        let failure = of(
            &Seen {
                section,
                weakness: &seen(WeaknessKind::Memory),
                call: &menace_model::Call::new(target),
                outcome: &full,
                scenario: "normal",
            },
            &lines,
        );
        assert!(same(&failure, &seen(WeaknessKind::Memory), &full, &lines));
        assert!(same(&failure, &seen(WeaknessKind::Hang), &late, &lines));
        assert!(!same(&failure, &seen(WeaknessKind::Crash), &late, &lines));
    }

    #[test]
    fn what_is_left_behind_is_shown_where_it_raised_and_is_one_failure_wherever_that_is() {
        let lines = Lines::new(Path::new("/nonexistent"));
        let section = SectionId::new("shop.py", "f");
        let leak = |line, explicit| {
            let (_, mut outcome) = raised_at(line);
            outcome.exception.as_mut().expect("an exception").explicit = explicit;
            let weakness =
                Weakness { kind: WeaknessKind::Leak, evidence: String::new(), place: None };
            let location = stumbled_at(&outcome).map(|place| place.line);
            (identity(&section, &weakness, &outcome, &lines), location)
        };
        let ((one, first), (other, second)) = (leak(2, false), leak(3, false));
        assert_eq!(one, other);
        assert_eq!((first, second), (Some(2), Some(3)));
        assert_eq!(leak(3, true), (one, None), "what is raised on purpose comes later");
    }

    #[test]
    fn without_a_text_the_number_of_the_line_counts() {
        assert_eq!(id_at("", 2), id_at("", 2));
        assert_ne!(id_at("", 2), id_at("", 3));
    }

    #[test]
    fn an_id_is_short_and_in_hexadecimal() {
        let id = id(&SectionId::new("a.py", "f"), WeaknessKind::Leak, None, None);
        assert_eq!(id.0.len(), 1 + DIGITS);
        assert!(id.0[1..].bytes().all(|digit| digit.is_ascii_hexdigit()));
    }
}

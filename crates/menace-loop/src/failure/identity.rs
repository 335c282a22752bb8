//! What makes a failure the one that it is.
//!
//! Its section, the kind of weakness, the type of the exception, and what is written on the line that
//! raised it. Where that line is does not count: a failure stays itself when code above it changes. Nor does
//! the line on which somebody was found who crashed, waits or goes round: it may be another one the next time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use menace_model::{
    Call, Failure, FailureId, Frame, Outcome, Place, Section, SectionId, Stood, WeaknessKind,
};
use menace_scenario::judge::Weakness;
use menace_source::{Loop, loops};

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

    /// Where the smallest loop begins that has all these lines in it.
    fn loop_around(&self, file: &str, first: u32, last: u32) -> Option<Place> {
        let loops = loops(&source(&self.root, file)?);
        let is_around = |one: &&Loop| one.line <= first && last <= one.last_line;
        let smallest = loops.iter().filter(is_around).min_by_key(|one| one.last_line - one.line)?;
        Some(Place { file: file.to_owned(), line: smallest.line })
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
        location: place(weakness, outcome)
            .or_else(|| stood_at(weakness.kind, outcome, lines))
            .or_else(|| stumbled_at(outcome))
            .unwrap_or(start),
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

/// Where somebody was found who did not live to tell, or who never came back.
fn stood_at(kind: WeaknessKind, outcome: &Outcome, lines: &Lines) -> Option<Place> {
    let waits = outcome.burst.as_ref().and_then(|burst| burst.waits_at.as_ref());
    if let Some(frame) = waits.filter(|_| kind == WeaknessKind::Deadlock) {
        return Some(at(frame));
    }
    let Stood { frames, among } = outcome.stood.as_ref()?;
    if let (Some(first), Some(last)) = (among.first(), among.last()) {
        // What goes round is found on any of its lines: one of them would be another one the next time.
        let around = lines.loop_around(&first.file, first.line, last.line);
        return around.or_else(|| frames.last().map(at)).or_else(|| Some(at(first)));
    }
    frames.last().map(at)
}

fn at(frame: &Frame) -> Place {
    Place { file: frame.file.clone(), line: frame.line }
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
    frames.iter().rev().find(|frame| frame.own).map(at)
}

#[cfg(test)]
mod tests {
    use menace_model::{BurstReport, Raised, Stage, Verdict};

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

    fn frame(line: u32) -> Frame {
        Frame { file: "shop.py".to_owned(), line, function: "f".to_owned(), own: true }
    }

    #[test]
    fn who_goes_round_is_named_by_the_loop_and_who_waits_by_the_line_and_the_id_knows_neither() {
        let repository = tempfile::tempdir().expect("a directory");
        let source = "def f(x):\n    for y in x:\n        while y:\n            y += 1\n            y -= 1\n    g(x)\n";
        std::fs::write(repository.path().join("shop.py"), source).expect("a file");
        let lines = Lines::new(repository.path());
        let section = SectionId::new("shop.py", "f");
        let kind = WeaknessKind::Hang;
        let hang = |frames: &[u32], among: &[u32]| {
            let of = |lines: &[u32]| lines.iter().map(|line| frame(*line)).collect();
            let stood = Stood { frames: of(frames), among: of(among) };
            let outcome =
                Outcome { stood: Some(stood), ..Outcome::of(Verdict::TimedOut, Stage::Call) };
            let weakness = Weakness { kind, evidence: String::new(), place: None };
            let line = stood_at(kind, &outcome, &lines).map(|place| place.line);
            (identity(&section, &weakness, &outcome, &lines), line)
        };
        let id = hang(&[], &[]).0;
        for (frames, among, line) in [
            (&[6][..], &[][..], 6),
            (&[], &[4, 5], 3),
            (&[], &[2, 4], 2),
            // In no loop: where it was called from, or the first of them.
            (&[6], &[1, 6], 6),
            (&[], &[1, 6], 1),
        ] {
            assert_eq!(hang(frames, among), (id.clone(), Some(line)), "{frames:?} {among:?}");
        }
    }

    #[test]
    fn a_deadlock_is_where_somebody_waits() {
        let lines = Lines::new(Path::new("/nonexistent"));
        let burst =
            BurstReport { deadlocked: true, waits_at: Some(frame(4)), ..BurstReport::default() };
        let outcome = Outcome { burst: Some(burst), ..Outcome::of(Verdict::Returned, Stage::Call) };
        let place = |kind| stood_at(kind, &outcome, &lines).map(|place| place.line);
        assert_eq!((place(WeaknessKind::Deadlock), place(WeaknessKind::Leak)), (Some(4), None));
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

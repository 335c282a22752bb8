//! The id of a failure.
//!
//! It is made of the section, the kind of weakness, the type of the exception, and the text of the
//! line that raised it. The number of that line is not part of it, so that the id stays when code
//! above changes; nor is the line of a hang or crash, which may differ in the next run.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use menace_model::{
    Call, Failure, FailureId, HangLocation, Outcome, Section, SectionId, SourceLocation,
    StackFrame, WeaknessKind,
};
use menace_scenario::judge::{CandidateRerun, SectionWeakness};
use menace_source::{LoopStatement, find_loops};
use menace_store::read_source_file;

/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 10;

/// Source lines of the repository, read once per file.
#[derive(Debug)]
pub struct SourceLineCache {
    root: PathBuf,
    files: RefCell<HashMap<String, Vec<String>>>,
}

impl SourceLineCache {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), files: RefCell::default() }
    }

    /// The text of a line, trimmed; `None` for a blank line or one that does not exist.
    pub fn text(&self, place: &SourceLocation) -> Option<String> {
        let mut files = self.files.borrow_mut();
        let lines = files.entry(place.file.clone()).or_insert_with(|| {
            // A file that cannot be read has no lines.
            let text = read_source_file(&self.root, &place.file).unwrap_or_default();
            text.lines().map(|line| line.trim().to_owned()).collect()
        });
        let index = usize::try_from(place.line).ok()?.checked_sub(1)?;
        lines.get(index).filter(|text| !text.is_empty()).cloned()
    }

    /// The first line of the smallest loop that contains all these lines.
    fn loop_around(&self, file: &str, first: u32, last: u32) -> Option<SourceLocation> {
        let loops = find_loops(&read_source_file(&self.root, file)?);
        let is_around = |one: &&LoopStatement| one.line <= first && last <= one.last_line;
        let smallest = loops.iter().filter(is_around).min_by_key(|one| one.last_line - one.line)?;
        Some(SourceLocation { file: file.to_owned(), line: smallest.line })
    }
}

/// A weakness with the call and the outcome that show it.
#[derive(Debug, Clone, Copy)]
pub struct FailureEvidence<'a> {
    pub section: &'a Section,
    pub weakness: &'a SectionWeakness,
    pub call: &'a Call,
    pub outcome: &'a Outcome,
    /// The scenario of the call.
    pub scenario: &'a str,
}

impl FailureEvidence<'_> {
    pub fn to_failure(&self, lines: &SourceLineCache) -> Failure {
        let Self { section, weakness, call, outcome, scenario } = *self;
        let start = SourceLocation { file: section.id.path().to_owned(), line: section.line };
        Failure {
            id: self.failure_id(lines),
            section: section.id.clone(),
            kind: weakness.kind,
            scenario: scenario.to_owned(),
            verdict: outcome.verdict,
            exception: exception(weakness.kind, outcome).map(str::to_owned),
            message: weakness.evidence.clone(),
            location: place(weakness, outcome)
                .or_else(|| hang_location(weakness.kind, outcome, lines))
                .or_else(|| unintended_raise_location(outcome))
                .unwrap_or(start),
            call: call.clone(),
            outcome: outcome.clone(),
        }
    }

    pub(crate) fn failure_id(&self, lines: &SourceLineCache) -> FailureId {
        compute_id(&self.section.id, self.weakness, self.outcome, lines)
    }
}

/// Whether a rerun shows the failure again.
pub(super) fn is_shown_by(
    failure: &Failure,
    rerun: &CandidateRerun,
    lines: &SourceLineCache,
) -> bool {
    let Some(weakness) = &rerun.weakness else { return false };
    // The first call decides between out of memory and a hang.
    let weakness = SectionWeakness { kind: failure.kind, ..weakness.clone() };
    rerun.confirms(failure.kind)
        && compute_id(&failure.section, &weakness, &rerun.outcome, lines) == failure.id
}

fn compute_id(
    section: &SectionId,
    weakness: &SectionWeakness,
    outcome: &Outcome,
    lines: &SourceLineCache,
) -> FailureId {
    // Endless recursion ends on an arbitrary line.
    let place = place(weakness, outcome).filter(|_| weakness.kind != WeaknessKind::Recursion);
    let text = place.map(|place| match lines.text(&place) {
        Some(text) => text,
        None => format!("line {}", place.line),
    });
    hash_id(section, weakness.kind, exception(weakness.kind, outcome), text.as_deref())
}

/// `line` is the text of the raising line, or its number where it has no text.
fn hash_id(
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
    FailureId(format!("f{}", &hasher.finalize().to_hex()[..ID_DIGITS]))
}

/// The type of the exception, for weaknesses that are about one.
fn exception(kind: WeaknessKind, outcome: &Outcome) -> Option<&str> {
    let exception = outcome.exception.as_ref().filter(|_| is_raised(kind));
    exception.map(|exception| exception.kind.as_str())
}

/// Leaks and side effects do not depend on the exception that is raised with them.
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

/// The line of the repository that the id contains, for weaknesses that have one.
fn place(weakness: &SectionWeakness, outcome: &Outcome) -> Option<SourceLocation> {
    match weakness.place.clone() {
        Some((file, line)) => Some(SourceLocation { file, line }),
        None => raised_at(outcome).filter(|_| is_raised(weakness.kind)),
    }
}

/// Where a call waited, or the loop that it ran, when it was killed.
fn hang_location(
    kind: WeaknessKind,
    outcome: &Outcome,
    lines: &SourceLineCache,
) -> Option<SourceLocation> {
    let waits = outcome.burst.as_ref().and_then(|burst| burst.waits_at.as_ref());
    if let Some(frame) = waits.filter(|_| kind == WeaknessKind::Deadlock) {
        return Some(location_of(frame));
    }
    let HangLocation { frames, loop_frames } = outcome.hang_location.as_ref()?;
    if let (Some(first), Some(last)) = (loop_frames.first(), loop_frames.last()) {
        // The first line of the loop: the line that the sampler meets differs from run to run.
        let around = lines.loop_around(&first.file, first.line, last.line);
        return around
            .or_else(|| frames.last().map(location_of))
            .or_else(|| Some(location_of(first)));
    }
    frames.last().map(location_of)
}

fn location_of(frame: &StackFrame) -> SourceLocation {
    SourceLocation { file: frame.file.clone(), line: frame.line }
}

/// Where an exception was raised that the section did not raise explicitly. (An explicit `raise`
/// comes after the line where the problem is.)
fn unintended_raise_location(outcome: &Outcome) -> Option<SourceLocation> {
    let raised = outcome.exception.as_ref()?;
    let is_on_purpose =
        raised.explicit && raised.frames.last().is_some_and(|frame| frame.in_repository);
    raised_at(outcome).filter(|_| !is_on_purpose)
}

/// The repository's own line that an exception came from.
fn raised_at(outcome: &Outcome) -> Option<SourceLocation> {
    let frames = &outcome.exception.as_ref()?.frames;
    frames.iter().rev().find(|frame| frame.in_repository).map(location_of)
}

#[cfg(test)]
mod tests {
    use menace_model::{BurstReport, CallResult, CallStage, RaisedException, Verdict};

    use super::*;

    fn raised_at(line: u32) -> (SectionWeakness, Outcome) {
        let frame = StackFrame {
            file: "shop.py".to_owned(),
            line,
            function: "f".to_owned(),
            in_repository: true,
        };
        let exception = RaisedException {
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
        let outcome = Outcome::of_result(CallResult {
            exception: Some(exception),
            ..CallResult::new(Verdict::Raised, CallStage::Call)
        });
        let place = Some(("shop.py".to_owned(), line));
        (SectionWeakness { kind: WeaknessKind::Unhandled, evidence: String::new(), place }, outcome)
    }

    fn id_at(source: &str, line: u32) -> FailureId {
        let repository = tempfile::tempdir().expect("a directory");
        std::fs::write(repository.path().join("shop.py"), source).expect("a file");
        let (weakness, outcome) = raised_at(line);
        let section = SectionId::new("shop.py", "f");
        compute_id(&section, &weakness, &outcome, &SourceLineCache::new(repository.path()))
    }

    #[test]
    fn the_id_of_a_failure_stays_when_code_above_it_changes() {
        let before = id_at("def f(x):\n    return x[0]\n", 2);
        let after = id_at("import os\n\n\ndef f(x):\n    return x[0]\n", 5);
        assert_eq!(before, after);
        assert_ne!(before, id_at("def f(x):\n    return x[1]\n", 2));
    }

    #[test]
    fn a_failure_by_memory_is_also_shown_by_a_timeout() {
        let repository = tempfile::tempdir().expect("a directory");
        let source = "def f(n: int) -> int:\n    return n\n";
        std::fs::write(repository.path().join("shop.py"), source).expect("a file");
        let options = menace_source::AnalysisOptions::default();
        let analysis = menace_source::analyze(repository.path(), &options, &|_, _| {});
        let analysis = analysis.expect("Python");
        let mut sections = analysis.modules.iter().flat_map(|module| &module.sections);
        let section = sections.find(|one| one.id.qualname() == "f").expect("a section");
        let lines = SourceLineCache::new(repository.path());
        let weakness = |kind| SectionWeakness { kind, evidence: String::new(), place: None };
        let full = Outcome::new(Verdict::OutOfMemory, CallStage::Call);
        let late = Outcome::new(Verdict::TimedOut, CallStage::Call);
        let target = menace_model::CallTarget {
            module: menace_model::ModuleRef { name: "shop".to_owned(), path: None },
            qualname: "f".to_owned(),
            kind: menace_model::TargetKind::Function,
        };
        let evidence = FailureEvidence {
            section,
            weakness: &weakness(WeaknessKind::Memory),
            call: &menace_model::Call::new(target),
            outcome: &full,
            scenario: "normal",
        };
        let failure = evidence.to_failure(&lines);
        let is_shown = |kind, outcome: &Outcome| {
            let (call, outcome) = (failure.call.clone(), outcome.clone());
            let rerun = CandidateRerun { call, outcome, weakness: Some(weakness(kind)) };
            is_shown_by(&failure, &rerun, &lines)
        };
        assert!(is_shown(WeaknessKind::Memory, &full));
        assert!(is_shown(WeaknessKind::Hang, &late));
        assert!(!is_shown(WeaknessKind::Crash, &late));
    }

    #[test]
    fn the_raising_line_is_the_location_of_a_leak_and_no_part_of_its_id() {
        let lines = SourceLineCache::new(Path::new("/nonexistent"));
        let section = SectionId::new("shop.py", "f");
        let leak = |line, explicit| {
            let (_, mut outcome) = raised_at(line);
            outcome.exception.as_mut().expect("an exception").explicit = explicit;
            let weakness =
                SectionWeakness { kind: WeaknessKind::Leak, evidence: String::new(), place: None };
            let location = unintended_raise_location(&outcome).map(|place| place.line);
            (compute_id(&section, &weakness, &outcome, &lines), location)
        };
        let ((one, first), (other, second)) = (leak(2, false), leak(3, false));
        assert_eq!(one, other);
        assert_eq!((first, second), (Some(2), Some(3)));
        assert_eq!(leak(3, true), (one, None), "a raise on purpose comes later");
    }

    fn frame(line: u32) -> StackFrame {
        StackFrame {
            file: "shop.py".to_owned(),
            line,
            function: "f".to_owned(),
            in_repository: true,
        }
    }

    #[test]
    fn a_hang_is_located_at_its_loop_or_its_waiting_line_and_its_id_has_neither() {
        let repository = tempfile::tempdir().expect("a directory");
        let source = "def f(x):\n    for y in x:\n        while y:\n            y += 1\n\
                      \x20           y -= 1\n    g(x)\n";
        std::fs::write(repository.path().join("shop.py"), source).expect("a file");
        let lines = SourceLineCache::new(repository.path());
        let section = SectionId::new("shop.py", "f");
        let kind = WeaknessKind::Hang;
        let hang = |frames: &[u32], looping: &[u32]| {
            let at = |lines: &[u32]| lines.iter().map(|line| frame(*line)).collect();
            let location = HangLocation { frames: at(frames), loop_frames: at(looping) };
            let outcome = Outcome {
                hang_location: Some(location),
                ..Outcome::new(Verdict::TimedOut, CallStage::Call)
            };
            let weakness = SectionWeakness { kind, evidence: String::new(), place: None };
            let line = hang_location(kind, &outcome, &lines).map(|place| place.line);
            (compute_id(&section, &weakness, &outcome, &lines), line)
        };
        let id = hang(&[], &[]).0;
        for (frames, looping, line) in [
            (&[6][..], &[][..], 6),
            (&[], &[4, 5], 3),
            (&[], &[2, 4], 2),
            // Without a loop: where it was called from, or the first such line.
            (&[6], &[1, 6], 6),
            (&[], &[1, 6], 1),
        ] {
            assert_eq!(hang(frames, looping), (id.clone(), Some(line)), "{frames:?} {looping:?}");
        }
    }

    #[test]
    fn a_deadlock_is_located_at_the_waiting_line() {
        let lines = SourceLineCache::new(Path::new("/nonexistent"));
        let burst =
            BurstReport { deadlocked: true, waits_at: Some(frame(4)), ..BurstReport::default() };
        let outcome =
            Outcome { burst: Some(burst), ..Outcome::new(Verdict::Returned, CallStage::Call) };
        let place = |kind| hang_location(kind, &outcome, &lines).map(|place| place.line);
        assert_eq!((place(WeaknessKind::Deadlock), place(WeaknessKind::Leak)), (Some(4), None));
    }

    #[test]
    fn a_line_without_text_counts_by_its_number() {
        assert_eq!(id_at("", 2), id_at("", 2));
        assert_ne!(id_at("", 2), id_at("", 3));
    }

    #[test]
    fn an_id_is_short_and_in_hexadecimal() {
        let id = hash_id(&SectionId::new("a.py", "f"), WeaknessKind::Leak, None, None);
        assert_eq!(id.0.len(), 1 + ID_DIGITS);
        assert!(id.0[1..].bytes().all(|digit| digit.is_ascii_hexdigit()));
    }
}

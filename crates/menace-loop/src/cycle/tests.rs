//! What a cycle makes of outcomes, without a sandbox: a backend that answers what it is told to.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use menace_model::{Call, Coverage, FileCoverage, How, Outcome, SectionId, Verdict};
use menace_sandbox::{Backend, Cancel, SandboxError, Tier, Warm, WarmSpec};
use menace_scenario::preset::{Profiles, Values};
use menace_settings::KeywordProfiles;
use menace_source::{Analysis, analyze};

use super::*;
use crate::survey::Surveyed;

type Answer = Arc<dyn Fn(&Call) -> Outcome + Send + Sync>;

/// Answers every call, and remembers them.
#[derive(Clone)]
struct Scripted {
    answer: Answer,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl Backend for Scripted {
    fn tier(&self) -> Tier {
        Tier::Unsafe
    }

    fn warm(&self, _: &WarmSpec) -> Result<Box<dyn Warm>, SandboxError> {
        Ok(Box::new(self.clone()))
    }
}

impl Warm for Scripted {
    fn run(&mut self, call: &Call) -> Result<Outcome, SandboxError> {
        self.calls.lock().expect("nobody panics").push(call.clone());
        Ok((self.answer)(call))
    }
}

#[derive(Debug)]
struct All;

impl Wanted for All {
    fn has_module(&self, _: &menace_model::ModuleReport) -> bool {
        true
    }

    fn has_path(&self, _: &str) -> bool {
        true
    }

    fn has(&self, _: &menace_model::ModuleReport, _: &menace_model::Section) -> bool {
        true
    }
}

/// A cycle over one module, in breadth.
fn cycle(answer: impl Fn(&Call) -> Outcome + Send + Sync + 'static) -> (Seen, Vec<Call>) {
    cycle_until(None, answer)
}

const HALF: &str = "def half(n: int) -> int:\n    return n // 2\n";

fn cycle_until(
    deadline: Option<Instant>,
    answer: impl Fn(&Call) -> Outcome + Send + Sync + 'static,
) -> (Seen, Vec<Call>) {
    cycle_of(HALF, None, deadline, answer)
}

fn cycle_of(
    text: &str,
    depth: Option<Budget>,
    deadline: Option<Instant>,
    answer: impl Fn(&Call) -> Outcome + Send + Sync + 'static,
) -> (Seen, Vec<Call>) {
    let repository = tempfile::tempdir().expect("a directory");
    std::fs::write(repository.path().join("desk.py"), text).expect("a file");
    let analysis: Analysis =
        analyze(repository.path(), &menace_source::Options::default(), &|_, _| {}).expect("Python");
    let surveyed = Surveyed::new(&analysis).expect("a survey");
    let (profiles, keywords) = (Profiles::built_in(), KeywordProfiles::default());
    let (values, inputs) = (Values::default(), InputSettings::default());
    let wish = Wish {
        presets: vec![profiles.preset(BASELINE, None, "a test").expect("a preset")],
        profiles: &profiles,
        keywords: &keywords,
        settings: &values,
        inputs: &inputs,
        recordings: &Arc::from([]),
        seed: Seed(1),
        wanted: &All,
    };
    let plan = Plan::new(&analysis, &surveyed, &wish).expect("a plan");
    let backend = Scripted { answer: Arc::new(answer), calls: Arc::default() };
    let caller = Caller::new(&backend, 1, Cancel::default(), deadline);
    let extent = Extent { calls_per_cell: 8, depth, seed: Seed(1), inputs: &inputs };
    let lines = Lines::new(repository.path());
    let seen = run(&plan, &surveyed.facts(), &caller, &extent, &lines, &mut ()).expect("a cycle");
    let calls = backend.calls.lock().expect("nobody panics").clone();
    (seen, calls)
}

fn returned() -> Outcome {
    Outcome::of(Verdict::Returned, menace_model::Stage::Call)
}

/// Imports fail so often, then they do not.
fn imports_fail(times: usize) -> (Seen, Vec<Call>) {
    let left = AtomicUsize::new(times);
    cycle(move |call| {
        let is_import = call.target.how == How::Module;
        let fails = |left: usize| left.checked_sub(1);
        let is_bad =
            is_import && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fails).is_ok();
        if is_bad { Outcome::of(Verdict::TimedOut, menace_model::Stage::Call) } else { returned() }
    })
}

fn is_half(call: &Call) -> bool {
    call.target.qualname == "half"
}

#[test]
fn what_fills_the_memory_is_blamed_for_that_whichever_look_had_no_time_for_it() {
    let memory = menace_model::WeaknessKind::Memory;
    for (first, later) in
        [(Verdict::TimedOut, Verdict::OutOfMemory), (Verdict::OutOfMemory, Verdict::TimedOut)]
    {
        let asked = AtomicUsize::new(0);
        let (seen, _) = cycle(move |call| {
            let is_bad = is_half(call) && call.args == [menace_model::Value::Int(0)];
            let verdict = match is_bad.then(|| asked.fetch_add(1, Ordering::Relaxed)) {
                Some(0) => first,
                Some(1) => later,
                _ => Verdict::Returned,
            };
            Outcome::of(verdict, menace_model::Stage::Call)
        });
        let told: Vec<_> = seen
            .failures
            .values()
            .map(|(failure, _)| (failure.kind, failure.verdict, failure.outcome.verdict))
            .collect();
        assert_eq!(told, [(memory, Verdict::OutOfMemory, Verdict::OutOfMemory)], "{first} first");
    }
}

#[test]
fn a_module_is_imported_a_second_time_before_it_is_shut() {
    let (seen, calls) = imports_fail(1);
    assert_eq!((seen.shut.len(), seen.failures.len()), (0, 0));
    assert!(calls.iter().any(is_half), "nothing was called");
    let verdicts: u64 = seen.verdicts.values().sum();
    assert_eq!((seen.calls, seen.verdicts[&Verdict::TimedOut]), (verdicts, 1));

    let (seen, calls) = imports_fail(2);
    assert_eq!((seen.shut.len(), seen.failures.len()), (1, 1));
    assert!(!calls.iter().any(is_half), "it was called");
}

#[test]
fn a_cell_that_lacks_some_of_its_calls_is_not_covered() {
    let deadline = Instant::now() + Duration::from_secs(1);
    let (seen, calls) = cycle_until(Some(deadline), move |call| {
        // The time is up during the first call of the section, and the next ones are not over before
        // that was heard of.
        if is_half(call) {
            let left = deadline.saturating_duration_since(Instant::now());
            std::thread::sleep(left.max(Duration::from_millis(200)));
        }
        returned()
    });
    let made = calls.iter().filter(|call| is_half(call)).count();
    assert!((1..8).contains(&made), "{made} calls");
    let normal = seen.not_covered.iter().find(|(what, _)| what == BASELINE);
    let half = SectionId::new("desk.py", "half");
    assert_eq!(normal.map(|(_, missed)| missed), Some(&Missed::of([half])));
    assert!(!seen.is_broad);
}

#[test]
fn imports_are_given_more_time_than_calls() {
    let (_, calls) = imports_fail(0);
    for call in calls.iter().filter(|call| call.target.module.name == "desk") {
        let patience = if call.target.how == How::Module { 30_000 } else { 2_000 };
        assert_eq!(call.limits.timeout_ms, patience, "{:?}", call.target);
    }
}

/// The complex one comes first, and has nothing to show after its first lines.
const TWO: &str = "\
def dull(n: int) -> int:
    if n > 1 and n < 9 or n == 12:
        return 1
    return 0


def rich(text: str) -> str:
    return text.strip()
";

/// Of `rich`, every eighth call reaches a new line, and after so many calls it hangs. Says how many calls `dull` had
/// got by then, and in all.
fn calls_of_dull_until_rich_hangs_at(call: usize) -> (usize, usize) {
    let made = AtomicUsize::new(0);
    let (seen, calls) = cycle_of(TWO, Some(Budget::default()), None, move |asked| {
        let mut outcome = returned();
        let is_rich = asked.target.qualname == "rich" && asked.conditions.is_untroubled();
        let number = if is_rich { 1 + made.fetch_add(1, Ordering::Relaxed) } else { 1 };
        let lines = 1 + number / 8;
        if is_rich && number >= call {
            outcome.verdict = Verdict::TimedOut;
        }
        if asked.coverage {
            let file = FileCoverage {
                file: "desk.py".to_owned(),
                lines: (1..=lines as u32).collect(),
                branches: Vec::new(),
            };
            outcome.coverage = Some(Coverage { files: vec![file] });
        }
        outcome
    });
    let hangs = |(failure, _): &&(menace_model::Failure, u64)| {
        failure.section.qualname() == "rich" && failure.verdict == Verdict::TimedOut
    };
    assert!(seen.failures.values().any(|found| hangs(&found)), "{:?}", seen.failures);
    let is_rich =
        |asked: &&Call| asked.target.qualname == "rich" && asked.conditions.is_untroubled();
    let is_dull = |asked: &&Call| asked.target.qualname == "dull";
    let last = calls.iter().filter(is_rich).nth(call - 1).expect("so many calls");
    let at = calls.iter().position(|asked| std::ptr::eq(asked, last)).expect("it is there");
    (calls[..at].iter().filter(is_dull).count(), calls.iter().filter(is_dull).count())
}

#[test]
fn a_section_that_yields_goes_on_before_one_that_does_not() {
    // Deep among its mutations: what `dull` still has to be put through, trouble and growing inputs, can wait.
    let (by_then, in_all) = calls_of_dull_until_rich_hangs_at(200);
    assert!(by_then < in_all, "all {in_all} calls of `dull` came before");
    let again = calls_of_dull_until_rich_hangs_at(200);
    assert_eq!(again, (by_then, in_all), "it depends on what was seen, and on nothing else");
}

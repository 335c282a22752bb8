//! Cycles without a sandbox, on a backend with scripted outcomes.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use menace_model::{Call, CallCoverage, FileCoverage, Outcome, SectionId, TargetKind, Verdict};
use menace_sandbox::{CallSession, CancelToken, SandboxBackend, SandboxError, SandboxSpec, Tier};
use menace_scenario::preset::{CallSettings, ProfileCatalog};
use menace_settings::KeywordProfiles;
use menace_source::{Analysis, analyze};

use super::*;
use crate::survey::SurveyedAnalysis;

type ScriptedOutcome = Arc<dyn Fn(&Call) -> Outcome + Send + Sync>;

/// Answers every call and records it.
#[derive(Clone)]
struct ScriptedBackend {
    answer: ScriptedOutcome,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl fmt::Debug for ScriptedBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScriptedBackend")
    }
}

impl SandboxBackend for ScriptedBackend {
    fn tier(&self) -> Tier {
        Tier::Unsafe
    }

    fn open_session(&self, _: &SandboxSpec) -> Result<Box<dyn CallSession>, SandboxError> {
        Ok(Box::new(self.clone()))
    }
}

impl CallSession for ScriptedBackend {
    fn run(&mut self, call: &Call) -> Result<Outcome, SandboxError> {
        self.calls.lock().expect("no panic").push(call.clone());
        Ok((self.answer)(call))
    }
}

#[derive(Debug)]
struct EverySection;

impl SectionFilter for EverySection {
    fn has_module(&self, _: &menace_model::AnalyzedModule) -> bool {
        true
    }

    fn has_path(&self, _: &str) -> bool {
        true
    }

    fn has(&self, _: &menace_model::AnalyzedModule, _: &menace_model::Section) -> bool {
        true
    }
}

/// A cycle over one module, in breadth.
fn cycle(answer: impl Fn(&Call) -> Outcome + Send + Sync + 'static) -> (CycleResult, Vec<Call>) {
    cycle_until(None, answer)
}

const HALF: &str = "def half(n: int) -> int:\n    return n // 2\n";

fn cycle_until(
    deadline: Option<Instant>,
    answer: impl Fn(&Call) -> Outcome + Send + Sync + 'static,
) -> (CycleResult, Vec<Call>) {
    cycle_of(HALF, None, deadline, answer)
}

fn cycle_of(
    text: &str,
    depth: Option<ExploreBudget>,
    deadline: Option<Instant>,
    answer: impl Fn(&Call) -> Outcome + Send + Sync + 'static,
) -> (CycleResult, Vec<Call>) {
    let repository = tempfile::tempdir().expect("a directory");
    std::fs::write(repository.path().join("desk.py"), text).expect("a file");
    let analysis: Analysis =
        analyze(repository.path(), &menace_source::AnalysisOptions::default(), &|_, _| {})
            .expect("Python");
    let surveyed = SurveyedAnalysis::new(&analysis).expect("a survey");
    let (profiles, keywords) = (ProfileCatalog::built_in(), KeywordProfiles::default());
    let (values, inputs) = (CallSettings::default(), InputSettings::default());
    let request = PlanRequest {
        presets: vec![profiles.parse_preset(BASELINE, None, "a test").expect("a preset")],
        profiles: &profiles,
        keywords: &keywords,
        settings: &values,
        input_settings: &inputs,
        recordings: &Arc::from([]),
        seed: Seed(1),
        sections: &EverySection,
    };
    let plan = CyclePlan::new(&analysis, &surveyed, &request).expect("a plan");
    let backend = ScriptedBackend { answer: Arc::new(answer), calls: Arc::default() };
    let runner = CallRunner::new(&backend, 1, CancelToken::default(), deadline);
    let options = CycleOptions { calls_per_cell: 8, depth, seed: Seed(1), input_settings: &inputs };
    let lines = SourceLineCache::new(repository.path());
    let result =
        run(&plan, &surveyed.facts(), &runner, &options, &lines, &mut ()).expect("a cycle");
    let calls = backend.calls.lock().expect("no panic").clone();
    (result, calls)
}

fn returned() -> Outcome {
    Outcome::new(Verdict::Returned, menace_model::CallStage::Call)
}

/// A cycle whose first imports fail.
fn imports_fail(times: usize) -> (CycleResult, Vec<Call>) {
    let left = AtomicUsize::new(times);
    cycle(move |call| {
        let is_import = call.target.kind == TargetKind::Module;
        let fails = |left: usize| left.checked_sub(1);
        let is_bad =
            is_import && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fails).is_ok();
        if is_bad {
            Outcome::new(Verdict::TimedOut, menace_model::CallStage::Call)
        } else {
            returned()
        }
    })
}

fn is_half(call: &Call) -> bool {
    call.target.qualname == "half"
}

#[test]
fn out_of_memory_is_reported_whether_the_first_call_or_the_rerun_times_out() {
    let memory = menace_model::WeaknessKind::Memory;
    for (first, later) in
        [(Verdict::TimedOut, Verdict::OutOfMemory), (Verdict::OutOfMemory, Verdict::TimedOut)]
    {
        let made = AtomicUsize::new(0);
        let (result, _) = cycle(move |call| {
            let is_bad = is_half(call) && call.args == [menace_model::Value::Int(0)];
            let verdict = match is_bad.then(|| made.fetch_add(1, Ordering::Relaxed)) {
                Some(0) => first,
                Some(1) => later,
                _ => Verdict::Returned,
            };
            Outcome::new(verdict, menace_model::CallStage::Call)
        });
        let reported: Vec<_> = result
            .failures
            .values()
            .map(|CountedFailure { failure, .. }| {
                (failure.kind, failure.verdict, failure.outcome.verdict)
            })
            .collect();
        assert_eq!(
            reported,
            [(memory, Verdict::OutOfMemory, Verdict::OutOfMemory)],
            "{first} first"
        );
    }
}

#[test]
fn a_failed_import_is_rerun_before_it_is_reported() {
    let (result, calls) = imports_fail(1);
    assert_eq!((result.import_failures.len(), result.failures.len()), (0, 0));
    assert!(calls.iter().any(is_half), "nothing was called");
    let verdicts: u64 = result.verdicts.values().sum();
    assert_eq!((result.calls, result.verdicts[&Verdict::TimedOut]), (verdicts, 1));

    let (result, calls) = imports_fail(2);
    assert_eq!((result.import_failures.len(), result.failures.len()), (1, 1));
    assert!(!calls.iter().any(is_half), "it was called");
    let CountedFailure { failure, .. } = result.failures.values().next().expect("a failure");
    let rerun = menace_scenario::judge::rerun_call(&failure.call);
    assert_eq!(failure.call, rerun, "`menace repro` makes the call that confirmed it");
}

#[test]
fn a_cell_without_all_of_its_calls_is_not_covered() {
    let deadline = Instant::now() + Duration::from_secs(1);
    let (result, calls) = cycle_until(Some(deadline), move |call| {
        // The deadline comes during the first call of the section; the next calls take long enough
        // for it to be noticed.
        if is_half(call) {
            let left = deadline.saturating_duration_since(Instant::now());
            std::thread::sleep(left.max(Duration::from_millis(200)));
        }
        returned()
    });
    let made = calls.iter().filter(|call| is_half(call)).count();
    assert!((1..8).contains(&made), "{made} calls");
    let normal = result.skipped_stages.iter().find(|(stage, _)| stage.as_str() == BASELINE);
    let half = SectionId::new("desk.py", "half");
    assert_eq!(normal.map(|(_, missed)| missed), Some(&SkippedWork::from_sections([half])));
    assert!(!result.is_breadth_complete);
}

#[test]
fn imports_are_given_more_time_than_calls() {
    let (_, calls) = imports_fail(0);
    for call in calls.iter().filter(|call| call.target.module.name == "desk") {
        let timeout_ms = if call.target.kind == TargetKind::Module { 30_000 } else { 2_000 };
        assert_eq!(call.limits.timeout_ms, timeout_ms, "{:?}", call.target);
    }
}

/// `dull` is the more complex one and comes first; its later calls reach nothing new.
const TWO_SECTIONS: &str = "\
def dull(n: int) -> int:
    if n > 1 and n < 9 or n == 12:
        return 1
    return 0


def rich(text: str) -> str:
    return text.strip()
";

/// Every eighth call of `rich` reaches a new line, and at the given call it hangs. Returns how many
/// calls `dull` had by then, and in all.
fn calls_of_dull_until_rich_hangs_at(call: usize) -> (usize, usize) {
    let made = AtomicUsize::new(0);
    let (result, calls) =
        cycle_of(TWO_SECTIONS, Some(ExploreBudget::default()), None, move |asked| {
            let mut outcome = returned();
            let is_rich = asked.target.qualname == "rich" && asked.conditions.is_fault_free();
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
                outcome.coverage = Some(CallCoverage { files: vec![file] });
            }
            outcome
        });
    let hangs = |CountedFailure { failure, .. }: &&CountedFailure| {
        failure.section.qualname() == "rich" && failure.verdict == Verdict::TimedOut
    };
    assert!(result.failures.values().any(|found| hangs(&found)), "{:?}", result.failures);
    let is_rich = |call: &&Call| call.target.qualname == "rich" && call.conditions.is_fault_free();
    let is_dull = |call: &&Call| call.target.qualname == "dull";
    let last = calls.iter().filter(is_rich).nth(call - 1).expect("so many calls");
    let at = calls.iter().position(|asked| std::ptr::eq(asked, last)).expect("it is there");
    (calls[..at].iter().filter(is_dull).count(), calls.iter().filter(is_dull).count())
}

#[test]
fn a_section_that_reaches_new_lines_is_explored_before_one_that_does_not() {
    // During the mutations of `rich`: the faults and growing inputs of `dull` come later.
    let (by_then, in_all) = calls_of_dull_until_rich_hangs_at(200);
    assert!(by_then < in_all, "all {in_all} calls of `dull` came before");
    let second = calls_of_dull_until_rich_hangs_at(200);
    assert_eq!(second, (by_then, in_all), "it depends on outcomes only");
}

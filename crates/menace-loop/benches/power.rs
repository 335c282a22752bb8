//! What exploring finds: `cargo xtask bench power`.
//!
//! The fixture `robustness` has 40 planted bugs and 40 correct twins, listed in a file of its own.
//! It is explored twice with the same seed. Printed are the bugs found, the false positives,
//! the time, and whether every input had the same verdict both times.
//!
//! Another benchmark suite, such as `fixtures/unseen`, or any repository can be named instead. A
//! suite whose targets are missed ends with exit code 1.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use menace_loop::cycle::CompletedCall;
use menace_loop::{ExplorationResult, ExploreOptions};
use menace_model::{Call, CallStep, SectionId, Seed, Verdict};
use menace_sandbox::interpreter::{HarnessSource, InterpreterSearch, PythonInterpreter};
use menace_sandbox::{CancelToken, LocalBackend, init};
use menace_scenario::explore::ExploreBudget;
use menace_scenario::input::InputSettings;
use menace_source::{Analysis, ScannerChoice};
use serde::Deserialize;

const SEED: Seed = Seed(1);
const WORKERS: usize = 2;
/// Share of the planted bugs that has to be found.
const MIN_FOUND_SHARE: f64 = 0.9;
const MAX_TIME: Duration = Duration::from_mins(2);

/// The list of bugs and twins of the fixture.
#[derive(Deserialize)]
struct SuiteManifest {
    bugs: Vec<PlantedBug>,
    twins: Vec<SoundTwin>,
}

#[derive(Deserialize)]
struct PlantedBug {
    section: String,
    weakness: Vec<String>,
}

#[derive(Deserialize)]
struct SoundTwin {
    section: String,
}

/// Verdicts of all calls with one input.
struct Verdicts {
    all: BTreeSet<Verdict>,
    /// All of these calls measured time.
    is_timing: bool,
}

struct Run {
    explored: Vec<ExplorationResult>,
    /// By section and input.
    verdicts: BTreeMap<(SectionId, String), Verdicts>,
    took: Duration,
    /// Calls by what they were for and how they ended, and how long they took together.
    times: BTreeMap<String, (usize, f64)>,
}

fn main() -> ExitCode {
    if init::is_requested() {
        init::run();
    }
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = root.join(named.as_deref().unwrap_or("fixtures/robustness"));
    let Ok(text) = std::fs::read_to_string(directory.join("expected.json")) else {
        let analysis = analysis(&directory);
        print_findings(&analysis, &explore(&analysis, &directory));
        return ExitCode::SUCCESS;
    };
    let expected: SuiteManifest = serde_json::from_str(&text).expect("expected.json");
    let source = directory.join("src");
    let analysis = analysis(&source);
    let run = explore(&analysis, &source);
    print_findings(&analysis, &run);
    let found_enough = compare(&analysis, &run, &expected);
    let again = explore(&analysis, &source);
    let is_same = determinism(&run, &again);
    let in_time = run.took <= MAX_TIME;
    if !in_time {
        println!("it took more than {} s", MAX_TIME.as_secs());
    }
    if found_enough && is_same && in_time { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn analysis(directory: &Path) -> Analysis {
    let options = menace_source::AnalysisOptions {
        scanner: ScannerChoice::Builtin,
        ..menace_source::AnalysisOptions::default()
    };
    menace_source::analyze(directory, &options, &|_, _| {}).expect("an analysis")
}

fn explore(analysis: &Analysis, directory: &Path) -> Run {
    let sources: Vec<HarnessSource> = menace_sandbox::harness_sources()
        .iter()
        .map(|(name, text)| HarnessSource { name: (*name).to_owned(), text: (*text).to_owned() })
        .collect();
    let search = InterpreterSearch {
        python: None,
        repository: directory,
        path: OsStr::new("/usr/local/bin:/usr/bin"),
        home: None,
        sources: &sources,
        cache: None,
    };
    let interpreter = PythonInterpreter::find(&search).expect("a Python");
    let repository: PathBuf = directory.canonicalize().expect("a directory");
    let backend = LocalBackend::new(menace_sandbox::BackendOptions::new(repository, interpreter))
        .expect("a sandbox");
    let exploration = ExploreOptions {
        seed: SEED,
        budget: ExploreBudget::default(),
        workers: WORKERS,
        cancel: CancelToken::default(),
        input_settings: InputSettings::default(),
    };
    let mut verdicts = BTreeMap::new();
    let mut times: BTreeMap<String, (usize, f64)> = BTreeMap::new();
    let start = Instant::now();
    let explored =
        menace_loop::explore(analysis, &backend, &exploration, &mut |made: CompletedCall<'_>| {
            let conditions = &made.call.conditions;
            let kind = match (&conditions.burst, conditions.faults.first(), made.call.coverage) {
                (Some(_), ..) => "concurrency burst",
                (None, Some(fault), _) => fault.mode.as_str(),
                (None, None, true) => "with coverage",
                (None, None, false) => "measuring and confirming",
            };
            let time = times.entry(format!("{kind}, {}", made.outcome.verdict)).or_default();
            time.0 += 1;
            time.1 += made.outcome.runtime_metrics.total_ms / 1000.0;
            let Call { step: CallStep { receiver, args, kwargs, .. }, conditions, seed, .. } =
                made.call;
            let input = format!("{receiver:?} {args:?} {kwargs:?} {conditions:?} {seed}");
            let known = verdicts
                .entry((made.section.clone(), input))
                .or_insert_with(|| Verdicts { all: BTreeSet::new(), is_timing: true });
            known.all.insert(made.outcome.verdict);
            known.is_timing &= !made.is_counted;
        })
        .expect("an exploration");
    Run { explored, verdicts, took: start.elapsed(), times }
}

fn print_findings(analysis: &Analysis, run: &Run) {
    for explored in &run.explored {
        let name = name(analysis, &explored.section);
        if let Some(why) = &explored.uncallable {
            println!("{name}: {why}");
            continue;
        }
        let returned = explored.verdicts.contains(&Verdict::Returned);
        let never = if returned { "" } else { ", never returned" };
        println!("{name}: {} calls{never}", explored.calls);
        for finding in &explored.findings {
            println!("    {}: {}", finding.weakness.kind, finding.weakness.evidence);
            let input = &finding.call;
            let shown = format!("{:?} {:?} {:?}", input.receiver, input.args, input.kwargs);
            println!("        with {}", shown.chars().take(300).collect::<String>());
        }
    }
    println!("where the time went:");
    for (verdict, (count, seconds)) in &run.times {
        println!("    {verdict}: {count} calls, {seconds:.1} s");
    }
    let calls: usize = run.explored.iter().map(|explored| explored.calls).sum();
    println!("{} sections, {calls} calls in {:.1} s", run.explored.len(), run.took.as_secs_f64());
}

/// Whether enough bugs were found, without false positives.
fn compare(analysis: &Analysis, run: &Run, expected: &SuiteManifest) -> bool {
    let kinds: BTreeMap<String, Vec<&str>> = run
        .explored
        .iter()
        .map(|explored| {
            let kinds = explored.findings.iter().map(|finding| finding.weakness.kind.as_str());
            (name(analysis, &explored.section), kinds.collect())
        })
        .collect();
    let mut found = 0;
    for bug in &expected.bugs {
        let seen = kinds.get(&bug.section).cloned().unwrap_or_default();
        if seen.iter().any(|kind| bug.weakness.iter().any(|wanted| wanted == kind)) {
            found += 1;
        } else {
            println!("not found: {} ({}), seen {seen:?}", bug.section, bug.weakness.join(" or "));
        }
    }
    let mut false_positives = 0;
    for (section, seen) in &kinds {
        if !expected.bugs.iter().any(|bug| bug.section == *section) && !seen.is_empty() {
            let what = if expected.twins.iter().any(|twin| twin.section == *section) {
                "twin"
            } else {
                "helper"
            };
            false_positives += 1;
            println!("false positive in a {what}: {section}: {seen:?}");
        }
    }
    println!(
        "found {found} of {} bugs in {:.1} s; \
         {false_positives} false positives in {} twins and helpers",
        expected.bugs.len(),
        run.took.as_secs_f64(),
        kinds.len() - expected.bugs.len(),
    );
    let wanted = expected.bugs.len() as f64 * MIN_FOUND_SHARE;
    let is_enough = f64::from(found) >= wanted;
    if !is_enough {
        println!("fewer than the {wanted:.0} that are wanted");
    }
    is_enough && false_positives == 0
}

/// Whether both runs made the same inputs, and these had the same verdicts. How often time is
/// measured depends on how long that takes: such inputs may be made in one run only.
fn determinism(first: &Run, second: &Run) -> bool {
    let (mut same, mut measured) = (0, 0);
    let mut others = Vec::new();
    for (key, verdicts) in &first.verdicts {
        match second.verdicts.get(key) {
            Some(again) if again.all == verdicts.all => same += 1,
            Some(again) => {
                others.push(format!("{}: {:?}, then {:?}", key.0, verdicts.all, again.all));
            }
            None => {}
        }
    }
    for (run, other, which) in [(first, second, "first"), (second, first, "second")] {
        for (key, verdicts) in &run.verdicts {
            if other.verdicts.contains_key(key) {
                continue;
            }
            if verdicts.is_timing {
                measured += 1;
            } else {
                let input: String = key.1.chars().take(300).collect();
                others.push(format!("{}: only in the {which} run: {input}", key.0));
            }
        }
    }
    println!(
        "two runs with one seed: {same} of {} inputs had the same verdicts, \
         {measured} that measure time were made in one run only",
        first.verdicts.len()
    );
    for other in &others {
        println!("    {other}");
    }
    others.is_empty()
}

/// `package.module:Qualified.name`.
fn name(analysis: &Analysis, section: &SectionId) -> String {
    let path = section.path();
    let module = analysis.modules.iter().find(|module| module.path == path);
    let module = module.map_or(path, |module| module.name.as_str());
    format!("{module}:{}", section.qualname())
}

//! Failures are reproduced, shrunk, and written as tests that fail until they are fixed.

use std::path::{Path, PathBuf};
use std::process::Command;

use menace_loop::failure::{
    FailureEvidence, ReproResult, ShrinkRequest, SourceLineCache, repro, shrink,
};
use menace_loop::pytest::export;
use menace_loop::{ExploreOptions, explore, targets};
use menace_model::{
    Call, CallStep, Failure, FailureId, Section, SectionId, Seed, Value, WeaknessKind,
};
use menace_sandbox::{CancelToken, SandboxBackend as _};
use menace_scenario::explore::ExploreBudget;
use menace_scenario::input::InputSettings;
use menace_scenario::judge::ConfirmedFinding;

use crate::single_module::SingleModuleSandbox;

const DESK_MODULE: &str = include_str!("desk.py");

/// What is found in the fixture, by section.
const EXPECTED_FAILURES: [(&str, WeaknessKind); 8] = [
    ("mean", WeaknessKind::Unhandled),
    ("login", WeaknessKind::Encoding),
    ("collect", WeaknessKind::SharedState),
    ("size", WeaknessKind::Leak),
    ("save", WeaknessKind::PartialWrite),
    ("weather", WeaknessKind::NoTimeout),
    ("greeting", WeaknessKind::Injection),
    ("Seats.book", WeaknessKind::Race),
];

fn find_failures(trial: &SingleModuleSandbox) -> Vec<Failure> {
    let exploration = ExploreOptions {
        seed: Seed(7),
        budget: ExploreBudget::default(),
        workers: 2,
        cancel: CancelToken::default(),
        input_settings: InputSettings::default(),
    };
    let explored = explore(&trial.analysis, &trial.backend, &exploration, &mut |_| {});
    let lines = SourceLineCache::new(trial.root());
    let mut failures = Vec::new();
    for one in explored.expect("an exploration") {
        let (_, section) = find_section(trial, &one.section);
        for ConfirmedFinding { weakness, call, outcome } in &one.findings {
            let seen = FailureEvidence { section, weakness, call, outcome, scenario: "normal" };
            failures.push(seen.to_failure(&lines));
        }
    }
    failures
}

pub(crate) fn find_section<'a>(
    trial: &'a SingleModuleSandbox,
    id: &SectionId,
) -> (&'a menace_model::AnalyzedModule, &'a Section) {
    let mut all = trial
        .analysis
        .modules
        .iter()
        .flat_map(|module| module.sections.iter().map(move |section| (module, section)));
    all.find(|(_, section)| section.id == *id).expect("the section")
}

fn find_failure<'a>(failures: &'a [Failure], name: &str, kind: WeaknessKind) -> &'a Failure {
    let found = failures.iter().find(|one| one.section.qualname() == name && one.kind == kind);
    found.unwrap_or_else(|| {
        let kinds: Vec<_> = failures.iter().map(|one| (&one.section, one.kind)).collect();
        panic!("no {kind} of {name} among {kinds:?}")
    })
}

/// The interpreter of the environment that `cargo xtask test` has filled.
#[expect(clippy::disallowed_methods, reason = "only tests ask where the environment is")]
pub(crate) fn venv_python() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-venv");
    let venv = std::env::var_os("MENACE_TEST_VENV").map_or_else(usual, PathBuf::from);
    let python = venv.join("bin/python");
    assert!(venv.join("bin/pytest").exists(), "no pytest in it: run `cargo xtask test`");
    python
}

/// Which tests fail, and with what words.
pub(crate) fn failing_tests(trial: &SingleModuleSandbox, failures: &[Failure]) -> Vec<String> {
    let exported = export(failures, &trial.analysis, None);
    assert_eq!(exported.not_exported, []);
    let directory = trial.root().join("tests");
    std::fs::create_dir_all(&directory).expect("a directory");
    for file in &exported.files {
        std::fs::write(directory.join(&file.name), &file.text).expect("a file");
    }
    let output = Command::new(venv_python())
        .args(["-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", "--tb=line", "tests"])
        .current_dir(trial.root())
        .output()
        .expect("a pytest");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.code().is_some_and(|code| code < 2), "{text}");
    let failed = text.lines().filter_map(|line| line.strip_prefix("FAILED "));
    failed.map(str::to_owned).collect()
}

/// The same call of the sound twin.
pub(crate) fn failure_of_twin(failure: &Failure) -> Failure {
    let mut failure = failure.clone();
    let sound = |name: &str| match name.split_once('.') {
        Some((class, method)) => format!("Sound{class}.{method}"),
        None => format!("sound_{name}"),
    };
    failure.section = SectionId::new(failure.section.path(), &sound(failure.section.qualname()));
    failure.call.target.qualname = sound(&failure.call.target.qualname);
    let CallStep { receiver, target, .. } = &mut failure.call.step;
    if let Some(Value::New { class, .. }) = receiver {
        let module = &target.module.name;
        *class = format!("{module}:Sound{}", class.qualname()).parse().expect("a reference");
    }
    failure
}

#[test]
fn exported_tests_fail_on_what_is_weak_and_pass_on_what_is_sound() {
    let trial = SingleModuleSandbox::new("desk.py", DESK_MODULE);
    let all = find_failures(&trial);
    let weak: Vec<Failure> = EXPECTED_FAILURES
        .iter()
        .map(|(name, kind)| find_failure(&all, name, *kind).clone())
        .collect();
    let failing = failing_tests(&trial, &weak);
    assert_eq!(failing.len(), weak.len(), "{failing:?}");
    let sound: Vec<Failure> = weak.iter().map(failure_of_twin).collect();
    assert_eq!(failing_tests(&trial, &sound), Vec::<String>::new());
}

#[test]
fn a_failure_is_reproduced_until_it_is_fixed() {
    let trial = SingleModuleSandbox::new("desk.py", DESK_MODULE);
    let all = find_failures(&trial);
    let mean = find_failure(&all, "mean", WeaknessKind::Unhandled);
    let now = repro(mean, &trial.backend, &trial.analysis).expect("a call");
    assert!(matches!(now, ReproResult::Still { .. }), "{now:?}");
    let source = DESK_MODULE.replace("return sum(values) / len(values)", "return sum(values) / 1");
    let fixed = SingleModuleSandbox::new("desk.py", &source);
    let now = repro(mean, &fixed.backend, &fixed.analysis).expect("a call");
    assert!(matches!(now, ReproResult::Fixed { .. }), "{now:?}");
    let gone =
        SingleModuleSandbox::new("desk.py", &DESK_MODULE.replace("def mean(", "def average("));
    let now = repro(mean, &gone.backend, &gone.analysis).expect("no call");
    assert!(matches!(now, ReproResult::Vanished { .. }), "{now:?}");
    let moved = SingleModuleSandbox::new("desk.py", &format!("import re\n\n{DESK_MODULE}"));
    let now = repro(mean, &moved.backend, &moved.analysis).expect("a call");
    assert!(matches!(now, ReproResult::Still { .. }), "{now:?}");
}

#[test]
fn a_failure_shrinks_to_what_matters() {
    let trial = SingleModuleSandbox::new("desk.py", DESK_MODULE);
    let (module, section) = find_section(&trial, &SectionId::new("desk.py", "pick"));
    let (qualname, how) = targets::resolve_target(section).expect("a way to call it");
    let target =
        menace_model::CallTarget { module: targets::module_ref(module), qualname, kind: how };
    let mut call = Call::new(target);
    let numbers = [17, 230, 4711, -9, 64].map(Value::Int).to_vec();
    call.args = vec![Value::List(numbers), Value::Int(4242)];
    call.kwargs = vec![("note".to_owned(), Value::from("for Łukasz"))];
    let spec = targets::module_spec(&trial.analysis, module);
    let mut warm = trial.backend.open_session(&spec).expect("a sandbox");
    let outcome = warm.run(&call).expect("an outcome");
    drop(warm);
    let weakness = menace_scenario::judge::SectionWeakness {
        kind: WeaknessKind::Unhandled,
        evidence: "IndexError".to_owned(),
        place: None,
    };
    let seen = FailureEvidence {
        section,
        weakness: &weakness,
        call: &call,
        outcome: &outcome,
        scenario: "normal",
    };
    let large = seen.to_failure(&SourceLineCache::new(trial.root()));
    let shrinking =
        ShrinkRequest { budget: 300, workers: 2, cancel: CancelToken::default(), deadline: None };
    let small = shrink(&large, &trial.backend, &trial.analysis, &shrinking).expect("a failure");
    assert_eq!(small.failure.call.args, [Value::List(Vec::new()), Value::Int(0)]);
    assert_eq!((small.failure.call.kwargs.len(), small.note), (0, None));
    assert_eq!(small.failure.id, large.id);
}

#[test]
fn what_needs_menace_is_named_and_not_written() {
    let trial = SingleModuleSandbox::new("desk.py", DESK_MODULE);
    let section = find_section(&trial, &SectionId::new("desk.py", "mean")).1;
    let (qualname, how) = targets::resolve_target(section).expect("a way to call it");
    let module = targets::module_ref(&trial.analysis.modules[0]);
    let mut call = Call::new(menace_model::CallTarget { module, qualname, kind: how });
    call.conditions.network.latency_ms = 5.0;
    let failure = Failure {
        id: FailureId("f0123456789".to_owned()),
        section: section.id.clone(),
        kind: WeaknessKind::Unhandled,
        scenario: "slow_network".to_owned(),
        verdict: menace_model::Verdict::Raised,
        exception: None,
        message: String::new(),
        location: menace_model::SourceLocation { file: "desk.py".to_owned(), line: 1 },
        call,
        outcome: menace_model::Outcome::new(
            menace_model::Verdict::Raised,
            menace_model::CallStage::Call,
        ),
    };
    let exported = export(&[failure], &trial.analysis, None);
    assert_eq!(exported.files, []);
    assert_eq!(
        exported.not_exported[0].why,
        "it was seen on a bad network, which no test has, unless `menace shrink f0123456789` finds \
         it without; `menace repro f0123456789` shows it"
    );
}

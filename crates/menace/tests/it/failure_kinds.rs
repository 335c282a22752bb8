//! Kinds of failures that exploration meets by luck: each by a call made for it, judged as always,
//! written as a test, and compared with its sound twin.

use menace_loop::failure::{FailureEvidence, ReproResult, SourceLineCache, repro};
use menace_loop::pytest::export;
use menace_loop::targets;
use menace_model::{
    Call, CallStage, CallTarget, ConcurrencyBurst, Failure, InputIntent, Outcome, SectionId, Value,
    Verdict, WeaknessKind,
};
use menace_scenario::judge::SectionWeakness;

use crate::failures::{failing_tests, failure_of_twin, find_section};
use crate::single_module::SingleModuleSandbox;

const QUAY_MODULE: &str = include_str!("quay.py");

/// The failure that a call shows, as the judge sees it; it has to be seen a second time.
fn provoke_failure(
    trial: &SingleModuleSandbox,
    id: &SectionId,
    kind: WeaknessKind,
    change: impl FnOnce(&mut Call),
) -> Failure {
    let (module, section) = find_section(trial, id);
    let (qualname, how) = targets::resolve_target(section).expect("a way to call it");
    let module = targets::module_ref(module);
    let mut call = Call::new(CallTarget { module, qualname, kind: how });
    change(&mut call);
    let lines = SourceLineCache::new(trial.root());
    let failure = |weakness: &SectionWeakness, outcome: &Outcome| {
        let call = &call;
        FailureEvidence { section, weakness, call, outcome, scenario: "normal" }.to_failure(&lines)
    };
    let expected = SectionWeakness { kind, evidence: "not seen yet".to_owned(), place: None };
    let unseen = failure(&expected, &Outcome::new(Verdict::Returned, CallStage::Call));
    let found = match repro(&unseen, &trial.backend, &trial.analysis).expect("a call") {
        ReproResult::Still { outcome } => failure(&expected, &outcome),
        ReproResult::Other { weakness, outcome } if weakness.kind == kind => {
            failure(&weakness, &outcome)
        }
        other => panic!("no {kind} of {id}: {other:?}"),
    };
    let again = repro(&found, &trial.backend, &trial.analysis).expect("a call");
    assert!(matches!(again, ReproResult::Still { .. }), "{id}: {again:?}");
    found
}

fn provoke_all_failures(trial: &SingleModuleSandbox) -> Vec<Failure> {
    let one = |name: &str, kind, arg: Value| {
        let id = SectionId::new("quay.py", name);
        let hostile = matches!(kind, WeaknessKind::Injection | WeaknessKind::Traversal);
        provoke_failure(trial, &id, kind, |call| {
            call.args = vec![arg];
            call.limits.timeout_ms = 3_000;
            if hostile {
                call.intent = InputIntent::Hostile;
            }
            if kind == WeaknessKind::Deadlock {
                call.conditions.burst = Some(ConcurrencyBurst { threads: 2, tasks: 0 });
                let class = "quay:Ledger".parse().expect("a reference");
                call.receiver = Some(Value::New { class, args: vec![], kwargs: vec![] });
            }
        })
    };
    let long = Value::Repeat { value: Box::new(Value::from("ab")), times: 1024 };
    let up = Value::from("../../../../../../../../etc/passwd");
    vec![
        one("peek", WeaknessKind::Crash, Value::Int(0)),
        one("countdown", WeaknessKind::Hang, Value::Int(-1)),
        one("pairs", WeaknessKind::Slow, long),
        one("depth", WeaknessKind::Recursion, Value::Int(5_000)),
        one("page", WeaknessKind::Traversal, up),
        one("titled", WeaknessKind::Injection, Value::from("O'Hara")),
        one("pack", WeaknessKind::Injection, Value::from("; touch menace_was_here")),
        one("Ledger.post", WeaknessKind::Deadlock, Value::Int(-1)),
    ]
}

#[test]
fn every_kind_has_a_test_that_fails_on_what_is_weak_and_passes_on_what_is_sound() {
    let trial = SingleModuleSandbox::new("quay.py", QUAY_MODULE);
    let weak = provoke_all_failures(&trial);
    let failed = failing_tests(&trial, &weak);
    let fails = |failure: &&Failure| failed.iter().any(|name| name.contains(&failure.id.0));
    let passed: Vec<_> = weak.iter().filter(|failure| !fails(failure)).collect();
    assert!(passed.is_empty(), "{:?}", passed.iter().map(|one| &one.section).collect::<Vec<_>>());
    let sound: Vec<Failure> = weak.iter().map(failure_of_twin).collect();
    assert_eq!(failing_tests(&trial, &sound), Vec::<String>::new());
}

#[test]
fn growth_is_reproduced_on_a_machine_too_fast_for_the_sizes_that_showed_it() {
    let trial = SingleModuleSandbox::new("quay.py", QUAY_MODULE);
    let slow = |name| SectionId::new("quay.py", name);
    let failure = provoke_failure(&trial, &slow("pairs"), WeaknessKind::Slow, |call| {
        call.args = vec![Value::Repeat { value: Box::new(Value::from("ab")), times: 256 }];
        call.limits.timeout_ms = 3_000;
    });
    let sound = Failure { section: slow("sound_pairs"), ..failure };
    let repro = repro(&sound, &trial.backend, &trial.analysis).expect("a call");
    assert!(matches!(repro, ReproResult::Fixed { .. }), "{repro:?}");
}

#[test]
fn a_failing_import_is_a_failing_test_until_it_is_fixed() {
    let trial = SingleModuleSandbox::new("crane.py", "import nothing_like_this\n");
    let id = SectionId::new("crane.py", SectionId::TOP_LEVEL);
    let failure = provoke_failure(&trial, &id, WeaknessKind::Import, |_| {});
    assert_eq!(failing_tests(&trial, std::slice::from_ref(&failure)).len(), 1);
    std::fs::write(trial.root().join("crane.py"), "LOAD = 3\n").expect("a file");
    assert_eq!(failing_tests(&trial, &[failure]), Vec::<String>::new());
}

#[test]
fn an_exported_file_reads_like_this() {
    let trial = SingleModuleSandbox::new("quay.py", QUAY_MODULE);
    let id = SectionId::new("quay.py", "depth");
    let mut failure = provoke_failure(&trial, &id, WeaknessKind::Recursion, |call| {
        call.args = vec![Value::Int(5_000)];
    });
    // Which line of the section used up the stack depends on the version of Python.
    failure.location.line = 36;
    let exported = export(&[failure], &trial.analysis, None);
    insta::assert_snapshot!(exported.files[0].text);
}

//! Kinds of failures that exploration meets by luck: each by a call made for it, judged as always,
//! written as a test, and compared with its sound twin.

use menace_loop::failure::{Lines, Repro, Seen, of, repro};
use menace_loop::pytest::export;
use menace_loop::targets;
use menace_model::{
    Burst, Call, Failure, Intent, Outcome, SectionId, Stage, Target, Value, Verdict, WeaknessKind,
};
use menace_scenario::judge::Weakness;

use crate::failures::{failing, of_twin, section};
use crate::trial::Trial;

const QUAY: &str = include_str!("quay.py");

/// The failure that a call shows, as the judge sees it; it has to be seen a second time.
fn seen(
    trial: &Trial,
    id: &SectionId,
    kind: WeaknessKind,
    change: impl FnOnce(&mut Call),
) -> Failure {
    let (module, section) = section(trial, id);
    let (qualname, how) = targets::reach(section).expect("a way to call it");
    let module = targets::module_ref(module);
    let mut call = Call::new(Target { module, qualname, how });
    change(&mut call);
    let lines = Lines::new(trial.root());
    let failure = |weakness: &Weakness, outcome: &Outcome| {
        of(&Seen { section, weakness, call: &call, outcome, scenario: "normal" }, &lines)
    };
    let expected = Weakness { kind, evidence: "not seen yet".to_owned(), place: None };
    let unseen = failure(&expected, &Outcome::of(Verdict::Returned, Stage::Call));
    let found = match repro(&unseen, &trial.backend, &trial.analysis).expect("a call") {
        Repro::Still { outcome } => failure(&expected, &outcome),
        Repro::Other { weakness, outcome } if weakness.kind == kind => failure(&weakness, &outcome),
        other => panic!("no {kind} of {id}: {other:?}"),
    };
    let again = repro(&found, &trial.backend, &trial.analysis).expect("a call");
    assert!(matches!(again, Repro::Still { .. }), "{id}: {again:?}");
    found
}

fn all(trial: &Trial) -> Vec<Failure> {
    let one = |name: &str, kind, arg: Value| {
        let id = SectionId::new("quay.py", name);
        let hostile = matches!(kind, WeaknessKind::Injection | WeaknessKind::Traversal);
        seen(trial, &id, kind, |call| {
            call.args = vec![arg];
            call.limits.timeout_ms = 3_000;
            if hostile {
                call.intent = Intent::Hostile;
            }
            if kind == WeaknessKind::Deadlock {
                call.conditions.burst = Some(Burst { threads: 2, tasks: 0 });
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
    let trial = Trial::new("quay.py", QUAY);
    let weak = all(&trial);
    let failed = failing(&trial, &weak);
    let fails = |failure: &&Failure| failed.iter().any(|name| name.contains(&failure.id.0));
    let passed: Vec<_> = weak.iter().filter(|failure| !fails(failure)).collect();
    assert!(passed.is_empty(), "{:?}", passed.iter().map(|one| &one.section).collect::<Vec<_>>());
    let sound: Vec<Failure> = weak.iter().map(of_twin).collect();
    assert_eq!(failing(&trial, &sound), Vec::<String>::new());
}

#[test]
fn an_import_that_fails_is_a_test_until_it_is_mended() {
    let trial = Trial::new("crane.py", "import nothing_like_this\n");
    let id = SectionId::new("crane.py", SectionId::TOP_LEVEL);
    let failure = seen(&trial, &id, WeaknessKind::Import, |_| {});
    assert_eq!(failing(&trial, std::slice::from_ref(&failure)).len(), 1);
    std::fs::write(trial.root().join("crane.py"), "LOAD = 3\n").expect("a file");
    assert_eq!(failing(&trial, &[failure]), Vec::<String>::new());
}

#[test]
fn an_exported_file_reads_like_this() {
    let trial = Trial::new("quay.py", QUAY);
    let id = SectionId::new("quay.py", "depth");
    let mut failure = seen(&trial, &id, WeaknessKind::Recursion, |call| {
        call.args = vec![Value::Int(5_000)];
    });
    // Which line of the section used up the stack depends on the version of Python.
    failure.location.line = 36;
    let exported = export(&[failure], &trial.analysis, None);
    insta::assert_snapshot!(exported.files[0].text);
}

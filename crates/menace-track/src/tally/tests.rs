use menace_model::{
    Call, Coverage, Fault, FaultMode, Felt, FileCoverage, How, Intent, ModuleRef, Outcome, Raised,
    Returned, Stage, Target, Value, Verdict, Violation, When,
};
use proptest::prelude::*;

use super::*;

fn call(intent: Intent) -> Call {
    let module = ModuleRef { name: "shop".to_owned(), path: None };
    let target = Target { module, qualname: "pay".to_owned(), how: How::Function };
    Call { intent, ..Call::new(target) }
}

fn outcome(verdict: Verdict) -> Outcome {
    Outcome::of(verdict, Stage::Call)
}

fn returned(hash: &str) -> Outcome {
    let value = Returned {
        kind: "int".to_owned(),
        repr: String::new(),
        truncated: false,
        length: None,
        hash: Some(hash.to_owned()),
        value: None,
        items: None,
        more: false,
    };
    Outcome { value: Some(value), ..outcome(Verdict::Returned) }
}

fn raised(kind: &str) -> Raised {
    Raised {
        kind: kind.to_owned(),
        message: String::new(),
        bases: Vec::new(),
        explicit: false,
        frames: Vec::new(),
        errno: None,
        cause: None,
        group: Vec::new(),
        notes: Vec::new(),
    }
}

fn felt(struck: u64, last_ms: Option<f64>) -> Felt {
    Felt { mode: FaultMode::Disk, offered: 4, struck, first: None, last_ms }
}

fn tally(calls: &[(Intent, Outcome, bool)]) -> Tally {
    let mut tally = Tally::default();
    for (intent, outcome, blamed) in calls {
        tally.add(&call(*intent), outcome, *blamed);
    }
    tally
}

#[test]
fn calls_that_never_came_to_the_section_are_not_asked() {
    let on_the_way = Outcome::of(Verdict::Raised, Stage::Construct);
    let tally = tally(&[
        (Intent::Valid, outcome(Verdict::Unreachable), false),
        (Intent::Valid, on_the_way.clone(), false),
        (Intent::Valid, on_the_way, true),
        (Intent::Valid, Outcome::of(Verdict::Raised, Stage::Import), false),
        (Intent::Valid, outcome(Verdict::Returned), false),
    ]);
    assert_eq!((tally.calls, tally.asked(), tally.answered()), (5, 3, 1));
    assert_eq!(tally.with(Verdict::Raised), 3);
}

#[test]
fn a_blamed_return_is_no_answer() {
    let tally = tally(&[
        (Intent::Valid, outcome(Verdict::Returned), true),
        (Intent::Hostile, outcome(Verdict::Refused), false),
    ]);
    assert_eq!((tally.blamed, tally.answered()), (1, 1));
    assert_eq!(tally.inputs[&Intent::Valid].returned, 0);
}

#[test]
fn a_limit_hurts_unless_a_fault_struck_or_somebody_is_blamed() {
    let mut struck = outcome(Verdict::TimedOut);
    struck.felt = vec![felt(1, Some(2.0))];
    let tally = tally(&[
        (Intent::Valid, outcome(Verdict::OutOfMemory), false),
        (Intent::Valid, outcome(Verdict::OutOfMemory), true),
        (Intent::Valid, struck, false),
        (Intent::Valid, outcome(Verdict::Raised), false),
    ]);
    assert_eq!((tally.hurt, tally.blamed, tally.struck_calls), (1, 1, 1));
}

#[test]
fn harm_is_that_of_the_worst() {
    let mut violated = outcome(Verdict::Violated);
    violated.violations = ["network", "file"]
        .map(|what| Violation { what: what.to_owned(), detail: String::new() })
        .to_vec();
    let mut killed = outcome(Verdict::Crashed);
    killed.exit.signal = Some(11);
    let mut struck = killed.clone();
    struck.felt = vec![felt(2, None)];
    assert_eq!(harm(&violated, false, false), 750);
    assert_eq!(harm(&killed, false, false), 1000);
    assert_eq!(harm(&struck, false, true), 0);
    assert_eq!(harm(&outcome(Verdict::Crashed), false, false), 250);
    assert_eq!(harm(&outcome(Verdict::Raised), true, false), 0);
}

#[test]
fn recovery_is_from_the_last_strike_to_the_return() {
    let mut recovered = outcome(Verdict::Returned);
    recovered.felt = vec![felt(1, Some(3.0)), felt(1, Some(5.0))];
    recovered.runtime_metrics.wall_ms = 5.00005;
    let mut lost = recovered.clone();
    lost.verdict = Verdict::Raised;
    let tally = tally(&[(Intent::Valid, recovered, false), (Intent::Valid, lost, false)]);
    assert_eq!(tally.recovery.count(), 1);
    assert!(tally.recovery.max().abs_diff(50) <= 1);
    assert_eq!((tally.offered, tally.struck), (16, 4));
}

#[test]
fn costs_are_of_answered_calls_and_of_slow_ones_only_in_need() {
    let mut slow = outcome(Verdict::Returned);
    slow.runtime_metrics.user_cpu_ms = 1.0;
    let mut tally = Tally::default();
    let traced = Call { coverage: true, ..call(Intent::Valid) };
    tally.add(&traced, &slow, false);
    assert_eq!(tally.costs().cpu_ns.count(), 1);
    slow.runtime_metrics.user_cpu_ms = 0.00001;
    tally.add(&call(Intent::Valid), &slow, false);
    tally.add(&call(Intent::Valid), &outcome(Verdict::Raised), false);
    assert_eq!(tally.costs().cpu_ns.count(), 1);
    assert_eq!(tally.costs().cpu_ns.median(), Some(10));
    assert_eq!(tally.cpu_ns, 1_000_010);
}

#[test]
fn equal_calls_with_different_results_are_noticed() {
    let same = tally(&[
        (Intent::Valid, returned("a"), false),
        (Intent::Valid, returned("a"), false),
        (Intent::Valid, outcome(Verdict::TimedOut), false),
    ]);
    assert_eq!(same.unequal_results(), 0);
    let mut other = same.clone();
    let exception = Some(raised("KeyError"));
    let raised = Outcome { exception, ..outcome(Verdict::Raised) };
    other.add(&call(Intent::Valid), &raised, false);
    assert_eq!(other.unequal_results(), 1);
}

#[test]
fn other_inputs_other_seeds_and_trouble_may_lead_elsewhere() {
    let mut tally = tally(&[(Intent::Valid, returned("a"), false)]);
    let fault = Fault { mode: FaultMode::Disk, when: When::Nth(1) };
    let mut troubled = call(Intent::Valid);
    troubled.conditions.faults.push(fault);
    tally.add(&troubled, &returned("b"), false);
    tally.add(&Call { seed: 7, ..call(Intent::Valid) }, &returned("c"), false);
    tally.add(&Call { args: vec![Value::None], ..call(Intent::Valid) }, &returned("d"), false);
    assert_eq!(tally.unequal_results(), 0);
}

#[test]
fn guests_cannot_make_a_tally_grow_for_ever() {
    let mut tally = Tally::default();
    for number in 0..3000_u64 {
        let file = FileCoverage {
            file: format!("{number}.py"),
            lines: vec![1, u32::MAX],
            branches: Vec::new(),
        };
        let coverage = Some(Coverage { files: vec![file] });
        let outcome = Outcome { coverage, ..returned("a") };
        tally.add(&Call { seed: number, ..call(Intent::Valid) }, &outcome, false);
    }
    assert_eq!(tally.covered.len(), MAX_FILES);
    let size = serde_json::to_string(&tally).unwrap().len();
    assert!(size < 100_000, "{size} bytes");
}

fn any_call() -> impl Strategy<Value = (Intent, Outcome, bool)> {
    let intents =
        [Intent::Valid, Intent::Boundary, Intent::Hostile, Intent::Misuse, Intent::Drifted];
    let verdict = prop::sample::select(Verdict::ALL.to_vec());
    let times = (0.0..1e6, 0.0..1e9, any::<u64>());
    let faults = (0..3_u64, prop::option::of(0.0..100.0));
    let lines = prop::option::of(prop::collection::vec(0..200_u32, 0..20));
    let intent = prop::sample::select(intents.to_vec());
    (intent, verdict, times, faults, lines, any::<bool>()).prop_map(
        |(intent, verdict, (cpu, wall, bytes), (struck, last), lines, blamed)| {
            let mut outcome = outcome(verdict);
            outcome.runtime_metrics.user_cpu_ms = cpu;
            outcome.runtime_metrics.wall_ms = wall;
            outcome.runtime_metrics.peak_memory_bytes = bytes;
            outcome.runtime_metrics.bytes_read = bytes;
            outcome.felt = vec![felt(struck, last)];
            outcome.coverage = lines.map(|lines| Coverage {
                files: vec![FileCoverage { file: "a.py".to_owned(), lines, branches: vec![] }],
            });
            (intent, outcome, blamed)
        },
    )
}

proptest! {
    #[test]
    fn the_order_of_merging_does_not_matter(
        calls in prop::collection::vec(any_call(), 0..40),
        cut in 0..40_usize,
    ) {
        let (one, two) = calls.split_at(cut.min(calls.len()));
        let (one, two) = (tally(one), tally(two));
        let (mut forth, mut back) = (one.clone(), two.clone());
        forth.merge(&two);
        back.merge(&one);
        prop_assert_eq!(&forth, &back);
        prop_assert_eq!(&forth, &tally(&calls));
    }

    #[test]
    fn a_tally_comes_back_from_json(calls in prop::collection::vec(any_call(), 0..20)) {
        let tally = tally(&calls);
        let json = serde_json::to_string(&tally).unwrap();
        prop_assert_eq!(serde_json::from_str::<Tally>(&json).unwrap(), tally);
    }
}

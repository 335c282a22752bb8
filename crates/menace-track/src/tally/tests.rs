use menace_model::{
    Call, CallCoverage, CallResult, CallStage, CallStep, CallTarget, FaultMode, FaultSpec,
    FaultStats, FaultTrigger, FileCoverage, InputIntent, ModuleRef, Outcome, PolicyViolation,
    RaisedException, ReturnedValue, TargetKind, Value, Verdict,
};
use proptest::prelude::*;

use super::*;

fn call(intent: InputIntent) -> Call {
    let module = ModuleRef { name: "shop".to_owned(), path: None };
    let target = CallTarget { module, qualname: "pay".to_owned(), kind: TargetKind::Function };
    Call::of_step(CallStep { intent, ..CallStep::new(target) })
}

fn outcome(verdict: Verdict) -> Outcome {
    Outcome::new(verdict, CallStage::Call)
}

fn returned(hash: &str) -> Outcome {
    let value = ReturnedValue {
        kind: "int".to_owned(),
        repr: String::new(),
        truncated: false,
        length: None,
        hash: Some(hash.to_owned()),
        value: None,
        items: None,
        more: false,
    };
    Outcome {
        result: CallResult { value: Some(value), ..outcome(Verdict::Returned).result },
        ..outcome(Verdict::Returned)
    }
}

fn raised(kind: &str) -> RaisedException {
    RaisedException {
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

fn fault_stats(injected: u64, last_ms: Option<f64>) -> FaultStats {
    FaultStats {
        mode: FaultMode::Disk,
        opportunities: 4,
        injected,
        first_injected: None,
        last_injected_ms: last_ms,
    }
}

fn tally(calls: &[(InputIntent, Outcome, bool)]) -> CallTally {
    let mut tally = CallTally::default();
    for (intent, outcome, attributed) in calls {
        tally.add(&call(*intent), outcome, *attributed);
    }
    tally
}

#[test]
fn calls_that_never_came_to_the_section_are_not_asked() {
    let on_the_way = Outcome::new(Verdict::Raised, CallStage::Construct);
    let tally = tally(&[
        (InputIntent::Valid, outcome(Verdict::Unreachable), false),
        (InputIntent::Valid, on_the_way.clone(), false),
        (InputIntent::Valid, on_the_way, true),
        (InputIntent::Valid, Outcome::new(Verdict::Raised, CallStage::Import), false),
        (InputIntent::Valid, outcome(Verdict::Returned), false),
    ]);
    assert_eq!((tally.calls, tally.reached_calls(), tally.answered_calls()), (5, 3, 1));
    assert_eq!(tally.count_of_verdict(Verdict::Raised), 3);
}

#[test]
fn an_attributed_return_is_no_answer() {
    let tally = tally(&[
        (InputIntent::Valid, outcome(Verdict::Returned), true),
        (InputIntent::Hostile, outcome(Verdict::Refused), false),
    ]);
    assert_eq!((tally.attributed, tally.answered_calls()), (1, 1));
    assert_eq!(tally.inputs[&InputIntent::Valid].returned, 0);
}

#[test]
fn a_limit_counts_unless_a_fault_was_injected_or_the_call_is_attributed() {
    let mut faulted = outcome(Verdict::TimedOut);
    faulted.fault_stats = vec![fault_stats(1, Some(2.0))];
    let tally = tally(&[
        (InputIntent::Valid, outcome(Verdict::OutOfMemory), false),
        (InputIntent::Valid, outcome(Verdict::OutOfMemory), true),
        (InputIntent::Valid, faulted, false),
        (InputIntent::Valid, outcome(Verdict::Raised), false),
    ]);
    assert_eq!((tally.unattributed_crashes, tally.attributed, tally.faulted_calls), (1, 1, 1));
}

#[test]
fn harm_is_that_of_the_worst() {
    let mut violated = outcome(Verdict::Violated);
    violated.violations = ["network", "file"]
        .map(|what| PolicyViolation { kind: what.to_owned(), detail: String::new() })
        .to_vec();
    let mut killed = outcome(Verdict::Crashed);
    killed.exit.signal = Some(11);
    let mut faulted = killed.clone();
    faulted.fault_stats = vec![fault_stats(2, None)];
    assert_eq!(harm_permille(&violated, false, false), 750);
    assert_eq!(harm_permille(&killed, false, false), 1000);
    assert_eq!(harm_permille(&faulted, false, true), 0);
    assert_eq!(harm_permille(&outcome(Verdict::Crashed), false, false), 250);
    assert_eq!(harm_permille(&outcome(Verdict::Raised), true, false), 0);
}

#[test]
fn recovery_is_from_the_last_injected_fault_to_the_return() {
    let mut recovered = outcome(Verdict::Returned);
    recovered.fault_stats = vec![fault_stats(1, Some(3.0)), fault_stats(1, Some(5.0))];
    recovered.runtime_metrics.wall_ms = 5.00005;
    let mut lost = recovered.clone();
    lost.verdict = Verdict::Raised;
    let tally = tally(&[(InputIntent::Valid, recovered, false), (InputIntent::Valid, lost, false)]);
    assert_eq!(tally.recovery.count(), 1);
    assert!(tally.recovery.max().abs_diff(50) <= 1);
    assert_eq!((tally.fault_opportunities, tally.injected_faults), (16, 4));
}

#[test]
fn costs_are_of_answered_calls_and_of_slow_ones_only_in_need() {
    let mut slow = outcome(Verdict::Returned);
    slow.runtime_metrics.user_cpu_ms = 1.0;
    let mut tally = CallTally::default();
    let traced = Call { coverage: true, ..call(InputIntent::Valid) };
    tally.add(&traced, &slow, false);
    assert_eq!(tally.costs().cpu_ns.count(), 1);
    slow.runtime_metrics.user_cpu_ms = 0.00001;
    tally.add(&call(InputIntent::Valid), &slow, false);
    tally.add(&call(InputIntent::Valid), &outcome(Verdict::Raised), false);
    assert_eq!(tally.costs().cpu_ns.count(), 1);
    assert_eq!(tally.costs().cpu_ns.median(), Some(10));
    assert_eq!(tally.cpu_ns, 1_000_010);
}

#[test]
fn equal_calls_with_different_results_are_noticed() {
    let same = tally(&[
        (InputIntent::Valid, returned("a"), false),
        (InputIntent::Valid, returned("a"), false),
        (InputIntent::Valid, outcome(Verdict::TimedOut), false),
    ]);
    assert_eq!(same.unequal_results(), 0);
    let mut other = same.clone();
    let exception = Some(raised("KeyError"));
    let raised = Outcome {
        result: CallResult { exception, ..outcome(Verdict::Raised).result },
        ..outcome(Verdict::Raised)
    };
    other.add(&call(InputIntent::Valid), &raised, false);
    assert_eq!(other.unequal_results(), 1);
}

#[test]
fn other_inputs_other_seeds_and_faults_may_give_other_results() {
    let mut tally = tally(&[(InputIntent::Valid, returned("a"), false)]);
    let fault = FaultSpec { mode: FaultMode::Disk, trigger: FaultTrigger::Nth(1) };
    let mut faulted = call(InputIntent::Valid);
    faulted.conditions.faults.push(fault);
    tally.add(&faulted, &returned("b"), false);
    tally.add(&Call { seed: 7, ..call(InputIntent::Valid) }, &returned("c"), false);
    tally.add(
        &Call {
            step: CallStep { args: vec![Value::None], ..call(InputIntent::Valid).step },
            ..call(InputIntent::Valid)
        },
        &returned("d"),
        false,
    );
    assert_eq!(tally.unequal_results(), 0);
}

#[test]
fn guests_cannot_make_a_tally_grow_for_ever() {
    let mut tally = CallTally::default();
    for number in 0..3000_u64 {
        let file = FileCoverage {
            file: format!("{number}.py"),
            lines: vec![1, u32::MAX],
            branches: Vec::new(),
        };
        let coverage = Some(CallCoverage { files: vec![file] });
        let outcome = Outcome { coverage, ..returned("a") };
        tally.add(&Call { seed: number, ..call(InputIntent::Valid) }, &outcome, false);
    }
    assert_eq!(tally.reached_lines.len(), MAX_REACHED_FILES);
    let size = serde_json::to_string(&tally).unwrap().len();
    assert!(size < 100_000, "{size} bytes");
}

fn any_call() -> impl Strategy<Value = (InputIntent, Outcome, bool)> {
    let intents = [
        InputIntent::Valid,
        InputIntent::Boundary,
        InputIntent::Hostile,
        InputIntent::Misuse,
        InputIntent::Drifted,
    ];
    let verdict = prop::sample::select(Verdict::ALL.to_vec());
    let times = (0.0..1e6, 0.0..1e9, any::<u64>());
    let faults = (0..3_u64, prop::option::of(0.0..100.0));
    let lines = prop::option::of(prop::collection::vec(0..200_u32, 0..20));
    let intent = prop::sample::select(intents.to_vec());
    (intent, verdict, times, faults, lines, any::<bool>()).prop_map(
        |(intent, verdict, (cpu, wall, bytes), (faulted, last), lines, attributed)| {
            let mut outcome = outcome(verdict);
            outcome.runtime_metrics.user_cpu_ms = cpu;
            outcome.runtime_metrics.wall_ms = wall;
            outcome.runtime_metrics.peak_memory_bytes = bytes;
            outcome.runtime_metrics.bytes_read = bytes;
            outcome.fault_stats = vec![fault_stats(faulted, last)];
            outcome.coverage = lines.map(|lines| CallCoverage {
                files: vec![FileCoverage { file: "a.py".to_owned(), lines, branches: vec![] }],
            });
            (intent, outcome, attributed)
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
        prop_assert_eq!(serde_json::from_str::<CallTally>(&json).unwrap(), tally);
    }
}

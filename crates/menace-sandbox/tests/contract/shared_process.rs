//! Several sections share one process, one after the other, and nothing with the next call.

use menace_model::{
    CallStage, CallStep, CallTarget, InputIntent, ModuleRef, Outcome, PyReference, TargetKind,
    UpstreamConfig, Value, Verdict,
};
use menace_sandbox::{SandboxSpec, Tier};

use crate::bench::{CallBuilder, ContractBench, build_call, guest};

crate::on_every_tier![
    a_step_sees_what_the_ones_before_it_left,
    the_next_call_sees_nothing_of_the_steps,
    a_step_that_fails_does_not_end_the_others,
    a_step_may_refuse_what_was_bad_on_purpose,
    what_cannot_be_imported_is_unreachable,
    a_crash_leaves_the_reports_of_the_steps_before_it,
    a_deadline_is_for_all_steps_together,
    a_thousand_steps_and_large_results_are_reported_in_short,
    files_output_and_metrics_are_those_of_all_steps,
    equal_calls_tell_what_each_of_them_keeps,
];

const GUEST: &str = guest!("together.py");

fn step(module: &str, qualname: &str, args: &[Value]) -> CallStep {
    let module = ModuleRef { name: module.to_owned(), path: None };
    let target = CallTarget { module, qualname: qualname.to_owned(), kind: TargetKind::Function };
    CallStep { args: args.to_vec(), ..CallStep::new(target) }
}

fn of_guest(qualname: &str) -> CallStep {
    step("guest", qualname, &[])
}

fn put(item: i64) -> CallStep {
    step("guest", "put", &[Value::Int(item)])
}

fn together(steps: impl IntoIterator<Item = CallStep>) -> CallBuilder {
    let mut all = build_call("fine");
    all.0.shared_steps.extend(steps);
    all
}

fn verdicts(outcome: &Outcome) -> Vec<Verdict> {
    outcome.steps.iter().map(|step| step.verdict).collect()
}

fn values(outcome: &Outcome) -> Vec<Option<Value>> {
    let value = |step: &menace_model::CallStepReport| step.value.as_ref()?.value.clone();
    outcome.steps.iter().map(value).collect()
}

/// How much more Python held before the last of 64 equal calls than in the middle, in bytes.
fn kept(bench: &ContractBench, qualname: &str) -> u64 {
    let mut call = build_call(qualname);
    call.0.repeats = 63;
    call.0.conditions.upstream =
        Some(UpstreamConfig { mocks: Vec::new(), answer_all: true, failure: None });
    let outcome = bench.session().run(call);
    assert_eq!(verdicts(&outcome), vec![Verdict::Returned; 64], "{outcome:#?}");
    let held = |number: usize| {
        outcome.steps[number].held_bytes.expect("memory of repeated calls is measured")
    };
    held(63).saturating_sub(held(32))
}

fn equal_calls_tell_what_each_of_them_keeps(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let hoarded = kept(&bench, "hoard");
    assert!((31_000..35_000).contains(&hoarded), "{hoarded}");
    let [cyclic, plain, named] =
        ["tie_a_knot", "fine", "look_up"].map(|qualname| kept(&bench, qualname));
    assert!(cyclic < 256 && plain < 256 && named < 256, "{cyclic} {plain} {named}");
    // Records of upstream requests do not count as kept; some connections may still be closing.
    let asked = kept(&bench, "ask");
    assert!(asked < 31 * 256, "{asked}");
}

fn a_step_sees_what_the_ones_before_it_left(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let class = PyReference::new("guest", "Account").expect("a name");
    let account = Value::New { class, args: vec![Value::Int(5)], kwargs: vec![] };
    let mut total = of_guest("Account.total");
    (total.target.kind, total.receiver) = (TargetKind::Method, Some(account));
    let outcome = session.run(together([put(7), total.clone(), put(8), total]));
    assert_eq!(
        (outcome.verdict, outcome.stage),
        (Verdict::Returned, CallStage::Call),
        "{outcome:#?}"
    );
    assert_eq!(outcome.value, None);
    let seen = [1, 5, 2, 10].map(|number| Some(Value::Int(number)));
    assert_eq!(values(&outcome), seen, "{outcome:#?}");
    let hash = |number: usize| outcome.steps[number].value.as_ref().and_then(|it| it.hash.clone());
    assert!(hash(0).is_some() && hash(0) != hash(2));
}

fn the_next_call_sees_nothing_of_the_steps(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for _ in 0..3 {
        let write = step("guest", "write", &[Value::from("x")]);
        let outcome = session.run(together([put(1), put(2), write]));
        assert_eq!(values(&outcome)[1..], [Some(Value::Int(2)), Some(Value::from("x"))]);
        let alone = session.run(build_call("put").with([Value::Int(1)]));
        assert_eq!(alone.steps, []);
        assert_eq!(alone.result.value.and_then(|value| value.value), Some(Value::Int(1)));
        assert_eq!(session.value(build_call("write").with([Value::from("y")])), Value::from("y"));
    }
    // Without a module to begin with, nothing is shared either.
    let blank = SandboxSpec { module: None, ..bench.spec() };
    let mut session = bench.session_of(&blank);
    for _ in 0..2 {
        let outcome = session.run(together([put(1), put(2)]));
        assert_eq!(values(&outcome), [Some(Value::Int(1)), Some(Value::Int(2))], "{outcome:#?}");
    }
}

fn a_step_that_fails_does_not_end_the_others(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let steps = [of_guest("fail"), of_guest("leave"), of_guest("no_such_function"), put(1)];
    let outcome = session.run(together(steps));
    let all = [Verdict::Raised, Verdict::Crashed, Verdict::Unreachable, Verdict::Returned];
    assert_eq!(verdicts(&outcome), all, "{outcome:#?}");
    assert_eq!((outcome.verdict, outcome.exception.as_ref()), (Verdict::Returned, None));
    let exception = outcome.steps[0].exception.as_ref().expect("it raised");
    assert_eq!((&*exception.kind, &*exception.message), ("RuntimeError", "on purpose"));
    let last = exception.frames.last().expect("a frame");
    assert_eq!((&*last.file, &*last.function, last.in_repository), ("guest.py", "fail", true));
    assert!(outcome.steps[2].reason.is_some());
    // What it had done before it failed stays done.
    assert_eq!(values(&outcome)[3], Some(Value::Int(2)));
}

fn a_step_may_refuse_what_was_bad_on_purpose(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let valid = step("guest", "refuse", &[Value::None]);
    let bad = CallStep { intent: InputIntent::Misuse, ..valid.clone() };
    let outcome = session.run(together([valid, bad]));
    assert_eq!(verdicts(&outcome), [Verdict::Raised, Verdict::Refused], "{outcome:#?}");
}

fn what_cannot_be_imported_is_unreachable(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let elsewhere = step("package.inner", "where", &[]);
    let outcome = session.run(together([step("no_such_module", "f", &[]), elsewhere]));
    assert_eq!(verdicts(&outcome), [Verdict::Unreachable, Verdict::Returned], "{outcome:#?}");
    assert_eq!(outcome.steps[0].stage, CallStage::Import);
    let exception = outcome.steps[0].exception.as_ref().expect("it raised");
    assert_eq!(exception.kind, "ModuleNotFoundError");
    assert_eq!(values(&outcome)[1], Some(Value::from("package.inner")));
}

fn a_crash_leaves_the_reports_of_the_steps_before_it(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(together([put(1), of_guest("fail"), of_guest("crash"), put(2)]));
    assert_eq!(outcome.verdict, Verdict::Crashed, "{outcome:#?}");
    let all = [Verdict::Returned, Verdict::Raised, Verdict::Crashed];
    assert_eq!(verdicts(&outcome), all, "{outcome:#?}");
    let reason = outcome.steps[2].reason.as_deref().expect("it says why");
    assert!(reason.contains("SIGSEGV"), "{reason}");
    session.assert_still_works();
}

fn a_deadline_is_for_all_steps_together(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    session.assert_still_works();
    let outcome = session.run(together([put(1), of_guest("hang"), put(2)]).timeout(500));
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    assert_eq!(verdicts(&outcome), [Verdict::Returned, Verdict::TimedOut], "{outcome:#?}");
    session.assert_still_works();
}

fn a_thousand_steps_and_large_results_are_reported_in_short(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(together((0..1000).map(put)).timeout(30_000));
    assert_eq!(outcome.steps.len(), 1000, "{:?}", outcome.notes);
    assert_eq!(values(&outcome)[999], Some(Value::Int(1000)));
    let outcome = session.run(together(vec![of_guest("fail"); 1000]).timeout(30_000));
    assert_eq!(verdicts(&outcome), [Verdict::Raised; 1000], "{:?}", outcome.notes);
    for step in &outcome.steps {
        let exception = step.exception.as_ref().expect("it raised");
        assert_eq!(exception.frames.last().map(|frame| &*frame.function), Some("fail"));
    }
    // They are let go of one by one, else there would not be memory enough.
    let steps = (0..5).flat_map(|item| [of_guest("large"), put(item)]);
    let enough = |limits: &mut menace_model::CallLimits| limits.memory_bytes = Some(256 << 20);
    let outcome = session.run(together(steps).timeout(30_000).limited(enough));
    assert_eq!(verdicts(&outcome), [Verdict::Returned; 10], "{outcome:#?}");
    let large = outcome.steps[0].value.as_ref().expect("it returned");
    assert_eq!((large.length, large.truncated), (Some(100 << 20), true));
    assert!(large.repr.len() <= 1000, "{}", large.repr.len());
}

fn files_output_and_metrics_are_those_of_all_steps(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let write = |text: &str| step("guest", "write", &[Value::from(text)]);
    let steps = [write("a"), of_guest("print_out"), write("b"), of_guest("print_out")];
    let outcome = session.run(together(steps));
    assert_eq!(values(&outcome)[2], Some(Value::from("ab")), "{outcome:#?}");
    assert_eq!(outcome.stdout.text, "said\nsaid\n");
    let touched: Vec<&str> = outcome.files.touched.iter().map(|file| &*file.path).collect();
    assert_eq!(touched, ["shared.txt"]);
    let sum: f64 = outcome.steps.iter().map(|step| step.wall_ms).sum();
    let wall_ms = outcome.runtime_metrics.wall_ms;
    assert!(sum > 0.0 && (sum - wall_ms).abs() < 0.01 + wall_ms * 0.01, "{sum} {wall_ms}");
}

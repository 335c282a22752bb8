//! A section that rejects a bad input has answered; one that fails on it has not. And one that
//! changes its own defaults is reported.

use menace_model::{CallStage, InputIntent, TargetKind, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{CallBuilder, ContractBench, build_call, guest};

crate::on_every_tier![
    a_section_that_rejects_a_bad_input_refused_it,
    the_same_for_a_good_input_is_an_exception,
    a_section_that_fails_on_a_bad_input_has_not_refused_it,
    a_refusal_comes_from_the_section_and_not_from_before_it,
    defaults_that_a_call_changed_are_named_and_not_kept,
];

const GUEST: &str = guest!("refusals.py");
const BAD_INTENTS: [InputIntent; 4] =
    [InputIntent::Boundary, InputIntent::Hostile, InputIntent::Misuse, InputIntent::Drifted];
const REFUSING_FUNCTIONS: [&str; 5] = [
    "says_no",
    "says_no_by_type",
    "says_no_in_own_words",
    "says_no_while_yielding",
    "says_no_later",
];

fn given(name: &str, intent: InputIntent) -> CallBuilder {
    let mut ask = build_call(name).with([Value::from("x")]);
    ask.0.intent = intent;
    ask
}

fn a_section_that_rejects_a_bad_input_refused_it(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for name in REFUSING_FUNCTIONS {
        for intent in BAD_INTENTS {
            let outcome = session.run(given(name, intent));
            assert_eq!(outcome.verdict, Verdict::Refused, "{name}, {intent}: {outcome:#?}");
            let exception = outcome.result.exception.expect("it raised");
            assert!(exception.explicit, "{name}: {exception:?}");
        }
    }
    session.assert_still_works();
}

fn the_same_for_a_good_input_is_an_exception(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for name in REFUSING_FUNCTIONS {
        let outcome = session.run(given(name, InputIntent::Valid));
        assert_eq!(outcome.verdict, Verdict::Raised, "{name}: {outcome:#?}");
    }
}

fn a_section_that_fails_on_a_bad_input_has_not_refused_it(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for name in ["stumbles", "asserts", "lets_the_library_say_no", "gives_up", "leaves"] {
        let outcome = session.run(given(name, InputIntent::Hostile));
        assert_eq!(outcome.verdict, Verdict::Raised, "{name}: {outcome:#?}");
    }
}

fn a_refusal_comes_from_the_section_and_not_from_before_it(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let class = "guest:Picky".parse().expect("a name");
    let picky = Value::New { class, args: vec![Value::Int(1)], kwargs: Vec::new() };
    let mut ask = build_call("Picky.method").kind(TargetKind::Method).on(picky);
    ask.0.intent = InputIntent::Misuse;
    let outcome = bench.run(ask);
    assert_eq!((outcome.verdict, outcome.stage), (Verdict::Raised, CallStage::Construct));
}

fn defaults_that_a_call_changed_are_named_and_not_kept(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for _ in 0..3 {
        let outcome = session.run(given("collects", InputIntent::Valid));
        assert_eq!(outcome.state_changes.defaults, ["seen"], "{outcome:#?}");
        // Each call starts from the import: changes of other calls are not in it.
        let found = outcome.result.value.and_then(|value| value.value);
        assert_eq!(found, Some(Value::Int(1)));
        let outcome = session.run(given("collects_by_name", InputIntent::Valid));
        assert_eq!(outcome.state_changes.defaults, ["seen"]);
        let outcome = session.run(given("reads_only", InputIntent::Valid));
        assert_eq!(outcome.state_changes.defaults, Vec::<String>::new());
    }
}

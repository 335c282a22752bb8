//! A section that says no to a bad input has answered; one that stumbles over it has not. And one that
//! changes its own defaults is told on.

use menace_model::{How, Intent, Stage, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{Ask, Bench, ask, guest};

crate::on_every_tier![
    whoever_says_no_to_a_bad_input_refused_it,
    the_same_for_a_good_input_is_an_exception,
    whoever_stumbles_has_not_refused,
    a_refusal_comes_from_the_section_and_not_from_before_it,
    defaults_that_a_call_changed_are_named_and_not_kept,
];

const GUEST: &str = guest!("refusals.py");
const BAD: [Intent; 4] = [Intent::Boundary, Intent::Hostile, Intent::Misuse, Intent::Drifted];
const REFUSALS: [&str; 5] = [
    "says_no",
    "says_no_by_type",
    "says_no_in_own_words",
    "says_no_while_yielding",
    "says_no_later",
];

fn given(name: &str, intent: Intent) -> Ask {
    let mut ask = ask(name).with([Value::from("x")]);
    ask.0.intent = intent;
    ask
}

fn whoever_says_no_to_a_bad_input_refused_it(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    for name in REFUSALS {
        for intent in BAD {
            let outcome = session.run(given(name, intent));
            assert_eq!(outcome.verdict, Verdict::Refused, "{name}, {intent}: {outcome:#?}");
            let exception = outcome.exception.expect("it raised");
            assert!(exception.explicit, "{name}: {exception:?}");
        }
    }
    session.still_works();
}

fn the_same_for_a_good_input_is_an_exception(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    for name in REFUSALS {
        let outcome = session.run(given(name, Intent::Valid));
        assert_eq!(outcome.verdict, Verdict::Raised, "{name}: {outcome:#?}");
    }
}

fn whoever_stumbles_has_not_refused(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    for name in ["stumbles", "asserts", "lets_the_library_say_no", "gives_up", "leaves"] {
        let outcome = session.run(given(name, Intent::Hostile));
        assert_eq!(outcome.verdict, Verdict::Raised, "{name}: {outcome:#?}");
    }
}

fn a_refusal_comes_from_the_section_and_not_from_before_it(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let class = "guest:Picky".parse().expect("a name");
    let picky = Value::New { class, args: vec![Value::Int(1)], kwargs: Vec::new() };
    let mut ask = ask("Picky.method").how(How::Method).on(picky);
    ask.0.intent = Intent::Misuse;
    let outcome = bench.run(ask);
    assert_eq!((outcome.verdict, outcome.stage), (Verdict::Raised, Stage::Construct));
}

fn defaults_that_a_call_changed_are_named_and_not_kept(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    for _ in 0..3 {
        let outcome = session.run(given("collects", Intent::Valid));
        assert_eq!(outcome.changed.defaults, ["seen"], "{outcome:#?}");
        // Each call starts from the import: nobody else's are in it.
        let found = outcome.value.and_then(|value| value.value);
        assert_eq!(found, Some(Value::Int(1)));
        let outcome = session.run(given("collects_by_name", Intent::Valid));
        assert_eq!(outcome.changed.defaults, ["seen"]);
        let outcome = session.run(given("reads_only", Intent::Valid));
        assert_eq!(outcome.changed.defaults, Vec::<String>::new());
    }
}

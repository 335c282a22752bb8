//! Results and exceptions that raise, hang or lie when they are looked at.

use menace_model::{Outcome, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{CallBuilder, ContractBench, ContractSession, build_call, guest};

crate::on_every_tier![
    what_raises_when_looked_at_was_returned_nonetheless,
    what_hangs_when_looked_at_was_returned_nonetheless,
    what_lies_when_looked_at_was_returned_nonetheless,
    what_pretends_to_be_plain_is_not_asked,
    an_exception_that_cannot_be_printed_is_still_one,
    a_large_message_is_cut,
    causes_in_a_circle_end,
    an_endless_generator_is_cut,
    what_never_ends_while_it_is_used_up_times_out,
];

const GUEST: &str = guest!("objects.py");
const METHODS: [&str; 9] = [
    "__repr__",
    "__eq__",
    "__hash__",
    "__del__",
    "__reduce__",
    "__reduce_ex__",
    "__len__",
    "__str__",
    "__iter__",
];

fn bad(function: &str, method: &str, how: &str) -> CallBuilder {
    build_call(function).with([Value::from(method), Value::from(how)]).timeout(300)
}

fn assert_returned(outcome: &Outcome, what: &str) {
    assert_eq!(outcome.verdict, Verdict::Returned, "{what}: {outcome:#?}");
    let total = outcome.runtime_metrics.total_ms;
    assert!(total < 550.0, "{what}: dead after {total} ms");
}

fn every_method(session: &mut ContractSession<'_>, how: &str) {
    for method in METHODS {
        for function in ["with_method", "in_a_list"] {
            assert_returned(&session.run(bad(function, method, how)), method);
        }
    }
    for method in ["__eq__", "__hash__"] {
        assert_returned(&session.run(bad("as_key", method, how)), method);
    }
    session.assert_still_works();
}

fn what_raises_when_looked_at_was_returned_nonetheless(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    every_method(&mut session, "raises");
    let outcome = session.run(bad("with_method", "__repr__", "exits"));
    assert_returned(&outcome, "exit in repr");
    assert!(outcome.result.value.is_some_and(|value| value.kind.ends_with("Bad")));
}

fn what_hangs_when_looked_at_was_returned_nonetheless(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    every_method(&mut bench.session(), "hangs");
}

fn what_lies_when_looked_at_was_returned_nonetheless(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    every_method(&mut session, "lies");
    let outcome = session.run(build_call("large_repr").timeout(5000));
    assert_eq!(outcome.verdict, Verdict::Returned, "{:?}", outcome.reason);
    assert!(outcome.result.value.is_none_or(|value| value.repr.len() < 5000));
    session.assert_still_works();
}

fn what_pretends_to_be_plain_is_not_asked(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for name in ["impostor", "chameleon", "odd"] {
        assert_returned(&session.run(build_call(name).timeout(300)), name);
    }
    session.assert_still_works();
}

fn an_exception_that_cannot_be_printed_is_still_one(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for (name, kind) in [("raise_slow", "guest.SlowError"), ("raise_failing", "guest.FailingError")]
    {
        let outcome = session.run(build_call(name).timeout(300));
        assert_eq!(outcome.verdict, Verdict::Raised, "{name}: {outcome:#?}");
        let exception = outcome.result.exception.expect("it is described");
        assert_eq!(exception.kind, kind);
        assert_eq!(exception.frames.last().map(|frame| frame.function.as_str()), Some(name));
    }
    session.assert_still_works();
}

fn a_large_message_is_cut(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_call("raise_large"));
    assert_eq!(outcome.verdict, Verdict::Raised, "{:?}", outcome.reason);
    assert!((1000..5000).contains(&outcome.result.exception.expect("it raised").message.len()));
}

fn causes_in_a_circle_end(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_call("raise_in_circle"));
    assert_eq!(outcome.verdict, Verdict::Raised, "{:?}", outcome.reason);
    let mut depth = 0;
    let mut next = outcome.exception.as_ref();
    while let Some(exception) = next {
        depth += 1;
        next = exception.cause.as_deref();
    }
    assert!((2..=9).contains(&depth), "{depth} causes");
}

fn an_endless_generator_is_cut(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let endless = session.run(build_call("endless"));
    let returned = endless.result.value.expect("it gave items");
    assert_eq!((returned.items, returned.more), (Some(1000), true));
    let outcome = session.run(build_call("hang_on_close").timeout(300));
    assert!(outcome.runtime_metrics.total_ms < 550.0, "{outcome:#?}");
    session.assert_still_works();
}

fn what_never_ends_while_it_is_used_up_times_out(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for name in ["slow_generator", "never"] {
        let outcome = session.run(build_call(name).timeout(300));
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{name}: {outcome:#?}");
        assert!(outcome.runtime_metrics.total_ms < 550.0);
    }
    session.assert_still_works();
}

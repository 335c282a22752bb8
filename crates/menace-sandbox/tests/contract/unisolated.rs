//! Without isolation, which somebody has to ask for, calls still have limits and start afresh.

use menace_model::{Limit, Network, Verdict};
use menace_sandbox::Tier;

use crate::bench::{Bench, ask, guest};

#[test]
fn calls_without_isolation_are_limited_and_leave_nothing() {
    let bench = Bench::new(Tier::Unsafe, guest!("bad.py"));
    let mut session = bench.session();
    session.still_works();
    let outcome = session.run(ask("sleep").timeout(300));
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    session.still_works();
}

#[test]
fn without_isolation_the_network_is_the_hosts_and_left_alone() {
    let bench = Bench::new(Tier::Unsafe, guest!("bad.py"));
    let mut ask = ask("fine");
    ask.0.conditions.network = Network { latency_ms: 50.0, ..Network::default() };
    let outcome = bench.run(ask);
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert_eq!(outcome.unenforced, [Limit::NetworkLatency]);
}

//! Without isolation, which somebody has to ask for, calls still have limits and start afresh.

use menace_model::Verdict;
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

//! Without isolation, which somebody has to ask for, calls still have limits and start afresh.

use menace_model::{Limit, Network, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{Bench, ask, guest};
use crate::process;

macro_rules! without_isolation {
    ($($fact:ident),* $(,)?) => {
        $(#[test]
        fn $fact() {
            let path = concat!(module_path!(), "::", stringify!($fact));
            process::of_its_own(path, || facts::$fact(&Bench::new(Tier::Unsafe, GUEST)));
        })*
    };
}

const GUEST: &str = guest!("bad.py");

without_isolation![
    calls_without_isolation_are_limited,
    calls_without_isolation_leave_no_process,
    calls_without_isolation_leave_the_repository_as_it_was,
];

mod facts {
    use super::*;

    pub(super) fn calls_without_isolation_are_limited(bench: &Bench) {
        let mut session = bench.session();
        session.still_works();
        let outcome = session.run(ask("sleep").timeout(300));
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
        let memory = ask("allocate_ten_gigabytes").limited(|its| its.memory_bytes = Some(64 << 20));
        let outcome = session.run(memory);
        assert_eq!(outcome.verdict, Verdict::OutOfMemory, "{outcome:#?}");
        session.still_works();
    }

    /// The bench looks for processes after each call and at the end.
    pub(super) fn calls_without_isolation_leave_no_process(bench: &Bench) {
        let mut session = bench.session();
        for (name, left) in [("daemonise", "python"), ("leave_a_program", "sleep")] {
            let outcome = session.run(ask(name));
            assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
            assert_eq!(outcome.left.processes.len(), 1, "{:?}", outcome.left);
            assert!(outcome.left.processes[0].starts_with(left), "{:?}", outcome.left);
        }
        session.still_works();
    }

    pub(super) fn calls_without_isolation_leave_the_repository_as_it_was(bench: &Bench) {
        let mut session = bench.session();
        for _ in 0..2 {
            // Empty afterwards, so it was whole before.
            let outcome = session.run(ask("remove_everything"));
            let rest = outcome.value.and_then(|value| value.value);
            assert_eq!(rest, Some(Value::List(vec![])));
            let deleted = |path: &str| outcome.files.touched.iter().any(|file| file.path == path);
            assert!(deleted("guest.py") && deleted("data.txt"), "{:?}", outcome.files);
            session.still_works();
        }
    }
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

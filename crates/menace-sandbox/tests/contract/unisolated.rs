//! Without isolation, which the user has to request, calls still have limits and start afresh.

use menace_model::{Limit, NetworkConditions, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{ContractBench, build_call, guest};
use crate::process;

macro_rules! without_isolation {
    ($($fact:ident),* $(,)?) => {
        $(#[test]
        fn $fact() {
            let path = concat!(module_path!(), "::", stringify!($fact));
            process::in_own_process(path, || {
                facts::$fact(&ContractBench::new(Tier::Unsafe, GUEST));
            });
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

    pub(super) fn calls_without_isolation_are_limited(bench: &ContractBench) {
        let mut session = bench.session();
        session.assert_still_works();
        let outcome = session.run(build_call("sleep").timeout(300));
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
        let memory =
            build_call("allocate_ten_gigabytes").limited(|its| its.memory_bytes = Some(64 << 20));
        let outcome = session.run(memory);
        assert_eq!(outcome.verdict, Verdict::OutOfMemory, "{outcome:#?}");
        session.assert_still_works();
    }

    /// The bench looks for processes after each call and at the end.
    pub(super) fn calls_without_isolation_leave_no_process(bench: &ContractBench) {
        let mut session = bench.session();
        for (name, left) in [("daemonise", "python"), ("leave_a_program", "sleep")] {
            let outcome = session.run(build_call(name));
            assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
            assert_eq!(outcome.leaked.processes.len(), 1, "{:?}", outcome.leaked);
            assert!(outcome.leaked.processes[0].starts_with(left), "{:?}", outcome.leaked);
        }
        session.assert_still_works();
    }

    pub(super) fn calls_without_isolation_leave_the_repository_as_it_was(bench: &ContractBench) {
        let mut session = bench.session();
        for _ in 0..2 {
            // Empty afterwards, so it was whole before.
            let outcome = session.run(build_call("remove_everything"));
            let rest = outcome.result.value.and_then(|value| value.value);
            assert_eq!(rest, Some(Value::List(vec![])));
            let deleted = |path: &str| outcome.files.touched.iter().any(|file| file.path == path);
            assert!(deleted("guest.py") && deleted("data.txt"), "{:?}", outcome.files);
            session.assert_still_works();
        }
    }
}

#[test]
fn without_isolation_the_network_is_the_hosts_and_left_alone() {
    let bench = ContractBench::new(Tier::Unsafe, guest!("bad.py"));
    let mut ask = build_call("fine");
    ask.0.conditions.network =
        NetworkConditions { latency_ms: 50.0, ..NetworkConditions::default() };
    let outcome = bench.run(ask);
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert_eq!(outcome.unenforced, [Limit::NetworkLatency]);
}

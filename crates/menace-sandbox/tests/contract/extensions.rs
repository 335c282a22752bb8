//! Faults are injected below Python: libraries in C notice them as Python does.

use menace_model::{
    CallConditions, FaultMode, FaultSpec, FaultTrigger, Limit, LimitMechanism, Value,
};
use menace_sandbox::{SyscallInterposition, Tier};

use crate::bench::{CallBuilder, ContractBench, ContractSession, build_call, guest, items, text};
use crate::reading::{assert_fault_free, opportunities_and_injections, returned};

crate::on_every_tier![
    a_database_in_c_feels_a_full_disk,
    a_database_in_c_reads_back_corrupted_data,
    an_allocator_in_c_is_refused_memory,
];

const GUEST: &str = guest!("extensions.py");

fn interposing(bench: &ContractBench) -> ContractSession<'_> {
    let mut spec = bench.spec();
    spec.interposition = SyscallInterposition { files: true, memory: true, sockets: true };
    bench.session_of(&spec)
}

fn baseline_call(name: &str, count: i64) -> CallBuilder {
    build_call(name).with([Value::Int(count)])
}

fn faulty_call(name: &str, count: i64, mode: FaultMode, when: FaultTrigger) -> CallBuilder {
    let mut ask = baseline_call(name, count);
    ask.0.conditions = CallConditions {
        faults: vec![FaultSpec { mode, trigger: when }],
        ..CallConditions::default()
    };
    ask
}

/// Injected faults are reported, the same twice with the same seed, and none in the baseline;
/// returns the values under faults and of the baseline.
fn compare_with_baseline(
    session: &mut ContractSession<'_>,
    ask: &dyn Fn() -> CallBuilder,
    baseline: CallBuilder,
) -> [Vec<Value>; 2] {
    let outcome = session.run(ask());
    let mode = outcome.fault_stats[0].mode;
    assert!(opportunities_and_injections(&outcome, mode).1 >= 1, "{outcome:#?}");
    let limit = Limit::from(mode);
    assert_eq!(outcome.enforced_by[&limit], [LimitMechanism::SystemCalls], "{outcome:#?}");
    let found = returned(&outcome).clone();
    assert_eq!(returned(&session.run(ask())), &found, "the same seed");
    let baseline_result = session.run(baseline);
    assert_fault_free(&baseline_result);
    [items(&found).to_vec(), items(returned(&baseline_result)).to_vec()]
}

fn a_database_in_c_feels_a_full_disk(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let full = || faulty_call("stored", 20, FaultMode::Disk, FaultTrigger::Nth(5));
    let [found, baseline_result] =
        compare_with_baseline(&mut interposing(&bench), &full, baseline_call("stored", 20));
    assert_eq!(baseline_result, []);
    let [message] = &found[..] else { panic!("{found:?}") };
    assert_eq!(text(message), "OperationalError: database or disk is full");
}

fn a_database_in_c_reads_back_corrupted_data(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let corrupted =
        || faulty_call("stored", 20, FaultMode::DiskCorruption, FaultTrigger::Rate(1.0)).seed(3);
    let [found, baseline_result] =
        compare_with_baseline(&mut interposing(&bench), &corrupted, baseline_call("stored", 20));
    assert_eq!(baseline_result, []);
    assert_ne!(found, []);
}

fn an_allocator_in_c_is_refused_memory(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let refused = || faulty_call("allocated", 40, FaultMode::Memory, FaultTrigger::Rate(0.7));
    let [found, baseline_result] =
        compare_with_baseline(&mut interposing(&bench), &refused, baseline_call("allocated", 40));
    assert_eq!(baseline_result, []);
    // It tries more than once before it gives up.
    assert!((1..40).contains(&found.len()), "{found:?}");
}

/// Internet sockets exist only where there are namespaces.
mod with_network {
    use super::*;

    fn a_connection_in_c_fails(tier: Tier) {
        let bench = ContractBench::new(tier, GUEST);
        let failing = || faulty_call("connected", 20, FaultMode::Network, FaultTrigger::Rate(0.5));
        let [found, baseline_result] = compare_with_baseline(
            &mut interposing(&bench),
            &failing,
            baseline_call("connected", 20),
        );
        assert!(baseline_result.iter().all(|one| text(one) == "connected"), "{baseline_result:?}");
        let failed = found.iter().filter(|one| text(one) != "connected").count();
        assert!((1..20).contains(&failed), "{found:?}");
    }

    #[test]
    fn a_connection_in_c_fails_as_root() {
        let name = concat!(module_path!(), "::a_connection_in_c_fails_as_root");
        crate::process::in_own_process(name, || a_connection_in_c_fails(Tier::Root));
    }

    #[test]
    fn a_connection_in_c_fails_in_user_namespaces() {
        let name = concat!(module_path!(), "::a_connection_in_c_fails_in_user_namespaces");
        crate::process::in_own_process(name, || a_connection_in_c_fails(Tier::UserNamespaces));
    }
}

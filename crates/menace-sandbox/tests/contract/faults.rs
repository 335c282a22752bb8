//! Faults have an effect, the same twice with the same seed, and on no other call.

use menace_model::{
    CallConditions, FaultMode, FaultSpec, FaultTrigger, FileChangeKind, Limit, LimitMechanism,
    Value, Verdict,
};
use menace_sandbox::{SyscallInterposition, Tier};

use crate::bench::{CallBuilder, ContractBench, ContractSession, build_call, guest, items, text};
use crate::reading::{
    assert_fault_free, assert_near, is_enforced_by, number, opportunities_and_injections, returned,
};

crate::on_every_tier![
    the_disk_is_full_from_the_chosen_write_on,
    a_killed_writer_leaves_what_it_had_written,
    a_disk_can_be_slow_and_fail_to_read,
    a_bit_of_what_is_written_is_flipped,
    data_written_in_parts_and_copied_is_corrupted_too,
    writes_that_were_not_corrupted_are_not_counted,
    a_write_that_waits_for_a_reader_does_not_hold_init_up,
    allocations_fail_without_a_limit_being_hit,
    a_share_of_all_allocations_fails,
    the_processor_is_taken_away_for_moments,
    a_share_of_the_processor_is_all_there_is,
    a_call_is_killed_at_a_moment_of_the_seed,
    a_writer_is_killed_before_one_of_its_first_changes,
    faults_of_a_call_are_not_the_next_ones,
    faults_without_interposition_are_reported_as_unenforced,
    network_faults_without_a_network_are_reported_as_unenforced,
];

const GUEST: &str = guest!("faults.py");

fn faulty_call(name: &str, mode: FaultMode, when: FaultTrigger) -> CallBuilder {
    let mut ask = build_call(name);
    ask.0.conditions = CallConditions {
        faults: vec![FaultSpec { mode, trigger: when }],
        ..CallConditions::default()
    };
    ask
}

fn interposing(bench: &ContractBench) -> ContractSession<'_> {
    let mut spec = bench.spec();
    spec.interposition = SyscallInterposition { files: true, memory: true, sockets: true };
    bench.session_of(&spec)
}

fn the_disk_is_full_from_the_chosen_write_on(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = interposing(&bench);
    // The first change is opening the file, then come the lines. The line that the disk is full at
    // is cut off without an error; the next one fails.
    for nth in [1, 2, 5] {
        let outcome = session.run(
            faulty_call("steps", FaultMode::Disk, FaultTrigger::Nth(nth)).with([Value::Int(10)]),
        );
        let found = returned(&outcome).clone();
        let done = Value::Int(nth.saturating_sub(1).cast_signed());
        assert_eq!(found, Value::List(vec![done, Value::from("ENOSPC")]));
        let stats = &outcome.fault_stats[0];
        assert!(
            stats.injected >= 1
                && stats.first_injected.is_some()
                && stats.last_injected_ms.is_some(),
            "{stats:?}"
        );
    }
    // It raised, and no limit of ours was hit.
    let outcome = session
        .run(faulty_call("save", FaultMode::Disk, FaultTrigger::Nth(2)).with([Value::from("new")]));
    assert_eq!(outcome.verdict, Verdict::Raised, "{outcome:#?}");
    let held = outcome.enforced_by.get(&Limit::FaultDisk);
    assert_eq!(held, Some(&vec![LimitMechanism::SystemCalls]));
}

fn a_killed_writer_leaves_what_it_had_written(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = interposing(&bench);
    let outcome = session
        .run(faulty_call("steps", FaultMode::Timeout, FaultTrigger::Nth(4)).with([Value::Int(10)]));
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    let file = &outcome.files.touched[0];
    // Two lines of two bytes: it died before the third.
    assert_eq!(
        (file.path.as_str(), file.change, file.bytes),
        ("steps.txt", FileChangeKind::Created, 4)
    );
    session.assert_still_works();
}

fn a_disk_can_be_slow_and_fail_to_read(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = interposing(&bench);
    let read = || {
        let mut ask = faulty_call("read_back", FaultMode::Disk, FaultTrigger::Rate(0.5))
            .with([Value::Int(20)]);
        ask.0.seed = 7;
        ask
    };
    let first = returned(&session.run(read())).clone();
    let failed = &items(&first)[0];
    assert!((1.0..15.0).contains(&number(failed)), "{failed:?}");
    let again = returned(&session.run(read())).clone();
    assert_eq!(failed, &items(&again)[0]);
    // A delay takes 26 ms on average: many times what the whole call takes without faults, at least
    // when the machine has nothing else to do.
    let took = |found: &Value| number(&items(found)[2]);
    let calm = || session.value(build_call("read_back").with([Value::Int(20)]));
    let calm = std::iter::repeat_with(calm).take(3).map(|found| took(&found)).fold(1.0, f64::min);
    assert!(number(&items(&first)[1]) > 0.02, "nothing was slow: {first:?}");
    assert!(
        took(&first).min(took(&again)) > 4.0 * calm,
        "{first:?} and {again:?}, {calm} without faults"
    );
}

fn a_bit_of_what_is_written_is_flipped(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = interposing(&bench);
    let write = |seed: u64| {
        let mut ask = faulty_call("corrupted", FaultMode::DiskCorruption, FaultTrigger::Rate(1.0))
            .with([Value::Int(1000)]);
        ask.0.seed = seed;
        ask
    };
    let first = returned(&session.run(write(1))).clone();
    assert_eq!(items(&first).len(), 1, "{first:?}");
    assert_eq!(&first, returned(&session.run(write(1))));
    assert_ne!(&first, returned(&session.run(write(2))));
    let calm = session.value(build_call("corrupted").with([Value::Int(1000)]));
    assert_eq!(items(&calm).len(), 0);
}

fn data_written_in_parts_and_copied_is_corrupted_too(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = interposing(&bench);
    // What is corrupted in an original is so in its copy: they differ in the other bit only.
    for (name, places) in [("corrupted_parts", 2), ("corrupted_copy", 1)] {
        let ask = || {
            faulty_call(name, FaultMode::DiskCorruption, FaultTrigger::Rate(1.0))
                .with([Value::Int(1000)])
        };
        let outcome = session.run(ask());
        let first = returned(&outcome).clone();
        assert_eq!(items(&first).len(), places, "{name}: {outcome:#?}");
        assert_eq!(
            opportunities_and_injections(&outcome, FaultMode::DiskCorruption),
            (2, 2),
            "{name}"
        );
        assert_eq!(&first, returned(&session.run(ask())), "{name}");
    }
}

fn writes_that_were_not_corrupted_are_not_counted(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = interposing(&bench);
    let ask = faulty_call("reserved", FaultMode::DiskCorruption, FaultTrigger::Rate(1.0));
    let outcome = session.run(ask.with([Value::Int(1000)]));
    assert_eq!(returned(&outcome), &Value::Int(1000), "{outcome:#?}");
    // Only the write of nothing was an opportunity.
    assert_eq!(opportunities_and_injections(&outcome, FaultMode::DiskCorruption), (1, 0));
}

/// Init writes in the place of the guest, but never where it could have to wait.
fn a_write_that_waits_for_a_reader_does_not_hold_init_up(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = interposing(&bench);
    let mut corrupted = |ask: CallBuilder| {
        let outcome = session.run(ask.timeout(500));
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
        let total = outcome.runtime_metrics.total_ms;
        assert!(total < 750.0, "dead after {total} ms");
        session.assert_still_works();
    };
    let corruption = |name| faulty_call(name, FaultMode::DiskCorruption, FaultTrigger::Rate(1.0));
    for kind in ["named pipe", "pipe", "socket"] {
        corrupted(corruption("full").with([Value::from(kind)]));
    }
    corrupted(corruption("swapped"));
}

fn allocations_fail_without_a_limit_being_hit(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = interposing(&bench);
    let demand = |nth| {
        faulty_call("allocate", FaultMode::Memory, FaultTrigger::Nth(nth)).with([Value::Int(8)])
    };
    let outcome = session.run(demand(3));
    let had = returned(&outcome);
    assert!((0.0..8.0).contains(&number(had)), "{outcome:#?}");
    assert!(outcome.fault_stats[0].injected >= 1);
    assert_eq!(returned(&session.run(demand(3))), had);
    assert_eq!(session.value(build_call("allocate").with([Value::Int(8)])), Value::Int(-1));
}

fn a_share_of_all_allocations_fails(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = interposing(&bench);
    let mut refused = |seed| {
        let ask = faulty_call("allocate_each", FaultMode::Memory, FaultTrigger::Rate(0.7));
        let outcome = session.run(ask.with([Value::Int(60)]).seed(seed));
        let (offered, injected) = opportunities_and_injections(&outcome, FaultMode::Memory);
        assert_near(injected as f64, 0.7 * offered as f64, "demands that were refused");
        returned(&outcome).clone()
    };
    let first = refused(1);
    assert!((1..60).contains(&items(&first).len()), "{first:?}");
    assert_eq!(refused(1), first);
    assert_ne!(refused(2), first);
    let calm = session.value(build_call("allocate_each").with([Value::Int(60)]));
    assert_eq!(items(&calm).len(), 0, "{calm:?}");
}

fn the_processor_is_taken_away_for_moments(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let spiked = faulty_call("longest_gap", FaultMode::CpuSpike, FaultTrigger::Rate(1.0));
    let outcome = session.run(spiked.with([Value::Float(0.5)]));
    let gap = number(returned(&outcome));
    assert!(gap > 0.04, "{gap}");
    assert!(outcome.fault_stats[0].injected >= 1, "{:?}", outcome.fault_stats);
    assert!(is_enforced_by(&outcome, Limit::FaultCpuSpike, LimitMechanism::Sigstop));
    // As much of the time as before with the same seed: others on the machine take some of it, too.
    let mut taken = |mode: Option<FaultTrigger>| {
        let name = "taken_away";
        let ask = mode
            .map_or_else(|| build_call(name), |when| faulty_call(name, FaultMode::CpuSpike, when));
        // Of its first second, this seed takes two thirds.
        number(&session.value(ask.with([Value::Float(1.0)]).seed(6)))
    };
    let shares: Vec<f64> = (0..3).map(|_| taken(Some(FaultTrigger::Rate(0.6)))).collect();
    let close = |one: &f64, other: &f64| (one / other - 1.0).abs() < 0.2;
    let pairs = [(0, 1), (0, 2), (1, 2)];
    assert!(pairs.iter().any(|&(one, other)| close(&shares[one], &shares[other])), "{shares:?}");
    assert!(shares.iter().all(|share| (0.25..0.95).contains(share)), "{shares:?}");
    assert!((0..3).any(|_| taken(None) < 0.1), "calm");
    // Seldom enough that a busy machine is not taken for it.
    let calm = (0..3).map(|_| session.run(build_call("longest_gap").with([Value::Float(0.3)])));
    let gaps: Vec<f64> = calm.map(|calm| number(returned(&calm))).collect();
    assert!(gaps.iter().any(|gap| *gap < 0.04), "{gaps:?}");
}

fn a_share_of_the_processor_is_all_there_is(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let share = |outcome: &menace_model::Outcome| number(returned(outcome));
    let busy = || faulty_call("share_of_a_processor", FaultMode::Cpu, FaultTrigger::Rate(0.8));
    // So little that even a busy machine has more to give. A call that was stopped late stays
    // stopped for longer.
    for wanted in [0.2, 0.05] {
        let least = busy().with([Value::Float(2.0)]);
        let outcome = session.run(least.limited(|limits| limits.cpu_share = Some(wanted)));
        let by = &outcome.enforced_by[&Limit::FaultCpu];
        assert_eq!(by, &outcome.enforced_by[&Limit::CpuShare]);
        assert_near(share(&outcome), wanted, &format!("{by:?}"));
    }
    let mut calm = |_| {
        let outcome = session.run(build_call("share_of_a_processor").with([Value::Float(0.1)]));
        assert!(!outcome.enforced_by.contains_key(&Limit::CpuShare));
        assert_fault_free(&outcome);
        share(&outcome)
    };
    // More than any share that was held before, as soon as a busy machine has it to give.
    let mut shares = Vec::new();
    let is_free = (0..40).any(|number| {
        shares.push(calm(number));
        shares.last().is_some_and(|share| *share > 0.3)
    });
    assert!(is_free, "{shares:?}");
    // The share is a limit: a fault that comes without one cannot be injected.
    let outcome = session.run(busy().with([Value::Float(0.01)]));
    assert_eq!(outcome.unenforced, [Limit::FaultCpu]);
}

fn a_call_is_killed_at_a_moment_of_the_seed(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut moment = |seed| {
        let ask = faulty_call("sleep", FaultMode::Timeout, FaultTrigger::Rate(1.0))
            .with([Value::Int(60)]);
        let outcome = session.run(ask.seed(seed).timeout(2000));
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
        assert_eq!(outcome.reason.as_deref(), Some("it was stopped early, as asked"));
        assert_eq!(opportunities_and_injections(&outcome, FaultMode::Timeout), (1, 1));
        assert!(is_enforced_by(&outcome, Limit::FaultTimeout, LimitMechanism::Monitor));
        assert!(outcome.runtime_metrics.total_ms < 2250.0);
        outcome.fault_stats[0].last_injected_ms.expect("it was injected")
    };
    let first: Vec<f64> = (0..5).map(&mut moment).collect();
    let again: Vec<f64> = (0..5).map(&mut moment).collect();
    // A busy machine delays moments, by less than what lies between those of these seeds.
    let order = |moments: &[f64]| {
        let mut order: Vec<usize> = (0..moments.len()).collect();
        order.sort_by(|one, other| moments[*one].total_cmp(&moments[*other]));
        order
    };
    assert_eq!(order(&first), order(&again), "{first:?} and {again:?}");
    for (one, other) in first.iter().zip(&again) {
        assert!((one - other).abs() < 150.0, "{first:?} and {again:?}");
    }
    let most = first.iter().fold(0.0_f64, |most, one| most.max(*one));
    assert!(first.iter().any(|one| most - one > 100.0), "all at the same moment: {first:?}");
    session.assert_still_works();
    // Only a share of the calls.
    let spared = (0..12).filter(|seed| {
        let ask = faulty_call("sleep", FaultMode::Timeout, FaultTrigger::Rate(0.5))
            .with([Value::Float(0.2)]);
        session.run(ask.seed(*seed).timeout(200)).fault_stats[0].injected == 0
    });
    assert!((1..12).contains(&spared.count()));
}

fn a_writer_is_killed_before_one_of_its_first_changes(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = interposing(&bench);
    let mut left = |seed| {
        let ask = faulty_call("steps", FaultMode::Timeout, FaultTrigger::Rate(1.0))
            .with([Value::Int(1000)]);
        let outcome = session.run(ask.seed(seed).timeout(60_000));
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
        let files = outcome.files.touched.iter();
        files.map(|file| (file.path.clone(), file.bytes)).collect::<Vec<_>>()
    };
    // Before it opens the file, or before it writes to it.
    let first: Vec<_> = (0..8).map(&mut left).collect();
    let opened = vec![("steps.txt".to_owned(), 0)];
    assert!(first.contains(&Vec::new()) && first.contains(&opened), "{first:?}");
    assert!(first.iter().all(|left| left.is_empty() || *left == opened), "{first:?}");
    assert_eq!((0..8).map(&mut left).collect::<Vec<_>>(), first);
    session.assert_still_works();
}

fn faults_of_a_call_are_not_the_next_ones(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = interposing(&bench);
    for _ in 0..3 {
        let bad = session.run(
            faulty_call("save_and_tell", FaultMode::Disk, FaultTrigger::Rate(1.0))
                .with([Value::from("x")]),
        );
        assert_eq!(bad.verdict, Verdict::Returned);
        let calm = session.run(build_call("save_and_tell").with([Value::from("x")]));
        assert_eq!(returned(&calm), &Value::from("saved"));
        assert_fault_free(&calm);
    }
    session.assert_still_works();
}

fn faults_without_interposition_are_reported_as_unenforced(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let when = FaultTrigger::Nth(1);
    let faults = [
        (FaultMode::Disk, Limit::FaultDisk),
        (FaultMode::DiskCorruption, Limit::FaultDiskCorruption),
        (FaultMode::Timeout, Limit::FaultTimeout),
    ];
    for (mode, limit) in faults {
        let outcome =
            session.run(faulty_call("save_and_tell", mode, when).with([Value::from("x")]));
        // Opening the file is asked about all the same, to see where it is.
        assert_eq!(returned(&outcome), &Value::from("saved"), "{mode}: {outcome:#?}");
        assert_eq!(
            (&outcome.unenforced[..], &outcome.fault_stats[..]),
            (&[limit][..], &[][..]),
            "{mode}"
        );
    }
}

fn network_faults_without_a_network_are_reported_as_unenforced(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let fine = || faulty_call("fine", FaultMode::Network, FaultTrigger::Rate(1.0));
    for (level, safe_mode) in [(3, false), (4, false), (3, true)] {
        let mut spec = bench.spec();
        (spec.confinement.security_level, spec.confinement.safe_mode) =
            (level.try_into().unwrap(), safe_mode);
        spec.interposition.sockets = true;
        let outcome = bench.session_of(&spec).run(fine());
        let has_network = tier.has_namespaces() && level == 3 && !safe_mode;
        let expected: &[Limit] = if has_network { &[] } else { &[Limit::FaultNetwork] };
        assert_eq!(outcome.unenforced, expected, "level {level}, safe mode {safe_mode}");
    }
}

/// Internet sockets exist only where there are namespaces.
mod with_network {
    use super::*;

    fn connections_fail(tier: Tier) {
        let bench = ContractBench::new(tier, GUEST);
        let mut session = interposing(&bench);
        let talk = || {
            faulty_call("talk", FaultMode::Network, FaultTrigger::Rate(0.5)).with([Value::Int(20)])
        };
        let outcome = session.run(talk());
        assert_eq!(outcome.enforced_by[&Limit::FaultNetwork], [LimitMechanism::SystemCalls]);
        let first = returned(&outcome);
        let seen: Vec<&str> = items(first).iter().map(text).collect();
        assert!(seen.contains(&"connected") && seen.iter().any(|one| *one != "connected"));
        assert_eq!(first, returned(&session.run(talk())));
        let calm = session.value(build_call("talk").with([Value::Int(5)]));
        assert!(items(&calm).iter().all(|one| text(one) == "connected"), "{calm:?}");
    }

    /// One after the other: connecting, sending, receiving.
    fn messages_fail(tier: Tier) {
        let bench = ContractBench::new(tier, GUEST);
        let mut session = interposing(&bench);
        let steps = ["connected", "sent", "received"];
        let expected: [(&str, &[&str]); 3] = [
            ("connecting", &["ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH"]),
            ("sending", &["EPIPE", "ECONNRESET"]),
            ("receiving", &["ECONNRESET", "ETIMEDOUT"]),
        ];
        for (done, (what, errors)) in expected.into_iter().enumerate() {
            let ask =
                || faulty_call("converse", FaultMode::Network, FaultTrigger::Nth(done as u64 + 1));
            let outcome = session.run(ask());
            let seen: Vec<&str> = items(returned(&outcome)).iter().map(text).collect();
            let Some((last, before)) = seen.split_last() else { panic!("{outcome:#?}") };
            assert_eq!(before, &steps[..done], "{seen:?}");
            assert!(errors.contains(last), "{what}: {seen:?}");
            assert_eq!(outcome.fault_stats[0].first_injected.as_deref(), Some(what));
            assert_eq!(opportunities_and_injections(&outcome, FaultMode::Network).1, 1);
            assert_eq!(returned(&session.run(ask())), returned(&outcome));
        }
        let calm = session.value(build_call("converse"));
        assert_eq!(items(&calm).iter().map(text).collect::<Vec<_>>(), steps);
    }

    #[test]
    fn messages_fail_as_root() {
        let name = concat!(module_path!(), "::messages_fail_as_root");
        crate::process::in_own_process(name, || messages_fail(Tier::Root));
    }

    #[test]
    fn messages_fail_in_user_namespaces() {
        let name = concat!(module_path!(), "::messages_fail_in_user_namespaces");
        crate::process::in_own_process(name, || messages_fail(Tier::UserNamespaces));
    }

    #[test]
    fn connections_fail_as_root() {
        let name = concat!(module_path!(), "::connections_fail_as_root");
        crate::process::in_own_process(name, || connections_fail(Tier::Root));
    }

    #[test]
    fn connections_fail_in_user_namespaces() {
        let name = concat!(module_path!(), "::connections_fail_in_user_namespaces");
        crate::process::in_own_process(name, || connections_fail(Tier::UserNamespaces));
    }
}

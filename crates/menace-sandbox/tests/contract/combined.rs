//! Several faults at once: each has the effect that it has alone, and all of them end with the
//! call.

use std::fs;

use menace_model::{
    CallConditions, ConcurrencyBurst, FaultMode, FaultSpec, FaultTrigger, Limit, LimitMechanism,
    MockResponse, NetworkConditions, Outcome, PartitionPeer, UpstreamConfig, Value, Verdict,
};
use menace_sandbox::{SyscallInterposition, Tier};

use crate::bench::{
    CallBuilder, ContractBench, ContractSession, build_call, entry, guest, items, text,
};
use crate::reading::{
    assert_fault_free, assert_near, is_enforced_by, number, opportunities_and_injections, returned,
};

crate::on_every_tier![
    a_full_disk_and_an_unstable_service_act_together,
    drift_and_corruption_act_together,
    of_several_faults_one_is_injected_into_a_write,
    pauses_and_bad_answers_act_together,
    a_slow_link_and_a_full_disk_act_together,
    bursts_and_upstream_answers_work_together,
    coverage_goes_with_all_of_it,
    every_condition_at_once_is_enforced_or_reported,
];

const GUEST: &str = guest!("combined.py");
const JSON_DATA: &str = r#"{"rows": [{"price": 1}]}"#;
const ALWAYS_TRIGGER: FaultTrigger = FaultTrigger::Rate(1.0);

fn bench(tier: Tier) -> ContractBench {
    ContractBench::with_options(tier, GUEST, |options| {
        fs::write(options.repo.join("table.json"), JSON_DATA).expect("ours");
    })
}

fn interposing(bench: &ContractBench) -> ContractSession<'_> {
    let mut spec = bench.spec();
    spec.interposition = SyscallInterposition { files: true, memory: true, sockets: true };
    bench.session_of(&spec)
}

fn fault(mode: FaultMode, when: FaultTrigger) -> FaultSpec {
    FaultSpec { mode, trigger: when }
}

fn good_answers() -> UpstreamConfig {
    let mock = MockResponse {
        method: None,
        url: "*".to_owned(),
        status: 200,
        headers: Vec::new(),
        body: br#"{"ok": true}"#.to_vec(),
        delay_ms: 0,
        times: None,
    };
    UpstreamConfig { mocks: vec![mock], answer_all: true, failure: None }
}

fn with_conditions(ask: CallBuilder, conditions: CallConditions) -> CallBuilder {
    let mut ask = ask.timeout(30_000);
    ask.0.conditions = conditions;
    ask
}

/// All of it goes well, and no fault is injected.
fn assert_session_recovers(session: &mut ContractSession<'_>) {
    for _ in 0..2 {
        let conditions =
            CallConditions { upstream: Some(good_answers()), ..CallConditions::default() };
        let calm = session.run(with_conditions(build_call("everything"), conditions));
        for name in ["write", "intact", "data", "call", "memory"] {
            assert_eq!(text(entry(returned(&calm), name)), "done", "{name}: {calm:#?}");
        }
        assert_eq!((calm.fault_stats.as_slice(), calm.unenforced.as_slice()), (&[][..], &[][..]));
    }
    assert_fault_free(&session.run(build_call("fine")));
    session.assert_still_works();
}

fn a_full_disk_and_an_unstable_service_act_together(tier: Tier) {
    let bench = bench(tier);
    let mut session = interposing(&bench);
    let faults = vec![
        fault(FaultMode::Disk, FaultTrigger::Nth(3)),
        fault(FaultMode::FlakyUpstream, FaultTrigger::Nth(2)),
    ];
    let conditions =
        CallConditions { faults, upstream: Some(good_answers()), ..CallConditions::default() };
    let mut run = || {
        let ask = build_call("files_and_calls").with([Value::Int(4)]);
        session.run(with_conditions(ask, conditions.clone()))
    };
    let (first, again) = (run(), run());
    let all: Vec<[&str; 2]> = items(returned(&first))
        .iter()
        .map(|pair| [text(&items(pair)[0]), text(&items(pair)[1])])
        .collect();
    // Opening and writing are two changes, and a full disk stays full.
    let writes: Vec<&str> = all.iter().map(|pair| pair[0]).collect();
    assert_eq!(writes, ["done", "ENOSPC", "ENOSPC", "ENOSPC"]);
    let good: Vec<bool> = all.iter().map(|pair| pair[1] == "done").collect();
    assert_eq!(good, [true, false, true, true], "{all:?}");
    assert_eq!(opportunities_and_injections(&first, FaultMode::FlakyUpstream), (4, 1));
    assert!(opportunities_and_injections(&first, FaultMode::Disk).1 >= 3);
    assert_eq!(returned(&again), returned(&first));
    assert_session_recovers(&mut session);
}

fn of_several_faults_one_is_injected_into_a_write(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("faults.py"));
    let mut session = interposing(&bench);
    let mut reported = Vec::new();
    for seed in 0..40 {
        // Opening the file is an opportunity of its own.
        let disk = fault(FaultMode::Disk, FaultTrigger::Rate(0.6));
        let faults = vec![fault(FaultMode::DiskCorruption, ALWAYS_TRIGGER), disk];
        let conditions = CallConditions { faults, ..CallConditions::default() };
        let mut ask =
            with_conditions(build_call("written_once").with([Value::Int(1000)]), conditions);
        ask.0.seed = seed;
        let outcome = session.run(ask);
        let Some(found) = outcome.value.as_ref().and_then(|value| value.value.as_ref()) else {
            continue;
        };
        let [error, size, corrupted] = items(found) else { panic!("{found:?}") };
        let (size, corrupted) = (number(size), *corrupted == Value::Bool(true));
        match text(error) {
            "ENOSPC" => assert_eq!((size, corrupted), (0.0, false), "{outcome:#?}"),
            _ => assert!((size - 1000.0).abs() < 0.5, "{outcome:#?}"),
        }
        assert_eq!(
            opportunities_and_injections(&outcome, FaultMode::DiskCorruption).1,
            u64::from(corrupted)
        );
        reported.push((text(error).to_owned(), corrupted));
    }
    for all in [("ENOSPC", false), ("done", true), ("done", false)] {
        assert!(reported.contains(&(all.0.to_owned(), all.1)), "{all:?} never came: {reported:?}");
    }
    // A call that dies before writing has written nothing.
    let faults = vec![
        fault(FaultMode::DiskCorruption, ALWAYS_TRIGGER),
        fault(FaultMode::Timeout, FaultTrigger::Nth(2)),
    ];
    let conditions = CallConditions { faults, ..CallConditions::default() };
    let outcome = session
        .run(with_conditions(build_call("written_once").with([Value::Int(1000)]), conditions));
    assert_eq!(outcome.verdict, Verdict::TimedOut);
    assert_eq!(outcome.files.touched[0].bytes, 0, "{outcome:#?}");
    session.assert_still_works();
}

fn drift_and_corruption_act_together(tier: Tier) {
    let bench = bench(tier);
    let mut session = interposing(&bench);
    let faults = vec![
        fault(FaultMode::SchemaDrift, ALWAYS_TRIGGER),
        fault(FaultMode::DiskCorruption, ALWAYS_TRIGGER),
    ];
    let conditions =
        CallConditions { faults, upstream: Some(good_answers()), ..CallConditions::default() };
    let mut run = || session.run(with_conditions(build_call("everything"), conditions.clone()));
    let (first, again) = (run(), run());
    let found = returned(&first);
    assert_eq!(text(entry(found, "write")), "done");
    assert_eq!(text(entry(found, "intact")), "ValueError");
    // Another shape, but whole: the disk fault comes from another injector than the drift.
    assert!(matches!(text(entry(found, "data")), "KeyError" | "TypeError"), "{found:?}");
    assert_eq!(returned(&again), found);
    assert!(opportunities_and_injections(&first, FaultMode::DiskCorruption).1 >= 1);
    assert!(opportunities_and_injections(&first, FaultMode::SchemaDrift).1 >= 1);
    assert_session_recovers(&mut session);
}

fn pauses_and_bad_answers_act_together(tier: Tier) {
    let bench = bench(tier);
    let mut session = interposing(&bench);
    let faults = vec![
        fault(FaultMode::CpuSpike, ALWAYS_TRIGGER),
        fault(FaultMode::FlakyUpstream, ALWAYS_TRIGGER),
    ];
    let conditions =
        CallConditions { faults, upstream: Some(good_answers()), ..CallConditions::default() };
    let ask = build_call("longest_gap_and_call").with([Value::Float(0.5)]);
    let outcome = session.run(with_conditions(ask, conditions));
    let [gap, reported] = items(returned(&outcome)) else { panic!("{outcome:#?}") };
    assert!(number(gap) > 0.04, "{gap:?}");
    assert_ne!(text(reported), "done");
    assert!(opportunities_and_injections(&outcome, FaultMode::CpuSpike).1 >= 1);
    assert_eq!(opportunities_and_injections(&outcome, FaultMode::FlakyUpstream), (1, 1));
    assert_session_recovers(&mut session);
}

fn a_slow_link_and_a_full_disk_act_together(tier: Tier) {
    let bench = bench(tier);
    let mut session = interposing(&bench);
    let conditions = CallConditions {
        network: NetworkConditions { latency_ms: 100.0, ..NetworkConditions::default() },
        faults: vec![fault(FaultMode::Disk, FaultTrigger::Nth(1))],
        ..CallConditions::default()
    };
    if !tier.has_namespaces() {
        let outcome = session.run(with_conditions(build_call("write_and_tell"), conditions));
        assert_eq!(text(returned(&outcome)), "ENOSPC");
        assert_eq!(outcome.unenforced, [Limit::NetworkLatency]);
        return assert_session_recovers(&mut session);
    }
    let outcome = session.run(with_conditions(build_call("round_trip_and_write"), conditions));
    let [trip, write] = items(returned(&outcome)) else { panic!("{outcome:#?}") };
    assert_near(number(trip), 200.0, "a round trip");
    assert_eq!(text(write), "ENOSPC");
    let calm = session.run(build_call("round_trip_and_write"));
    let [trip, write] = items(returned(&calm)) else { panic!("{calm:#?}") };
    assert!(number(trip) < 100.0, "{trip:?}");
    assert_eq!(text(write), "done");
    assert_session_recovers(&mut session);
}

fn bursts_and_upstream_answers_work_together(tier: Tier) {
    let bench = bench(tier);
    let mut session = bench.session();
    let conditions = CallConditions {
        burst: Some(ConcurrencyBurst { threads: 4, tasks: 0 }),
        upstream: Some(good_answers()),
        ..CallConditions::default()
    };
    let mut run =
        || session.run(with_conditions(build_call("racy_and_calling"), conditions.clone()));
    let (first, again) = (run(), run());
    let report = first.burst.as_ref().unwrap_or_else(|| panic!("{first:#?}"));
    assert!(report.differs, "{report:?}");
    assert_eq!((report.threads_spawned, report.finished, report.deadlocked), (4, 4, false));
    assert!(again.burst.is_some_and(|report| report.differs));
    let [n, reported] = items(returned(&first)) else { panic!("{first:#?}") };
    assert_eq!((n, text(reported)), (&Value::Int(1), "done"));
    // Requests of the concurrent runs are not those of the call.
    let asked = first.upstream.as_ref().map(|upstream| upstream.requests.len());
    assert_eq!(asked, Some(1));
    assert_session_recovers(&mut session);
}

fn coverage_goes_with_all_of_it(tier: Tier) {
    let bench = bench(tier);
    let mut session = interposing(&bench);
    let faults = vec![
        fault(FaultMode::Disk, ALWAYS_TRIGGER),
        fault(FaultMode::FlakyUpstream, ALWAYS_TRIGGER),
    ];
    let conditions =
        CallConditions { faults, upstream: Some(good_answers()), ..CallConditions::default() };
    let mut run = |conditions: CallConditions| {
        let mut ask = with_conditions(build_call("everything"), conditions);
        ask.0.coverage = true;
        let outcome = session.run(ask);
        let files = outcome.coverage.expect("it was asked for").files;
        files.into_iter().find(|file| file.file == "guest.py").expect("it ran").lines
    };
    let under_faults = run(conditions.clone());
    assert_eq!(run(conditions), under_faults);
    let calm = run(CallConditions { upstream: Some(good_answers()), ..CallConditions::default() });
    assert_ne!(calm, under_faults);
    assert_session_recovers(&mut session);
}

fn every_condition_at_once_is_enforced_or_reported(tier: Tier) {
    let bench = bench(tier);
    let mut session = interposing(&bench);
    let network = NetworkConditions {
        latency_ms: 5.0,
        jitter_ms: 2.0,
        loss: 0.05,
        duplication: 0.05,
        bits_per_second: Some(1_000_000),
        partition: vec![PartitionPeer { host: Some("far.example".to_owned()), port: None }],
    };
    // The call has to survive to report the other faults.
    let rate = |mode| if mode == FaultMode::Timeout { 0.0 } else { 0.2 };
    let faults = FaultMode::ALL.map(|mode| fault(mode, FaultTrigger::Rate(rate(mode)))).to_vec();
    let burst = Some(ConcurrencyBurst { threads: 4, tasks: 4 });
    let conditions = CallConditions { network, faults, burst, upstream: Some(good_answers()) };
    let ask = with_conditions(build_call("everything"), conditions);
    let outcome = session.run(ask.limited(|limits| limits.cpu_share = Some(0.5)));
    assert_conditions_reported(&outcome, tier);
    for mode in FaultMode::ALL {
        // A share of the processor is no single injection.
        let reports = outcome.fault_stats.iter().filter(|stats| stats.mode == mode).count();
        assert_eq!(
            reports,
            usize::from(mode != FaultMode::Cpu),
            "{mode}: {:?}",
            outcome.fault_stats
        );
    }
    assert_session_recovers(&mut session);
}

/// Every limit is held or listed, never both; what the harness answers for is held everywhere.
fn assert_conditions_reported(outcome: &Outcome, tier: Tier) {
    returned(outcome);
    let link = [
        Limit::NetworkLatency,
        Limit::NetworkJitter,
        Limit::PacketLoss,
        Limit::Bandwidth,
        Limit::Partition,
        Limit::Upstream,
        Limit::FaultNetwork,
        Limit::FaultNetworkPartition,
    ];
    for limit in link {
        assert!(is_enforced_by(outcome, limit, LimitMechanism::Harness), "{limit}: {outcome:#?}");
    }
    let all = [Limit::CpuShare, Limit::PacketDuplication, Limit::Burst];
    let faults = FaultMode::ALL.map(Limit::from);
    for limit in all.into_iter().chain(link).chain(faults) {
        let held = outcome.enforced_by.contains_key(&limit);
        assert_ne!(held, outcome.unenforced.contains(&limit), "{limit}: {outcome:#?}");
    }
    // Answers arrive once; elsewhere there is a link that can double packets.
    assert_eq!(outcome.enforced_by.contains_key(&Limit::PacketDuplication), tier.has_namespaces());
}

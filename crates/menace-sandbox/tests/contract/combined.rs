//! Several troubles at once: each is felt as if it were alone, and all of them end with the call.

use std::fs;

use menace_model::{
    Burst, Conditions, Fault, FaultMode, Limit, Mechanism, Mock, Network, Outcome, Peer, Upstream,
    Value, Verdict, When,
};
use menace_sandbox::{Interpose, Tier};

use crate::bench::{Ask, Bench, Session, ask, entry, guest, items, text};
use crate::reading::{assert_in_peace, assert_near, is_held_by, number, returned, strikes};

crate::on_every_tier![
    a_full_disk_and_an_unstable_service_are_felt_together,
    drift_and_corruption_are_felt_together,
    of_several_faults_one_strikes_a_write,
    pauses_and_bad_answers_are_felt_together,
    a_slow_link_and_a_full_disk_are_felt_together,
    company_and_answers_go_together,
    coverage_goes_with_all_of_it,
    every_condition_at_once_is_held_or_told,
];

const GUEST: &str = guest!("combined.py");
const DATA: &str = r#"{"rows": [{"price": 1}]}"#;
const ALWAYS: When = When::Rate(1.0);

fn bench(tier: Tier) -> Bench {
    Bench::with_options(tier, GUEST, |options| {
        fs::write(options.repo.join("table.json"), DATA).expect("ours");
    })
}

fn interposing(bench: &Bench) -> Session<'_> {
    let mut spec = bench.spec();
    spec.interpose = Interpose { files: true, memory: true, sockets: true };
    bench.session_of(&spec)
}

fn fault(mode: FaultMode, when: When) -> Fault {
    Fault { mode, when }
}

fn good_answers() -> Upstream {
    let mock = Mock {
        method: None,
        url: "*".to_owned(),
        status: 200,
        headers: Vec::new(),
        body: br#"{"ok": true}"#.to_vec(),
        delay_ms: 0,
        times: None,
    };
    Upstream { mocks: vec![mock], answer_all: true, failure: None }
}

fn troubled(ask: Ask, conditions: Conditions) -> Ask {
    let mut ask = ask.timeout(30_000);
    ask.0.conditions = conditions;
    ask
}

/// All of it goes well, and nothing is felt.
fn assert_over(session: &mut Session<'_>) {
    for _ in 0..2 {
        let peace = Conditions { upstream: Some(good_answers()), ..Conditions::default() };
        let calm = session.run(troubled(ask("everything"), peace));
        for name in ["write", "intact", "data", "call", "memory"] {
            assert_eq!(text(entry(returned(&calm), name)), "done", "{name}: {calm:#?}");
        }
        assert_eq!((calm.felt.as_slice(), calm.unenforced.as_slice()), (&[][..], &[][..]));
    }
    assert_in_peace(&session.run(ask("fine")));
    session.still_works();
}

fn a_full_disk_and_an_unstable_service_are_felt_together(tier: Tier) {
    let bench = bench(tier);
    let mut session = interposing(&bench);
    let faults =
        vec![fault(FaultMode::Disk, When::Nth(3)), fault(FaultMode::FlakyUpstream, When::Nth(2))];
    let conditions = Conditions { faults, upstream: Some(good_answers()), ..Conditions::default() };
    let mut run = || {
        let ask = ask("files_and_calls").with([Value::Int(4)]);
        session.run(troubled(ask, conditions.clone()))
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
    assert_eq!(strikes(&first, FaultMode::FlakyUpstream), (4, 1));
    assert!(strikes(&first, FaultMode::Disk).1 >= 3);
    assert_eq!(returned(&again), returned(&first));
    assert_over(&mut session);
}

fn of_several_faults_one_strikes_a_write(tier: Tier) {
    let bench = Bench::new(tier, guest!("faults.py"));
    let mut session = interposing(&bench);
    let mut told = Vec::new();
    for seed in 0..40 {
        // Opening the file is an opportunity of its own.
        let disk = fault(FaultMode::Disk, When::Rate(0.6));
        let faults = vec![fault(FaultMode::DiskCorruption, ALWAYS), disk];
        let conditions = Conditions { faults, ..Conditions::default() };
        let mut ask = troubled(ask("written_once").with([Value::Int(1000)]), conditions);
        ask.0.seed = seed;
        let outcome = session.run(ask);
        let Some(found) = outcome.value.as_ref().and_then(|value| value.value.as_ref()) else {
            continue;
        };
        let [error, size, spoilt] = items(found) else { panic!("{found:?}") };
        let (size, spoilt) = (number(size), *spoilt == Value::Bool(true));
        match text(error) {
            "ENOSPC" => assert_eq!((size, spoilt), (0.0, false), "{outcome:#?}"),
            _ => assert!((size - 1000.0).abs() < 0.5, "{outcome:#?}"),
        }
        assert_eq!(strikes(&outcome, FaultMode::DiskCorruption).1, u64::from(spoilt));
        told.push((text(error).to_owned(), spoilt));
    }
    for all in [("ENOSPC", false), ("done", true), ("done", false)] {
        assert!(told.contains(&(all.0.to_owned(), all.1)), "{all:?} never came: {told:?}");
    }
    // Who dies before writing has written nothing.
    let faults =
        vec![fault(FaultMode::DiskCorruption, ALWAYS), fault(FaultMode::Timeout, When::Nth(2))];
    let conditions = Conditions { faults, ..Conditions::default() };
    let outcome = session.run(troubled(ask("written_once").with([Value::Int(1000)]), conditions));
    assert_eq!(outcome.verdict, Verdict::TimedOut);
    assert_eq!(outcome.files.touched[0].bytes, 0, "{outcome:#?}");
    session.still_works();
}

fn drift_and_corruption_are_felt_together(tier: Tier) {
    let bench = bench(tier);
    let mut session = interposing(&bench);
    let faults =
        vec![fault(FaultMode::SchemaDrift, ALWAYS), fault(FaultMode::DiskCorruption, ALWAYS)];
    let conditions = Conditions { faults, upstream: Some(good_answers()), ..Conditions::default() };
    let mut run = || session.run(troubled(ask("everything"), conditions.clone()));
    let (first, again) = (run(), run());
    let found = returned(&first);
    assert_eq!(text(entry(found, "write")), "done");
    assert_eq!(text(entry(found, "intact")), "ValueError");
    // Another shape, but whole: the fault of the disk is not that of who changed the file.
    assert!(matches!(text(entry(found, "data")), "KeyError" | "TypeError"), "{found:?}");
    assert_eq!(returned(&again), found);
    assert!(strikes(&first, FaultMode::DiskCorruption).1 >= 1);
    assert!(strikes(&first, FaultMode::SchemaDrift).1 >= 1);
    assert_over(&mut session);
}

fn pauses_and_bad_answers_are_felt_together(tier: Tier) {
    let bench = bench(tier);
    let mut session = interposing(&bench);
    let faults = vec![fault(FaultMode::CpuSpike, ALWAYS), fault(FaultMode::FlakyUpstream, ALWAYS)];
    let conditions = Conditions { faults, upstream: Some(good_answers()), ..Conditions::default() };
    let ask = ask("longest_gap_and_call").with([Value::Float(0.5)]);
    let outcome = session.run(troubled(ask, conditions));
    let [gap, told] = items(returned(&outcome)) else { panic!("{outcome:#?}") };
    assert!(number(gap) > 0.04, "{gap:?}");
    assert_ne!(text(told), "done");
    assert!(strikes(&outcome, FaultMode::CpuSpike).1 >= 1);
    assert_eq!(strikes(&outcome, FaultMode::FlakyUpstream), (1, 1));
    assert_over(&mut session);
}

fn a_slow_link_and_a_full_disk_are_felt_together(tier: Tier) {
    let bench = bench(tier);
    let mut session = interposing(&bench);
    let conditions = Conditions {
        network: Network { latency_ms: 100.0, ..Network::default() },
        faults: vec![fault(FaultMode::Disk, When::Nth(1))],
        ..Conditions::default()
    };
    if !tier.has_namespaces() {
        let outcome = session.run(troubled(ask("write_and_tell"), conditions));
        assert_eq!(text(returned(&outcome)), "ENOSPC");
        assert_eq!(outcome.unenforced, [Limit::NetworkLatency]);
        return assert_over(&mut session);
    }
    let outcome = session.run(troubled(ask("round_trip_and_write"), conditions));
    let [trip, write] = items(returned(&outcome)) else { panic!("{outcome:#?}") };
    assert_near(number(trip), 200.0, "a round trip");
    assert_eq!(text(write), "ENOSPC");
    let calm = session.run(ask("round_trip_and_write"));
    let [trip, write] = items(returned(&calm)) else { panic!("{calm:#?}") };
    assert!(number(trip) < 100.0, "{trip:?}");
    assert_eq!(text(write), "done");
    assert_over(&mut session);
}

fn company_and_answers_go_together(tier: Tier) {
    let bench = bench(tier);
    let mut session = bench.session();
    let conditions = Conditions {
        burst: Some(Burst { threads: 4, tasks: 0 }),
        upstream: Some(good_answers()),
        ..Conditions::default()
    };
    let mut run = || session.run(troubled(ask("racy_and_calling"), conditions.clone()));
    let (first, again) = (run(), run());
    let report = first.burst.as_ref().unwrap_or_else(|| panic!("{first:#?}"));
    assert!(report.differs, "{report:?}");
    assert_eq!((report.threads_spawned, report.finished, report.deadlocked), (4, 4, false));
    assert!(again.burst.is_some_and(|report| report.differs));
    let [n, told] = items(returned(&first)) else { panic!("{first:#?}") };
    assert_eq!((n, text(told)), (&Value::Int(1), "done"));
    // What the runs in company asked is not the call's.
    let asked = first.upstream.as_ref().map(|upstream| upstream.requests.len());
    assert_eq!(asked, Some(1));
    assert_over(&mut session);
}

fn coverage_goes_with_all_of_it(tier: Tier) {
    let bench = bench(tier);
    let mut session = interposing(&bench);
    let faults = vec![fault(FaultMode::Disk, ALWAYS), fault(FaultMode::FlakyUpstream, ALWAYS)];
    let conditions = Conditions { faults, upstream: Some(good_answers()), ..Conditions::default() };
    let mut run = |conditions: Conditions| {
        let mut ask = troubled(ask("everything"), conditions);
        ask.0.coverage = true;
        let outcome = session.run(ask);
        let files = outcome.coverage.expect("it was asked for").files;
        files.into_iter().find(|file| file.file == "guest.py").expect("it ran").lines
    };
    let troubled = run(conditions.clone());
    assert_eq!(run(conditions), troubled);
    let calm = run(Conditions { upstream: Some(good_answers()), ..Conditions::default() });
    assert_ne!(calm, troubled);
    assert_over(&mut session);
}

fn every_condition_at_once_is_held_or_told(tier: Tier) {
    let bench = bench(tier);
    let mut session = interposing(&bench);
    let network = Network {
        latency_ms: 5.0,
        jitter_ms: 2.0,
        loss: 0.05,
        duplication: 0.05,
        bits_per_second: Some(1_000_000),
        partition: vec![Peer { host: Some("far.example".to_owned()), port: None }],
    };
    // It has to live to tell of the others.
    let rate = |mode| if mode == FaultMode::Timeout { 0.0 } else { 0.2 };
    let faults = FaultMode::ALL.map(|mode| fault(mode, When::Rate(rate(mode)))).to_vec();
    let burst = Some(Burst { threads: 4, tasks: 4 });
    let conditions = Conditions { network, faults, burst, upstream: Some(good_answers()) };
    let ask = troubled(ask("everything"), conditions);
    let outcome = session.run(ask.limited(|limits| limits.cpu_share = Some(0.5)));
    assert_told(&outcome, tier);
    for mode in FaultMode::ALL {
        // A share of the processor is no single strike.
        let is_told = outcome.felt.iter().filter(|felt| felt.mode == mode).count();
        assert_eq!(is_told, usize::from(mode != FaultMode::Cpu), "{mode}: {:?}", outcome.felt);
    }
    assert_over(&mut session);
}

/// Every limit is held or listed, never both; what the harness answers for is held everywhere.
fn assert_told(outcome: &Outcome, tier: Tier) {
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
        assert!(is_held_by(outcome, limit, Mechanism::Harness), "{limit}: {outcome:#?}");
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

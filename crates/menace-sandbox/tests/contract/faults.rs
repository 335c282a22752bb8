//! Faults that are felt, the same twice with the same seed, and by nobody else.

use menace_model::{
    Conditions, Fault, FaultMode, FileChange, Limit, Mechanism, Outcome, Value, Verdict, When,
};
use menace_sandbox::{Interpose, Tier};

use crate::bench::{Ask, Bench, Session, ask, guest, text};

crate::on_every_tier![
    a_full_disk_is_felt_from_the_chosen_write_on,
    a_killed_writer_leaves_what_it_had_written,
    a_disk_can_be_slow_and_fail_to_read,
    a_bit_of_what_is_written_is_flipped,
    allocations_fail_without_a_limit_being_hit,
    the_processor_is_taken_away_for_moments,
    faults_of_a_call_are_not_the_next_ones,
    what_was_not_interposed_is_said_not_to_strike,
];

const GUEST: &str = guest!("faults.py");

fn asked(name: &str, mode: FaultMode, when: When) -> Ask {
    let mut ask = ask(name);
    ask.0.conditions = Conditions { faults: vec![Fault { mode, when }], ..Conditions::default() };
    ask
}

fn interposing(bench: &Bench) -> Session<'_> {
    let mut spec = bench.spec();
    spec.interpose = Interpose { files: true, memory: true, sockets: true };
    bench.session_of(&spec)
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::List(items) => items,
        other => panic!("{other:?}"),
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        other => panic!("{other:?}"),
    }
}

fn returned(outcome: &Outcome) -> Value {
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    outcome.value.as_ref().and_then(|value| value.value.clone()).expect("a plain value")
}

fn a_full_disk_is_felt_from_the_chosen_write_on(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = interposing(&bench);
    // The first change is opening the file, then come the lines.
    for nth in [1, 2, 5] {
        let outcome =
            session.run(asked("steps", FaultMode::Disk, When::Nth(nth)).with([Value::Int(10)]));
        let found = returned(&outcome);
        let done = Value::Int(nth.saturating_sub(2).cast_signed());
        assert_eq!(found, Value::List(vec![done, Value::from("ENOSPC")]));
        let felt = &outcome.felt[0];
        assert!(felt.struck >= 1 && felt.first.is_some() && felt.last_ms.is_some(), "{felt:?}");
    }
    // It raised, and no limit of ours was hit.
    let outcome =
        session.run(asked("save", FaultMode::Disk, When::Nth(2)).with([Value::from("new")]));
    assert_eq!(outcome.verdict, Verdict::Raised, "{outcome:#?}");
    let held = outcome.enforced_by.get(&Limit::FaultDisk);
    assert_eq!(held, Some(&vec![Mechanism::SystemCalls]));
}

fn a_killed_writer_leaves_what_it_had_written(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = interposing(&bench);
    let outcome =
        session.run(asked("steps", FaultMode::Timeout, When::Nth(4)).with([Value::Int(10)]));
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    let file = &outcome.files.touched[0];
    // Two lines of two bytes: it died before the third.
    assert_eq!((file.path.as_str(), file.what, file.bytes), ("steps.txt", FileChange::Created, 4));
    session.still_works();
}

fn a_disk_can_be_slow_and_fail_to_read(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = interposing(&bench);
    let read = || {
        let mut ask = asked("read_back", FaultMode::Disk, When::Rate(0.5)).with([Value::Int(20)]);
        ask.0.seed = 7;
        ask
    };
    let first = returned(&session.run(read()));
    let failed = &items(&first)[0];
    assert!((1.0..15.0).contains(&number(failed)), "{failed:?}");
    assert!(number(&items(&first)[1]) > 0.002, "nothing was slow");
    let again = returned(&session.run(read()));
    assert_eq!(failed, &items(&again)[0]);
}

fn a_bit_of_what_is_written_is_flipped(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = interposing(&bench);
    let write = |seed: u64| {
        let mut ask =
            asked("corrupted", FaultMode::DiskCorruption, When::Rate(1.0)).with([Value::Int(1000)]);
        ask.0.seed = seed;
        ask
    };
    let first = returned(&session.run(write(1)));
    assert_eq!(items(&first).len(), 1, "{first:?}");
    assert_eq!(first, returned(&session.run(write(1))));
    assert_ne!(first, returned(&session.run(write(2))));
    let calm = returned(&session.run(ask("corrupted").with([Value::Int(1000)])));
    assert_eq!(items(&calm).len(), 0);
}

fn allocations_fail_without_a_limit_being_hit(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = interposing(&bench);
    let demand = |nth| asked("allocate", FaultMode::Memory, When::Nth(nth)).with([Value::Int(8)]);
    let outcome = session.run(demand(3));
    let had = returned(&outcome);
    assert!((0.0..8.0).contains(&number(&had)), "{outcome:#?}");
    assert!(outcome.felt[0].struck >= 1);
    assert_eq!(returned(&session.run(demand(3))), had);
    assert_eq!(session.value(ask("allocate").with([Value::Int(8)])), Value::Int(-1));
}

fn the_processor_is_taken_away_for_moments(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let ask = asked("longest_gap", FaultMode::CpuSpike, When::Rate(1.0)).with([Value::Float(0.5)]);
    let outcome = session.run(ask);
    let gap = number(&returned(&outcome));
    assert!(gap > 0.04, "{gap}");
    assert!(outcome.felt[0].struck >= 1, "{:?}", outcome.felt);
}

fn faults_of_a_call_are_not_the_next_ones(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = interposing(&bench);
    for _ in 0..3 {
        let bad = session
            .run(asked("save_and_tell", FaultMode::Disk, When::Rate(1.0)).with([Value::from("x")]));
        assert_eq!(bad.verdict, Verdict::Returned);
        let calm = session.run(ask("save_and_tell").with([Value::from("x")]));
        assert_eq!(returned(&calm), Value::from("saved"));
        assert!(calm.felt.is_empty());
    }
    session.still_works();
}

fn what_was_not_interposed_is_said_not_to_strike(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let outcome = bench.run(asked("fine", FaultMode::Disk, When::Rate(1.0)));
    assert_eq!(outcome.unenforced, [Limit::FaultDisk]);
}

/// Internet sockets exist only where there are namespaces.
mod with_network {
    use super::*;

    fn connections_fail(tier: Tier) {
        let bench = Bench::new(tier, GUEST);
        let mut session = interposing(&bench);
        let talk = || asked("talk", FaultMode::Network, When::Rate(0.5)).with([Value::Int(20)]);
        let first = returned(&session.run(talk()));
        let seen: Vec<&str> = items(&first).iter().map(text).collect();
        assert!(seen.contains(&"connected") && seen.iter().any(|one| *one != "connected"));
        assert_eq!(first, returned(&session.run(talk())));
        let calm = session.value(ask("talk").with([Value::Int(5)]));
        assert!(items(&calm).iter().all(|one| text(one) == "connected"), "{calm:?}");
    }

    #[test]
    fn connections_fail_as_root() {
        let name = concat!(module_path!(), "::connections_fail_as_root");
        crate::process::of_its_own(name, || connections_fail(Tier::Root));
    }

    #[test]
    fn connections_fail_in_user_namespaces() {
        let name = concat!(module_path!(), "::connections_fail_in_user_namespaces");
        crate::process::of_its_own(name, || connections_fail(Tier::UserNamespaces));
    }
}

//! Calls share an interpreter, but nothing is handed on through it: not by what the import left
//! open, not through `/proc`, not in memory.

use menace_model::{Outcome, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{ContractBench, ContractSession, build_call, guest};

crate::on_every_tier![
    what_the_import_left_open_is_each_calls_own,
    no_call_finds_anothers_files_through_the_interpreter_at_any_level,
    memory_that_the_import_shares_is_each_calls_own,
    a_file_that_the_import_mapped_is_each_calls_own,
    nothing_is_handed_on_in_the_mailbox,
    the_request_of_a_dead_fork_is_not_sent_to_the_next_one,
];

fn is_done_anew(outcome: &Outcome) -> bool {
    outcome.notes.iter().any(|note| note.starts_with("imported anew"))
}

/// What equal calls return: always the same.
fn returned(session: &mut ContractSession<'_>, name: &str) -> (Option<Value>, bool) {
    let outcome = session.run(build_call(name));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    let anew = is_done_anew(&outcome);
    (outcome.result.value.and_then(|value| value.value), anew)
}

fn what_the_import_left_open_is_each_calls_own(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/left_open.py"));
    let mut session = bench.session();
    let first = returned(&mut session, "look_and_tamper");
    assert!(first.0.is_some(), "an answer");
    assert!(!first.1, "files that can be opened again are no reason to import anew");
    for _ in 0..2 {
        assert_eq!(returned(&mut session, "look_and_tamper"), first);
    }
    session.assert_still_works();
}

fn no_call_finds_anothers_files_through_the_interpreter_at_any_level(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("loopholes.py"));
    for level in 1..=5 {
        let mut spec = bench.spec();
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        for _ in 0..3 {
            let outcome = session.run(build_call("leave_traces"));
            let found = outcome.result.value.and_then(|value| value.value);
            assert_eq!(found, Some(Value::List(Vec::new())), "at level {level}");
        }
    }
}

fn memory_that_the_import_shares_is_each_calls_own(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/left_open.py"));
    let mut spec = bench.spec();
    spec.environment.push(("SHARE".to_owned(), "1".to_owned()));
    let mut session = bench.session_of(&spec);
    for _ in 0..3 {
        let seen = Value::Bytes(b"start".to_vec());
        assert_eq!(returned(&mut session, "share"), (Some(seen), true));
    }
}

fn a_file_that_the_import_mapped_is_each_calls_own(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/left_open.py"));
    let mut spec = bench.spec();
    spec.environment.push(("MAP".to_owned(), "1".to_owned()));
    let mut session = bench.session_of(&spec);
    for _ in 0..3 {
        let seen = Value::Bytes(b"some".to_vec());
        // Where there are mounts, what is mapped is the repository's own, which no call can change.
        let anew = !tier.has_namespaces();
        assert_eq!(returned(&mut session, "change_in_place"), (Some(seen), anew));
    }
}

fn nothing_is_handed_on_in_the_mailbox(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("descriptors.py"));
    let mut session = bench.session();
    for at in [30, 3000, 20_000, 65_536 + 3000, 65_536 + 9000, 3_000_000] {
        for _ in 0..2 {
            let leave = build_call("leave_in_the_mailbox").with([Value::Int(at)]);
            assert_eq!(session.value(leave), Value::Int(0), "{at}");
        }
    }
}

fn the_request_of_a_dead_fork_is_not_sent_to_the_next_one(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/dead_fork.py"));
    let mut session = bench.session();
    let outcomes: Vec<Outcome> =
        (0..6).map(|number| session.run(build_call("echo").with([Value::Int(number)]))).collect();
    let verdicts: Vec<Verdict> = outcomes.iter().map(|outcome| outcome.verdict).collect();
    assert!(verdicts.contains(&Verdict::Crashed), "{verdicts:?}");
    for (number, outcome) in (0..).zip(outcomes) {
        let Some(value) = outcome.result.value else { continue };
        assert_eq!(value.value, Some(Value::Int(number)), "{verdicts:?}");
    }
}

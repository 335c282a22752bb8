//! Calls share an interpreter, but nothing is handed on through it: not by what the import left
//! open, not through `/proc`, not in memory.

use menace_model::{Outcome, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{Bench, Session, ask, guest};

crate::on_every_tier![
    what_the_import_left_open_is_each_calls_own,
    no_call_finds_anothers_files_through_the_interpreter_at_any_level,
    memory_that_the_import_shares_is_each_calls_own,
    a_file_that_the_import_mapped_is_each_calls_own,
    nothing_is_handed_on_in_the_mailbox,
    what_a_dead_fork_was_to_be_told_is_not_told_to_the_next,
];

fn is_done_anew(outcome: &Outcome) -> bool {
    outcome.notes.iter().any(|note| note.starts_with("imported anew"))
}

/// What equal calls return: always the same.
fn returned(session: &mut Session<'_>, name: &str) -> (Option<Value>, bool) {
    let outcome = session.run(ask(name));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    let anew = is_done_anew(&outcome);
    (outcome.value.and_then(|value| value.value), anew)
}

fn what_the_import_left_open_is_each_calls_own(tier: Tier) {
    let bench = Bench::new(tier, guest!("imports/left_open.py"));
    let mut session = bench.session();
    let first = returned(&mut session, "look_and_spoil");
    assert!(first.0.is_some(), "an answer");
    assert!(!first.1, "files that can be opened again are no reason to import anew");
    for _ in 0..2 {
        assert_eq!(returned(&mut session, "look_and_spoil"), first);
    }
    session.still_works();
}

fn no_call_finds_anothers_files_through_the_interpreter_at_any_level(tier: Tier) {
    let bench = Bench::new(tier, guest!("loopholes.py"));
    for level in 1..=5 {
        let mut spec = bench.spec();
        spec.security_level = level;
        let mut session = bench.session_of(&spec);
        for _ in 0..3 {
            let outcome = session.run(ask("leave_traces"));
            let found = outcome.value.and_then(|value| value.value);
            assert_eq!(found, Some(Value::List(Vec::new())), "at level {level}");
        }
    }
}

fn memory_that_the_import_shares_is_each_calls_own(tier: Tier) {
    let bench = Bench::new(tier, guest!("imports/left_open.py"));
    let mut spec = bench.spec();
    spec.environment.push(("SHARE".to_owned(), "1".to_owned()));
    let mut session = bench.session_of(&spec);
    for _ in 0..3 {
        let seen = Value::Bytes(b"start".to_vec());
        assert_eq!(returned(&mut session, "share"), (Some(seen), true));
    }
}

fn a_file_that_the_import_mapped_is_each_calls_own(tier: Tier) {
    let bench = Bench::new(tier, guest!("imports/left_open.py"));
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
    let bench = Bench::new(tier, guest!("descriptors.py"));
    let mut session = bench.session();
    for at in [30, 3000, 20_000, 65_536 + 3000, 65_536 + 9000, 3_000_000] {
        for _ in 0..2 {
            let leave = ask("leave_in_the_mailbox").with([Value::Int(at)]);
            assert_eq!(session.value(leave), Value::Int(0), "{at}");
        }
    }
}

fn what_a_dead_fork_was_to_be_told_is_not_told_to_the_next(tier: Tier) {
    let bench = Bench::new(tier, guest!("imports/dead_fork.py"));
    let mut session = bench.session();
    let outcomes: Vec<Outcome> =
        (0..6).map(|number| session.run(ask("echo").with([Value::Int(number)]))).collect();
    let verdicts: Vec<Verdict> = outcomes.iter().map(|outcome| outcome.verdict).collect();
    assert!(verdicts.contains(&Verdict::Crashed), "{verdicts:?}");
    for (number, outcome) in (0..).zip(outcomes) {
        let Some(value) = outcome.value else { continue };
        assert_eq!(value.value, Some(Value::Int(number)), "{verdicts:?}");
    }
}

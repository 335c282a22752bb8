//! A section that runs concurrently with itself: what only concurrency causes is found, the same
//! each time, and the call itself and those after it do not notice.

use menace_model::{
    BurstReport, ConcurrencyBurst, Limit, LimitMechanism, Outcome, TargetKind, Value,
};
use menace_sandbox::Tier;

use crate::bench::{CallBuilder, ContractBench, ContractSession, build_call, guest, text};
use crate::reading::{assert_fault_free, returned};

crate::on_every_tier![
    a_lost_update_is_found_the_same_each_time,
    exceptions_that_only_concurrency_causes_are_named,
    a_deadlock_is_found_and_the_call_goes_on,
    a_wait_for_a_lock_that_was_never_released_is_found,
    as_many_threads_as_were_asked_for_run,
    sound_sections_are_not_reported,
    tasks_run_at_once_too,
    changes_of_concurrent_runs_are_undone,
    without_new_processes_there_is_no_burst,
];

const GUEST: &str = guest!("burst.py");
/// The machine may have more to do: nothing here depends on how long it takes.
const CALL_TIMEOUT_MS: u64 = 30_000;

impl CallBuilder {
    fn with_burst(mut self, threads: u32, tasks: u32) -> Self {
        self.0.conditions.burst = Some(ConcurrencyBurst { threads, tasks });
        self.timeout(CALL_TIMEOUT_MS)
    }
}

fn method(name: &str) -> CallBuilder {
    let class = "guest:Counter".parse().expect("a name");
    let counter = Value::New { class, args: Vec::new(), kwargs: Vec::new() };
    build_call(&format!("Counter.{name}")).kind(TargetKind::Method).on(counter)
}

fn report(outcome: &Outcome) -> &BurstReport {
    let held = outcome.enforced_by.get(&Limit::Burst);
    assert_eq!(held, Some(&vec![LimitMechanism::Harness]), "{outcome:#?}");
    outcome.burst.as_ref().expect("it is held")
}

/// What is on the line where a thread waits.
fn waits_at(report: &BurstReport) -> &'static str {
    let frame = report.waits_at.as_ref().unwrap_or_else(|| panic!("{report:?}"));
    assert_eq!((frame.file.as_str(), frame.in_repository), ("guest.py", true));
    GUEST.lines().nth(frame.line as usize - 1).expect("a line").trim()
}

fn assert_sound(outcome: &Outcome, spawned: u64) {
    let report = report(outcome);
    let found = (report.deadlocked, report.differs, report.raised.as_slice());
    assert_eq!(found, (false, false, &[][..]), "{report:?}");
    assert_eq!(report.threads_spawned + report.tasks_spawned, spawned, "{report:?}");
    assert_eq!(report.finished, spawned, "{report:?}");
}

fn a_wait_for_a_lock_that_was_never_released_is_found(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(method("forgetful").with_burst(4, 0));
    let report = report(&outcome);
    assert!(report.deadlocked && report.finished == 1, "{report:?}");
    assert_eq!(waits_at(report), "self.lock.acquire()");
    assert_over(&mut session);
}

/// Nothing of it is there any more.
fn assert_over(session: &mut ContractSession<'_>) {
    let after = session.run(build_call("module_state"));
    assert_eq!(returned(&after), &Value::List(vec![Value::Int(0); 3]));
    assert_fault_free(&after);
    assert_eq!(session.value(build_call("threads")), Value::Int(1));
    session.assert_still_works();
}

fn a_lost_update_is_found_the_same_each_time(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for seed in [1, 2] {
        let mut run = || session.run(method("racy").with_burst(8, 0).seed(seed));
        let (first, again) = (run(), run());
        let found = report(&first);
        assert!(found.differs && !found.deadlocked, "{found:?}");
        assert_eq!((found.threads_spawned, found.finished), (8, 8), "{found:?}");
        assert_eq!(report(&again), found);
        // The call itself is a run alone.
        assert_eq!(returned(&first), &Value::Int(1));
        assert_eq!((first.leaked.threads.len(), first.leaked.processes.len()), (0, 0));
    }
    assert_over(&mut session);
}

fn exceptions_that_only_concurrency_causes_are_named(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut run = || session.run(method("pop").with_burst(8, 0));
    let (first, again) = (run(), run());
    assert_eq!(report(&first).raised, ["IndexError"]);
    assert_eq!(report(&again), report(&first));
    assert_eq!(returned(&first), &Value::Int(3));
    assert_over(&mut session);
}

fn a_deadlock_is_found_and_the_call_goes_on(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for _ in 0..2 {
        let outcome = session.run(build_call("locks_in_any_order").with_burst(6, 0));
        let found = report(&outcome);
        assert!(found.deadlocked && found.finished < 6, "{found:?}");
        // Not where the others stand in line for them.
        assert_eq!(waits_at(found), "with other:");
        assert_eq!((found.threads_spawned, returned(&outcome)), (6, &Value::Int(2)));
    }
    assert_over(&mut session);
}

fn as_many_threads_as_were_asked_for_run(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    // More than the call itself may have.
    let ask = build_call("plain").with([Value::Int(1)]).limited(|limits| limits.processes = 4);
    assert_sound(&session.run(ask.with_burst(40, 0)), 40);
    let outcome = session.run(method("racy").with_burst(40, 0));
    let found = report(&outcome);
    assert_eq!((found.threads_spawned, found.finished, found.differs), (40, 40, true));
}

fn sound_sections_are_not_reported(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    // They wait for each other's lock all the time.
    for threads in [8, 40] {
        let outcome = session.run(method("sound").with_burst(threads, 0));
        assert_sound(&outcome, threads.into());
        assert_eq!(report(&outcome).distinct_results, u64::from(threads));
    }
    assert_sound(&session.run(build_call("sound_task").with_burst(0, 64)), 64);
    assert_over(&mut session);
}

fn tasks_run_at_once_too(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut run = |name: &str| session.run(build_call(name).with_burst(8, 24));
    let (first, again) = (run("racy_task"), run("racy_task"));
    let found = report(&first);
    assert_eq!((found.tasks_spawned, found.threads_spawned, found.finished), (24, 0, 24));
    assert!(found.differs, "{found:?}");
    assert_eq!(report(&again), found);
    assert_eq!(returned(&first), &Value::Int(1));
    let stuck = run("stuck_concurrently");
    assert!(report(&stuck).deadlocked, "{:?}", stuck.burst);
    assert_over(&mut session);
}

fn changes_of_concurrent_runs_are_undone(tier: Tier) {
    let bench = ContractBench::with_options(tier, GUEST, |options| {
        std::fs::write(options.repo.join("n.txt"), "4").expect("ours");
    });
    let mut session = bench.session();
    let path = || Value::from("n.txt");
    let outcome = session.run(build_call("count_in_file").with([path()]).with_burst(6, 0));
    assert!(report(&outcome).differs, "{:?}", outcome.burst);
    // One run alone: the call's own.
    assert_eq!(returned(&outcome), &Value::Int(5));
    assert_eq!(outcome.files.total, 1, "{:?}", outcome.files);
    assert_eq!(text(&session.value(build_call("content").with([path()]))), "4");
    assert_over(&mut session);
}

fn without_new_processes_there_is_no_burst(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut spec = bench.spec();
    spec.confinement.security_level = 5u8.try_into().unwrap();
    let outcome = bench.session_of(&spec).run(method("racy").with_burst(8, 0));
    assert_eq!(returned(&outcome), &Value::Int(1));
    assert_eq!((outcome.burst, outcome.unenforced), (None, vec![Limit::Burst]));
}

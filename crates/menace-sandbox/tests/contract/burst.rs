//! A section in company of itself: what only company brings about is found, the same each time, and
//! the call itself and those after it do not notice.

use menace_model::{Burst, BurstReport, How, Limit, Mechanism, Outcome, Value};
use menace_sandbox::Tier;

use crate::bench::{Ask, Bench, Session, ask, guest, text};
use crate::reading::{assert_in_peace, returned};

crate::on_every_tier![
    a_lost_update_is_found_the_same_each_time,
    what_only_company_raises_is_named,
    a_deadlock_is_found_and_the_call_goes_on,
    who_waits_for_a_lock_that_was_never_let_go_is_found,
    as_many_threads_as_were_asked_for_run,
    sound_sections_are_not_blamed,
    tasks_run_at_once_too,
    what_runs_in_company_change_is_undone,
    where_no_process_can_be_made_there_is_no_company,
];

const GUEST: &str = guest!("burst.py");
/// The machine may have more to do: nothing here depends on how long it takes.
const PATIENCE_MS: u64 = 30_000;

impl Ask {
    fn in_company(mut self, threads: u32, tasks: u32) -> Self {
        self.0.conditions.burst = Some(Burst { threads, tasks });
        self.timeout(PATIENCE_MS)
    }
}

fn method(name: &str) -> Ask {
    let class = "guest:Counter".parse().expect("a name");
    let counter = Value::New { class, args: Vec::new(), kwargs: Vec::new() };
    ask(&format!("Counter.{name}")).how(How::Method).on(counter)
}

fn report(outcome: &Outcome) -> &BurstReport {
    let held = outcome.enforced_by.get(&Limit::Burst);
    assert_eq!(held, Some(&vec![Mechanism::Harness]), "{outcome:#?}");
    outcome.burst.as_ref().expect("it is held")
}

/// What is on the line where somebody waits.
fn waits_at(report: &BurstReport) -> &'static str {
    let frame = report.waits_at.as_ref().unwrap_or_else(|| panic!("{report:?}"));
    assert_eq!((frame.file.as_str(), frame.own), ("guest.py", true));
    GUEST.lines().nth(frame.line as usize - 1).expect("a line").trim()
}

fn assert_sound(outcome: &Outcome, spawned: u64) {
    let report = report(outcome);
    let found = (report.deadlocked, report.differs, report.raised.as_slice());
    assert_eq!(found, (false, false, &[][..]), "{report:?}");
    assert_eq!(report.threads_spawned + report.tasks_spawned, spawned, "{report:?}");
    assert_eq!(report.finished, spawned, "{report:?}");
}

fn who_waits_for_a_lock_that_was_never_let_go_is_found(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(method("forgetful").in_company(4, 0));
    let report = report(&outcome);
    assert!(report.deadlocked && report.finished == 1, "{report:?}");
    assert_eq!(waits_at(report), "self.lock.acquire()");
    assert_over(&mut session);
}

/// Nothing of it is there any more.
fn assert_over(session: &mut Session<'_>) {
    let after = session.run(ask("module_state"));
    assert_eq!(returned(&after), &Value::List(vec![Value::Int(0); 3]));
    assert_in_peace(&after);
    assert_eq!(session.value(ask("threads")), Value::Int(1));
    session.still_works();
}

fn a_lost_update_is_found_the_same_each_time(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    for seed in [1, 2] {
        let mut run = || session.run(method("racy").in_company(8, 0).seed(seed));
        let (first, again) = (run(), run());
        let found = report(&first);
        assert!(found.differs && !found.deadlocked, "{found:?}");
        assert_eq!((found.threads_spawned, found.finished), (8, 8), "{found:?}");
        assert_eq!(report(&again), found);
        // The call itself is a run alone.
        assert_eq!(returned(&first), &Value::Int(1));
        assert_eq!((first.left.threads.len(), first.left.processes.len()), (0, 0));
    }
    assert_over(&mut session);
}

fn what_only_company_raises_is_named(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let mut run = || session.run(method("pop").in_company(8, 0));
    let (first, again) = (run(), run());
    assert_eq!(report(&first).raised, ["IndexError"]);
    assert_eq!(report(&again), report(&first));
    assert_eq!(returned(&first), &Value::Int(3));
    assert_over(&mut session);
}

fn a_deadlock_is_found_and_the_call_goes_on(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    for _ in 0..2 {
        let outcome = session.run(ask("locks_in_any_order").in_company(6, 0));
        let found = report(&outcome);
        assert!(found.deadlocked && found.finished < 6, "{found:?}");
        // Not where the others stand in line for them.
        assert_eq!(waits_at(found), "with other:");
        assert_eq!((found.threads_spawned, returned(&outcome)), (6, &Value::Int(2)));
    }
    assert_over(&mut session);
}

fn as_many_threads_as_were_asked_for_run(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    // More than the call itself may have.
    let ask = ask("plain").with([Value::Int(1)]).limited(|limits| limits.processes = 4);
    assert_sound(&session.run(ask.in_company(40, 0)), 40);
    let outcome = session.run(method("racy").in_company(40, 0));
    let found = report(&outcome);
    assert_eq!((found.threads_spawned, found.finished, found.differs), (40, 40, true));
}

fn sound_sections_are_not_blamed(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    // They wait for each other's lock all the time.
    for threads in [8, 40] {
        let outcome = session.run(method("sound").in_company(threads, 0));
        assert_sound(&outcome, threads.into());
        assert_eq!(report(&outcome).distinct_results, u64::from(threads));
    }
    assert_sound(&session.run(ask("sound_task").in_company(0, 64)), 64);
    assert_over(&mut session);
}

fn tasks_run_at_once_too(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let mut run = |name: &str| session.run(ask(name).in_company(8, 24));
    let (first, again) = (run("racy_task"), run("racy_task"));
    let found = report(&first);
    assert_eq!((found.tasks_spawned, found.threads_spawned, found.finished), (24, 0, 24));
    assert!(found.differs, "{found:?}");
    assert_eq!(report(&again), found);
    assert_eq!(returned(&first), &Value::Int(1));
    let stuck = run("stuck_in_company");
    assert!(report(&stuck).deadlocked, "{:?}", stuck.burst);
    assert_over(&mut session);
}

fn what_runs_in_company_change_is_undone(tier: Tier) {
    let bench = Bench::with_options(tier, GUEST, |options| {
        std::fs::write(options.repo.join("n.txt"), "4").expect("ours");
    });
    let mut session = bench.session();
    let path = || Value::from("n.txt");
    let outcome = session.run(ask("count_in_file").with([path()]).in_company(6, 0));
    assert!(report(&outcome).differs, "{:?}", outcome.burst);
    // One run alone: the call's own.
    assert_eq!(returned(&outcome), &Value::Int(5));
    assert_eq!(outcome.files.total, 1, "{:?}", outcome.files);
    assert_eq!(text(&session.value(ask("content").with([path()]))), "4");
    assert_over(&mut session);
}

fn where_no_process_can_be_made_there_is_no_company(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut spec = bench.spec();
    spec.security_level = 5;
    let outcome = bench.session_of(&spec).run(method("racy").in_company(8, 0));
    assert_eq!(returned(&outcome), &Value::Int(1));
    assert_eq!((outcome.burst, outcome.unenforced), (None, vec![Limit::Burst]));
}

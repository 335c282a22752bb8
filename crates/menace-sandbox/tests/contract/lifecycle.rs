//! What is left when it is over, however it was ended: nothing.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use menace_model::{Value, Verdict};
use menace_sandbox::{
    BackendOptions, CallJob, CallScheduler, CancelToken, SandboxError, SandboxSpec, Tier,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bench::{ContractBench, build_call, guest, interpreter};
use crate::{backends, host, process};

crate::on_every_tier![
    an_ended_session_leaves_nothing,
    a_python_that_starts_processes_of_its_own_is_refused,
    a_session_that_was_never_used_costs_nothing,
    a_cancelled_call_ends_at_once,
    what_is_cancelled_stays_cancelled,
    a_killed_init_is_an_error_and_leaves_nothing,
    a_stopped_init_is_ended_soon_after_the_deadline_and_leaves_nothing,
    an_init_that_is_stopped_while_it_waits_is_ended,
    a_scheduler_returns_every_result_by_its_index,
    a_second_run_of_a_scheduler_finds_its_sandboxes_warm,
    a_scheduler_makes_as_many_calls_at_once_as_it_has_workers,
    a_prewarmed_sandbox_is_started_and_used,
    a_spec_requested_twice_gets_a_spare,
    a_sandbox_that_ends_while_it_waits_is_replaced,
    a_sandbox_whose_python_ends_while_it_waits_is_replaced,
    threads_of_a_waiting_sandbox_are_stopped,
    a_cancelled_scheduler_ends_at_once,
    two_sessions_do_not_see_each_other,
    what_a_killed_menace_left_is_removed_by_the_next,
    a_process_that_merely_names_a_workspace_is_spared,
    a_missing_repository_is_an_error,
];

const GUEST: &str = guest!("limits.py");

fn temporary() -> Vec<String> {
    let entries = fs::read_dir(std::env::temp_dir()).expect("readable").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let own = format!("-{}-", std::process::id());
    names.filter(|name| name.contains(&own) && name.contains("menace")).collect()
}

fn an_ended_session_leaves_nothing(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let before = (host::mounts(), host::descriptors().len());
    let mut session = bench.session();
    session.assert_still_works();
    session.run(build_call("loop").timeout(200));
    assert_ne!(host::descendants(), Vec::<String>::new());
    drop(session);
    assert_eq!(host::descendants(), Vec::<String>::new());
    assert_eq!(before, (host::mounts(), host::descriptors().len()));
    assert_eq!(host::groups().len(), 0, "{:?}", host::groups());
    assert_eq!(temporary(), Vec::<String>::new());
}

/// They would not be in the control group.
fn a_python_that_starts_processes_of_its_own_is_refused(tier: Tier) {
    let startup = "import subprocess\nsubprocess.Popen(['sleep', '60'], start_new_session=True)\n";
    let bench = ContractBench::with_options(tier, GUEST, |options| {
        fs::write(options.repo.join("sitecustomize.py"), startup).expect("ours");
    });
    let mut spec = bench.spec();
    // Python is started in the repository.
    spec.environment.push(("PYTHONPATH".to_owned(), ".".to_owned()));
    let error = bench.session_of(&spec).try_run(build_call("fine")).expect_err("it started one");
    assert!(error.to_string().contains("`sleep`"), "{error}");
}

fn a_session_that_was_never_used_costs_nothing(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let session = bench.session();
    assert_eq!(host::descendants(), Vec::<String>::new());
    drop(session);
}

/// Waits until a guest of this process is busy.
fn wait_for_a_call() {
    let started = Instant::now();
    while host::descendants().len() < 3 && started.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
}

fn a_cancelled_call_ends_at_once(tier: Tier) {
    let cancel = CancelToken::default();
    let bench = ContractBench::with_options(tier, GUEST, |options| options.cancel = cancel.clone());
    std::thread::scope(|scope| {
        let sleep = build_call("sleep").with([Value::Int(60)]).timeout(60_000);
        let call = scope.spawn(|| {
            let result = bench.session().try_run(sleep);
            (result, Instant::now())
        });
        wait_for_a_call();
        let cancelled = Instant::now();
        cancel.cancel();
        let (result, ended) = call.join().expect("it does not panic");
        assert!(matches!(result, Err(SandboxError::Cancelled)), "{result:?}");
        let took = ended - cancelled;
        assert!(took < Duration::from_secs(1), "it took {took:?}");
    });
    assert_eq!(host::descendants(), Vec::<String>::new());
    assert_eq!(host::groups().len(), 0, "{:?}", host::groups());
}

fn what_is_cancelled_stays_cancelled(tier: Tier) {
    let cancel = CancelToken::default();
    let bench = ContractBench::with_options(tier, GUEST, |options| options.cancel = cancel.clone());
    let mut session = bench.session();
    session.assert_still_works();
    cancel.cancel();
    for _ in 0..2 {
        let result = session.try_run(build_call("fine"));
        assert!(matches!(result, Err(SandboxError::Cancelled)), "{result:?}");
    }
    let result = bench.session().try_run(build_call("fine"));
    assert!(matches!(result, Err(SandboxError::Cancelled)), "{result:?}");
}

/// Of the only sandbox of this process.
fn signal_init(tier: Tier, signal: Signal) {
    let first = host::children(std::process::id());
    // Where there are namespaces, PID 1 is the child of what we started.
    let inits = if tier.has_namespaces() { host::children(first[0]) } else { first };
    kill(Pid::from_raw(inits[0].cast_signed()), signal).expect("ours to signal");
}

fn a_killed_init_is_an_error_and_leaves_nothing(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    std::thread::scope(|scope| {
        let sleep = build_call("sleep").with([Value::Int(60)]).timeout(60_000);
        let call = scope.spawn(|| bench.session().try_run(sleep));
        wait_for_a_call();
        signal_init(tier, Signal::SIGKILL);
        let result = call.join().expect("it does not panic");
        assert!(matches!(result, Err(SandboxError::ConnectionLost(_))), "{result:?}");
    });
    assert_eq!(host::groups().len(), 0, "{:?}", host::groups());
    // The next one is fine.
    bench.session().assert_still_works();
}

/// One second and the time that killing takes, on a busy machine; an init that is busy has 30.
const STALL_GRACE: Duration = Duration::from_secs(10);

fn a_stopped_init_is_ended_soon_after_the_deadline_and_leaves_nothing(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let timeout = Duration::from_secs(2);
    std::thread::scope(|scope| {
        let sleep = build_call("sleep").with([Value::Int(60)]).timeout(2000);
        let mut session = bench.session();
        session.assert_still_works();
        let began = Instant::now();
        let call = scope.spawn(move || (session.try_run(sleep), session));
        wait_for_a_call();
        signal_init(tier, Signal::SIGSTOP);
        let (result, session) = call.join().expect("it does not panic");
        drop(session);
        let took = began.elapsed();
        assert!(took < timeout + STALL_GRACE, "{took:?}");
        assert!(matches!(result, Err(SandboxError::Stalled)), "{result:?}");
        let outcome = result.or_else(SandboxError::lost_to_crash).expect("a loss is an outcome");
        assert_eq!(outcome.verdict, Verdict::Crashed);
        assert!(outcome.reason.as_ref().is_some_and(|why| why.contains("stopped answering")));
    });
    assert_eq!(host::descendants(), Vec::<String>::new());
    assert_eq!(host::groups().len(), 0, "{:?}", host::groups());
    bench.session().assert_still_works();
}

/// However long the request is.
fn an_init_that_is_stopped_while_it_waits_is_ended(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    session.assert_still_works();
    signal_init(tier, Signal::SIGSTOP);
    let began = Instant::now();
    let long = Value::from("x".repeat(4 << 20).as_str());
    let result = session.try_run(build_call("sleep").with([long]).timeout(500));
    assert!(matches!(result, Err(SandboxError::Stalled)), "{result:?}");
    assert!(began.elapsed() < Duration::from_millis(500) + STALL_GRACE, "{:?}", began.elapsed());
}

fn a_scheduler_returns_every_result_by_its_index(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let scheduler = CallScheduler::new(bench.backend(), 2);
    let spec = bench.spec();
    let mut strict = bench.spec();
    strict.confinement.security_level = 5u8.try_into().unwrap();
    let jobs = (0..40).map(|index| {
        let spec = if index % 20 < 10 { &spec } else { &strict };
        let call = if index % 10 == 3 {
            build_call("loop").timeout(100)
        } else {
            build_call("allocate").with([Value::Int(index % 4)])
        };
        CallJob { spec: spec.clone(), call: call.0 }
    });
    let mut results: Vec<Option<Value>> = vec![None; 40];
    let mut seen = 0;
    scheduler.run(&CancelToken::default(), jobs.collect::<Vec<_>>(), |index, result| {
        seen += 1;
        let outcome = result.expect("no error of ours");
        results[index] = Some(match outcome.verdict {
            Verdict::TimedOut => Value::None,
            _ => outcome.result.value.and_then(|value| value.value).expect("a number"),
        });
    });
    assert_eq!(seen, 40);
    for (index, result) in results.into_iter().enumerate() {
        let index = i64::try_from(index).expect("few");
        let expected = if index % 10 == 3 { Value::None } else { Value::Int((index % 4) << 20) };
        assert_eq!(result, Some(expected), "number {index}");
    }
}

fn a_second_run_of_a_scheduler_finds_its_sandboxes_warm(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let scheduler = CallScheduler::new(bench.backend(), 1);
    let mut strict = bench.spec();
    strict.confinement.security_level = 5u8.try_into().unwrap();
    let specs = [bench.spec(), strict];
    let run = || {
        let jobs =
            specs.iter().map(|spec| CallJob { spec: spec.clone(), call: build_call("fine").0 });
        scheduler.run(&CancelToken::default(), jobs.collect::<Vec<_>>(), |_, result| {
            assert_eq!(result.expect("no error of ours").verdict, Verdict::Returned);
        });
        let mut sandboxes = host::children(std::process::id());
        sandboxes.sort_unstable();
        sandboxes
    };
    let first = run();
    assert_eq!(first.len(), specs.len(), "{first:?}");
    assert_eq!(run(), first);
    drop(scheduler);
    assert_eq!(host::descendants(), Vec::<String>::new());
}

/// Sandboxes of this process, once there are so many.
fn sandboxes(count: usize) -> Vec<u32> {
    let mut found = Vec::new();
    until(|| {
        found = host::children(std::process::id());
        found.len() >= count
    });
    found
}

/// Maybe not reaped by their parent yet.
fn all_have_ended() -> bool {
    host::descendants().iter().all(|process| process.ends_with(" Z"))
}

fn until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", host::descendants());
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn a_scheduler_makes_as_many_calls_at_once_as_it_has_workers(tier: Tier) {
    let cancel = CancelToken::default();
    let bench = ContractBench::with_options(tier, GUEST, |options| options.cancel = cancel.clone());
    let scheduler = CallScheduler::new(bench.backend(), 3);
    let sleep = build_call("sleep").with([Value::Int(60)]).timeout(60_000);
    let jobs = vec![CallJob { spec: bench.spec(), call: sleep.0 }; 3];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            scheduler.run(&cancel, jobs, |_, result| assert!(result.is_err(), "{result:?}"));
        });
        // None of the calls ends before all of them have begun. A spare one has no process for a
        // call.
        let processes = if tier.has_namespaces() { 4 } else { 3 };
        until(|| host::all_children().len() >= 3 * processes);
        cancel.cancel();
    });
}

fn a_prewarmed_sandbox_is_started_and_used(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    // Which module it is for, and where that lies, does not matter before it is imported.
    let import_roots = vec!["elsewhere".to_owned()];
    bench.backend().prewarm(&SandboxSpec { module: None, import_roots, ..bench.spec() });
    let started = sandboxes(1);
    let mut session = bench.session();
    session.assert_still_works();
    assert_eq!(host::children(std::process::id()), started);
}

fn a_spec_requested_twice_gets_a_spare(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut one = bench.session();
    one.assert_still_works();
    let first = sandboxes(1);
    assert_eq!(first.len(), 1, "one call needs no more");
    let mut other = bench.session();
    other.assert_still_works();
    if tier.has_namespaces() {
        // Both have their own, and one waits.
        sandboxes(3);
    } else {
        // With a copy of the repository that grows old.
        assert_eq!(sandboxes(2).len(), 2);
    }
}

/// Init does not supervise what `.pth` files started while a sandbox waits.
fn threads_of_a_waiting_sandbox_are_stopped(tier: Tier) {
    let startup = "import threading, time\n\
                   threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n";
    let bench = ContractBench::with_options(tier, GUEST, |options| {
        fs::write(options.repo.join("sitecustomize.py"), startup).expect("ours");
    });
    let mut spec = bench.spec();
    spec.environment.push(("PYTHONPATH".to_owned(), ".".to_owned()));
    bench.backend().prewarm(&spec);
    until(|| host::descendants().iter().any(|process| process.ends_with(" T")));
    bench.session_of(&spec).assert_still_works();
}

fn a_sandbox_that_ends_while_it_waits_is_replaced(tier: Tier) {
    ended_while_it_waits(tier, |waiting| waiting[0]);
}

/// It is no fault of the module's.
fn a_sandbox_whose_python_ends_while_it_waits_is_replaced(tier: Tier) {
    ended_while_it_waits(tier, |waiting| waiting[waiting.len() - 1]);
}

fn ended_while_it_waits(tier: Tier, victim: impl FnOnce(&[u32]) -> u32) {
    let bench = ContractBench::new(tier, GUEST);
    bench.backend().prewarm(&bench.spec());
    let processes = if tier.has_namespaces() { 3 } else { 2 };
    until(|| host::all_children().len() == processes);
    // Long enough for it to have said that it is ready, if it ever is.
    std::thread::sleep(Duration::from_millis(300));
    let pid = Pid::from_raw(victim(&host::all_children()).cast_signed());
    kill(pid, Signal::SIGKILL).expect("ours to kill");
    // The rest of the sandbox ends, too.
    until(all_have_ended);
    bench.session().assert_still_works();
}

fn a_cancelled_scheduler_ends_at_once(tier: Tier) {
    let cancel = CancelToken::default();
    let bench = ContractBench::with_options(tier, GUEST, |options| options.cancel = cancel.clone());
    let scheduler = CallScheduler::new(bench.backend(), 2);
    let sleep = build_call("sleep").with([Value::Int(60)]).timeout(60_000);
    let jobs: Vec<CallJob> =
        (0..70).map(|_| CallJob { spec: bench.spec(), call: sleep.0.clone() }).collect();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            scheduler.run(&cancel, jobs, |_, result| assert!(result.is_err(), "{result:?}"));
            Instant::now()
        });
        wait_for_a_call();
        let cancelled = Instant::now();
        cancel.cancel();
        let took = run.join().expect("it does not panic") - cancelled;
        assert!(took < Duration::from_secs(1), "it took {took:?}");
        // A spare ends beside them; its parent reaps it when it ends itself.
        until(all_have_ended);
        let took = cancelled.elapsed();
        assert!(took < Duration::from_secs(1), "it took {took:?}");
    });
}

fn two_sessions_do_not_see_each_other(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("pristine.py"));
    let mut one = bench.session();
    let before = one.value(build_call("look"));
    std::thread::scope(|scope| {
        let corrupting = scope.spawn(|| {
            let mut other = bench.session();
            for _ in 0..20 {
                other.try_run(build_call("tamper")).expect("an outcome");
            }
        });
        while !corrupting.is_finished() {
            let outcome = one.try_run(build_call("look")).expect("an outcome");
            let seen = outcome.value.as_ref().and_then(|value| value.value.as_ref());
            let seen = seen.unwrap_or_else(|| panic!("no answer: {outcome:#?}"));
            let new = differences(&before, seen);
            assert_eq!(new, Vec::<String>::new(), "{:?}", outcome.notes);
        }
    });
}

/// Names of what differs in two dictionaries.
fn differences(one: &Value, other: &Value) -> Vec<String> {
    let (Value::Dict(one), Value::Dict(other)) = (one, other) else { panic!("no dictionaries") };
    let pairs = one.iter().zip(other).filter(|(one, other)| one != other);
    pairs.map(|(one, other)| format!("{one:?}, then {other:?}")).collect()
}

/// Workspace and canary of a process that never was; the rest of a sandbox goes with its init.
fn what_a_killed_menace_left_is_removed_by_the_next(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let workspaces = &bench.options().workspace_parent;
    let left = workspaces.join("work-of-menace-4194303-1-0");
    fs::create_dir_all(left.join("sandbox/repo")).expect("writable");
    fs::write(left.join("sandbox/repo/file"), "left").expect("writable");
    let other = workspaces.join("of-another-user");
    fs::create_dir(&other).expect("writable");
    let canary = workspaces.join("canary-of-menace-4194303-1-0");
    fs::write(&canary, "tweet").expect("writable");
    let unpurged = BackendOptions { purge_leftovers: false, ..bench.options().clone() };
    backends::factory_for(tier)(unpurged).expect("as before");
    assert!(left.exists() && canary.exists(), "no purge was requested");
    let again = backends::factory_for(tier)(bench.options().clone()).expect("as before");
    assert_eq!(again.tier(), tier);
    assert!(!left.exists() && !canary.exists() && other.exists());
    fs::remove_dir(other).expect("ours");
}

/// Guests that lost their init are known by the home or the temporary directory they were given.
fn a_process_that_merely_names_a_workspace_is_spared(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let left = bench.options().workspace_parent.join("work-of-menace-4194303-1-0");
    let room = left.join("sandbox/box");
    fs::create_dir_all(&room).expect("writable");
    let sleeper = |name: &str, value: PathBuf| {
        let mut command = Command::new("sleep");
        command.arg("60").env_clear().env(name, value).spawn().expect("a process")
    };
    let mut guests = [sleeper("HOME", room.join("home")), sleeper("TMPDIR", room.join("tmp"))];
    let mut others = [
        sleeper("OLDPWD", room.join("home")),
        sleeper("HOME", room.join("home/below")),
        sleeper("HOME", bench.repo().to_owned()),
    ];
    backends::factory_for(tier)(bench.options().clone()).expect("as before");
    assert!(!left.exists());
    let signals = guests.each_mut().map(|guest| guest.wait().expect("ours").signal());
    let ended = others.each_mut().map(|other| other.try_wait().expect("ours").is_some());
    for other in &mut others {
        other.kill().and_then(|()| other.wait()).expect("ours");
    }
    assert_eq!((signals, ended), ([Some(libc::SIGKILL); 2], [false; 3]));
}

fn a_missing_repository_is_an_error(tier: Tier) {
    let mut options = BackendOptions::new("/nonexistent/repository".into(), interpreter());
    options.tier = Some(tier);
    options.init = process::init();
    let refused = backends::factory_for(tier)(options);
    assert!(matches!(refused, Err(SandboxError::Repository { .. })), "{refused:?}");
}

//! Processes that have nothing in common with their sandbox any more end with it all the same.

use std::time::{Duration, Instant};

use menace_model::Verdict;
use menace_sandbox::{CancelToken, SandboxError, Tier};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bench::{ContractBench, build_call, guest};
use crate::host;

crate::on_every_tier![
    no_daemon_outlives_an_import_that_failed,
    no_daemon_outlives_an_import_that_ended_the_interpreter,
    no_daemon_outlives_an_import_that_was_stopped,
    no_daemon_outlives_an_interpreter_that_ended_as_it_forked,
    no_daemon_outlives_an_init_that_hangs,
];

/// A guest that leaves a daemon, and how long the daemon sleeps, by which it is found.
fn guest(how: &str) -> (String, String) {
    let nap = format!("10000.{}", std::process::id());
    let source = guest!("imports/nameless_daemon.py");
    (format!("HOW = '{how}'\nNAP = '{nap}'\n{source}"), nap)
}

/// Whatever becomes of the import, its daemon is gone when the outcome is there.
fn no_daemon_is_left_by(tier: Tier, how: &str) {
    let (source, nap) = guest(how);
    let bench = ContractBench::new(tier, &source);
    let mut spec = bench.spec();
    spec.import_limits.timeout_ms = 2000;
    let mut session = bench.session_of(&spec);
    let outcome = session.run(build_call("fine"));
    assert_ne!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert_eq!(host::started_with(&nap), Vec::<String>::new());
}

fn no_daemon_outlives_an_import_that_failed(tier: Tier) {
    no_daemon_is_left_by(tier, "raise");
}

fn no_daemon_outlives_an_import_that_ended_the_interpreter(tier: Tier) {
    no_daemon_is_left_by(tier, "exit");
}

fn no_daemon_outlives_an_import_that_was_stopped(tier: Tier) {
    no_daemon_is_left_by(tier, "hang");
}

fn no_daemon_outlives_an_interpreter_that_ended_as_it_forked(tier: Tier) {
    no_daemon_is_left_by(tier, "fork");
}

fn wait_for(nap: &str) {
    let started = Instant::now();
    while host::started_with(nap).is_empty() {
        assert!(started.elapsed() < Duration::from_mins(1), "no daemon was started");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn no_daemon_outlives_an_init_that_hangs(tier: Tier) {
    let (source, nap) = guest("call");
    let cancel = CancelToken::default();
    let bench =
        ContractBench::with_options(tier, &source, |options| options.cancel = cancel.clone());
    std::thread::scope(|scope| {
        let leave = build_call("leave_and_wait").timeout(60_000);
        let call = scope.spawn(|| bench.session().try_run(leave));
        wait_for(&nap);
        for init in host::children(std::process::id()) {
            kill(Pid::from_raw(init.cast_signed()), Signal::SIGSTOP).expect("ours to stop");
        }
        cancel.cancel();
        let result = call.join().expect("it does not panic");
        assert!(matches!(result, Err(SandboxError::Cancelled)), "{result:?}");
    });
    assert_eq!(host::started_with(&nap), Vec::<String>::new());
}

//! Guests that hang, multiply, hog, crash: each gets its verdict, and the next call is fine.

use menace_model::{CallStage, Outcome, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{CallBuilder, ContractBench, build_call, guest};

crate::on_every_tier![
    an_infinite_loop_is_stopped,
    a_sleeper_is_stopped,
    a_guest_that_ignores_signals_is_stopped,
    a_guest_that_stops_itself_is_stopped_for_good,
    a_fork_bomb_is_contained,
    a_bomb_of_programs_is_contained_and_reported,
    a_daemon_does_not_outlive_its_call,
    a_program_does_not_outlive_its_call,
    an_exit_is_a_crash,
    a_fatal_signal_is_a_crash_that_names_it,
    ten_gigabytes_of_memory_are_refused,
    ten_gigabytes_of_file_are_refused,
    a_million_files_are_refused,
    deep_directories_are_thrown_away,
    a_gigabyte_of_output_is_counted_and_cut,
    a_huge_result_is_described_and_cut,
    recursion_is_an_exception,
    recursion_without_a_limit_harms_only_itself,
    leaked_threads_are_named,
    patches_stay_in_their_call,
    hooks_stay_in_their_call,
    an_exit_handler_does_not_hold_the_call_up,
    files_without_permissions_are_discarded,
    an_emptied_repository_is_whole_again,
    a_guest_without_resources_still_has_an_outcome,
];

const GUEST: &str = guest!("bad.py");
const MIB: u64 = 1 << 20;

/// Runs a bad call between two good ones, and says how it ended.
fn survived(tier: Tier, bad: CallBuilder) -> Outcome {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    session.assert_still_works();
    let outcome = session.run(bad);
    session.assert_still_works();
    outcome
}

fn assert_timed_out(outcome: &Outcome, timeout_ms: f64) {
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    let total = outcome.runtime_metrics.total_ms;
    assert!(total < timeout_ms + 250.0, "dead after {total} ms");
}

fn an_infinite_loop_is_stopped(tier: Tier) {
    for name in ["loop", "loop_in_c"] {
        assert_timed_out(&survived(tier, build_call(name).timeout(300)), 300.0);
    }
}

fn a_sleeper_is_stopped(tier: Tier) {
    let outcome = survived(tier, build_call("sleep").timeout(300));
    assert_timed_out(&outcome, 300.0);
    assert!(outcome.runtime_metrics.user_cpu_ms < 200.0);
}

fn a_guest_that_ignores_signals_is_stopped(tier: Tier) {
    assert_timed_out(&survived(tier, build_call("ignore_signals").timeout(300)), 300.0);
}

fn a_guest_that_stops_itself_is_stopped_for_good(tier: Tier) {
    assert_timed_out(&survived(tier, build_call("stop_itself").timeout(300)), 300.0);
}

fn a_fork_bomb_is_contained(tier: Tier) {
    let outcome =
        survived(tier, build_call("fork_bomb").timeout(500).limited(|l| l.processes = 30));
    assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
    assert_eq!(outcome.violations[0].kind, "processes");
    let total = outcome.runtime_metrics.total_ms;
    assert!(total < 750.0, "dead after {total} ms");
}

/// Python does not see that one is refused.
fn a_bomb_of_programs_is_contained_and_reported(tier: Tier) {
    let bomb = build_call("bomb_of_programs").timeout(500).limited(|l| l.processes = 30);
    let outcome = survived(tier, bomb);
    assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
    assert_eq!(outcome.violations[0].kind, "processes");
}

fn a_daemon_does_not_outlive_its_call(tier: Tier) {
    let outcome = survived(tier, build_call("daemonise"));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert_eq!(outcome.leaked.processes.len(), 1, "{:?}", outcome.leaked);
}

fn a_program_does_not_outlive_its_call(tier: Tier) {
    let outcome = survived(tier, build_call("leave_a_program"));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert!(outcome.leaked.processes[0].starts_with("sleep"), "{:?}", outcome.leaked);
}

fn an_exit_is_a_crash(tier: Tier) {
    for (name, code) in [("exit_at_once", 0), ("exit_at_once", 3), ("ask_to_exit", 3)] {
        let outcome = survived(tier, build_call(name).with([Value::Int(code)]));
        assert_eq!(outcome.verdict, Verdict::Crashed, "{name}: {outcome:#?}");
        assert!(outcome.reason.is_some());
        assert_eq!(outcome.stage, CallStage::Call);
        if name == "exit_at_once" {
            assert_eq!(outcome.exit.code.map(i64::from), Some(code));
        }
    }
}

fn a_fatal_signal_is_a_crash_that_names_it(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let kill = |number| build_call("kill_itself").with([Value::Int(i64::from(number))]);
    for (bad, signal, name) in [
        (build_call("segfault"), libc::SIGSEGV, "SIGSEGV"),
        (build_call("abort"), libc::SIGABRT, "SIGABRT"),
        (kill(libc::SIGKILL), libc::SIGKILL, "SIGKILL"),
        (kill(libc::SIGTERM), libc::SIGTERM, "SIGTERM"),
        (kill(libc::SIGSYS), libc::SIGSYS, "SIGSYS"),
    ] {
        let outcome = session.run(bad);
        assert_eq!(outcome.verdict, Verdict::Crashed, "{outcome:#?}");
        assert_eq!(outcome.exit.signal, Some(signal));
        assert!(outcome.result.reason.is_some_and(|reason| reason.contains(name)));
        session.assert_still_works();
    }
}

fn ten_gigabytes_of_memory_are_refused(tier: Tier) {
    for name in ["allocate_ten_gigabytes", "map_ten_gigabytes"] {
        let limited = build_call(name).timeout(5000).limited(|l| l.memory_bytes = Some(64 * MIB));
        let outcome = survived(tier, limited);
        assert_eq!(outcome.verdict, Verdict::OutOfMemory, "{name}: {outcome:#?}");
    }
}

fn ten_gigabytes_of_file_are_refused(tier: Tier) {
    for name in ["write_ten_gigabytes", "make_a_hole"] {
        let limited = build_call(name).timeout(5000).limited(|l| l.disk_bytes = Some(16 * MIB));
        let outcome = survived(tier, limited);
        assert_eq!(outcome.verdict, Verdict::OutOfDisk, "{name}: {outcome:#?}");
    }
}

fn a_million_files_are_refused(tier: Tier) {
    // Empty ones: it is their number that is limited, and only that can end it in time.
    let limited = build_call("make_a_million_files").timeout(60_000).limited(|l| {
        l.disk_bytes = Some(4 * MIB);
    });
    let outcome = survived(tier, limited);
    assert_eq!(outcome.verdict, Verdict::OutOfDisk, "{:?}", outcome.reason);
    assert!(outcome.files.touched.len() <= 1000 && outcome.files.total > 100);
}

fn deep_directories_are_thrown_away(tier: Tier) {
    let outcome = survived(tier, build_call("nest_directories").timeout(1000));
    assert!(
        matches!(outcome.verdict, Verdict::Returned | Verdict::TimedOut | Verdict::OutOfDisk),
        "{:?}",
        outcome.reason
    );
}

fn a_gigabyte_of_output_is_counted_and_cut(tier: Tier) {
    let outcome = survived(tier, build_call("print_a_gigabyte").timeout(20_000));
    assert_eq!(outcome.verdict, Verdict::Returned, "{:?}", outcome.reason);
    assert_eq!((outcome.stdout.bytes, outcome.stdout.truncated), (1 << 30, true));
    assert_eq!(outcome.stdout.text.len(), 64 << 10);
}

fn a_huge_result_is_described_and_cut(tier: Tier) {
    for (name, kind, length) in
        [("return_much", "bytes", 100_000_000), ("return_many", "list", 3_000_000)]
    {
        let outcome = survived(tier, build_call(name));
        assert_eq!(outcome.verdict, Verdict::Returned, "{name}: {:?}", outcome.reason);
        let returned = outcome.result.value.expect("it is described");
        assert_eq!((returned.kind.as_str(), returned.length), (kind, Some(length)), "{name}");
        assert!(returned.truncated && returned.repr.len() <= 4200, "{name}");
        assert_eq!(returned.value, None, "{name}");
    }
    let outcome = survived(tier, build_call("return_deep").timeout(3000));
    assert_eq!(outcome.verdict, Verdict::Returned, "{:?}", outcome.reason);
}

fn recursion_is_an_exception(tier: Tier) {
    let outcome = survived(tier, build_call("recurse"));
    assert_eq!(outcome.verdict, Verdict::Raised, "{outcome:#?}");
    let exception = outcome.result.exception.expect("it raised");
    assert_eq!(exception.kind, "RecursionError");
    assert!((1..=100).contains(&exception.frames.len()));
}

fn recursion_without_a_limit_harms_only_itself(tier: Tier) {
    let outcome = survived(tier, build_call("recurse_without_limit").timeout(4000));
    let verdict = outcome.verdict;
    assert!(
        matches!(verdict, Verdict::Crashed | Verdict::OutOfMemory | Verdict::TimedOut),
        "{outcome:#?}"
    );
}

fn leaked_threads_are_named(tier: Tier) {
    let outcome = survived(tier, build_call("leak_threads").timeout(2000));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert_eq!(outcome.leaked.threads.len(), 20, "{:?}", outcome.leaked);
    assert!(outcome.leaked.threads.contains(&"leak-3".to_owned()));
    assert!(outcome.runtime_metrics.total_ms < 1500.0, "init does not wait for them");
}

fn patches_stay_in_their_call(tier: Tier) {
    let outcome = survived(tier, build_call("patch_everything"));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert_eq!(outcome.result.value.and_then(|value| value.value), Some(Value::Int(7)));
    assert!(outcome.runtime_metrics.wall_ms >= 0.0);
}

fn hooks_stay_in_their_call(tier: Tier) {
    let outcome = survived(tier, build_call("trace_everything"));
    assert!(matches!(outcome.verdict, Verdict::Returned | Verdict::Raised), "{outcome:#?}");
}

fn an_exit_handler_does_not_hold_the_call_up(tier: Tier) {
    let outcome = survived(tier, build_call("register_at_exit").timeout(2000));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert!(outcome.runtime_metrics.total_ms < 1500.0);
}

fn files_without_permissions_are_discarded(tier: Tier) {
    let outcome = survived(tier, build_call("take_away_rights"));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
}

fn an_emptied_repository_is_whole_again(tier: Tier) {
    let outcome = survived(tier, build_call("remove_everything"));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert_eq!(outcome.result.value.and_then(|value| value.value), Some(Value::List(vec![])));
    let deleted = outcome.files.touched.iter().map(|file| file.path.as_str());
    assert!(deleted.clone().any(|path| path == "guest.py"), "{:?}", outcome.files);
    assert!(deleted.clone().any(|path| path.starts_with(".git")), "{:?}", outcome.files);
}

fn a_guest_without_resources_still_has_an_outcome(tier: Tier) {
    let outcome = survived(tier, build_call("starve_itself"));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
}

//! Thousands of calls, good and bad, leave memory, descriptors, mounts, groups and processes as
//! they were. `MENACE_SOAK_SECONDS` makes it longer; it never ends before ten thousand calls. Nor
//! does a sandbox that lives on grow; `MENACE_SOAK_CALLS` says how many it makes.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use menace_model::{Value, Verdict};
use menace_sandbox::{CallJob, CallScheduler, CancelToken, Tier};

use crate::bench::{CallBuilder, ContractBench, build_call, guest};
use crate::{host, process};

const GUEST: &str = guest!("limits.py");
const SOAK_SECONDS: u64 = 60;
const MIN_CALLS: usize = 10_000;
const SOAK_WORKERS: usize = 2;
/// Calls of one round: sandboxes are started and dropped between rounds.
const CALLS_PER_ROUND: usize = 400;
/// What the allocator of this process may keep for itself.
const MEMORY_TOLERANCE_BYTES: u64 = 16 << 20;

fn mixed_call(number: usize) -> CallBuilder {
    match number % 50 {
        7 => build_call("loop").timeout(20),
        19 => build_call("write").with([Value::from("big.bin"), Value::Int(2)]),
        31 => build_call("fork").with([Value::Int(3)]),
        43 => build_call("no_such_function"),
        _ => build_call("fine"),
    }
}

fn run_round(bench: &ContractBench) {
    let scheduler = CallScheduler::new(bench.backend(), SOAK_WORKERS);
    let jobs = (0..CALLS_PER_ROUND)
        .map(|number| CallJob { spec: bench.spec(), call: mixed_call(number).0 });
    let mut done = 0;
    scheduler.run(&CancelToken::default(), jobs.collect::<Vec<_>>(), |_, result| {
        result.expect("a guest is never an error");
        done += 1;
    });
    assert_eq!(done, CALLS_PER_ROUND);
}

#[test]
#[expect(clippy::print_stderr, reason = "a soak is asked how much it did")]
fn many_calls_leave_everything_as_it_was() {
    process::in_own_process(
        concat!(module_path!(), "::many_calls_leave_everything_as_it_was"),
        || {
            let seconds = process::variable("MENACE_SOAK_SECONDS");
            let seconds =
                seconds.map_or(SOAK_SECONDS, |seconds| seconds.parse().expect("a number"));
            let tier =
                if nix::unistd::geteuid().is_root() { Tier::Root } else { Tier::UserNamespaces };
            let bench = ContractBench::new(tier, GUEST);
            // What happens once (caches, the allocator's arenas) is not a leak.
            for _ in 0..3 {
                run_round(&bench);
            }
            let before = wait_until_idle();
            let memory = host::memory();
            let started = Instant::now();
            let mut calls = 0;
            while started.elapsed() < Duration::from_secs(seconds) || calls < MIN_CALLS {
                run_round(&bench);
                calls += CALLS_PER_ROUND;
            }
            let grown = host::memory().saturating_sub(memory);
            eprintln!(
                "{calls} calls in {:.1?}, {} kB more than before",
                started.elapsed(),
                grown >> 10
            );
            assert_eq!(wait_until_idle(), before);
            assert!(grown < MEMORY_TOLERANCE_BYTES, "{grown} bytes more than before");
            drop(bench);
            assert_eq!(host::descendants(), Vec::<String>::new());
            assert_eq!(host::groups(), BTreeSet::new());
        },
    );
}

/// What there is of this process between two rounds: sandboxes that wait for their turn, each with
/// its group, are others than before, but as many.
#[derive(Debug, PartialEq, Eq)]
struct HostResources {
    mounts: String,
    groups: usize,
    processes: Vec<String>,
    descriptors: usize,
}

/// Once no sandbox is starting or ending any more.
fn wait_until_idle() -> HostResources {
    let look = || {
        let names = host::descendants().into_iter();
        let mut processes: Vec<String> =
            names.filter_map(|one| Some(one.split_once(' ')?.1.to_owned())).collect();
        processes.sort();
        let groups = host::groups().len();
        let descriptors = host::descriptors().len();
        HostResources { mounts: host::mounts(), groups, processes, descriptors }
    };
    let mut last = look();
    for _ in 0..50 {
        std::thread::sleep(Duration::from_millis(100));
        let now = look();
        if now == last {
            return now;
        }
        last = now;
    }
    panic!("it does not come to rest: {last:?}");
}

/// Of one sandbox that lives on.
const CALLS_OF_ONE_SANDBOX: usize = 2000;
/// Until then caches fill.
const WARMUP_CALLS: usize = 500;
/// How much more a process of the sandbox may hold: pages that Python writes to here and there.
const GROWTH_TOLERANCE_BYTES: u64 = 1 << 20;

/// What a process of the sandbox has.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProcessResources {
    pid: u32,
    descriptors: usize,
    mounts: usize,
}

/// The init, PID 1 and the warm interpreter, with what each holds, and how much memory.
fn sandbox_resources() -> (Vec<ProcessResources>, Vec<u64>) {
    let mut chain = Vec::new();
    let mut parent = std::process::id();
    while chain.len() < 3 {
        let [child] = host::children(parent)[..] else { panic!("not one sandbox: {parent}") };
        chain.push(child);
        parent = child;
    }
    let text = |pid: u32, file: &str| {
        fs::read_to_string(format!("/proc/{pid}/{file}")).expect("it is alive")
    };
    let memory = |pid: &u32| {
        let pages: Option<u64> = text(*pid, "statm").split(' ').nth(1).and_then(|n| n.parse().ok());
        pages.expect("a number") * 4096
    };
    let of = |pid: &u32| ProcessResources {
        pid: *pid,
        descriptors: fs::read_dir(format!("/proc/{pid}/fd")).expect("it is alive").count(),
        mounts: text(*pid, "mountinfo").lines().count(),
    };
    (chain.iter().map(of).collect(), chain.iter().map(memory).collect())
}

/// The same once the sandbox has made itself ready for its next call.
fn sandbox_resources_at_rest() -> (Vec<ProcessResources>, Vec<u64>) {
    let mut last = sandbox_resources();
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(20));
        let now = sandbox_resources();
        if now.0 == last.0 {
            return now;
        }
        last = now;
    }
    panic!("it does not come to rest: {last:?}");
}

#[test]
#[expect(clippy::print_stderr, reason = "a soak is asked how much it did")]
fn a_sandbox_that_lives_on_does_not_grow() {
    process::in_own_process(
        concat!(module_path!(), "::a_sandbox_that_lives_on_does_not_grow"),
        || {
            let calls = process::variable("MENACE_SOAK_CALLS");
            let calls =
                calls.map_or(CALLS_OF_ONE_SANDBOX, |calls| calls.parse().expect("a number"));
            let tier =
                if nix::unistd::geteuid().is_root() { Tier::Root } else { Tier::UserNamespaces };
            let bench = ContractBench::new(tier, GUEST);
            let mut warm =
                bench.backend().open_pooled_session(&bench.spec()).expect("it costs nothing yet");
            let mut make = |calls: std::ops::Range<usize>| {
                for number in calls {
                    let call = match number % 50 {
                        19 => build_call("write").with([Value::from("big.bin"), Value::Int(1)]),
                        31 => build_call("fork").with([Value::Int(3)]),
                        _ => build_call("fine"),
                    };
                    let outcome = warm.run(&call.0).expect("a guest is never an error");
                    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
                }
            };
            make(0..WARMUP_CALLS);
            let (before, memory_before) = sandbox_resources_at_rest();
            let started = Instant::now();
            make(WARMUP_CALLS..calls.max(WARMUP_CALLS + 1));
            let took = started.elapsed();
            let (after, memory_after) = sandbox_resources_at_rest();
            eprintln!("{calls} calls, {took:.1?}: {memory_before:?} bytes, then {memory_after:?}");
            assert_eq!(after, before);
            for (before, after) in memory_before.iter().zip(&memory_after) {
                let grown = after.saturating_sub(*before);
                assert!(grown < GROWTH_TOLERANCE_BYTES, "{memory_before:?}, then {memory_after:?}");
            }
        },
    );
}

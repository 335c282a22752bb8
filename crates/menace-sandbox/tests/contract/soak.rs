//! Thousands of calls, good and bad, leave memory, descriptors, mounts, groups and processes as
//! they were. `MENACE_SOAK_SECONDS` makes it longer; it never ends before ten thousand calls. Nor does a
//! sandbox that lives on grow; `MENACE_SOAK_CALLS` says how many it makes.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use menace_model::{Value, Verdict};
use menace_sandbox::{Cancel, Job, Pool, Tier};

use crate::bench::{Ask, Bench, ask, guest};
use crate::{host, process};

const GUEST: &str = guest!("limits.py");
const SECONDS: u64 = 60;
const FEWEST_CALLS: usize = 10_000;
const WORKERS: usize = 2;
/// Calls of one round: sandboxes are started and dropped between rounds.
const ROUND: usize = 400;
/// What the allocator of this process may keep for itself.
const MEMORY_TOLERANCE: u64 = 16 << 20;

fn mixed(number: usize) -> Ask {
    match number % 50 {
        7 => ask("loop").timeout(20),
        19 => ask("write").with([Value::from("big.bin"), Value::Int(2)]),
        31 => ask("fork").with([Value::Int(3)]),
        43 => ask("no_such_function"),
        _ => ask("fine"),
    }
}

fn round(bench: &Bench) {
    let pool = Pool::new(bench.backend(), WORKERS);
    let jobs = (0..ROUND).map(|number| Job { spec: bench.spec(), call: mixed(number).0 });
    let mut done = 0;
    pool.run(&Cancel::default(), jobs.collect::<Vec<_>>(), |_, result| {
        result.expect("a guest is never an error");
        done += 1;
    });
    assert_eq!(done, ROUND);
}

#[test]
#[expect(clippy::print_stderr, reason = "a soak is asked how much it did")]
fn many_calls_leave_everything_as_it_was() {
    process::of_its_own(concat!(module_path!(), "::many_calls_leave_everything_as_it_was"), || {
        let seconds = process::variable("MENACE_SOAK_SECONDS");
        let seconds = seconds.map_or(SECONDS, |seconds| seconds.parse().expect("a number"));
        let tier = if nix::unistd::geteuid().is_root() { Tier::Root } else { Tier::UserNamespaces };
        let bench = Bench::new(tier, GUEST);
        // What happens once (caches, the allocator's arenas) is not a leak.
        for _ in 0..3 {
            round(&bench);
        }
        let before = at_rest();
        let memory = host::memory();
        let started = Instant::now();
        let mut calls = 0;
        while started.elapsed() < Duration::from_secs(seconds) || calls < FEWEST_CALLS {
            round(&bench);
            calls += ROUND;
        }
        let grown = host::memory().saturating_sub(memory);
        eprintln!(
            "{calls} calls in {:.1?}, {} kB more than before",
            started.elapsed(),
            grown >> 10
        );
        assert_eq!(at_rest(), before);
        assert!(grown < MEMORY_TOLERANCE, "{grown} bytes more than before");
        drop(bench);
        assert_eq!(host::descendants(), Vec::<String>::new());
        assert_eq!(host::groups(), BTreeSet::new());
    });
}

/// What there is of this process between two rounds: sandboxes that wait for their turn, each with its group, are
/// others than before, but as many.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    mounts: String,
    groups: usize,
    processes: Vec<String>,
    descriptors: usize,
}

/// Once nobody is on its way any more.
fn at_rest() -> Seen {
    let look = || {
        let names = host::descendants().into_iter();
        let mut processes: Vec<String> =
            names.filter_map(|one| Some(one.split_once(' ')?.1.to_owned())).collect();
        processes.sort();
        let groups = host::groups().len();
        let descriptors = host::descriptors().len();
        Seen { mounts: host::mounts(), groups, processes, descriptors }
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
const CALLS_OF_ONE: usize = 2000;
/// Until then caches fill.
const BEFORE: usize = 500;
/// How much more a process of the sandbox may hold: pages that Python writes to here and there.
const GROWTH_TOLERANCE: u64 = 1 << 20;

/// What a process of the sandbox has.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    pid: u32,
    descriptors: usize,
    mounts: usize,
}

/// The init, PID 1 and the warm interpreter, with what each holds, and how much memory.
fn held() -> (Vec<Held>, Vec<u64>) {
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
    let of = |pid: &u32| Held {
        pid: *pid,
        descriptors: fs::read_dir(format!("/proc/{pid}/fd")).expect("it is alive").count(),
        mounts: text(*pid, "mountinfo").lines().count(),
    };
    (chain.iter().map(of).collect(), chain.iter().map(memory).collect())
}

/// The same once the sandbox has made itself ready for its next call.
fn held_at_rest() -> (Vec<Held>, Vec<u64>) {
    let mut last = held();
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(20));
        let now = held();
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
    process::of_its_own(concat!(module_path!(), "::a_sandbox_that_lives_on_does_not_grow"), || {
        let calls = process::variable("MENACE_SOAK_CALLS");
        let calls = calls.map_or(CALLS_OF_ONE, |calls| calls.parse().expect("a number"));
        let tier = if nix::unistd::geteuid().is_root() { Tier::Root } else { Tier::UserNamespaces };
        let bench = Bench::new(tier, GUEST);
        let mut warm = bench.backend().warm_alone(&bench.spec()).expect("it costs nothing yet");
        let mut make = |calls: std::ops::Range<usize>| {
            for number in calls {
                let call = match number % 50 {
                    19 => ask("write").with([Value::from("big.bin"), Value::Int(1)]),
                    31 => ask("fork").with([Value::Int(3)]),
                    _ => ask("fine"),
                };
                let outcome = warm.run(&call.0).expect("a guest is never an error");
                assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
            }
        };
        make(0..BEFORE);
        let (before, memory_before) = held_at_rest();
        let started = Instant::now();
        make(BEFORE..calls.max(BEFORE + 1));
        let took = started.elapsed();
        let (after, memory_after) = held_at_rest();
        eprintln!("{calls} calls, {took:.1?}: {memory_before:?} bytes, then {memory_after:?}");
        assert_eq!(after, before);
        for (before, after) in memory_before.iter().zip(&memory_after) {
            let grown = after.saturating_sub(*before);
            assert!(grown < GROWTH_TOLERANCE, "{memory_before:?}, then {memory_after:?}");
        }
    });
}

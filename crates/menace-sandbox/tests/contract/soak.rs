//! Thousands of calls, good and bad, leave memory, descriptors, mounts, groups and processes as
//! they were. `MENACE_SOAK_SECONDS` makes it longer; it never ends before ten thousand calls.

use std::time::{Duration, Instant};

use menace_model::Value;
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
        let seen = || (host::mounts(), host::groups(), host::descendants());
        let (before, memory) = (seen(), host::memory());
        let descriptors = host::descriptors().len();
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
        assert_eq!(seen(), before);
        assert_eq!(host::descriptors().len(), descriptors);
        assert!(grown < MEMORY_TOLERANCE, "{grown} bytes more than before");
    });
}

//! The `timeout` fault: kills the call before a chosen file change, or at a random moment.

use std::time::{Duration, Instant};

use menace_model::{FaultMode, FaultStats, FaultTrigger, Seed};

/// The earliest kill by time. A call that changes files is killed earlier, before one of its first
/// changes ([`MAX_CHANGES_BEFORE_KILL`]), where a kill is more likely to leave a half-written
/// state.
const MIN_KILL_DELAY_MS: f64 = 50.0;
/// By rate: the call is killed before its first or second file change, if it makes one in time.
const MAX_CHANGES_BEFORE_KILL: u64 = 2;
/// How often to check whether the section runs yet, once the time of the kill has passed.
const SECTION_START_POLL: Duration = Duration::from_millis(1);

/// Decides when a call under the `timeout` fault is killed.
#[derive(Debug)]
pub(super) struct EarlyKill {
    /// Whether `FaultStats` counts file changes as opportunities (`FaultTrigger::Nth`). By rate the
    /// only opportunity is the call itself.
    counts_changes: bool,
    /// The call is killed before this file change, counted from one.
    kill_at_change: Option<u64>,
    kill_at: Option<Instant>,
    changes_seen: u64,
    injected: Option<(String, Instant)>,
}

impl EarlyKill {
    pub(super) fn new(when: FaultTrigger, seed: Seed, now: Instant, timeout: Duration) -> Self {
        let mut random = seed.rng();
        let (counts_changes, kill_at_change, kill_at) = match when {
            FaultTrigger::Nth(number) => (true, Some(number), None),
            FaultTrigger::Rate(share) if random.chance(share) => {
                // Log-uniform between 50 ms and the timeout: short calls are hit as often as long
                // ones.
                let max_ms = (timeout.as_secs_f64() * 1000.0).max(MIN_KILL_DELAY_MS);
                let millis =
                    MIN_KILL_DELAY_MS * (max_ms / MIN_KILL_DELAY_MS).powf(random.next_unit());
                let moment = now + Duration::from_secs_f64(millis / 1000.0);
                (false, Some(1 + random.next_below(MAX_CHANGES_BEFORE_KILL)), Some(moment))
            }
            FaultTrigger::Rate(_) => (false, None, None),
        };
        Self { counts_changes, kill_at_change, kill_at, changes_seen: 0, injected: None }
    }

    /// Counts a file change that the guest is about to make; true when the call is to be killed
    /// before it.
    pub(super) fn kills_at_change(&mut self, what: impl FnOnce() -> String) -> bool {
        self.changes_seen += 1;
        let kills = self.kill_at_change == Some(self.changes_seen);
        if kills {
            self.injected.get_or_insert((what(), Instant::now()));
        }
        kills
    }

    /// The time at which [`Self::is_due`] has to be called next.
    pub(super) fn next_check(&self) -> Option<Instant> {
        self.kill_at
    }

    /// Whether the call is to be killed now by time. Before the section runs it is not, and is
    /// asked again after [`SECTION_START_POLL`].
    pub(super) fn is_due(&mut self, now: Instant, is_window_open: bool) -> bool {
        let Some(moment) = self.kill_at.filter(|moment| *moment <= now) else { return false };
        self.kill_at =
            if is_window_open { None } else { Some(moment.max(now) + SECTION_START_POLL) };
        if is_window_open {
            self.injected.get_or_insert(("the call itself".to_owned(), now));
        }
        is_window_open
    }

    pub(super) fn into_fault_stats(self, ms: impl Fn(Instant) -> Option<f64>) -> FaultStats {
        let (first, last) = self.injected.unzip();
        FaultStats {
            mode: FaultMode::Timeout,
            opportunities: if self.counts_changes { self.changes_seen } else { 1 },
            injected: u64::from(first.is_some()),
            first_injected: first,
            last_injected_ms: last.and_then(ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL_TIMEOUT: Duration = Duration::from_secs(10);

    fn kill_moment(when: FaultTrigger, seed: u64) -> Option<Duration> {
        let now = Instant::now();
        EarlyKill::new(when, Seed(seed), now, CALL_TIMEOUT).next_check().map(|due| due - now)
    }

    #[test]
    fn the_moment_comes_from_the_seed_and_before_the_deadline() {
        let moments: Vec<Duration> = (0..100)
            .map(|seed| kill_moment(FaultTrigger::Rate(1.0), seed).expect("for sure"))
            .collect();
        let again = kill_moment(FaultTrigger::Rate(1.0), 7);
        assert_eq!(again, Some(moments[7]));
        assert!(moments.iter().all(|moment| *moment < CALL_TIMEOUT));
        let sooner = |than| moments.iter().filter(|moment| **moment < than).count();
        assert!((30..70).contains(&sooner(Duration::from_millis(700))), "{moments:?}");
        let spared =
            (0..100).filter(|seed| kill_moment(FaultTrigger::Rate(0.5), *seed).is_none()).count();
        assert!((30..70).contains(&spared), "{spared} of 100");
    }

    #[test]
    fn a_chosen_change_is_the_last_one_and_every_one_is_counted() {
        let mut early = EarlyKill::new(FaultTrigger::Nth(2), Seed(1), Instant::now(), CALL_TIMEOUT);
        assert!(!early.kills_at_change(|| "first".to_owned()));
        assert!(early.kills_at_change(|| "second".to_owned()));
        let stats = early.into_fault_stats(|_| Some(1.0));
        assert_eq!(
            (stats.opportunities, stats.injected, stats.first_injected.as_deref()),
            (2, 1, Some("second"))
        );
    }

    #[test]
    fn its_moment_waits_for_the_section() {
        let now = Instant::now();
        let mut early = EarlyKill::new(FaultTrigger::Rate(1.0), Seed(1), now, CALL_TIMEOUT);
        let late = now + CALL_TIMEOUT;
        assert!(!early.is_due(now, true));
        assert!(!early.is_due(late, false));
        assert!(early.next_check().is_some_and(|due| due > late));
        assert!(early.is_due(late + SECTION_START_POLL, true) && early.next_check().is_none());
        let stats = early.into_fault_stats(|_| Some(1.0));
        assert_eq!((stats.opportunities, stats.injected), (1, 1));
    }
}

//! An end that comes too early: at a chosen change of a file, or at a moment that the seed gives.

use std::time::{Duration, Instant};

use menace_model::{FaultMode, Felt, Seed, When};

/// Before that, who changes files has met the first of them: that end is the more telling one.
const SOONEST_MS: f64 = 50.0;
/// One that is to die does not outlive so many changes of files.
const MOST_CHANGES: u64 = 2;
/// How long to wait for the section to begin, when its moment has come before.
const SOON: Duration = Duration::from_millis(1);

/// Decides when a call is killed.
#[derive(Debug)]
pub(super) struct Early {
    /// Opportunities are changes of files; of a call by chance there is one, the call itself.
    counts_changes: bool,
    /// It is killed before this change, counted from one.
    change: Option<u64>,
    moment: Option<Instant>,
    changes: u64,
    struck: Option<(String, Instant)>,
}

impl Early {
    pub(super) fn new(when: When, seed: Seed, now: Instant, timeout: Duration) -> Self {
        let mut random = seed.random();
        let (counts_changes, change, moment) = match when {
            When::Nth(number) => (true, Some(number), None),
            When::Rate(share) if random.chance(share) => {
                // As likely among the first tenths of a second as among the last seconds.
                let most = (timeout.as_secs_f64() * 1000.0).max(SOONEST_MS);
                let millis = SOONEST_MS * (most / SOONEST_MS).powf(random.unit());
                let moment = now + Duration::from_secs_f64(millis / 1000.0);
                (false, Some(1 + random.below(MOST_CHANGES)), Some(moment))
            }
            When::Rate(_) => (false, None, None),
        };
        Self { counts_changes, change, moment, changes: 0, struck: None }
    }

    /// A file is about to be changed: whether it is killed before that.
    pub(super) fn at_change(&mut self, what: impl FnOnce() -> String) -> bool {
        self.changes += 1;
        let strikes = self.change == Some(self.changes);
        if strikes {
            self.struck.get_or_insert((what(), Instant::now()));
        }
        strikes
    }

    /// When to look again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.moment
    }

    /// Whether its moment has come; not before the section runs.
    pub(super) fn is_due(&mut self, now: Instant, section_runs: bool) -> bool {
        let Some(moment) = self.moment.filter(|moment| *moment <= now) else { return false };
        self.moment = if section_runs { None } else { Some(moment.max(now) + SOON) };
        if section_runs {
            self.struck.get_or_insert(("the call itself".to_owned(), now));
        }
        section_runs
    }

    pub(super) fn felt(self, ms: impl Fn(Instant) -> Option<f64>) -> Felt {
        let (first, last) = self.struck.unzip();
        Felt {
            mode: FaultMode::Timeout,
            offered: if self.counts_changes { self.changes } else { 1 },
            struck: u64::from(first.is_some()),
            first,
            last_ms: last.and_then(ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    fn moment(when: When, seed: u64) -> Option<Duration> {
        let now = Instant::now();
        Early::new(when, Seed(seed), now, TIMEOUT).due().map(|due| due - now)
    }

    #[test]
    fn the_moment_comes_from_the_seed_and_before_the_deadline() {
        let moments: Vec<Duration> =
            (0..100).map(|seed| moment(When::Rate(1.0), seed).expect("for sure")).collect();
        let again = moment(When::Rate(1.0), 7);
        assert_eq!(again, Some(moments[7]));
        assert!(moments.iter().all(|moment| *moment < TIMEOUT));
        let sooner = |than| moments.iter().filter(|moment| **moment < than).count();
        assert!((30..70).contains(&sooner(Duration::from_millis(700))), "{moments:?}");
        let spared = (0..100).filter(|seed| moment(When::Rate(0.5), *seed).is_none()).count();
        assert!((30..70).contains(&spared), "{spared} of 100");
    }

    #[test]
    fn a_chosen_change_is_the_last_one_and_every_one_is_counted() {
        let mut early = Early::new(When::Nth(2), Seed(1), Instant::now(), TIMEOUT);
        assert!(!early.at_change(|| "first".to_owned()));
        assert!(early.at_change(|| "second".to_owned()));
        let felt = early.felt(|_| Some(1.0));
        assert_eq!((felt.offered, felt.struck, felt.first.as_deref()), (2, 1, Some("second")));
    }

    #[test]
    fn its_moment_waits_for_the_section() {
        let now = Instant::now();
        let mut early = Early::new(When::Rate(1.0), Seed(1), now, TIMEOUT);
        let late = now + TIMEOUT;
        assert!(!early.is_due(now, true));
        assert!(!early.is_due(late, false));
        assert!(early.due().is_some_and(|due| due > late));
        assert!(early.is_due(late + SOON, true) && early.due().is_none());
        let felt = early.felt(|_| Some(1.0));
        assert_eq!((felt.offered, felt.struck), (1, 1));
    }
}

//! Moments in which others take the processor.

use std::time::{Duration, Instant};

use menace_model::{FaultMode, Felt, Random, Seed, When};

/// How long a pause takes, and how long it is quiet in between, in milliseconds.
const PAUSE_MS: (i64, i64) = (50, 200);
const QUIET_MS: (i64, i64) = (5, 60);

#[derive(Debug)]
pub(super) struct Pauses {
    random: Random,
    /// All of the time that is not quiet, for a rate of one.
    share: f64,
    only: Option<u64>,
    next: Instant,
    paused: bool,
    offered: u64,
    struck: u64,
    last: Option<Instant>,
}

impl Pauses {
    pub(super) fn new(when: When, seed: Seed, now: Instant) -> Self {
        let mut random = seed.random();
        let (share, only) = match when {
            When::Rate(share) => (share, None),
            When::Nth(number) => (1.0, Some(number)),
        };
        let first = Self::time(&mut random, QUIET_MS);
        let (paused, offered, struck) = (false, 0, 0);
        Self { random, share, only, next: now + first, paused, offered, struck, last: None }
    }

    pub(super) fn due(&self) -> Instant {
        self.next
    }

    /// Everybody stands still for now.
    pub(super) fn is_on(&self) -> bool {
        self.paused
    }

    /// True: stop. False: go on. When it is time follows from the seed alone: whoever comes late does not
    /// put off what is to come.
    pub(super) fn turn(&mut self, now: Instant) -> Option<bool> {
        if now < self.next {
            return None;
        }
        if self.paused {
            self.paused = false;
            self.next += Self::time(&mut self.random, QUIET_MS);
            return Some(false);
        }
        self.offered += 1;
        let strikes = match self.only {
            Some(number) => self.offered == number,
            None => self.random.chance(self.share),
        };
        let pause = Self::time(&mut self.random, PAUSE_MS);
        self.next += pause;
        if !strikes {
            return None;
        }
        self.struck += 1;
        self.last = Some(now);
        self.paused = true;
        Some(true)
    }

    pub(super) fn felt(self, ms: impl Fn(Instant) -> Option<f64>) -> Felt {
        Felt {
            mode: FaultMode::CpuSpike,
            offered: self.offered,
            struck: self.struck,
            first: (self.struck > 0).then(|| "a pause".to_owned()),
            last_ms: self.last.and_then(ms),
        }
    }

    fn time(random: &mut Random, (least, most): (i64, i64)) -> Duration {
        Duration::from_millis(random.between(least, most).unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moments at which everybody stops and goes on, in milliseconds since the beginning.
    fn moments(when: When, seed: u64) -> Vec<u128> {
        let began = Instant::now();
        let mut pauses = Pauses::new(when, Seed(seed), began);
        let mut moments = Vec::new();
        for _ in 0..200 {
            let now = pauses.due();
            if pauses.turn(now).is_some() {
                moments.push((now - began).as_millis());
            }
        }
        moments
    }

    /// Of ten thousand slots of any seed the share is within a hundredth of its mean.
    #[test]
    fn as_much_of_the_time_is_taken_as_was_asked_for() {
        for (rate, seed) in [(0.2, 1), (0.2, 2), (0.6, 1), (0.6, 2)] {
            let began = Instant::now();
            let mut pauses = Pauses::new(When::Rate(rate), Seed(seed), began);
            let (mut now, mut taken) = (began, Duration::ZERO);
            for _ in 0..10_000 {
                let (was_on, due) = (pauses.is_on(), pauses.due());
                taken += if was_on { due - now } else { Duration::ZERO };
                now = due;
                pauses.turn(now);
            }
            let share = taken.as_secs_f64() / (now - began).as_secs_f64();
            assert!((0.8 * rate..1.2 * rate).contains(&share), "{share} for {rate}");
        }
    }

    #[test]
    fn who_comes_late_puts_nothing_off() {
        let began = Instant::now();
        let mut pauses = Pauses::new(When::Rate(1.0), Seed(1), began);
        let mut punctual = Pauses::new(When::Rate(1.0), Seed(1), began);
        for _ in 0..50 {
            let due = pauses.due();
            assert_eq!(due, punctual.due());
            pauses.turn(due + Duration::from_millis(20));
            punctual.turn(due);
        }
    }

    #[test]
    fn pauses_come_from_the_seed() {
        let first = moments(When::Rate(0.5), 1);
        assert_eq!(moments(When::Rate(0.5), 1), first);
        assert_ne!(moments(When::Rate(0.5), 2), first);
        assert_eq!(moments(When::Nth(3), 1).len(), 2, "one that stops and goes on");
    }
}

//! The `cpu` fault: schedules pauses during which the call does not get the processor.

use std::time::{Duration, Instant};

use menace_model::{FaultMode, FaultStats, FaultTrigger, Seed, SeededRng};

/// Shortest and longest pause, in milliseconds.
const PAUSE_MS: (i64, i64) = (50, 200);
const PAUSE_GAP_MS: (i64, i64) = (5, 60);

#[derive(Debug)]
pub(super) struct CpuPauses {
    random: SeededRng,
    /// The share of the possible pauses that are made. With 1 the call runs in the gaps only.
    rate: f64,
    nth: Option<u64>,
    next_toggle: Instant,
    paused: bool,
    opportunities: u64,
    injected: u64,
    last_injected: Option<Instant>,
}

impl CpuPauses {
    pub(super) fn new(when: FaultTrigger, seed: Seed, now: Instant) -> Self {
        let mut random = seed.rng();
        let (rate, nth) = match when {
            FaultTrigger::Rate(share) => (share, None),
            FaultTrigger::Nth(number) => (1.0, Some(number)),
        };
        let first = Self::random_duration(&mut random, PAUSE_GAP_MS);
        let (paused, opportunities, injected) = (false, 0, 0);
        Self {
            random,
            rate,
            nth,
            next_toggle: now + first,
            paused,
            opportunities,
            injected,
            last_injected: None,
        }
    }

    pub(super) fn next_toggle(&self) -> Instant {
        self.next_toggle
    }

    /// Whether all processes of the call are stopped at the moment.
    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }

    /// `Some(true)`: stop all processes of the call; `Some(false)`: continue them; `None`: no
    /// change is due. The times follow from the seed alone: a late check does not delay the pauses
    /// after it.
    pub(super) fn toggle_if_due(&mut self, now: Instant) -> Option<bool> {
        if now < self.next_toggle {
            return None;
        }
        if self.paused {
            self.paused = false;
            self.next_toggle += Self::random_duration(&mut self.random, PAUSE_GAP_MS);
            return Some(false);
        }
        self.opportunities += 1;
        let injects = match self.nth {
            Some(number) => self.opportunities == number,
            None => self.random.chance(self.rate),
        };
        let pause = Self::random_duration(&mut self.random, PAUSE_MS);
        self.next_toggle += pause;
        if !injects {
            return None;
        }
        self.injected += 1;
        self.last_injected = Some(now);
        self.paused = true;
        Some(true)
    }

    pub(super) fn into_fault_stats(self, ms: impl Fn(Instant) -> Option<f64>) -> FaultStats {
        FaultStats {
            mode: FaultMode::CpuSpike,
            opportunities: self.opportunities,
            injected: self.injected,
            first_injected: (self.injected > 0).then(|| "a pause".to_owned()),
            last_injected_ms: self.last_injected.and_then(ms),
        }
    }

    fn random_duration(random: &mut SeededRng, (min_ms, max_ms): (i64, i64)) -> Duration {
        Duration::from_millis(random.next_between(min_ms, max_ms).unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When the processes of the call stop and continue, in milliseconds since the beginning.
    fn pause_moments(when: FaultTrigger, seed: u64) -> Vec<u128> {
        let began = Instant::now();
        let mut pauses = CpuPauses::new(when, Seed(seed), began);
        let mut moments = Vec::new();
        for _ in 0..200 {
            let now = pauses.next_toggle();
            if pauses.toggle_if_due(now).is_some() {
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
            let mut pauses = CpuPauses::new(FaultTrigger::Rate(rate), Seed(seed), began);
            let (mut now, mut taken) = (began, Duration::ZERO);
            for _ in 0..10_000 {
                let (was_on, due) = (pauses.is_paused(), pauses.next_toggle());
                taken += if was_on { due - now } else { Duration::ZERO };
                now = due;
                pauses.toggle_if_due(now);
            }
            let share = taken.as_secs_f64() / (now - began).as_secs_f64();
            assert!((0.8 * rate..1.2 * rate).contains(&share), "{share} for {rate}");
        }
    }

    #[test]
    fn a_late_check_delays_no_pause() {
        let began = Instant::now();
        let mut pauses = CpuPauses::new(FaultTrigger::Rate(1.0), Seed(1), began);
        let mut punctual = CpuPauses::new(FaultTrigger::Rate(1.0), Seed(1), began);
        for _ in 0..50 {
            let due = pauses.next_toggle();
            assert_eq!(due, punctual.next_toggle());
            pauses.toggle_if_due(due + Duration::from_millis(20));
            punctual.toggle_if_due(due);
        }
    }

    #[test]
    fn pauses_come_from_the_seed() {
        let first = pause_moments(FaultTrigger::Rate(0.5), 1);
        assert_eq!(pause_moments(FaultTrigger::Rate(0.5), 1), first);
        assert_ne!(pause_moments(FaultTrigger::Rate(0.5), 2), first);
        assert_eq!(pause_moments(FaultTrigger::Nth(3), 1).len(), 2, "one that stops and goes on");
    }
}

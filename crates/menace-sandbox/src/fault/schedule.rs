//! When a fault is injected.

use menace_model::{FaultTrigger, Seed, SeededRng};

#[derive(Debug)]
pub(super) struct FaultSchedule {
    trigger: FaultTrigger,
    rng: SeededRng,
    pub(super) opportunities: u64,
    pub(super) injected: u64,
}

impl FaultSchedule {
    pub(super) fn new(trigger: FaultTrigger, seed: Seed) -> Self {
        Self { trigger, rng: seed.rng(), opportunities: 0, injected: 0 }
    }

    /// Counts an opportunity; true when the fault is to be injected into it.
    pub(super) fn should_inject(&mut self) -> bool {
        self.opportunities += 1;
        let injects = match self.trigger {
            FaultTrigger::Nth(number) => self.opportunities == number,
            FaultTrigger::Rate(share) => self.rng.chance(share),
        };
        self.injected += u64::from(injects);
        injects
    }

    /// Like [`Self::should_inject`], but with a chosen opportunity all later ones fail too: a full
    /// disk stays full, used up memory stays used up.
    pub(super) fn should_inject_persistent(&mut self) -> bool {
        if self.is_single_target() && self.injected > 0 {
            self.opportunities += 1;
            self.injected += 1;
            return true;
        }
        self.should_inject()
    }

    /// Takes back the last injection, which could not be made.
    pub(super) fn undo_last_injection(&mut self) {
        self.injected -= 1;
    }

    /// Whether the fault has one chosen opportunity (`Nth`) instead of a rate.
    pub(super) fn is_single_target(&self) -> bool {
        matches!(self.trigger, FaultTrigger::Nth(_))
    }

    pub(super) fn rng(&mut self) -> &mut SeededRng {
        &mut self.rng
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_opportunity_and_no_other() {
        let mut schedule = FaultSchedule::new(FaultTrigger::Nth(3), Seed(1));
        let injected: Vec<bool> = (0..5).map(|_| schedule.should_inject()).collect();
        assert_eq!(injected, [false, false, true, false, false]);
        assert_eq!((schedule.opportunities, schedule.injected), (5, 1));
    }

    #[test]
    fn what_is_used_up_stays_so() {
        let mut schedule = FaultSchedule::new(FaultTrigger::Nth(2), Seed(1));
        let injected: Vec<bool> = (0..4).map(|_| schedule.should_inject_persistent()).collect();
        assert_eq!(injected, [false, true, true, true]);
        assert_eq!((schedule.opportunities, schedule.injected), (4, 3));
    }

    #[test]
    fn a_share_of_them_the_same_each_time() {
        let run = |seed| {
            let mut schedule = FaultSchedule::new(FaultTrigger::Rate(0.3), Seed(seed));
            (0..1000).map(|_| schedule.should_inject()).collect::<Vec<_>>()
        };
        let injected = run(1).iter().filter(|injected| **injected).count();
        assert!((250..350).contains(&injected), "{injected}");
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}

//! When a fault strikes.

use menace_model::{Random, Seed, When};

#[derive(Debug)]
pub(super) struct Schedule {
    when: When,
    random: Random,
    pub(super) offered: u64,
    pub(super) struck: u64,
}

impl Schedule {
    pub(super) fn new(when: When, seed: Seed) -> Self {
        Self { when, random: seed.random(), offered: 0, struck: 0 }
    }

    /// One more opportunity: is it taken?
    pub(super) fn strikes(&mut self) -> bool {
        self.offered += 1;
        let strikes = match self.when {
            When::Nth(number) => self.offered == number,
            When::Rate(share) => self.random.chance(share),
        };
        self.struck += u64::from(strikes);
        strikes
    }

    /// The same for what stays as it is once it has happened: a full disk, used up memory.
    pub(super) fn strikes_for_good(&mut self) -> bool {
        if self.is_aimed() && self.struck > 0 {
            self.offered += 1;
            self.struck += 1;
            return true;
        }
        self.strikes()
    }

    /// What was to strike last could not.
    pub(super) fn missed(&mut self) {
        self.struck -= 1;
    }

    /// One opportunity was chosen, not a share of them.
    pub(super) fn is_aimed(&self) -> bool {
        matches!(self.when, When::Nth(_))
    }

    pub(super) fn random(&mut self) -> &mut Random {
        &mut self.random
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_opportunity_and_no_other() {
        let mut schedule = Schedule::new(When::Nth(3), Seed(1));
        let struck: Vec<bool> = (0..5).map(|_| schedule.strikes()).collect();
        assert_eq!(struck, [false, false, true, false, false]);
        assert_eq!((schedule.offered, schedule.struck), (5, 1));
    }

    #[test]
    fn what_is_used_up_stays_so() {
        let mut schedule = Schedule::new(When::Nth(2), Seed(1));
        let struck: Vec<bool> = (0..4).map(|_| schedule.strikes_for_good()).collect();
        assert_eq!(struck, [false, true, true, true]);
        assert_eq!((schedule.offered, schedule.struck), (4, 3));
    }

    #[test]
    fn a_share_of_them_the_same_each_time() {
        let run = |seed| {
            let mut schedule = Schedule::new(When::Rate(0.3), Seed(seed));
            (0..1000).map(|_| schedule.strikes()).collect::<Vec<_>>()
        };
        let struck = run(1).iter().filter(|struck| **struck).count();
        assert!((250..350).contains(&struck), "{struck}");
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}

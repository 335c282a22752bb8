//! A share of the processors, held by stopping and waking who has it: for where no control group does.

use std::time::{Duration, Instant};

/// What a call may take at once before its share counts, so that short ones are not stopped at all.
const GRACE: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(crate) struct Ration {
    share: f64,
    began: Instant,
    /// What was saved up before does not count: a share is one at every moment.
    saved: Duration,
    stopped: bool,
}

impl Ration {
    pub(crate) fn new(share: f64, now: Instant) -> Self {
        Self { share, began: now, saved: Duration::ZERO, stopped: false }
    }

    /// Whether a call that has used so much processor time has to stop, or may go on again.
    pub(crate) fn turn(&mut self, used_ns: u64, now: Instant) -> Option<bool> {
        let stop = self.is_used_up(used_ns, now);
        let was_stopped = std::mem::replace(&mut self.stopped, stop);
        // Each time: those who were born meanwhile have to stop, too.
        (stop || was_stopped).then_some(stop)
    }

    fn is_used_up(&mut self, used_ns: u64, now: Instant) -> bool {
        let used = Duration::from_nanos(used_ns);
        let so_far = now.saturating_duration_since(self.began).mul_f64(self.share);
        let due = so_far.saturating_sub(self.saved);
        // Who waits for a processor has not given it up yet.
        self.saved += due.saturating_sub(used + GRACE);
        used > so_far.saturating_sub(self.saved).max(GRACE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(10);

    /// Processor time after so many ticks of somebody who takes what is there.
    fn used(
        ration: &mut Ration,
        began: Instant,
        ticks: u32,
        busy: impl Fn(u32) -> bool,
    ) -> Duration {
        let mut used = Duration::ZERO;
        for tick in 1..=ticks {
            let stops = ration.is_used_up(used.as_nanos() as u64, began + TICK * tick);
            if busy(tick) && !stops {
                used += TICK;
            }
        }
        used
    }

    #[test]
    fn who_is_always_busy_has_the_share() {
        let began = Instant::now();
        for share in [0.05, 0.2, 0.5, 0.8] {
            let mut ration = Ration::new(share, began);
            let had = used(&mut ration, began, 200, |_| true).as_secs_f64() / 2.0;
            assert!((had / share - 1.0).abs() < 0.15, "{had} for {share}");
        }
    }

    #[test]
    fn a_monitor_that_comes_late_takes_back_what_was_too_much() {
        let began = Instant::now();
        for share in [0.05, 0.2, 0.5] {
            let mut ration = Ration::new(share, began);
            let (mut now, mut used) = (began, Duration::ZERO);
            // Up to seven hundredths of a second late, as on a busy machine; on which it is measured
            // when it may go on, as somebody does who looks at the clock until the time is over.
            for turn in 0.. {
                let late = TICK * (1 + turn * 3 % 7);
                now += late;
                let is_over = now >= began + Duration::from_secs(3);
                let stops = ration.is_used_up(used.as_nanos() as u64, now);
                if is_over && !stops {
                    break;
                }
                if !stops {
                    used += TICK * (1 + (turn + 1) * 3 % 7);
                }
            }
            let had = used.as_secs_f64() / now.duration_since(began).as_secs_f64();
            assert!((had / share - 1.0).abs() < 0.2, "{had} for {share}");
        }
    }

    #[test]
    fn who_was_stopped_is_woken_and_nobody_else() {
        let (began, mut ration) = (Instant::now(), Ration::new(0.5, Instant::now()));
        assert_eq!(ration.turn(0, began + TICK), None);
        assert_eq!(ration.turn(60_000_000, began + TICK * 2), Some(true));
        assert_eq!(ration.turn(60_000_000, began + TICK * 3), Some(true));
        assert_eq!(ration.turn(60_000_000, began + TICK * 30), Some(false));
        assert_eq!(ration.turn(60_000_000, began + TICK * 31), None);
    }

    #[test]
    fn nothing_can_be_saved_up() {
        let began = Instant::now();
        let mut ration = Ration::new(0.25, began);
        let had = used(&mut ration, began, 200, |tick| tick > 100).as_secs_f64();
        assert!((had - 0.25).abs() < 0.04, "{had} of the second in which it was busy");
    }
}

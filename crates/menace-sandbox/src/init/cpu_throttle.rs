//! Enforces the processor share of a call by stopping and continuing its processes, where no
//! control group can.

use std::time::{Duration, Instant};

/// CPU time before the share counts, so that short calls are not stopped at all.
const CPU_BURST_ALLOWANCE: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(crate) struct CpuThrottle {
    share: f64,
    began: Instant,
    /// Unused time of the share so far; an idle call cannot save it up for later.
    unused: Duration,
    stopped: bool,
}

impl CpuThrottle {
    pub(crate) fn new(share: f64, now: Instant) -> Self {
        Self { share, began: now, unused: Duration::ZERO, stopped: false }
    }

    /// `Some(true)`: stop the call's processes, which have used `used_ns`; `Some(false)`: continue
    /// them; `None`: leave them running.
    pub(crate) fn update(&mut self, used_ns: u64, now: Instant) -> Option<bool> {
        let stop = self.must_stop(used_ns, now);
        let was_stopped = std::mem::replace(&mut self.stopped, stop);
        // At every update: processes forked since the last one have to stop, too.
        (stop || was_stopped).then_some(stop)
    }

    fn must_stop(&mut self, used_ns: u64, now: Instant) -> bool {
        let used = Duration::from_nanos(used_ns);
        let allowed_so_far = now.saturating_duration_since(self.began).mul_f64(self.share);
        let due = allowed_so_far.saturating_sub(self.unused);
        // A process that waits for a processor is not idle: only time beyond the allowance counts
        // as unused.
        self.unused += due.saturating_sub(used + CPU_BURST_ALLOWANCE);
        used > allowed_so_far.saturating_sub(self.unused).max(CPU_BURST_ALLOWANCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_DURATION: Duration = Duration::from_millis(10);

    /// Simulates a process that uses all the time it gets; returns its processor time after each
    /// tick.
    fn simulate_usage(
        throttle: &mut CpuThrottle,
        began: Instant,
        ticks: u32,
        busy: impl Fn(u32) -> bool,
    ) -> Duration {
        let mut used = Duration::ZERO;
        for tick in 1..=ticks {
            let stops = throttle.must_stop(used.as_nanos() as u64, began + TICK_DURATION * tick);
            if busy(tick) && !stops {
                used += TICK_DURATION;
            }
        }
        used
    }

    #[test]
    fn a_busy_process_gets_its_share() {
        let began = Instant::now();
        for share in [0.05, 0.2, 0.5, 0.8] {
            let mut throttle = CpuThrottle::new(share, began);
            let had = simulate_usage(&mut throttle, began, 200, |_| true).as_secs_f64() / 2.0;
            assert!((had / share - 1.0).abs() < 0.15, "{had} for {share}");
        }
    }

    #[test]
    fn a_monitor_that_comes_late_takes_back_what_was_too_much() {
        let began = Instant::now();
        for share in [0.05, 0.2, 0.5] {
            let mut throttle = CpuThrottle::new(share, began);
            let (mut now, mut used) = (began, Duration::ZERO);
            // Updates come up to 70 ms late, as on a busy machine. The process is like one that
            // polls the clock until the time is over, so the end is measured when it may continue.
            for turn in 0.. {
                let late = TICK_DURATION * (1 + turn * 3 % 7);
                now += late;
                let is_over = now >= began + Duration::from_secs(3);
                let stops = throttle.must_stop(used.as_nanos() as u64, now);
                if is_over && !stops {
                    break;
                }
                if !stops {
                    used += TICK_DURATION * (1 + (turn + 1) * 3 % 7);
                }
            }
            let had = used.as_secs_f64() / now.duration_since(began).as_secs_f64();
            assert!((had / share - 1.0).abs() < 0.2, "{had} for {share}");
        }
    }

    #[test]
    fn stopped_processes_are_woken_and_no_others() {
        let (began, mut throttle) = (Instant::now(), CpuThrottle::new(0.5, Instant::now()));
        assert_eq!(throttle.update(0, began + TICK_DURATION), None);
        assert_eq!(throttle.update(60_000_000, began + TICK_DURATION * 2), Some(true));
        assert_eq!(throttle.update(60_000_000, began + TICK_DURATION * 3), Some(true));
        assert_eq!(throttle.update(60_000_000, began + TICK_DURATION * 30), Some(false));
        assert_eq!(throttle.update(60_000_000, began + TICK_DURATION * 31), None);
    }

    #[test]
    fn nothing_can_be_saved_up() {
        let began = Instant::now();
        let mut throttle = CpuThrottle::new(0.25, began);
        let had = simulate_usage(&mut throttle, began, 200, |tick| tick > 100).as_secs_f64();
        assert!((had - 0.25).abs() < 0.04, "{had} of the second in which it was busy");
    }
}

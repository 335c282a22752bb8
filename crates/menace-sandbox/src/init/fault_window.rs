//! Decides whether faults may be injected, from numbers that the guest can write, too.
//!
//! Faults are injected while the section of a call runs: the fault window. The harness counts
//! upwards: the number is odd while a window is open, even once it is closed. Init writes each end
//! that it sees back to the mailbox, so that the harness notices an end that is not its own.
//! Invariant: a number that contradicts what init has seen ends no fault, and is reported.

use menace_model::{CallConditions, FaultMode};

use super::mailbox::FaultWindow;

/// The number that the harness writes where the guest has changed the number.
const FORGED_WINDOW: u32 = u32::MAX;

/// What init has seen of the fault windows of one call.
#[derive(Debug, Default)]
pub(crate) struct FaultWindowWatch {
    number: u32,
    seen_end: u32,
    /// The harness does things of its own in windows of this call, and masks faults meanwhile.
    may_mask: bool,
    is_forged: bool,
}

impl FaultWindowWatch {
    pub(crate) fn new(conditions: &CallConditions) -> Self {
        let harness_faults = [FaultMode::FlakyUpstream, FaultMode::SchemaDrift];
        let may_mask = conditions.burst.is_some()
            || conditions.upstream.is_some()
            || conditions.faults.iter().any(|fault| harness_faults.contains(&fault.mode));
        Self { may_mask, ..Self::default() }
    }

    /// Whether a window is open, and which end was now seen for the first time.
    pub(crate) fn observe(&mut self, mark: FaultWindow) -> (bool, Option<u32>) {
        self.is_forged |= mark.number < self.number
            || mark.number == FORGED_WINDOW
            || mark.seen_end != self.seen_end
            || mark.faults_masked && !self.may_mask;
        if self.is_forged {
            return (true, None);
        }
        self.number = mark.number;
        let has_ended = mark.number > self.seen_end && mark.number.is_multiple_of(2);
        if has_ended {
            self.seen_end = mark.number;
        }
        (!mark.number.is_multiple_of(2) && !mark.faults_masked, has_ended.then_some(mark.number))
    }

    /// Whether the numbers of a call that is over were forged. With a report, its last window is
    /// closed.
    pub(crate) fn is_forged(&mut self, mark: FaultWindow, has_report: bool) -> bool {
        self.observe(mark);
        self.is_forged || has_report && !mark.number.is_multiple_of(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(number: u32, seen_end: u32) -> FaultWindow {
        FaultWindow { number, seen_end, faults_masked: false }
    }

    #[test]
    fn sections_run_one_after_the_other() {
        let mut watch = FaultWindowWatch::default();
        for (mark, expected) in [
            (mark(0, 0), (false, None)),
            (mark(1, 0), (true, None)),
            (mark(2, 0), (false, Some(2))),
            (mark(2, 2), (false, None)),
            // Not every mark is seen.
            (mark(5, 2), (true, None)),
            (mark(6, 2), (false, Some(6))),
        ] {
            assert_eq!(watch.observe(mark), expected, "{mark:?}");
        }
        assert!(!watch.is_forged(mark(6, 6), true));
    }

    #[test]
    fn a_section_that_runs_again_is_forged_and_runs_to_the_end() {
        for forged in [mark(1, 2), mark(2, 0), mark(3, 4), mark(FORGED_WINDOW, 2)] {
            let mut watch = FaultWindowWatch::default();
            watch.observe(mark(1, 0));
            watch.observe(mark(2, 0));
            assert_eq!(watch.observe(forged), (true, None), "{forged:?}");
            assert_eq!(watch.observe(mark(4, 2)), (true, None), "{forged:?}");
            assert!(watch.is_forged(mark(4, 2), true));
        }
    }

    #[test]
    fn a_report_comes_after_the_end() {
        for (mark, has_report, is_forged) in
            [(mark(1, 0), true, true), (mark(1, 0), false, false), (mark(2, 0), true, false)]
        {
            assert_eq!(
                FaultWindowWatch::default().is_forged(mark, has_report),
                is_forged,
                "{mark:?}"
            );
        }
    }

    #[test]
    fn only_conditions_of_the_harness_make_pauses() {
        let paused = FaultWindow { number: 1, seen_end: 0, faults_masked: true };
        let mut watch = FaultWindowWatch { may_mask: true, ..FaultWindowWatch::default() };
        assert_eq!(watch.observe(paused), (false, None));
        assert!(!watch.is_forged);
        assert!(FaultWindowWatch::new(&CallConditions::default()).is_forged(paused, false));
    }
}

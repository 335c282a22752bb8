//! Knows whether the section of a call with faults runs, from marks that the guest can write too.
//!
//! The harness counts the marks upwards: odd while a section runs, even once it has ended. Init
//! answers the first sight of each end, so that the harness notices one that is not its own.
//! Invariant: a mark that contradicts what init has seen ends no fault, and is reported.

use menace_model::{CallConditions, FaultMode};

use super::mailbox::SectionMark;

/// The mark of a harness whose own mark was changed.
const FORGED_SECTION: u32 = u32::MAX;

/// What was seen of the marks of one call.
#[derive(Debug, Default)]
pub(crate) struct SectionWatch {
    number: u32,
    seen_end: u32,
    /// The harness does things of its own in sections of this call.
    may_pause: bool,
    is_forged: bool,
}

impl SectionWatch {
    pub(crate) fn new(conditions: &CallConditions) -> Self {
        let harness_faults = [FaultMode::FlakyUpstream, FaultMode::SchemaDrift];
        let may_pause = conditions.burst.is_some()
            || conditions.upstream.is_some()
            || conditions.faults.iter().any(|fault| harness_faults.contains(&fault.mode));
        Self { may_pause, ..Self::default() }
    }

    /// Whether the section runs, and which end was now seen for the first time.
    pub(crate) fn observe(&mut self, mark: SectionMark) -> (bool, Option<u32>) {
        self.is_forged |= mark.number < self.number
            || mark.number == FORGED_SECTION
            || mark.seen_end != self.seen_end
            || mark.is_paused && !self.may_pause;
        if self.is_forged {
            return (true, None);
        }
        self.number = mark.number;
        let has_ended = mark.number > self.seen_end && mark.number.is_multiple_of(2);
        if has_ended {
            self.seen_end = mark.number;
        }
        (!mark.number.is_multiple_of(2) && !mark.is_paused, has_ended.then_some(mark.number))
    }

    /// Whether the marks of a call that is over were forged. With a report, its last section has
    /// ended.
    pub(crate) fn is_forged(&mut self, mark: SectionMark, has_report: bool) -> bool {
        self.observe(mark);
        self.is_forged || has_report && !mark.number.is_multiple_of(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(number: u32, seen_end: u32) -> SectionMark {
        SectionMark { number, seen_end, is_paused: false }
    }

    #[test]
    fn sections_run_one_after_the_other() {
        let mut watch = SectionWatch::default();
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
        for forged in [mark(1, 2), mark(2, 0), mark(3, 4), mark(FORGED_SECTION, 2)] {
            let mut watch = SectionWatch::default();
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
            assert_eq!(SectionWatch::default().is_forged(mark, has_report), is_forged, "{mark:?}");
        }
    }

    #[test]
    fn only_conditions_of_the_harness_make_pauses() {
        let paused = SectionMark { number: 1, seen_end: 0, is_paused: true };
        let mut watch = SectionWatch { may_pause: true, ..SectionWatch::default() };
        assert_eq!(watch.observe(paused), (false, None));
        assert!(!watch.is_forged);
        assert!(SectionWatch::new(&CallConditions::default()).is_forged(paused, false));
    }
}

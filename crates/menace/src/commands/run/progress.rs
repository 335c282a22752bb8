//! The progress bar of a run: sections, calls per second, failures so far, time left.

use std::collections::HashSet;
use std::fmt::{self, Write};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use menace_loop::cycle::{RunEvent, RunObserver};
use menace_model::{SectionId, format_count};

/// Fits 80 columns with any numbers: the count of calls is shown by the bar only.
const BAR_TEMPLATE: &str = "{prefix} {wide_bar} {rate}, {msg}{left}";
/// No estimate of a stage before this time.
const MIN_SPEED_TIME: Duration = Duration::from_secs(2);
/// How often the bar is drawn while no call ends.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct RunProgressBar {
    bar: ProgressBar,
    counts: RunProgressCounts,
}

/// Counts so far.
#[derive(Debug, Default)]
struct RunProgressCounts {
    /// Number of sections in the cycle.
    planned_sections: usize,
    /// Sections called in the current stage.
    called_sections: HashSet<SectionId>,
    failures: usize,
}

impl RunProgressBar {
    /// `deadline` is when the run ends at the latest.
    pub(super) fn new(deadline: Option<Instant>) -> Self {
        let bar = if std::io::stderr().is_terminal() {
            let bar = ProgressBar::no_length().with_style(bar_style(deadline, MIN_SPEED_TIME));
            bar.enable_steady_tick(TICK_INTERVAL);
            bar
        } else {
            ProgressBar::hidden()
        };
        Self { bar, counts: RunProgressCounts::default() }
    }

    /// How many were confirmed so far.
    pub(super) fn failures(&self) -> usize {
        self.counts.failures
    }

    fn update_message(&self) {
        self.bar.set_message(self.counts.to_string());
    }

    fn count_call(&mut self, section: &SectionId) {
        if self.bar.is_hidden() {
            return;
        }
        if !self.counts.called_sections.contains(section) {
            self.counts.called_sections.insert(section.clone());
            self.update_message();
        }
        self.bar.inc(1);
        // The number of calls in depth is an estimate.
        if self.bar.length().is_some_and(|length| length < self.bar.position()) {
            self.bar.set_length(self.bar.position());
        }
    }
}

fn bar_style(deadline: Option<Instant>, min_speed_time: Duration) -> ProgressStyle {
    let style = ProgressStyle::with_template(BAR_TEMPLATE).unwrap_or(ProgressStyle::default_bar());
    // Errors of drawing are ignored.
    let rate = |state: &ProgressState, text: &mut dyn Write| {
        let _ = write!(text, "{:.0}/s", state.per_sec());
    };
    let left = move |state: &ProgressState, text: &mut dyn Write| {
        let stage = (state.elapsed() > min_speed_time).then(|| state.eta());
        let max = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let _ = text.write_str(&format_time_left(stage, max));
    };
    style.with_key("rate", rate).with_key("left", left)
}

impl fmt::Display for RunProgressCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failures = format_count(self.failures, "failure");
        write!(
            f,
            "{}/{}, {failures}",
            self.called_sections.len(),
            format_count(self.planned_sections, "section")
        )
    }
}

/// The estimate for the stage, and the time until the deadline of the run.
fn format_time_left(stage: Option<Duration>, max: Option<Duration>) -> String {
    match (stage.map(HumanDuration), max.map(HumanDuration)) {
        (Some(stage), Some(most)) => format!(", {stage:#} to {most:#} left"),
        (Some(stage), None) => format!(", {stage:#} left"),
        (None, Some(most)) => format!(", {most:#} left at most"),
        (None, None) => String::new(),
    }
}

impl RunObserver for RunProgressBar {
    fn on_event(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::PlanMade { sections } => self.counts.planned_sections = sections,
            RunEvent::StageBegan { stage, calls } => {
                self.bar.set_prefix(stage.as_str());
                self.bar.set_length(calls as u64);
                self.bar.reset();
                self.counts.called_sections.clear();
                self.update_message();
            }
            RunEvent::CallCompleted(completed) => self.count_call(completed.section),
            RunEvent::FindingConfirmed(_) => {
                self.counts.failures += 1;
                self.update_message();
            }
            RunEvent::Warning(warning) => self.bar.suspend(|| tracing::warn!("{warning}")),
            RunEvent::OccurrenceShown(_) => {}
        }
    }
}

impl Drop for RunProgressBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::{ProgressDrawTarget, TermLike};
    use menace_loop::cycle::CycleStage;

    use super::*;

    #[test]
    fn called_sections_are_counted_once() {
        let mut counts = RunProgressCounts { planned_sections: 12, ..RunProgressCounts::default() };
        assert_eq!(counts.to_string(), "0/12 sections, 0 failures");
        for name in ["half", "first", "half"] {
            counts.called_sections.insert(SectionId::new("desk.py", name));
        }
        counts.failures = 1;
        assert_eq!(counts.to_string(), "2/12 sections, 1 failure");
    }

    /// A terminal of 80 columns that records its content.
    #[derive(Debug, Clone, Default)]
    struct NarrowTerminal(Arc<Mutex<String>>);

    impl TermLike for NarrowTerminal {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, line: &str) -> io::Result<()> {
            self.write_str(line)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            self.0.lock().unwrap().clear();
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_bar_of_a_large_run_fits_80_columns() {
        let screen = NarrowTerminal::default();
        let target = ProgressDrawTarget::term_like(Box::new(screen.clone()));
        let deadline = Instant::now() + Duration::from_secs(3599);
        let bar = ProgressBar::with_draw_target(Some(750_000), target)
            .with_style(bar_style(Some(deadline), Duration::ZERO))
            .with_prefix(CycleStage::Scenarios.as_str())
            .with_position(123_456);
        let mut counts = RunProgressCounts {
            planned_sections: 5_000,
            failures: 1_234,
            ..RunProgressCounts::default()
        };
        counts
            .called_sections
            .extend((0..4_999).map(|n| SectionId::new("desk.py", &n.to_string())));
        bar.set_message(counts.to_string());
        bar.force_draw();
        let line = screen.0.lock().unwrap().clone();
        assert!(
            line.contains("4999/5000 sections, 1234 failures") && line.contains(" left"),
            "{line}"
        );
        assert!(line.trim_end().chars().count() <= 80, "{line}");
    }

    #[test]
    fn time_left_is_that_of_the_stage_and_of_the_budget() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(format_time_left(seconds(20), seconds(300)), ", 20s to 5m left");
        assert_eq!(format_time_left(seconds(2), None), ", 2s left");
        assert_eq!(format_time_left(None, seconds(600)), ", 10m left at most");
        assert_eq!(format_time_left(None, None), "");
    }
}

//! How far a run is, on a terminal: sections, calls per second, failures so far, time left.

use std::collections::HashSet;
use std::fmt::{self, Write};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use menace_loop::cycle::{Called, Stage, Watch};
use menace_model::{Failure, SectionId};

use crate::render::units::counted;

/// Fits 80 columns whatever the numbers: how many calls there are is told by the bar alone.
const TEMPLATE: &str = "{prefix} {wide_bar} {rate}, {msg}{left}";
/// Before this a stage's own speed says nothing yet.
const TOO_EARLY: Duration = Duration::from_secs(2);
/// Time goes on while nothing else does.
const TICK: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct View {
    bar: ProgressBar,
    counts: Counts,
}

/// What was counted so far.
#[derive(Debug, Default)]
struct Counts {
    /// Of the cycle.
    all: usize,
    /// That the stage has called.
    sections: HashSet<SectionId>,
    failures: usize,
}

impl View {
    /// `deadline` is when the run ends at the latest.
    pub(super) fn new(deadline: Option<Instant>) -> Self {
        let bar = if std::io::stderr().is_terminal() {
            let bar = ProgressBar::no_length().with_style(style(deadline, TOO_EARLY));
            bar.enable_steady_tick(TICK);
            bar
        } else {
            ProgressBar::hidden()
        };
        Self { bar, counts: Counts::default() }
    }

    /// How many were found so far.
    pub(super) fn failures(&self) -> usize {
        self.counts.failures
    }

    fn tell(&self) {
        self.bar.set_message(self.counts.to_string());
    }
}

fn style(deadline: Option<Instant>, too_early: Duration) -> ProgressStyle {
    let style = ProgressStyle::with_template(TEMPLATE).unwrap_or(ProgressStyle::default_bar());
    // What cannot be drawn is not drawn.
    let rate = |state: &ProgressState, text: &mut dyn Write| {
        let _ = write!(text, "{:.0}/s", state.per_sec());
    };
    let left = move |state: &ProgressState, text: &mut dyn Write| {
        let stage = (state.elapsed() > too_early).then(|| state.eta());
        let most = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let _ = text.write_str(&time_left(stage, most));
    };
    style.with_key("rate", rate).with_key("left", left)
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failures = counted(self.failures, "failure");
        write!(f, "{}/{}, {failures}", self.sections.len(), counted(self.all, "section"))
    }
}

/// What the stage still takes at its speed, up to what the run takes at the most.
fn time_left(stage: Option<Duration>, most: Option<Duration>) -> String {
    match (stage.map(HumanDuration), most.map(HumanDuration)) {
        (Some(stage), Some(most)) => format!(", {stage:#} to {most:#} left"),
        (Some(stage), None) => format!(", {stage:#} left"),
        (None, Some(most)) => format!(", {most:#} left at most"),
        (None, None) => String::new(),
    }
}

impl Watch for View {
    fn plans(&mut self, sections: usize) {
        self.counts.all = sections;
    }

    fn begins(&mut self, stage: Stage, calls: usize) {
        self.bar.set_prefix(stage.as_str());
        self.bar.set_length(calls as u64);
        self.bar.reset();
        self.counts.sections.clear();
        self.tell();
    }

    fn called(&mut self, called: Called<'_>) {
        if self.bar.is_hidden() {
            return;
        }
        if !self.counts.sections.contains(called.section) {
            self.counts.sections.insert(called.section.clone());
            self.tell();
        }
        self.bar.inc(1);
        // How many calls depth takes is only guessed.
        if self.bar.length().is_some_and(|length| length < self.bar.position()) {
            self.bar.set_length(self.bar.position());
        }
    }

    fn warned(&mut self, warning: &str) {
        self.bar.suspend(|| tracing::warn!("{warning}"));
    }

    fn failed(&mut self, _failure: &Failure) {
        self.counts.failures += 1;
        self.tell();
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::{ProgressDrawTarget, TermLike};

    use super::*;

    #[test]
    fn sections_are_told_of_how_many_there_are() {
        let mut counts = Counts { all: 12, ..Counts::default() };
        assert_eq!(counts.to_string(), "0/12 sections, 0 failures");
        for name in ["half", "first", "half"] {
            counts.sections.insert(SectionId::new("desk.py", name));
        }
        counts.failures = 1;
        assert_eq!(counts.to_string(), "2/12 sections, 1 failure");
    }

    /// A terminal of 80 columns that remembers what was drawn on it.
    #[derive(Debug, Clone, Default)]
    struct Narrow(Arc<Mutex<String>>);

    impl TermLike for Narrow {
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
    fn a_large_run_is_told_within_80_columns() {
        let screen = Narrow::default();
        let target = ProgressDrawTarget::term_like(Box::new(screen.clone()));
        let deadline = Instant::now() + Duration::from_secs(3599);
        let bar = ProgressBar::with_draw_target(Some(750_000), target)
            .with_style(style(Some(deadline), Duration::ZERO))
            .with_prefix(Stage::Scenarios.as_str())
            .with_position(123_456);
        let mut counts = Counts { all: 5_000, failures: 1_234, ..Counts::default() };
        counts.sections.extend((0..4_999).map(|n| SectionId::new("desk.py", &n.to_string())));
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
        assert_eq!(time_left(seconds(20), seconds(300)), ", 20s to 5m left");
        assert_eq!(time_left(seconds(2), None), ", 2s left");
        assert_eq!(time_left(None, seconds(600)), ", 10m left at most");
        assert_eq!(time_left(None, None), "");
    }
}

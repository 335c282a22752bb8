//! How far a run is, on a terminal: sections, calls per second, failures so far, time left.

use std::collections::HashSet;
use std::fmt::{self, Write};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use menace_loop::cycle::{Called, Stage, Watch};
use menace_model::{Failure, SectionId};

use crate::render::units::counted;

const TEMPLATE: &str = "{prefix:10} {wide_bar} {pos}/{len} {per_sec} {msg}{left}";
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
            let style = ProgressStyle::with_template(TEMPLATE);
            let style = style.unwrap_or(ProgressStyle::default_bar());
            let left = move |state: &ProgressState, text: &mut dyn Write| {
                let stage = (state.elapsed() > TOO_EARLY).then(|| state.eta());
                let most = deadline.map(|at| at.saturating_duration_since(Instant::now()));
                // What cannot be drawn is not drawn.
                let _ = text.write_str(&time_left(stage, most));
            };
            let bar = ProgressBar::no_length().with_style(style.with_key("left", left));
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

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failures = counted(self.failures, "failure");
        write!(f, "{} of {}, {failures}", self.sections.len(), counted(self.all, "section"))
    }
}

/// What the stage still takes at its speed, and the run at the most.
fn time_left(stage: Option<Duration>, most: Option<Duration>) -> String {
    match (stage.map(HumanDuration), most.map(HumanDuration)) {
        (Some(stage), Some(most)) => format!(", {stage:#} left here, {most:#} at most in all"),
        (Some(stage), None) => format!(", {stage:#} left here"),
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
    use super::*;

    #[test]
    fn sections_are_told_of_how_many_there_are() {
        let mut counts = Counts { all: 12, ..Counts::default() };
        assert_eq!(counts.to_string(), "0 of 12 sections, 0 failures");
        for name in ["half", "first", "half"] {
            counts.sections.insert(SectionId::new("desk.py", name));
        }
        counts.failures = 1;
        assert_eq!(counts.to_string(), "2 of 12 sections, 1 failure");
    }

    #[test]
    fn time_left_is_that_of_the_stage_and_of_the_budget() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(time_left(seconds(20), seconds(300)), ", 20s left here, 5m at most in all");
        assert_eq!(time_left(seconds(2), None), ", 2s left here");
        assert_eq!(time_left(None, seconds(600)), ", 10m left at most");
        assert_eq!(time_left(None, None), "");
    }
}

//! A progress bar for work that takes longer than a second, on a terminal only.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

const SHOW_AFTER: Duration = Duration::from_secs(1);

/// A progress bar that appears only when the work takes longer than a moment.
#[derive(Debug)]
pub(crate) struct DelayedProgressBar {
    what: &'static str,
    started: Instant,
    visible: bool,
    bar: OnceLock<ProgressBar>,
}

impl DelayedProgressBar {
    pub(crate) fn new(what: &'static str) -> Self {
        Self::started_at(what, Instant::now(), std::io::stderr().is_terminal())
    }

    fn started_at(what: &'static str, started: Instant, visible: bool) -> Self {
        Self { what, started, visible, bar: OnceLock::new() }
    }

    /// May be called from any thread.
    pub(crate) fn report(&self, done: usize, total: usize) {
        if !self.visible || self.started.elapsed() < SHOW_AFTER {
            return;
        }
        let bar = self.bar.get_or_init(|| self.start(total));
        bar.set_position(done as u64);
    }

    fn start(&self, total: usize) -> ProgressBar {
        let template = "{msg} {wide_bar} {pos}/{len} {eta}";
        let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
        ProgressBar::new(total as u64).with_style(style).with_message(self.what)
    }
}

impl Drop for DelayedProgressBar {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(started: Instant, visible: bool) -> Option<u64> {
        let progress = DelayedProgressBar::started_at("testing", started, visible);
        progress.report(3, 10);
        progress.bar.get().map(ProgressBar::position)
    }

    #[test]
    fn a_bar_appears_after_a_second_and_on_a_terminal_only() {
        let now = Instant::now();
        let long_ago = now.checked_sub(SHOW_AFTER * 2).unwrap();
        assert_eq!(position(long_ago, true), Some(3));
        assert_eq!(position(now, true), None);
        assert_eq!(position(long_ago, false), None);
    }
}

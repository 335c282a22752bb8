//! A progress bar for work that takes longer than a second, on a terminal only.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(1);

/// Shows how far the work is, once it is worth showing.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    started: Instant,
    visible: bool,
    bar: OnceLock<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(what: &'static str) -> Self {
        let visible = std::io::stderr().is_terminal();
        Self { what, started: Instant::now(), visible, bar: OnceLock::new() }
    }

    /// May be called from any thread.
    pub(crate) fn report(&self, done: usize, total: usize) {
        if !self.visible || self.started.elapsed() < PATIENCE {
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

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

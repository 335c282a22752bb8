//! Questions of pages: what is shown of many runs, page by page, without what weighs.
//!
//! Invariant: no answer takes a walk over all calls or all summaries; what a page does not show is
//! not read.

mod calls;
mod failures;
mod history;
mod live;
mod runs;

pub use calls::{CallFilter, CallOrder};
pub use failures::{FailureFilter, FailureLine, FailureOrder};
pub use history::HistoryPoint;
pub use live::{BESIDE, LiveRun};
pub use runs::{HeatSum, RunLine, RunOrder, StoreTotals};

/// Which part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    pub limit: u32,
    pub offset: u64,
}

impl Page {
    /// The first so many.
    pub fn first(limit: u32) -> Self {
        Self { limit, offset: 0 }
    }

    fn start(self) -> i64 {
        i64::try_from(self.offset).unwrap_or(i64::MAX)
    }
}

/// A pattern that finds `text` anywhere; what is special in patterns is taken as it is.
fn anywhere(text: &str) -> String {
    let mut pattern = String::from("%");
    for char in text.chars() {
        if matches!(char, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern.push('%');
    pattern
}

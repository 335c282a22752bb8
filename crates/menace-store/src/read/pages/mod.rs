//! Queries of the dashboard: lists of many runs, page by page, without large columns.
//!
//! Invariant: no query scans all calls or all summaries, or reads a column that its page does not
//! show.

mod calls;
mod failures;
mod history;
mod live;
mod runs;

pub use calls::{CallFilter, CallSortOrder};
pub use failures::{FailureFilter, FailureListRow, FailureSortOrder};
pub use history::RoiHistoryPoint;
pub use live::LiveRunStats;
pub use runs::{HeatmapTotals, RunListRow, RunSortOrder, StoreTotals};

/// The part of a list that a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRange {
    pub limit: u32,
    pub offset: u64,
}

impl PageRange {
    /// The first `limit` rows.
    pub fn first(limit: u32) -> Self {
        Self { limit, offset: 0 }
    }

    fn sql_offset(self) -> i64 {
        i64::try_from(self.offset).unwrap_or(i64::MAX)
    }
}

/// A `LIKE` pattern that matches `text` anywhere; its special characters are escaped.
fn like_pattern(text: &str) -> String {
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

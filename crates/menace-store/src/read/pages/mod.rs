//! Queries of the dashboard: lists of many runs, page by page, without large columns.
//!
//! Invariant: no query scans all calls or all summaries; a column that a page does not show is not
//! read.

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

/// Which part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRange {
    pub limit: u32,
    pub offset: u64,
}

impl PageRange {
    /// The first so many.
    pub fn first(limit: u32) -> Self {
        Self { limit, offset: 0 }
    }

    fn sql_offset(self) -> i64 {
        i64::try_from(self.offset).unwrap_or(i64::MAX)
    }
}

/// A pattern that finds `text` anywhere; what is special in patterns is taken as it is.
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

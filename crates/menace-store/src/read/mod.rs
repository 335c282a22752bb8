//! Queries of the store. The time of each grows with its result, not with the store.

mod calls;
mod failures;
mod pages;
mod rows;
mod runs;
mod scores;

use rusqlite::{Params, Row};

pub use pages::{
    CallFilter, CallSortOrder, FailureFilter, FailureListRow, FailureSortOrder, HeatmapTotals,
    LiveRunStats, PageRange, RoiHistoryPoint, RunListRow, RunSortOrder, StoreTotals,
};

use crate::Store;
use crate::database::{StoreError, StoreResult};
use rows::{ColumnReader, RowError, RowResult};

/// How many candidates a message names when a prefix is not unique.
const MAX_NAMED_CANDIDATES: u32 = 5;

impl Store {
    fn query<T>(
        &self,
        sql: &str,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> RowResult<T>,
    ) -> StoreResult<Vec<T>> {
        let run_query = || -> RowResult<Vec<T>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(values)?;
            let mut answer = Vec::new();
            while let Some(row) = rows.next()? {
                answer.push(read(row)?);
            }
            Ok(answer)
        };
        run_query().map_err(|error| match error {
            RowError::Sql(source) => StoreError::from_sqlite(&self.path, source),
            RowError::Content { what, why } => {
                StoreError::Unreadable { path: self.path.clone(), what: what.to_owned(), why }
            }
        })
    }

    /// The single number that a query returns; 0 without a row.
    fn query_count(&self, sql: &str, values: impl Params) -> StoreResult<u64> {
        let counts = self.query(sql, values, |row| ColumnReader::new(row).get_u64())?;
        Ok(counts.into_iter().sum())
    }
}

/// The entry with this id, or else the only one whose id starts with it.
///
/// `found` has the exact match first.
fn select_unique<T>(
    id: &str,
    mut found: Vec<T>,
    name: impl Fn(&T) -> &str,
    none: impl FnOnce(&str) -> StoreError,
) -> StoreResult<T> {
    match &*found {
        [] => Err(none(id)),
        [first, ..] if found.len() == 1 || name(first) == id => Ok(found.swap_remove(0)),
        _ => {
            let mut candidates: Vec<String> = found
                .iter()
                .take(MAX_NAMED_CANDIDATES as usize)
                .map(|one| name(one).to_owned())
                .collect();
            if found.len() > MAX_NAMED_CANDIDATES as usize {
                candidates.push("…".into());
            }
            Err(StoreError::Ambiguous { id: id.to_owned(), candidates })
        }
    }
}

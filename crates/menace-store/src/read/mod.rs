//! Questions to the store. Each takes time that grows with the answer, not with the store.

mod calls;
mod failures;
mod look;
mod rows;
mod runs;
mod worth;

use rusqlite::{Params, Row};

pub use look::{
    BESIDE, CallFilter, CallOrder, FailureFilter, FailureLine, FailureOrder, HeatSum, HistoryPoint,
    LiveRun, Page, RunLine, RunOrder, StoreTotals,
};

use crate::Store;
use crate::database::{Error, Result};
use rows::Misread;

/// How many candidates a message names when a prefix is not unique.
const NAMED: u32 = 5;

impl Store {
    fn ask<T>(
        &self,
        sql: &str,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> std::result::Result<T, Misread>,
    ) -> Result<Vec<T>> {
        let ask = || -> std::result::Result<Vec<T>, Misread> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(values)?;
            let mut answer = Vec::new();
            while let Some(row) = rows.next()? {
                answer.push(read(row)?);
            }
            Ok(answer)
        };
        ask().map_err(|error| match error {
            Misread::Sql(source) => self.failed(source),
            Misread::Content { what, why } => {
                Error::Unreadable { path: self.path.clone(), what: what.to_owned(), why }
            }
        })
    }
}

/// The one that is meant by `id`: the one of that name, else the only one that starts so.
///
/// `found` has the exact one first.
fn the_one<T>(
    id: &str,
    mut found: Vec<T>,
    name: impl Fn(&T) -> &str,
    none: impl FnOnce(&str) -> Error,
) -> Result<T> {
    match &*found {
        [] => Err(none(id)),
        [first, ..] if found.len() == 1 || name(first) == id => Ok(found.swap_remove(0)),
        _ => {
            let mut candidates: Vec<String> =
                found.iter().take(NAMED as usize).map(|one| name(one).to_owned()).collect();
            if found.len() > NAMED as usize {
                candidates.push("…".into());
            }
            Err(Error::Ambiguous { id: id.to_owned(), candidates })
        }
    }
}

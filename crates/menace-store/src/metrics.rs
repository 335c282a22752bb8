//! `metrics.db`: every measured value, for following a metric over time.
//!
//! `menace-track` computes the values.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Params, TransactionBehavior, params};

use crate::database::{self, DatabaseSpec, InDatabase, JournalMode, LOCK_TIMEOUT, StoreResult};
use crate::files::{FileLock, parent_directory};
use crate::{RunId, StoreNotice};

const METRICS_DB: DatabaseSpec = DatabaseSpec {
    migrations: &[
        include_str!("../sql/metrics/001_start.sql"),
        include_str!("../sql/metrics/002_whole_runs.sql"),
    ],
    // "MNMT".
    application_id: Some(0x4d4e_4d54),
    journal_mode: JournalMode::Rollback,
};

#[derive(Debug, Clone, PartialEq)]
pub struct MetricMeasurement {
    /// Milliseconds since 1970.
    pub at_ms: i64,
    pub run: RunId,
    pub cycle: u32,
    /// The scenario; empty for a value of all scenarios together.
    pub scenario: String,
    /// Path of the module; empty for a value of no single module.
    pub module: String,
    pub name: String,
    /// `None` for NaN and infinite values.
    pub value: Option<f64>,
}

#[derive(Debug)]
pub struct MetricsDatabase {
    path: PathBuf,
    connection: Connection,
}

impl MetricsDatabase {
    pub fn open(path: &Path) -> StoreResult<(Self, Vec<StoreNotice>)> {
        let lock = FileLock::acquire(path, LOCK_TIMEOUT)?;
        let (connection, notices) =
            database::open(path, &METRICS_DB, parent_directory(path), &lock)?;
        Ok((Self { path: path.to_owned(), connection }, notices))
    }

    /// Opens the database for reading: nothing is created, moved or locked. `None` when it has no
    /// content yet; the notice is for the user.
    pub fn open_read_only(path: &Path) -> StoreResult<Option<(Self, Option<StoreNotice>)>> {
        let found = database::open_read_only(path, &METRICS_DB)?;
        Ok(found.map(|(connection, notice)| (Self { path: path.to_owned(), connection }, notice)))
    }

    /// Stores all of these values, or none.
    pub fn record(&mut self, measurements: &[MetricMeasurement]) -> StoreResult<()> {
        let mut record = || -> rusqlite::Result<()> {
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for one in measurements {
                let MetricMeasurement { at_ms, run, cycle, scenario, module, name, value } = one;
                transaction
                    .prepare_cached(include_str!("../sql/metrics/add.sql"))?
                    .execute(params![at_ms, run.0, cycle, scenario, module, name, value])?;
            }
            transaction.commit()
        };
        record().in_database(&self.path)
    }

    /// The last `limit` values of a metric, oldest first.
    pub fn values(&self, name: &str, limit: u32) -> StoreResult<Vec<MetricMeasurement>> {
        self.query(include_str!("../sql/metrics/by_name.sql"), params![name, limit])
    }

    /// The latest value of each module, among the last `limit` values of a metric.
    pub fn latest_values(&self, name: &str, limit: u32) -> StoreResult<Vec<MetricMeasurement>> {
        self.query(include_str!("../sql/metrics/latest.sql"), params![name, limit])
    }

    /// The values of a metric of whole runs up to the end of this run, oldest first: at most
    /// `limit`, the last of them this run's. Empty when the run has none. The times are those of
    /// the run's begin and end.
    pub fn history_up_to_run(
        &self,
        name: &str,
        run: &RunId,
        (since_ms, until_ms): (i64, i64),
        limit: u32,
    ) -> StoreResult<Vec<MetricMeasurement>> {
        let sql = include_str!("../sql/metrics/of_run.sql");
        let mut values = self.query(sql, params![name, run.0, since_ms, limit, until_ms])?;
        // Another run may have stored a value at the same millisecond.
        let own = values.iter().rposition(|value| value.run == *run).map_or(0, |last| last + 1);
        values.truncate(own);
        Ok(values)
    }

    /// All values of a metric that one run stored, for every module and scenario, oldest first. The
    /// times are those of the run's begin and end.
    pub fn values_in_run(
        &self,
        name: &str,
        run: &RunId,
        (since_ms, until_ms): (i64, i64),
    ) -> StoreResult<Vec<MetricMeasurement>> {
        let sql = include_str!("../sql/metrics/in_run.sql");
        self.query(sql, params![name, run.0, since_ms, until_ms])
    }

    /// The number of cycles after the last one in which a run stored this metric for the whole run,
    /// or after the run's begin if it stored none.
    pub fn count_cycles_after(
        &self,
        name: &str,
        run: &RunId,
        (since_ms, until_ms): (i64, i64),
    ) -> StoreResult<u64> {
        let sql = include_str!("../sql/metrics/after_run.sql");
        let count = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let which = params![name, run.0, since_ms, until_ms];
            statement.query_row(which, |row| row.get::<_, i64>(0))
        });
        let count = count.in_database(&self.path)?;
        Ok(count.max(0).cast_unsigned())
    }

    fn query(&self, sql: &str, values: impl Params) -> StoreResult<Vec<MetricMeasurement>> {
        let read = || -> rusqlite::Result<Vec<MetricMeasurement>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map(values, |row| {
                Ok(MetricMeasurement {
                    at_ms: row.get(0)?,
                    run: RunId(row.get(1)?),
                    cycle: row.get(2)?,
                    scenario: row.get(3)?,
                    module: row.get(4)?,
                    name: row.get(5)?,
                    value: row.get(6)?,
                })
            })?;
            rows.collect()
        };
        read().in_database(&self.path)
    }

    /// The names of all stored metrics, sorted.
    pub fn names(&self) -> StoreResult<Vec<String>> {
        let names = || -> rusqlite::Result<Vec<String>> {
            let mut statement =
                self.connection.prepare_cached(include_str!("../sql/metrics/names.sql"))?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        names().in_database(&self.path)
    }
}

//! `metrics.db`: every measured number, to follow a metric over time.
//!
//! What the numbers mean is left to `menace-track`.

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
    /// Empty for what belongs to all of them.
    pub scenario: String,
    /// Empty for what belongs to no module.
    pub module: String,
    pub name: String,
    /// Not a number where none could be found.
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

    /// The same for reading: nothing is created, moved or locked. `None` when there is
    /// no content yet; the notice is for the user.
    pub fn open_read_only(path: &Path) -> StoreResult<Option<(Self, Option<StoreNotice>)>> {
        let found = database::open_read_only(path, &METRICS_DB)?;
        Ok(found.map(|(connection, notice)| (Self { path: path.to_owned(), connection }, notice)))
    }

    /// All of them, or none.
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

    /// Of the last `limit` values under a name, the latest of each thing that has it.
    pub fn latest_values(&self, name: &str, limit: u32) -> StoreResult<Vec<MetricMeasurement>> {
        self.query(include_str!("../sql/metrics/latest.sql"), params![name, limit])
    }

    /// How a metric of whole runs came to what it was at the end of this one, oldest first: at most
    /// `limit` values, the last of them the run's. None when the run has none; it lasted from one
    /// of these moments to the other.
    pub fn history_up_to_run(
        &self,
        name: &str,
        run: &RunId,
        (since_ms, until_ms): (i64, i64),
        limit: u32,
    ) -> StoreResult<Vec<MetricMeasurement>> {
        let sql = include_str!("../sql/metrics/of_run.sql");
        let mut values = self.query(sql, params![name, run.0, since_ms, limit, until_ms])?;
        // Another run may have measured in the same moment.
        let own = values.iter().rposition(|value| value.run == *run).map_or(0, |last| last + 1);
        values.truncate(own);
        Ok(values)
    }

    /// What was measured of a run under this name, for everything that has it, oldest first;
    /// between these moments, the run's first and last.
    pub fn values_in_run(
        &self,
        name: &str,
        run: &RunId,
        (since_ms, until_ms): (i64, i64),
    ) -> StoreResult<Vec<MetricMeasurement>> {
        let sql = include_str!("../sql/metrics/in_run.sql");
        self.query(sql, params![name, run.0, since_ms, until_ms])
    }

    /// How many cycles came after the last one of a run that measured this for whole runs; after
    /// its beginning, where it has none.
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

    /// Names of all metrics there are, in order.
    pub fn names(&self) -> StoreResult<Vec<String>> {
        let names = || -> rusqlite::Result<Vec<String>> {
            let mut statement =
                self.connection.prepare_cached(include_str!("../sql/metrics/names.sql"))?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        names().in_database(&self.path)
    }
}

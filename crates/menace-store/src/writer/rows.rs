//! Writes records as rows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use menace_model::{Failure, FailureId, ScenarioSeverity, SourceLocation};
use rusqlite::{Connection, ErrorCode, Result as Sql, Transaction, TransactionBehavior, params};
use serde::Serialize;

use super::names::NameKeyCache;
use crate::database::{InDatabase, StoreError, StoreResult};
use crate::record::truncate_message;
use crate::{
    CallRecord, CellKey, CellRecord, ModuleRecord, RunEndRecord, RunId, RunStartRecord,
    ScenarioRecord, SectionRecord, StoredMetricMap,
};

/// The name of the baseline scenario.
const BASELINE_SCENARIO: &str = "normal";

/// A row, with JSON encoded before it is sent, so that the sender gets errors of encoding.
#[derive(Debug)]
pub(super) enum WriterRow {
    Cycles(u32),
    Call { record: CallRecord, call_json: Option<String> },
    Cell(CellRecord),
    Section(SectionRecord),
    Module(ModuleRecord),
    Scenario(ScenarioRecord),
    Failure(Box<FailureInsert>),
    CallFailure { cell: CellKey, number: u32, failure: FailureId },
    FailureGone(FailureId, i64),
    End(RunEndRecord),
}

/// A failure whose call and outcome are encoded.
#[derive(Debug)]
pub(super) struct FailureInsert {
    id: FailureId,
    section: String,
    kind: &'static str,
    scenario: String,
    verdict: &'static str,
    exception: Option<String>,
    message: String,
    location: SourceLocation,
    call: String,
    outcome: String,
    at_ms: i64,
    count: i64,
}

impl WriterRow {
    pub(super) fn from_call(mut record: CallRecord) -> StoreResult<Self> {
        let call = record.call.take();
        let call_json = call.map(|call| to_json("a call", &*call)).transpose()?;
        Ok(Self::Call { record, call_json })
    }

    pub(super) fn from_failure(failure: &Failure, at_ms: i64, count: u64) -> StoreResult<Self> {
        let Failure {
            id,
            section,
            kind,
            scenario,
            verdict,
            exception,
            message,
            location,
            call,
            outcome,
        } = failure;
        Ok(Self::Failure(Box::new(FailureInsert {
            call: to_json("the call of a failure", call)?,
            outcome: to_json("the outcome of a failure", outcome)?,
            id: id.clone(),
            section: section.as_str().to_owned(),
            kind: kind.as_str(),
            scenario: scenario.clone(),
            verdict: verdict.as_str(),
            exception: exception.clone(),
            message: message.clone(),
            location: location.clone(),
            at_ms,
            count: to_i64(count),
        })))
    }
}

/// Writes the rows of one run.
#[derive(Debug)]
pub(super) struct RunRowWriter {
    path: PathBuf,
    connection: Connection,
    run: RunId,
    key: i64,
    names: NameKeyCache,
    open_before: OpenFailures,
}

/// The failures that were known and not gone when a run began: every other one is new in this run.
#[derive(Debug, Clone)]
pub(super) struct OpenFailures(Arc<BTreeSet<FailureId>>);

impl OpenFailures {
    fn read(connection: &Connection) -> Sql<Self> {
        let sql = include_str!("../../sql/read/open_failures.sql");
        let mut statement = connection.prepare(sql)?;
        let ids = statement.query_map([], |row| row.get(0).map(FailureId))?;
        Ok(Self(Arc::new(ids.collect::<Sql<_>>()?)))
    }

    pub(super) fn is_new(&self, failure: &FailureId) -> bool {
        !self.0.contains(failure)
    }
}

impl RunRowWriter {
    pub(super) fn open_before(&self) -> OpenFailures {
        self.open_before.clone()
    }

    /// Inserts the run itself.
    pub(super) fn insert_run(
        path: &Path,
        connection: Connection,
        run: &RunStartRecord,
    ) -> StoreResult<Self> {
        let RunStartRecord { id, seed, repository, started_ms, settings } = run;
        let key = connection
            .query_row(
                include_str!("../../sql/write/run.sql"),
                params![id.0, seed.cast_signed(), repository, started_ms, settings.to_string()],
                |row| row.get(0),
            )
            .map_err(|source| match source.sqlite_error_code() {
                Some(ErrorCode::ConstraintViolation) => StoreError::RunExists { id: id.0.clone() },
                _ => StoreError::from_sqlite(path, source),
            })?;
        let open_before = OpenFailures::read(&connection).in_database(path)?;
        let (path, run) = (path.to_owned(), id.clone());
        Ok(Self { path, connection, run, key, names: NameKeyCache::default(), open_before })
    }

    /// Stores all of these rows, or none.
    pub(super) fn store(&mut self, group: &[WriterRow]) -> StoreResult<()> {
        if group.is_empty() {
            return Ok(());
        }
        let Self { path, connection, run, key, names, open_before } = self;
        let mut store_all = || -> Sql<()> {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut inserts =
                RowInserter { transaction: &transaction, run, key: *key, names, open_before };
            group.iter().try_for_each(|row| inserts.insert_row(row))?;
            transaction.commit()
        };
        store_all().in_database(path)
    }
}

struct RowInserter<'t, 'c> {
    transaction: &'t Transaction<'c>,
    run: &'t RunId,
    key: i64,
    names: &'t mut NameKeyCache,
    open_before: &'t OpenFailures,
}

impl RowInserter<'_, '_> {
    fn insert_row(&mut self, row: &WriterRow) -> Sql<()> {
        match row {
            WriterRow::Cycles(cycles) => {
                self.execute(include_str!("../../sql/write/cycle.sql"), (self.key, cycles))
            }
            WriterRow::Call { record, call_json } => self.insert_call(record, call_json.as_deref()),
            WriterRow::Cell(cell) => self.insert_cell(cell),
            WriterRow::Section(section) => self.insert_section(section),
            WriterRow::Module(module) => self.insert_module(module),
            WriterRow::Scenario(scenario) => self.insert_scenario(scenario),
            WriterRow::Failure(failure) => self.insert_failure(failure),
            WriterRow::CallFailure { cell, number, failure } => {
                let cell = self.names.cell_key(self.transaction, self.key, cell)?;
                let failure = self.name_key(&failure.0)?;
                self.execute(
                    include_str!("../../sql/write/call_failure.sql"),
                    (cell, number, failure),
                )
            }
            WriterRow::FailureGone(id, since_ms) => {
                self.execute(include_str!("../../sql/write/gone.sql"), (&id.0, since_ms))
            }
            WriterRow::End(RunEndRecord { status, finished_ms, cycles, report }) => self.execute(
                include_str!("../../sql/write/run_end.sql"),
                (self.key, status.as_str(), finished_ms, cycles, report.to_string()),
            ),
        }
    }

    fn execute(&self, sql: &str, values: impl rusqlite::Params) -> Sql<()> {
        self.transaction.prepare_cached(sql)?.execute(values).map(|_| ())
    }

    fn name_key(&mut self, text: &str) -> Sql<i64> {
        self.names.name_key(self.transaction, text)
    }

    fn optional_name_key(&mut self, text: Option<&str>) -> Sql<Option<i64>> {
        self.names.optional_name_key(self.transaction, text)
    }

    fn insert_call(&mut self, record: &CallRecord, in_full: Option<&str>) -> Sql<()> {
        let cell = self.names.cell_key(self.transaction, self.key, &record.cell)?;
        let intent = self.name_key(record.intent.as_str())?;
        let verdict = self.name_key(record.verdict.as_str())?;
        let exception = self.optional_name_key(record.exception.as_deref())?;
        let file = self.optional_name_key(record.place.as_ref().map(|place| &*place.file))?;
        let failure = self.optional_name_key(record.failure.as_ref().map(|failure| &*failure.0))?;
        self.execute(
            include_str!("../../sql/write/call.sql"),
            params![
                cell,
                record.number,
                intent,
                verdict,
                ms_to_us(record.wall_ms),
                ms_to_us(record.cpu_ms),
                to_i64(record.memory_bytes),
                exception,
                record.message.as_deref().map(truncate_message),
                file,
                record.place.as_ref().map(|place| place.line),
                failure,
            ],
        )?;
        let Some(json) = in_full else { return Ok(()) };
        let sql = include_str!("../../sql/write/call_in_full.sql");
        self.execute(sql, (cell, record.number, json))
    }

    fn insert_cell(&mut self, cell: &CellRecord) -> Sql<()> {
        let CellRecord { key, severity, calls, verdicts, roi, metrics } = cell;
        let key = self.names.cell_key(self.transaction, self.key, key)?;
        let severity = self.optional_name_key(severity.map(ScenarioSeverity::as_str))?;
        let verdicts = serde_json::to_string(verdicts).map_err(conversion_error)?;
        self.execute(
            include_str!("../../sql/write/cell.sql"),
            params![key, severity, calls.map(to_i64), verdicts, roi, metrics_to_json(metrics)?],
        )
    }

    fn insert_section(&mut self, record: &SectionRecord) -> Sql<()> {
        let SectionRecord { cycle, section, signature, roi, raroi, metrics, uncallable_reason } =
            record;
        let section = self.names.section_key(self.transaction, section)?;
        let signature = self.optional_name_key(signature.as_deref())?;
        self.execute(
            include_str!("../../sql/write/section.sql"),
            params![
                self.key,
                cycle,
                section,
                signature,
                roi,
                raroi,
                metrics_to_json(metrics)?,
                uncallable_reason
            ],
        )
    }

    fn insert_module(&mut self, record: &ModuleRecord) -> Sql<()> {
        let ModuleRecord { cycle, path, roi, raroi, metrics, flagged, risk_flags } = record;
        let module = self.name_key(path)?;
        let (metrics, risk_flags) = (metrics_to_json(metrics)?, risk_flags.to_string());
        self.execute(
            include_str!("../../sql/write/module.sql"),
            params![self.key, cycle, module, roi, raroi, metrics, flagged, risk_flags],
        )
    }

    fn insert_scenario(&mut self, record: &ScenarioRecord) -> Sql<()> {
        let ScenarioRecord { cycle, scenario, severity, roi, roi_delta, metrics } = record;
        let scenario = self.name_key(scenario)?;
        let severity = self.optional_name_key(severity.map(ScenarioSeverity::as_str))?;
        self.execute(
            include_str!("../../sql/write/scenario.sql"),
            params![self.key, cycle, scenario, severity, roi, roi_delta, metrics_to_json(metrics)?],
        )
    }

    fn insert_failure(&mut self, failure: &FailureInsert) -> Sql<()> {
        let section = self.name_key(&failure.section)?;
        let kind = self.name_key(failure.kind)?;
        let scenario = self.name_key(&failure.scenario)?;
        let baseline = self.name_key(BASELINE_SCENARIO)?;
        let verdict = self.name_key(failure.verdict)?;
        let exception = self.optional_name_key(failure.exception.as_deref())?;
        let file = self.name_key(&failure.location.file)?;
        let key: i64 = self
            .transaction
            .prepare_cached(include_str!("../../sql/write/failure.sql"))?
            .query_row(
                params![
                    failure.id.0,
                    section,
                    kind,
                    scenario,
                    verdict,
                    exception,
                    failure.message,
                    file,
                    failure.location.line,
                    failure.call,
                    failure.outcome,
                    self.run.0,
                    failure.at_ms,
                    failure.count,
                    baseline,
                ],
                |row| row.get(0),
            )?;
        let is_new = self.open_before.is_new(&failure.id);
        let sql = include_str!("../../sql/write/sighting.sql");
        self.execute(sql, (self.key, key, failure.count, is_new))
    }
}

fn to_json<T: Serialize + ?Sized>(what: &str, value: &T) -> StoreResult<String> {
    serde_json::to_string(value)
        .map_err(|source| StoreError::NotSerializable { what: what.to_owned(), source })
}

fn metrics_to_json(numbers: &StoredMetricMap) -> Sql<String> {
    serde_json::to_string(numbers).map_err(conversion_error)
}

/// For an error that cannot occur: maps from names to numbers can always be encoded.
fn conversion_error(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

fn ms_to_us(milliseconds: f64) -> i64 {
    // The cast turns NaN into 0, and too large values into the largest.
    (milliseconds * 1e3).round() as i64
}

fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

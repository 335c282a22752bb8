//! Rows, and how they get into the tables.

use std::path::{Path, PathBuf};

use menace_model::{Failure, FailureId, Place};
use rusqlite::{Connection, ErrorCode, Result as Sql, Transaction, TransactionBehavior, params};
use serde::Serialize;

use super::names::Names;
use crate::database::{Error, Result};
use crate::record::short;
use crate::{
    CallRecord, Cell, CellKey, ModuleRecord, NewRun, Numbers, RunEnd, RunId, ScenarioRecord,
};
use crate::{SectionRecord, Seen};

/// The scenario without any trouble.
const IN_PEACE: &str = "normal";

/// What cannot be written as JSON is found by whoever sends it, not by the thread.
#[derive(Debug)]
pub(super) enum Row {
    Cycles(u32),
    Call { record: CallRecord, in_full: Option<String> },
    Cell(Cell),
    Section(SectionRecord),
    Module(ModuleRecord),
    Scenario(ScenarioRecord),
    Failure(Box<FailureRow>),
    Shown { cell: CellKey, number: u32, failure: FailureId },
    Gone(FailureId, i64),
    End(RunEnd),
}

/// A failure whose call and outcome are written out.
#[derive(Debug)]
pub(super) struct FailureRow {
    id: FailureId,
    section: String,
    kind: &'static str,
    scenario: String,
    verdict: &'static str,
    exception: Option<String>,
    message: String,
    location: Place,
    call: String,
    outcome: String,
    at_ms: i64,
    count: i64,
}

impl Row {
    pub(super) fn call(mut record: CallRecord) -> Result<Self> {
        let call = record.call.take();
        let in_full = call.map(|call| json("a call", &*call)).transpose()?;
        Ok(Self::Call { record, in_full })
    }

    pub(super) fn failure(failure: &Failure, at_ms: i64, count: u64) -> Result<Self> {
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
        Ok(Self::Failure(Box::new(FailureRow {
            call: json("the call of a failure", call)?,
            outcome: json("the outcome of a failure", outcome)?,
            id: id.clone(),
            section: section.as_str().to_owned(),
            kind: kind.as_str(),
            scenario: scenario.clone(),
            verdict: verdict.as_str(),
            exception: exception.clone(),
            message: message.clone(),
            location: location.clone(),
            at_ms,
            count: signed(count),
        })))
    }
}

/// The tables, from where one run stands.
#[derive(Debug)]
pub(super) struct Rows {
    path: PathBuf,
    connection: Connection,
    run: RunId,
    key: i64,
    names: Names,
}

impl Rows {
    /// Puts the run itself into its table.
    pub(super) fn of(path: &Path, connection: Connection, run: &NewRun) -> Result<Self> {
        let NewRun { id, seed, repository, started_ms, settings } = run;
        let key = connection
            .query_row(
                include_str!("../../sql/write/run.sql"),
                params![id.0, seed.cast_signed(), repository, started_ms, settings.to_string()],
                |row| row.get(0),
            )
            .map_err(|source| match source.sqlite_error_code() {
                Some(ErrorCode::ConstraintViolation) => Error::RunExists { id: id.0.clone() },
                _ => Error::of(path, source),
            })?;
        let (path, run) = (path.to_owned(), id.clone());
        Ok(Self { path, connection, run, key, names: Names::default() })
    }

    /// All of them, or none.
    pub(super) fn store(&mut self, group: &[Row]) -> Result<()> {
        if group.is_empty() {
            return Ok(());
        }
        let Self { path, connection, run, key, names } = self;
        let mut store_all = || -> Sql<()> {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut inserts = Inserts { to: &transaction, run, key: *key, names };
            group.iter().try_for_each(|row| inserts.row(row))?;
            transaction.commit()
        };
        store_all().map_err(|source| Error::of(path, source))
    }
}

struct Inserts<'t, 'c> {
    to: &'t Transaction<'c>,
    run: &'t RunId,
    key: i64,
    names: &'t mut Names,
}

impl Inserts<'_, '_> {
    fn row(&mut self, row: &Row) -> Sql<()> {
        match row {
            Row::Cycles(cycles) => {
                self.put(include_str!("../../sql/write/cycle.sql"), (self.key, cycles))
            }
            Row::Call { record, in_full } => self.call(record, in_full.as_deref()),
            Row::Cell(cell) => self.cell(cell),
            Row::Section(section) => self.section(section),
            Row::Module(module) => self.module(module),
            Row::Scenario(scenario) => self.scenario(scenario),
            Row::Failure(failure) => self.failure(failure),
            Row::Shown { cell, number, failure } => {
                let cell = self.names.cell(self.to, self.key, cell)?;
                let failure = self.name(&failure.0)?;
                self.put(include_str!("../../sql/write/shown.sql"), (cell, number, failure))
            }
            Row::Gone(id, since_ms) => {
                self.put(include_str!("../../sql/write/gone.sql"), (&id.0, since_ms))
            }
            Row::End(RunEnd { status, finished_ms, cycles, summary }) => self.put(
                include_str!("../../sql/write/run_end.sql"),
                (self.key, status.as_str(), finished_ms, cycles, summary.to_string()),
            ),
        }
    }

    fn put(&self, sql: &str, values: impl rusqlite::Params) -> Sql<()> {
        self.to.prepare_cached(sql)?.execute(values).map(|_| ())
    }

    fn name(&mut self, text: &str) -> Sql<i64> {
        self.names.key(self.to, text)
    }

    fn maybe(&mut self, text: Option<&str>) -> Sql<Option<i64>> {
        self.names.maybe(self.to, text)
    }

    fn call(&mut self, record: &CallRecord, in_full: Option<&str>) -> Sql<()> {
        let cell = self.names.cell(self.to, self.key, &record.cell)?;
        let intent = self.name(record.intent.as_str())?;
        let verdict = self.name(record.verdict.as_str())?;
        let exception = self.maybe(record.exception.as_deref())?;
        let file = self.maybe(record.place.as_ref().map(|place| &*place.file))?;
        let failure = self.maybe(record.failure.as_ref().map(|failure| &*failure.0))?;
        self.put(
            include_str!("../../sql/write/call.sql"),
            params![
                cell,
                record.number,
                intent,
                verdict,
                microseconds(record.wall_ms),
                microseconds(record.cpu_ms),
                signed(record.memory_bytes),
                exception,
                record.message.as_deref().map(short),
                file,
                record.place.as_ref().map(|place| place.line),
                failure,
            ],
        )?;
        let Some(json) = in_full else {
            return Ok(());
        };
        let sql = include_str!("../../sql/write/call_in_full.sql");
        self.put(sql, (cell, record.number, json))
    }

    fn cell(&mut self, cell: &Cell) -> Sql<()> {
        let Cell { key, severity, calls, verdicts, roi, metrics } = cell;
        let key = self.names.cell(self.to, self.key, key)?;
        let severity = self.maybe(severity.as_deref())?;
        let verdicts = serde_json::to_string(verdicts).map_err(unlikely)?;
        self.put(
            include_str!("../../sql/write/cell.sql"),
            params![key, severity, calls.map(signed), verdicts, roi, numbers(metrics)?],
        )
    }

    fn section(&mut self, record: &SectionRecord) -> Sql<()> {
        let SectionRecord { cycle, section, signature, roi, raroi, metrics, unreachable } = record;
        let section = self.names.section(self.to, section)?;
        let signature = self.maybe(signature.as_deref())?;
        self.put(
            include_str!("../../sql/write/section.sql"),
            params![
                self.key,
                cycle,
                section,
                signature,
                roi,
                raroi,
                numbers(metrics)?,
                unreachable
            ],
        )
    }

    fn module(&mut self, record: &ModuleRecord) -> Sql<()> {
        let ModuleRecord { cycle, path, roi, raroi, metrics, flagged, risk_flags } = record;
        let module = self.name(path)?;
        let (metrics, risk_flags) = (numbers(metrics)?, risk_flags.to_string());
        self.put(
            include_str!("../../sql/write/module.sql"),
            params![self.key, cycle, module, roi, raroi, metrics, flagged, risk_flags],
        )
    }

    fn scenario(&mut self, record: &ScenarioRecord) -> Sql<()> {
        let ScenarioRecord { cycle, scenario, severity, roi, roi_delta, metrics } = record;
        let scenario = self.name(scenario)?;
        let severity = self.maybe(severity.as_deref())?;
        self.put(
            include_str!("../../sql/write/scenario.sql"),
            params![self.key, cycle, scenario, severity, roi, roi_delta, numbers(metrics)?],
        )
    }

    fn failure(&mut self, failure: &FailureRow) -> Sql<()> {
        let section = self.name(&failure.section)?;
        let kind = self.name(failure.kind)?;
        let scenario = self.name(&failure.scenario)?;
        let in_peace = self.name(IN_PEACE)?;
        let verdict = self.name(failure.verdict)?;
        let exception = self.maybe(failure.exception.as_deref())?;
        let file = self.name(&failure.location.file)?;
        let seen = Seen { run: self.run.clone(), at_ms: failure.at_ms };
        let key: i64 =
            self.to.prepare_cached(include_str!("../../sql/write/failure.sql"))?.query_row(
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
                    seen.run.0,
                    seen.at_ms,
                    failure.count,
                    in_peace,
                ],
                |row| row.get(0),
            )?;
        self.put(include_str!("../../sql/write/sighting.sql"), (self.key, key, failure.count))
    }
}

fn json<T: Serialize + ?Sized>(what: &str, value: &T) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|source| Error::Unwritable { what: what.to_owned(), source })
}

fn numbers(numbers: &Numbers) -> Sql<String> {
    serde_json::to_string(numbers).map_err(unlikely)
}

/// Maps from names to numbers can always be written.
fn unlikely(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

fn microseconds(milliseconds: f64) -> i64 {
    // What is not a number becomes 0, what is too large the largest.
    (milliseconds * 1e3).round() as i64
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

//! Stores the events of a run in the background.
//!
//! Rows go through a bounded channel to one thread, which stores all waiting rows in one
//! transaction. Invariants: rows sent before a successful [`RunWriter::flush`] are stored, whatever
//! happens to this process; if rows cannot be stored, the next send, flush or finish returns the
//! error, with the number of lost rows.

mod names;
mod rows;
mod thread;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;

use menace_model::{Failure, FailureId};

use crate::database::{self, LOCK_TIMEOUT, StoreError, StoreResult};
use crate::files::FileLock;
use crate::store::{MENACE_DB, RunLivenessLock};
use crate::{
    CallRecord, CellKey, CellRecord, ModuleRecord, RunEndRecord, RunId, RunStartRecord,
    ScenarioRecord, SectionRecord,
};
use rows::{OpenFailures, RunRowWriter, WriterRow};
use thread::{WriterMessage, WriterState};

/// The most rows that may wait; then senders block.
const MAX_QUEUED_ROWS: usize = 2048;

/// Stores one run. Threads may share it.
///
/// When it is dropped without [`RunWriter::finish`], the rows sent so far are stored, and the next
/// process that opens the store marks the run as interrupted.
#[derive(Debug)]
pub struct RunWriter {
    run: RunId,
    open_before: OpenFailures,
    sender: Option<SyncSender<WriterMessage>>,
    thread: Option<JoinHandle<()>>,
    state: Arc<WriterState>,
    sent: AtomicU64,
    liveness: Option<RunLivenessLock>,
}

impl RunWriter {
    pub(crate) fn start(path: &Path, run: &RunStartRecord) -> StoreResult<Self> {
        let lock = FileLock::acquire(path, LOCK_TIMEOUT)?;
        let connection = database::connect(path, &MENACE_DB)?;
        // The lock is taken before the run is inserted: no process may see the run without it.
        let presence = RunLivenessLock::claim(path, &run.id, &lock)?;
        let rows = RunRowWriter::insert_run(path, connection, run)?;
        drop(lock);
        let (sender, receiver) = mpsc::sync_channel(MAX_QUEUED_ROWS);
        let open_before = rows.open_before();
        let state = Arc::new(WriterState::default());
        let thread_state = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("menace-store".into())
            .spawn(move || thread::run_writer(rows, &receiver, &thread_state))
            .map_err(|source| {
                crate::files::StoreFileError::from_io("start a thread for", path, source)
            })?;
        Ok(Self {
            run: run.id.clone(),
            open_before,
            sender: Some(sender),
            thread: Some(thread),
            state,
            sent: AtomicU64::new(0),
            liveness: Some(presence),
        })
    }

    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Whether a failure is new in this run: no earlier run has found it, or it was gone when this
    /// run began. Reports, exit codes and pages follow this rule.
    pub fn is_new(&self, failure: &FailureId) -> bool {
        self.open_before.is_new(failure)
    }

    /// Stores that a cycle has begun; `cycles` is their number.
    pub fn record_cycles(&self, cycles: u32) -> StoreResult<()> {
        self.send(WriterRow::Cycles(cycles))
    }

    pub fn record_call(&self, call: CallRecord) -> StoreResult<()> {
        self.send(WriterRow::from_call(call)?)
    }

    pub fn record_cell(&self, cell: CellRecord) -> StoreResult<()> {
        self.send(WriterRow::Cell(cell))
    }

    pub fn record_section(&self, section: SectionRecord) -> StoreResult<()> {
        self.send(WriterRow::Section(section))
    }

    pub fn record_module(&self, module: ModuleRecord) -> StoreResult<()> {
        self.send(WriterRow::Module(module))
    }

    pub fn record_scenario(&self, scenario: ScenarioRecord) -> StoreResult<()> {
        self.send(WriterRow::Scenario(scenario))
    }

    /// Adds `count` calls that showed this failure.
    pub fn record_failure(&self, failure: &Failure, at_ms: i64, count: u64) -> StoreResult<()> {
        self.send(WriterRow::from_failure(failure, at_ms, count)?)
    }

    /// Links a call that was sent before to a failure.
    pub fn link_call_to_failure(
        &self,
        cell: CellKey,
        number: u32,
        failure: FailureId,
    ) -> StoreResult<()> {
        self.send(WriterRow::CallFailure { cell, number, failure })
    }

    /// Stores that a failure of an earlier run is gone.
    pub fn mark_failure_gone(&self, failure: FailureId, since_ms: i64) -> StoreResult<()> {
        self.send(WriterRow::FailureGone(failure, since_ms))
    }

    /// Waits until all rows sent so far are stored.
    pub fn flush(&self) -> StoreResult<()> {
        let (stored, when_stored) = mpsc::sync_channel(1);
        self.send_message(WriterMessage::Flush(stored))?;
        when_stored.recv().map_err(|_| self.writer_error())
    }

    /// Stores how the run ended, and waits until everything is stored. Returns the number of rows.
    pub fn finish(mut self, end: RunEndRecord) -> StoreResult<u64> {
        self.send(WriterRow::End(end))?;
        self.join()?;
        if let Some(presence) = self.liveness.take() {
            presence.release();
        }
        Ok(self.state.stored.load(Ordering::Acquire))
    }

    fn send(&self, row: WriterRow) -> StoreResult<()> {
        // Counted before it is sent: a row that the thread never receives is lost, too.
        self.sent.fetch_add(1, Ordering::AcqRel);
        self.send_message(WriterMessage::Row(Box::new(row)))
    }

    fn send_message(&self, message: WriterMessage) -> StoreResult<()> {
        // The thread may still accept rows for a moment after it has failed.
        if self.state.failed.get().is_some() {
            return Err(self.writer_error());
        }
        let sender = self.sender.as_ref().ok_or_else(|| self.writer_error())?;
        sender.send(message).map_err(|_| self.writer_error())
    }

    fn join(&mut self) -> StoreResult<()> {
        // Without senders the thread stores the waiting rows, and ends.
        self.sender = None;
        let panicked = self.thread.take().is_some_and(|thread| thread.join().is_err());
        let sent = self.sent.load(Ordering::Acquire);
        if panicked || self.state.stored.load(Ordering::Acquire) < sent {
            return Err(self.writer_error());
        }
        Ok(())
    }

    fn writer_error(&self) -> StoreError {
        let run = self.run.0.clone();
        let stored = self.state.stored.load(Ordering::Acquire);
        let lost = self.sent.load(Ordering::Acquire).saturating_sub(stored);
        match self.state.failed.get() {
            Some(source) => StoreError::RowsNotStored { run, lost, source: Arc::clone(source) },
            None => StoreError::WriterThreadEnded { run, lost },
        }
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        if self.thread.is_some()
            && let Err(error) = self.join()
        {
            let cause = self.state.failed.get().map(ToString::to_string);
            tracing::error!(%error, cause, "a run could not be stored to its end");
        }
    }
}

//! Stores what happens in a run, in the background.
//!
//! Rows go through a bounded channel to one thread, which stores what waits there in one
//! transaction. Invariants: what was sent before a [`RunWriter::flush`] that succeeded is there
//! whatever happens to this process; what could not be stored is an error of the next send, flush
//! or finish, with the number of rows that are lost.

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
use rows::{RunRowWriter, WriterRow};
use thread::{WriterMessage, WriterState};

/// As many may wait; then senders do.
const MAX_QUEUED_ROWS: usize = 2048;

/// Stores one run. Threads may share it.
///
/// Dropped without [`RunWriter::finish`], it stores what it was given and leaves the run
/// unfinished; the next process that opens the store marks it as interrupted.
#[derive(Debug)]
pub struct RunWriter {
    run: RunId,
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
        // First the lock of the run, then the run: no process may see the run without it.
        let presence = RunLivenessLock::claim(path, &run.id, &lock)?;
        let rows = RunRowWriter::insert_run(path, connection, run)?;
        drop(lock);
        let (sender, receiver) = mpsc::sync_channel(MAX_QUEUED_ROWS);
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

    /// A cycle has begun; `cycles` of them by now.
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

    /// So many more calls showed this failure.
    pub fn record_failure(&self, failure: &Failure, at_ms: i64, count: u64) -> StoreResult<()> {
        self.send(WriterRow::from_failure(failure, at_ms, count)?)
    }

    /// A call that was sent before shows this failure.
    pub fn link_call_to_failure(
        &self,
        cell: CellKey,
        number: u32,
        failure: FailureId,
    ) -> StoreResult<()> {
        self.send(WriterRow::CallFailure { cell, number, failure })
    }

    /// A failure that earlier runs saw is not there any more.
    pub fn mark_failure_gone(&self, failure: FailureId, since_ms: i64) -> StoreResult<()> {
        self.send(WriterRow::FailureGone(failure, since_ms))
    }

    /// Waits until all that was sent is stored.
    pub fn flush(&self) -> StoreResult<()> {
        let (stored, when_stored) = mpsc::sync_channel(1);
        self.send_message(WriterMessage::Flush(stored))?;
        when_stored.recv().map_err(|_| self.writer_error())
    }

    /// Stores how the run ended, and waits until all is stored. Returns how many rows that were.
    pub fn finish(mut self, end: RunEndRecord) -> StoreResult<u64> {
        self.send(WriterRow::End(end))?;
        self.join()?;
        if let Some(presence) = self.liveness.take() {
            presence.release();
        }
        Ok(self.state.stored.load(Ordering::Acquire))
    }

    fn send(&self, row: WriterRow) -> StoreResult<()> {
        // Counted first: a row that the thread never gets is lost, too.
        self.sent.fetch_add(1, Ordering::AcqRel);
        self.send_message(WriterMessage::Row(Box::new(row)))
    }

    fn send_message(&self, message: WriterMessage) -> StoreResult<()> {
        // The thread may take a while to go after it has failed, and would still be sent to.
        if self.state.failed.get().is_some() {
            return Err(self.writer_error());
        }
        let sender = self.sender.as_ref().ok_or_else(|| self.writer_error())?;
        sender.send(message).map_err(|_| self.writer_error())
    }

    fn join(&mut self) -> StoreResult<()> {
        // Without senders the thread stores what waits, and ends.
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

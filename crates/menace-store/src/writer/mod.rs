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

use crate::database::{self, Error, PATIENCE, Result};
use crate::files::Lock;
use crate::store::{KIND, Presence};
use crate::{
    CallRecord, Cell, CellKey, ModuleRecord, NewRun, RunEnd, RunId, ScenarioRecord, SectionRecord,
};
use rows::{Row, Rows};
use thread::{Message, State};

/// As many may wait; then senders do.
const WAITING: usize = 2048;

/// Stores one run. Threads may share it.
///
/// Dropped without [`RunWriter::finish`], it stores what it was given and leaves the run unfinished;
/// whoever opens the store next marks it as interrupted.
#[derive(Debug)]
pub struct RunWriter {
    run: RunId,
    sender: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<()>>,
    state: Arc<State>,
    sent: AtomicU64,
    presence: Option<Presence>,
}

impl RunWriter {
    pub(crate) fn start(path: &Path, run: &NewRun) -> Result<Self> {
        let lock = Lock::acquire(path, PATIENCE)?;
        let connection = database::connect(path, &KIND)?;
        // First the lock of the run, then the run: nobody may see it without.
        let presence = Presence::claim(path, &run.id, &lock)?;
        let rows = Rows::of(path, connection, run)?;
        drop(lock);
        let (sender, receiver) = mpsc::sync_channel(WAITING);
        let state = Arc::new(State::default());
        let seen = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("menace-store".into())
            .spawn(move || thread::work(rows, &receiver, &seen))
            .map_err(|source| crate::files::Error::of("start a thread for", path, source))?;
        Ok(Self {
            run: run.id.clone(),
            sender: Some(sender),
            thread: Some(thread),
            state,
            sent: AtomicU64::new(0),
            presence: Some(presence),
        })
    }

    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// A cycle has begun; `cycles` of them by now.
    pub fn cycles(&self, cycles: u32) -> Result<()> {
        self.send(Row::Cycles(cycles))
    }

    pub fn call(&self, call: CallRecord) -> Result<()> {
        self.send(Row::call(call)?)
    }

    pub fn cell(&self, cell: Cell) -> Result<()> {
        self.send(Row::Cell(cell))
    }

    pub fn section(&self, section: SectionRecord) -> Result<()> {
        self.send(Row::Section(section))
    }

    pub fn module(&self, module: ModuleRecord) -> Result<()> {
        self.send(Row::Module(module))
    }

    pub fn scenario(&self, scenario: ScenarioRecord) -> Result<()> {
        self.send(Row::Scenario(scenario))
    }

    /// So many more calls showed this failure.
    pub fn failure(&self, failure: &Failure, at_ms: i64, count: u64) -> Result<()> {
        self.send(Row::failure(failure, at_ms, count)?)
    }

    /// A call that was sent before shows this failure.
    pub fn shown(&self, cell: CellKey, number: u32, failure: FailureId) -> Result<()> {
        self.send(Row::Shown { cell, number, failure })
    }

    /// A failure that earlier runs saw is not there any more.
    pub fn gone(&self, failure: FailureId, since_ms: i64) -> Result<()> {
        self.send(Row::Gone(failure, since_ms))
    }

    /// Waits until all that was sent is stored.
    pub fn flush(&self) -> Result<()> {
        let (stored, when_stored) = mpsc::sync_channel(1);
        self.message(Message::Flush(stored))?;
        when_stored.recv().map_err(|_| self.broken())
    }

    /// Stores how the run ended, and waits until all is stored. Returns how many rows that were.
    pub fn finish(mut self, end: RunEnd) -> Result<u64> {
        self.send(Row::End(end))?;
        self.join()?;
        if let Some(presence) = self.presence.take() {
            presence.release();
        }
        Ok(self.state.stored.load(Ordering::Acquire))
    }

    fn send(&self, row: Row) -> Result<()> {
        // Counted first: a row that the thread never gets is lost, too.
        self.sent.fetch_add(1, Ordering::AcqRel);
        self.message(Message::Row(Box::new(row)))
    }

    fn message(&self, message: Message) -> Result<()> {
        // The thread may take a while to go after it has failed, and would still be sent to.
        if self.state.failed.get().is_some() {
            return Err(self.broken());
        }
        let sender = self.sender.as_ref().ok_or_else(|| self.broken())?;
        sender.send(message).map_err(|_| self.broken())
    }

    fn join(&mut self) -> Result<()> {
        // Without senders the thread stores what waits, and ends.
        self.sender = None;
        let panicked = self.thread.take().is_some_and(|thread| thread.join().is_err());
        let sent = self.sent.load(Ordering::Acquire);
        if panicked || self.state.stored.load(Ordering::Acquire) < sent {
            return Err(self.broken());
        }
        Ok(())
    }

    fn broken(&self) -> Error {
        let run = self.run.0.clone();
        let stored = self.state.stored.load(Ordering::Acquire);
        let lost = self.sent.load(Ordering::Acquire).saturating_sub(stored);
        match self.state.failed.get() {
            Some(source) => Error::Writing { run, lost, source: Arc::clone(source) },
            None => Error::WriterGone { run, lost },
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

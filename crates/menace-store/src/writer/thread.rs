//! The writer thread: collects records and stores them in one transaction at a time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::rows::{RunRowWriter, WriterRow};
use crate::StoreError;

/// The most rows of one transaction, so that other writers do not wait long.
const MAX_ROWS_PER_TRANSACTION: usize = 512;
/// How long a row may wait for further rows, unless a caller waits for it to be stored. One
/// transaction per row costs three times as much.
const MAX_ROW_DELAY: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) enum WriterMessage {
    Row(Box<WriterRow>),
    /// Replies once all earlier rows are stored.
    Flush(SyncSender<()>),
}

/// The part of the thread's state that senders read.
#[derive(Debug, Default)]
pub(super) struct WriterState {
    pub(super) stored: AtomicU64,
    pub(super) failed: OnceLock<Arc<StoreError>>,
}

/// Ends when there are no senders any more, or when a row could not be stored: then `state` has the
/// error, and sending fails.
pub(super) fn run_writer(
    mut rows: RunRowWriter,
    receiver: &Receiver<WriterMessage>,
    state: &WriterState,
) {
    while let Ok(first) = receiver.recv() {
        let (group, flush) = collect_batch(first, receiver);
        if let Err(error) = rows.store(&group) {
            // Set only here, right before the thread ends.
            let _ = state.failed.set(Arc::new(error));
            return;
        }
        state.stored.fetch_add(group.len() as u64, Ordering::AcqRel);
        if let Some(flush) = flush {
            // The receiver may have given up waiting.
            let _ = flush.send(());
        }
    }
}

fn collect_batch(
    first: WriterMessage,
    receiver: &Receiver<WriterMessage>,
) -> (Vec<WriterRow>, Option<SyncSender<()>>) {
    let until = Instant::now() + MAX_ROW_DELAY;
    let mut group = Vec::new();
    let mut next = Ok(first);
    loop {
        match next {
            Ok(WriterMessage::Row(row)) => group.push(*row),
            Ok(WriterMessage::Flush(stored)) => return (group, Some(stored)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return (group, None);
            }
        }
        if group.len() >= MAX_ROWS_PER_TRANSACTION {
            return (group, None);
        }
        next = receiver.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

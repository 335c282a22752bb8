//! The thread that stores: gathers what waits, stores it in one transaction, again and again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::rows::{Row, Rows};
use crate::Error;

/// The most rows of one transaction: others who write must not wait long.
const GROUP: usize = 512;
/// How long a row may wait for company, unless somebody waits for it to be stored: a transaction for
/// each row costs three times as much.
const LINGER: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) enum Message {
    Row(Box<Row>),
    /// Answers once all that came before is stored.
    Flush(SyncSender<()>),
}

/// What senders may know of the thread.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) stored: AtomicU64,
    pub(super) failed: OnceLock<Arc<Error>>,
}

/// Ends when there are no senders any more, or when something could not be stored: by then
/// `state` knows why, and senders find nobody to send to.
pub(super) fn work(mut rows: Rows, receiver: &Receiver<Message>, state: &State) {
    while let Ok(first) = receiver.recv() {
        let (group, flush) = gather(first, receiver);
        if let Err(error) = rows.store(&group) {
            // Set once: this is the only place, and it ends the thread.
            let _ = state.failed.set(Arc::new(error));
            return;
        }
        state.stored.fetch_add(group.len() as u64, Ordering::AcqRel);
        if let Some(flush) = flush {
            // Whoever asked may have given up.
            let _ = flush.send(());
        }
    }
}

fn gather(first: Message, receiver: &Receiver<Message>) -> (Vec<Row>, Option<SyncSender<()>>) {
    let until = Instant::now() + LINGER;
    let mut group = Vec::new();
    let mut next = Ok(first);
    loop {
        match next {
            Ok(Message::Row(row)) => group.push(*row),
            Ok(Message::Flush(stored)) => return (group, Some(stored)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return (group, None);
            }
        }
        if group.len() >= GROUP {
            return (group, None);
        }
        next = receiver.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

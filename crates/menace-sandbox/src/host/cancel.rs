//! Ends everything at once, from any thread.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Shared by whoever may end a run and the sandboxes that it would end.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: AtomicBool,
    next: AtomicU64,
    /// Connections to living sandboxes; closing one ends its sandbox.
    alive: Mutex<Vec<(u64, UnixStream)>>,
    /// How many directories of sandboxes there are.
    directories: Mutex<usize>,
    removed: Condvar,
}

/// Counts a directory as there until it is dropped.
#[derive(Debug)]
pub(crate) struct Kept(Cancel);

/// Keeps a connection registered until it is dropped.
#[derive(Debug)]
pub(crate) struct Registered {
    number: u64,
    cancel: Cancel,
}

impl Cancel {
    /// Ends every sandbox; those that are asked for later are refused.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        for (_, stream) in self.alive().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    pub(crate) fn register(&self, stream: &UnixStream) -> std::io::Result<Registered> {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let stream = stream.try_clone()?;
        let mut alive = self.alive();
        if self.is_cancelled() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        alive.push((number, stream));
        Ok(Registered { number, cancel: self.clone() })
    }

    /// Waits until every directory of a sandbox is removed, but no longer than this; whether they are.
    pub fn wait_until_removed(&self, patience: Duration) -> bool {
        let some_are_left = |count: &mut usize| *count > 0;
        let waited = self.0.removed.wait_timeout_while(self.kept(), patience, some_are_left);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }

    pub(crate) fn keep_directory(&self) -> Kept {
        *self.kept() += 1;
        Kept(self.clone())
    }

    fn kept(&self) -> MutexGuard<'_, usize> {
        self.0.directories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alive(&self) -> MutexGuard<'_, Vec<(u64, UnixStream)>> {
        self.0.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        *self.0.kept() -= 1;
        self.0.0.removed.notify_all();
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.cancel.alive().retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_waited_for_until_the_last_is_removed() {
        let cancel = Cancel::default();
        assert!(cancel.wait_until_removed(Duration::ZERO));
        let (one, other) = (cancel.keep_directory(), cancel.keep_directory());
        drop(one);
        assert!(!cancel.wait_until_removed(Duration::ZERO));
        let waiting = std::thread::spawn(move || cancel.wait_until_removed(Duration::from_mins(1)));
        drop(other);
        assert!(waiting.join().unwrap());
    }
}

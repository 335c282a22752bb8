//! The cancel token: ends all sandboxes at once, from any thread.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Shared by the code that cancels a run and the sandboxes that it ends.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    cancelled: AtomicBool,
    next_number: AtomicU64,
    /// Connections to running sandboxes; closing one ends its sandbox.
    connections: Mutex<Vec<(u64, UnixStream)>>,
    /// How many directories of sandboxes exist.
    directories: Mutex<usize>,
    directory_removed: Condvar,
}

/// Counts a directory as existing until it is dropped.
#[derive(Debug)]
pub(crate) struct CountedDirectory(CancelToken);

/// Keeps a connection registered until it is dropped.
#[derive(Debug)]
pub(crate) struct RegisteredConnection {
    number: u64,
    cancel: CancelToken,
}

impl CancelToken {
    /// Ends every sandbox, and refuses to start further ones.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        self.end_sandboxes();
    }

    /// Ends the sandboxes that are there, with the calls under way; others can be started.
    pub fn end_sandboxes(&self) {
        for (_, stream) in self.connections().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    pub(crate) fn register(&self, stream: &UnixStream) -> std::io::Result<RegisteredConnection> {
        let number = self.0.next_number.fetch_add(1, Ordering::Relaxed);
        let stream = stream.try_clone()?;
        let mut alive = self.connections();
        if self.is_cancelled() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        alive.push((number, stream));
        Ok(RegisteredConnection { number, cancel: self.clone() })
    }

    /// Waits until every directory of a sandbox is removed, but at most `timeout`; returns whether
    /// they are.
    pub fn wait_until_directories_removed(&self, timeout: Duration) -> bool {
        let some_are_left = |count: &mut usize| *count > 0;
        let waited = self.0.directory_removed.wait_timeout_while(
            self.directory_count(),
            timeout,
            some_are_left,
        );
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }

    pub(crate) fn count_directory(&self) -> CountedDirectory {
        *self.directory_count() += 1;
        CountedDirectory(self.clone())
    }

    fn directory_count(&self) -> MutexGuard<'_, usize> {
        self.0.directories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, Vec<(u64, UnixStream)>> {
        self.0.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CountedDirectory {
    fn drop(&mut self) {
        *self.0.directory_count() -= 1;
        self.0.0.directory_removed.notify_all();
    }
}

impl Drop for RegisteredConnection {
    fn drop(&mut self) {
        self.cancel.connections().retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_waited_for_until_the_last_is_removed() {
        let cancel = CancelToken::default();
        assert!(cancel.wait_until_directories_removed(Duration::ZERO));
        let (one, other) = (cancel.count_directory(), cancel.count_directory());
        drop(one);
        assert!(!cancel.wait_until_directories_removed(Duration::ZERO));
        let waiting = std::thread::spawn(move || {
            cancel.wait_until_directories_removed(Duration::from_mins(1))
        });
        drop(other);
        assert!(waiting.join().unwrap());
    }
}

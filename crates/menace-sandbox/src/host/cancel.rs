//! Ends everything at once, from any thread.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared by whoever may end a run and the sandboxes that it would end.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: AtomicBool,
    next: AtomicU64,
    /// Connections to living sandboxes; closing one ends its sandbox.
    alive: Mutex<Vec<(u64, UnixStream)>>,
}

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

    fn alive(&self) -> std::sync::MutexGuard<'_, Vec<(u64, UnixStream)>> {
        self.0.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.cancel.alive().retain(|(number, _)| *number != self.number);
    }
}

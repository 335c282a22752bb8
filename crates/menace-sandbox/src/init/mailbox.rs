//! The shared memory in which the harness leaves its report.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::sys::SharedMemory;

/// Room for the longest report.
pub(crate) const SIZE: usize = 4 << 20;
const MAGIC: &[u8; 4] = b"MNB1";
const SHORT_AT: usize = 64;
/// One while the section itself runs, for calls with faults.
const ACTIVE_AT: usize = 5;
const FULL_AT: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Mailbox {
    memory: SharedMemory,
    file: OwnedFd,
}

/// What was in it: untrusted.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub phase: u8,
    pub nonce: u64,
    pub report: Vec<u8>,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        let file = memfd_create(c"mailbox", MFdFlags::MFD_CLOEXEC)?;
        let file = File::from(file);
        file.set_len(SIZE as u64)?;
        let file = OwnedFd::from(file);
        Ok(Self { memory: SharedMemory::map(file.as_fd(), SIZE)?, file })
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Marks a call as running.
    pub(crate) fn begin(&self, nonce: u64) {
        let mut head = [0_u8; 24];
        head[..4].copy_from_slice(MAGIC);
        head[4] = 1;
        head[16..].copy_from_slice(&nonce.to_le_bytes());
        self.memory.write(&head);
    }

    /// Whether the section itself runs, as the harness says.
    pub(crate) fn is_active(&self) -> bool {
        self.memory.read(ACTIVE_AT, 1) == [1]
    }

    /// Takes what is in it out, and leaves it empty.
    pub(crate) fn take(&self) -> Mail {
        let head = self.memory.read(0, SHORT_AT);
        let number = |at: usize| {
            u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize
        };
        let (short, full) = (number(8).min(FULL_AT - SHORT_AT), number(12).min(SIZE - FULL_AT));
        let phase = if &head[..4] == MAGIC { head[4] } else { 0 };
        let report = match phase {
            2 => self.memory.read(SHORT_AT, short),
            3 => self.memory.read(FULL_AT, full),
            _ => Vec::new(),
        };
        let nonce = head[16..24].try_into().map_or(0, u64::from_le_bytes);
        self.memory.clear(0, SHORT_AT + short);
        self.memory.clear(FULL_AT, full);
        Mail { phase, nonce, report }
    }
}

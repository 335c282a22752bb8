//! Standard output and error of the guest: kept up to a limit, and counted beyond.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use crate::wire::messages::CapturedStream;

/// A larger pipe wakes init less often for a guest that prints a lot.
const PIPE_BYTES: i32 = 1 << 20;
/// The most reads in a row: a pipe holds at most this many packets.
const MAX_READS_PER_DRAIN: usize = 1 << 10;

#[derive(Debug)]
pub(crate) struct OutputStream {
    reader: OwnedFd,
    writer: OwnedFd,
    captured: CapturedStream,
    max_kept_bytes: usize,
}

impl OutputStream {
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
        fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        // Fails when the user's pipes exceed their total limit: then the pipe stays small.
        let _ = fcntl(&writer, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES));
        Ok(Self { reader, writer, captured: CapturedStream::default(), max_kept_bytes: 0 })
    }

    pub(crate) fn writer(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }

    pub(crate) fn reader(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    /// Discards the last call's output, and keeps up to `keep` bytes from now on.
    pub(crate) fn begin(&mut self, keep: u64) {
        // A guest can switch the pipe it shares with all calls to non-blocking; undo that.
        let _ = fcntl(&self.writer, FcntlArg::F_SETFL(OFlag::empty()));
        self.drain();
        self.max_kept_bytes = usize::try_from(keep).unwrap_or(usize::MAX);
        self.captured = CapturedStream::default();
    }

    /// Reads what is in the pipe, up to a bound: a guest can write as fast as init reads.
    pub(crate) fn drain(&mut self) {
        let mut buffer = [0_u8; 1 << 14];
        for _ in 0..MAX_READS_PER_DRAIN {
            match nix::unistd::read(&self.reader, &mut buffer) {
                Ok(0) | Err(nix::Error::EAGAIN) => return,
                Ok(count) => {
                    self.captured.total_bytes += count as u64;
                    let room = self.max_kept_bytes.saturating_sub(self.captured.bytes.len());
                    self.captured.bytes.extend_from_slice(&buffer[..count.min(room)]);
                }
                Err(nix::Error::EINTR) => {}
                Err(_) => return,
            }
        }
    }

    pub(crate) fn take(&mut self) -> CapturedStream {
        self.drain();
        std::mem::take(&mut self.captured)
    }
}

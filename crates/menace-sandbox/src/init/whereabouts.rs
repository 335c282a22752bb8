//! Where the code is, told by the interpreter's own handlers: as it crashes, and when it is asked.
//!
//! Invariant: whatever the guest writes or does not write here, nobody waits longer than [`PATIENCE`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::sys;

/// The most that is kept: ten of the longest answers to be expected.
const MOST_BYTES: usize = 1 << 18;
/// How often one that did not end is asked. What goes round is somewhere else each time.
const LOOKS: usize = 8;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(1);
/// For all of them: a call is dead within a quarter of a second after its deadline.
const PATIENCE: Duration = Duration::from_millis(100);

/// A pipe that the guest has the other end of.
#[derive(Debug)]
pub(crate) struct Whereabouts {
    reader: OwnedFd,
    writer: OwnedFd,
    told: Vec<u8>,
}

impl Whereabouts {
    pub(crate) fn new() -> io::Result<Self> {
        // Nobody who crashes waits for room in it.
        let (reader, writer) = nix::unistd::pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        Ok(Self { reader, writer, told: Vec::new() })
    }

    pub(crate) fn writer(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }

    /// Starts anew.
    pub(crate) fn begin(&mut self) {
        // A guest can switch the pipe it shares with all calls to blocking; undo that.
        let _ = fcntl(&self.writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
        self.take();
    }

    /// Asks a process that is about to be stopped, again and again.
    pub(crate) fn ask(&mut self, pid: i32) {
        let patience = Instant::now() + PATIENCE;
        // What was said before was not asked for.
        self.take();
        for _ in 0..LOOKS {
            if sys::ask(pid).is_err() || !self.hears(patience) {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits for an answer.
    fn hears(&mut self, patience: Instant) -> bool {
        let left = patience.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        let mut fds = [PollFd::new(self.reader.as_fd(), PollFlags::POLLIN)];
        let is_there = poll(&mut fds, timeout).is_ok_and(|ready| ready > 0);
        self.drain();
        is_there
    }

    fn drain(&mut self) {
        let mut buffer = [0_u8; 1 << 14];
        // A guest can write as fast as we read.
        for _ in 0..MOST_BYTES / buffer.len() {
            match nix::unistd::read(&self.reader, &mut buffer) {
                Ok(count) if count > 0 => {
                    let room = MOST_BYTES.saturating_sub(self.told.len());
                    self.told.extend_from_slice(&buffer[..count.min(room)]);
                }
                Err(nix::Error::EINTR) => {}
                _ => return,
            }
        }
    }

    /// What was told since the beginning: the guest's word.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.drain();
        std::mem::take(&mut self.told)
    }
}

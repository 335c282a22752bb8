//! Collects stack dumps that the interpreter's own signal handlers write: when it crashes, and on
//! request.
//! Invariant: whatever the guest writes to the pipe, init waits no longer than
//! [`STACK_SAMPLING_TIMEOUT`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::sys;

/// The most bytes of dumps that are kept: room for ten long ones.
const MAX_STACK_DUMP_BYTES: usize = 1 << 18;
/// How many dumps of a hanging call are requested. In a loop, each may show another line.
const MAX_STACK_SAMPLES: usize = 8;
/// The pause between two requests.
const STACK_SAMPLE_PAUSE: Duration = Duration::from_millis(1);
/// Time for all dumps of a call, which has to be dead 250 ms after its deadline.
const STACK_SAMPLING_TIMEOUT: Duration = Duration::from_millis(100);

/// The pipe that the guest writes dumps to.
#[derive(Debug)]
pub(crate) struct StackSampler {
    reader: OwnedFd,
    writer: OwnedFd,
    collected: Vec<u8>,
}

impl StackSampler {
    pub(crate) fn new() -> io::Result<Self> {
        // Non-blocking: a crashing process must not wait until the pipe is read.
        let (reader, writer) = nix::unistd::pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        Ok(Self { reader, writer, collected: Vec::new() })
    }

    pub(crate) fn writer(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }

    /// Discards dumps of the last call.
    pub(crate) fn begin(&mut self) {
        // A guest can switch the pipe it shares with all calls to blocking; undo that.
        let _ = fcntl(&self.writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
        self.take();
    }

    /// Requests dumps from a process that is about to be killed.
    pub(crate) fn sample(&mut self, pid: i32) {
        let deadline = Instant::now() + STACK_SAMPLING_TIMEOUT;
        // Dumps written before the request are not those requested.
        self.take();
        for _ in 0..MAX_STACK_SAMPLES {
            if sys::request_stack_dump(pid).is_err() || !self.wait_for_dump(deadline) {
                return;
            }
            std::thread::sleep(STACK_SAMPLE_PAUSE);
        }
    }

    /// Waits for a dump; false when there was none in time.
    fn wait_for_dump(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        let mut fds = [PollFd::new(self.reader.as_fd(), PollFlags::POLLIN)];
        let is_there = poll(&mut fds, timeout).is_ok_and(|ready| ready > 0);
        self.drain();
        is_there
    }

    fn drain(&mut self) {
        let mut buffer = [0_u8; 1 << 14];
        // A guest can write as fast as init reads.
        for _ in 0..MAX_STACK_DUMP_BYTES / buffer.len() {
            match nix::unistd::read(&self.reader, &mut buffer) {
                Ok(count) if count > 0 => {
                    let room = MAX_STACK_DUMP_BYTES.saturating_sub(self.collected.len());
                    self.collected.extend_from_slice(&buffer[..count.min(room)]);
                }
                Err(nix::Error::EINTR) => {}
                _ => return,
            }
        }
    }

    /// Returns the dumps since [`Self::begin`]; untrusted.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.drain();
        std::mem::take(&mut self.collected)
    }
}

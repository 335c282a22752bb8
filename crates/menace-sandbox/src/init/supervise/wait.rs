//! Waits for the guest and the harness, and does meanwhile what they cannot wait for: reads what is
//! printed, answers what is asked, tells the call the rest of its arguments.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Sandbox;
use crate::init::zygote::is_readable;
use crate::init::{During, InitError};
use crate::wire::harness::{self, FromHarness};

/// What happened first.
#[derive(Debug)]
pub(super) enum Event {
    Said(FromHarness),
    /// It broke the protocol: the guest has its hands on it.
    Nonsense,
    ZygoteDied,
    CallEnded,
    TimeUp,
}

/// What to wait for beside the harness.
#[derive(Debug, Clone, Copy)]
pub(super) struct Until<'a> {
    pub(super) deadline: Instant,
    /// The process of the call, when the zygote is not there to wait for it.
    pub(super) orphan: Option<BorrowedFd<'a>>,
}

impl Sandbox<'_> {
    /// The heart: reads the guest's output, answers what it may not do, and returns on an event.
    pub(super) fn wait(&mut self, until: Until<'_>) -> Result<Event, InitError> {
        loop {
            let ready = self.poll(until)?;
            if ready.host_gone {
                return Err(InitError::HostGone);
            }
            if ready.out {
                self.out.drain();
            }
            if ready.err {
                self.err.drain();
            }
            if ready.denied {
                self.answer_denied();
            }
            self.attend_to_faults();
            if ready.go && self.tell_more().is_err() {
                return Ok(Event::Nonsense);
            }
            if ready.control {
                return Ok(match harness::receive(&self.zygote.control) {
                    Ok(said) => Event::Said(said),
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Event::ZygoteDied,
                    Err(_) => Event::Nonsense,
                });
            }
            if until.orphan.is_some() {
                if ready.orphan {
                    return Ok(Event::CallEnded);
                }
            } else if ready.zygote {
                return Ok(Event::ZygoteDied);
            }
            if Instant::now() >= until.deadline {
                return Ok(Event::TimeUp);
            }
        }
    }

    fn poll(&self, until: Until<'_>) -> Result<ReadyFor, InitError> {
        let delayed = self.delayed.iter().map(|(due, _)| *due);
        let next = delayed.chain(self.faults.due()).fold(until.deadline, Instant::min);
        let left = next.saturating_duration_since(Instant::now());
        // Rounded up, so that a deadline is never polled for in vain.
        let millis = i32::try_from(left.as_millis() + 1).unwrap_or(i32::MAX);
        let timeout = PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX);
        let input = PollFlags::POLLIN;
        let watch_zygote = until.orphan.is_none();
        let mut fds = vec![
            PollFd::new(self.host.as_fd(), PollFlags::from_bits_retain(libc::POLLRDHUP)),
            PollFd::new(self.out.reader(), input),
            PollFd::new(self.err.reader(), input),
            PollFd::new(until.orphan.unwrap_or(self.zygote.end.as_fd()), input),
        ];
        let control_at = watch_zygote.then(|| {
            fds.push(PollFd::new(self.zygote.control.as_fd(), input));
            fds.len() - 1
        });
        let listener_at = self.zygote.keeper.as_ref().map(|keeper| {
            fds.push(PollFd::new(keeper.listener.as_fd(), input));
            fds.len() - 1
        });
        let go_at = (!self.unsent.is_empty()).then(|| {
            fds.push(PollFd::new(self.zygote.go.as_fd(), PollFlags::POLLOUT));
            fds.len() - 1
        });
        match poll(&mut fds, timeout) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error).during(|| "cannot wait for the guest".to_owned()),
        }
        let any = |at: usize| fds[at].any() == Some(true);
        Ok(ReadyFor {
            // Hanging up is all that is asked for, and `any` does not know its bit.
            host_gone: fds[0].any() != Some(false),
            out: any(1),
            err: any(2),
            zygote: watch_zygote && any(3),
            orphan: !watch_zygote && any(3),
            control: control_at.is_some_and(any),
            denied: listener_at.is_some_and(|at| is_readable(&fds[at])),
            go: go_at.is_some_and(any),
        })
    }
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one per descriptor")]
struct ReadyFor {
    host_gone: bool,
    out: bool,
    err: bool,
    zygote: bool,
    orphan: bool,
    control: bool,
    denied: bool,
    go: bool,
}

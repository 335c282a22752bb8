//! Answers the system calls that wait for a decision: by a fault, or by the warden.

use std::os::fd::AsFd;
use std::time::Instant;

use menace_model::Violation;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Sandbox;
use crate::fault::Struck;
use crate::init::zygote::is_readable;
use crate::init::{During, InitError};

/// The most attempts at forbidden things that are kept of one call.
const ATTEMPTS: usize = 64;

impl Sandbox<'_> {
    /// The process of the next call makes itself ready meanwhile, and opens files for that. `blank`: nothing was
    /// imported or called yet.
    pub(super) fn answer_until_asked(&mut self, blank: bool) -> Result<(), InitError> {
        let mut anybody_asks = true;
        loop {
            let mut fds = vec![PollFd::new(self.host.as_fd(), PollFlags::POLLIN)];
            let mut also = |fd| {
                fds.push(PollFd::new(fd, PollFlags::POLLIN));
                fds.len() - 1
            };
            let end_at = blank.then(|| also(self.zygote.end.as_fd()));
            let keeper = self.zygote.keeper.as_ref().filter(|_| anybody_asks);
            let listener_at = keeper.map(|keeper| also(keeper.listener.as_fd()));
            match poll(&mut fds, PollTimeout::NONE) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error).during(|| "cannot wait for the host".to_owned()),
            }
            let asked = fds[0].any() == Some(true);
            if end_at.is_some_and(|at| fds[at].any() == Some(true)) {
                // One that ends while it waits to be needed had better not be needed.
                return Err(InitError::Refused("Python ended before it was needed".to_owned()));
            }
            let question = listener_at.is_some_and(|at| is_readable(&fds[at]));
            // One that is hung up stays so.
            anybody_asks &= question || listener_at.is_none_or(|at| fds[at].any() != Some(true));
            if question {
                self.answer_denied();
            }
            if asked {
                return Ok(());
            }
        }
    }

    /// Answers one system call that waits for a decision.
    pub(super) fn answer_denied(&mut self) {
        let Some(keeper) = &mut self.zygote.keeper else { return };
        let Ok(Some(notice)) = keeper.listener.next() else { return };
        if self.faults.are_active()
            && self.mailbox.is_active()
            && keeper.warden.may_be_struck(&notice)
            && let Some(struck) = self.faults.strike(&notice)
        {
            keeper.warden.look(&notice);
            match struck {
                Struck::Answer(answer) => drop(keeper.listener.answer(&notice, answer)),
                Struck::Delay(time) => self.delayed.push((Instant::now() + time, notice)),
                Struck::Kill => self.stop_early(),
            }
            return;
        }
        if let Ok(Some(attempt)) = keeper.listener.decide(&notice, &mut keeper.warden) {
            let violation =
                Violation { what: attempt.what.as_str().to_owned(), detail: attempt.detail };
            if self.attempts.len() < ATTEMPTS && !self.attempts.contains(&violation) {
                self.attempts.push(violation);
            }
        }
    }
}

//! Work on the layer that nobody may disturb.

use std::os::fd::AsFd;
use std::time::Instant;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use super::{ANSWERING, Sandbox};
use crate::init::layer::Layer;
use crate::init::{During, InitError};

impl Sandbox<'_> {
    /// Without mounts, whoever changes the layer while it is mended costs us the sandbox. Where they
    /// would lead us does not depend on this: the layer goes through descriptors.
    pub(super) fn with_guest_stopped<T>(
        &mut self,
        work: impl FnOnce(&mut Layer) -> Result<T, InitError>,
    ) -> Result<T, InitError> {
        if matches!(self.layer, Layer::Overlay(_)) {
            return work(&mut self.layer);
        }
        let zygote = Pid::from_raw(self.zygote.pid);
        kill(zygote, Signal::SIGSTOP).during(|| "cannot stop the interpreter".to_owned())?;
        self.wait_until_stopped(zygote);
        let done = work(&mut self.layer)?;
        self.wake()?;
        Ok(done)
    }

    /// Threads that were started before anything was imported (by a `.pth` file, say) have no limits yet, and none
    /// watches over a sandbox that waits. Whether there are any.
    pub(super) fn stop_if_restless(&self) -> Result<bool, InitError> {
        let tasks = std::fs::read_dir(self.proc.join(format!("{}/task", self.zygote.pid)));
        let is_restless = tasks.map_or(true, |tasks| tasks.count() > 1);
        if is_restless {
            kill(Pid::from_raw(self.zygote.pid), Signal::SIGSTOP)
                .during(|| "cannot stop the interpreter".to_owned())?;
        }
        Ok(is_restless)
    }

    pub(super) fn wake(&self) -> Result<(), InitError> {
        kill(Pid::from_raw(self.zygote.pid), Signal::SIGCONT)
            .during(|| "cannot wake the interpreter".to_owned())
    }

    /// Not for ever: it may have ended, or somebody wakes it.
    fn wait_until_stopped(&self, zygote: Pid) {
        let patience = Instant::now() + ANSWERING;
        while Instant::now() < patience {
            let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
            let mut end = [PollFd::new(self.zygote.end.as_fd(), PollFlags::POLLIN)];
            match waitid(Id::Pid(zygote), flags) {
                Ok(WaitStatus::StillAlive) | Err(nix::Error::EINTR) => {}
                _ => return,
            }
            if poll(&mut end, PollTimeout::ZERO).is_ok_and(|ended| ended > 0) {
                return;
            }
            std::thread::yield_now();
        }
    }
}

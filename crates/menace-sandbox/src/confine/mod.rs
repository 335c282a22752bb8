//! Confines a process before it becomes the guest's interpreter.
//!
//! No capabilities, no new privileges, Landlock, and seccomp filters with a listener through which
//! the first process of the sandbox decides what the filters cannot, and learns what was tried.
//! Namespaces, mounts, cgroups and the start of the interpreter belong to others.
//!
//! Invariant: whatever [`confine`] has forbidden stays forbidden for this process and for all that
//! descend from it, and a call that is on no list is never made.

mod describe;
pub(crate) mod interpose;
mod landlock;
mod notify;
mod policy;
mod privileges;
mod program;
mod reach;
mod rules;
mod seccomp;
pub(crate) mod sys;
mod syscalls;
#[cfg(test)]
pub(crate) mod tests;
mod warden;

use std::io;
use std::os::fd::OwnedFd;

pub use interpose::Interpose;
pub(crate) use landlock::{LandlockError, Landlocked, Places, abi as landlock_abi};
pub(crate) use notify::{Answer, Listener, Notice};
pub(crate) use policy::{Level, Policy};
pub(crate) use privileges::PrivilegeError;
pub(crate) use reach::{Home, Reach};
pub(crate) use seccomp::SeccompError;
pub(crate) use warden::Warden;
#[cfg(test)]
pub(crate) use {syscalls::Kind, warden::Attempt};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfineError {
    #[error("failed to forbid new privileges")]
    NewPrivileges(#[source] io::Error),
    #[error(transparent)]
    Privileges(#[from] PrivilegeError),
    #[error(transparent)]
    Landlock(#[from] LandlockError),
    #[error(transparent)]
    Seccomp(#[from] SeccompError),
}

/// Confines this thread and all that it will start, for good: all but the filters.
///
/// To be called by a process with a single thread and a session of its own, right before it becomes
/// the interpreter.
pub(crate) fn confine(policy: Policy, places: &Places) -> Result<Landlocked, ConfineError> {
    privileges::no_new_privs().map_err(ConfineError::NewPrivileges)?;
    privileges::drop_capabilities()?;
    Ok(landlock::restrict(policy, places)?)
}

/// The filters, after all else. The listener is for the parent, which must answer it through a [`Listener`]
/// and a [`Warden`]. Until it has it, every question waits for ever, and a question can be as little as to ask
/// for memory or to give it back: nothing but handing it over may be done. From level 4 on, becoming the interpreter is one, too.
pub(crate) fn filter(policy: Policy, landlocked: &Landlocked) -> Result<OwnedFd, ConfineError> {
    Ok(seccomp::install(policy, landlocked)?)
}

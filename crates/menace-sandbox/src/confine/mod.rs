//! Confines a process before it becomes the guest's interpreter.
//!
//! It removes capabilities, sets `no_new_privs`, applies Landlock, and installs seccomp filters
//! with a listener: init decides what the filters cannot, and records what was tried. Namespaces,
//! mounts, cgroups and the start of the interpreter are set up elsewhere.
//!
//! Invariant: what [`confine`] has forbidden stays forbidden for this process and all its
//! descendants, and a system call that is on no list is never made.

mod describe;
pub(crate) mod interposition;
mod landlock;
mod notify;
mod path_access;
mod policy;
mod privileges;
mod program;
mod rules;
mod seccomp;
mod supervisor;
pub(crate) mod sys;
mod syscalls;
#[cfg(test)]
pub(crate) mod tests;

use std::io;
use std::os::fd::OwnedFd;

pub(crate) use landlock::{
    AllowedPaths, LandlockError, LandlockStatus, kernel_abi as landlock_abi,
};
pub(crate) use notify::{NotifyListener, SyscallNotification, SyscallResponse};
pub(crate) use path_access::{PathAccessRecorder, UnrecordedPaths};
pub(crate) use policy::ConfinementPolicy;
pub(crate) use privileges::PrivilegeError;
pub(crate) use seccomp::SeccompError;
pub(crate) use supervisor::SyscallSupervisor;
#[cfg(test)]
pub(crate) use {supervisor::SyscallViolation, syscalls::ViolationKind};

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

/// Confines this thread and all that it will start, permanently: everything but the filters.
///
/// To be called by a process with a single thread and a session of its own, right before it
/// executes the interpreter.
pub(crate) fn confine(
    policy: ConfinementPolicy,
    allowed_paths: &AllowedPaths,
) -> Result<LandlockStatus, ConfineError> {
    privileges::set_no_new_privs().map_err(ConfineError::NewPrivileges)?;
    privileges::drop_capabilities()?;
    Ok(landlock::restrict(policy, allowed_paths)?)
}

/// Installs the filters, after everything else. The parent must answer the listener through a
/// [`NotifyListener`] and a [`SyscallSupervisor`]. Until it has received the listener, every
/// notification waits for ever, and even allocating or freeing memory may be one: this process may
/// do nothing but hand the listener over. From level 4 on, the exec of Python is a notification,
/// too.
pub(crate) fn install_filter(
    policy: ConfinementPolicy,
    landlock_status: &LandlockStatus,
) -> Result<OwnedFd, ConfineError> {
    Ok(seccomp::install(policy, landlock_status)?)
}

//! Runs calls of Python sections in isolation, under limits.
//!
//! Choosing calls belongs to `menace-scenario`, judging their worth to `menace-track`. A failing
//! guest is data (an [`Outcome`](menace_model::Outcome)); an error means that Menace failed.
//!
//! | module | what it holds |
//! |---|---|
//! | `host` | the outside: backends, sessions, the pool, the scheduler, reports to outcomes |
//! | `init` | the inside: PID 1, mounts, layers, limits, supervising a call |
//! | `confine` | seccomp, Landlock, capabilities |
//! | `cgroup` | control groups, versions 1 and 2 |
//! | `interpreter` | which Python, and what it needs |
//! | `network` | network conditions of one call |
//! | `machine` | what this machine can do, for `menace doctor` |
//! | `wire` | messages between host, init and harness |
//! | `../guest` | the harness, in Python |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they read"))]

#[expect(clippy::disallowed_methods, reason = "control groups are files of the kernel")]
mod cgroup;
mod confine;
mod directory;
mod discard;
mod error;
mod fault;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod harness;
mod host;
pub mod init;
pub mod interpreter;
pub mod machine;
mod network;
mod sys;
mod tier;
mod wire;

pub use error::SandboxError;
pub use host::{
    BackendOptions, CallJob, CallScheduler, CallSession, CancelToken, LocalBackend, SandboxBackend,
};
pub use menace_model::{SandboxSpec, SyscallInterposition};
pub use tier::Tier;

/// Name and source of the guest harness's files, to be compiled for an interpreter.
pub fn harness_sources() -> &'static [(&'static str, &'static str)] {
    harness::HARNESS_SOURCES
}

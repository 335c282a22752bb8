//! PID 1 of a sandbox: builds the sandbox, starts the guest, supervises it.
//!
//! ```text
//! host ──exec──► start: user, mount, pid, net … namespaces ──fork──► PID 1
//!                                                                     │ root: what can be seen
//!                                                                     │ probe: can it be left?
//!                                                                     ├─fork─► zygote: confined,
//!                                                                     │        exec of Python
//!                                                                     ▼
//!                                              supervise: one import, then calls, one at a time
//! ```
//!
//! PID 1 is Menace: when it exits, the kernel kills everything else in the sandbox; without
//! namespaces init does so itself. It exits when the host closes the connection, for whatever
//! reason.

mod boot;
mod copied_layer;
mod cpu_throttle;
mod fault_window;
mod file_changes;
mod file_hash;
mod layer;
mod limits;
mod mailbox;
mod mappings;
mod open_files;
mod overlay;
pub(crate) mod paths;
mod peak_memory;
mod probe;
mod processes;
mod restorable_tree;
mod root;
mod stack_sampler;
mod start;
mod streams;
mod supervise;
mod tree_copy;
mod tree_scan;
mod zygote;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use mailbox::ReportMailbox;

use std::io::Write;
use std::os::unix::net::UnixStream;

pub(crate) use processes::{ProcessActivity, kill_with_descendants, namespaced_init};

use crate::wire::channel;
use crate::wire::messages::FromInitMessage;
use crate::{network, sys};

/// The first argument that turns this program into the init of a sandbox.
pub(crate) const INIT_ARGUMENT: &str = "__sandbox-init";

#[derive(Debug, thiserror::Error)]
pub(crate) enum InitError {
    #[error("{what}: {source}")]
    Step { what: String, source: std::io::Error },
    #[error("{0}")]
    Failed(String),
    #[error("the host is gone")]
    HostGone,
}

/// Adds to an error what was being done when it happened.
pub(crate) trait InitErrorContext<T> {
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T, InitError>;
}

impl<T, E: Into<std::io::Error>> InitErrorContext<T> for Result<T, E> {
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T, InitError> {
        self.map_err(|source| InitError::Step { what: what(), source: source.into() })
    }
}

/// The second argument for testing only whether namespaces work.
pub(crate) const TRY_NAMESPACES_ARGUMENT: &str = "try-namespaces";
/// The second argument for testing only whether network conditions work.
pub(crate) const TRY_NETWORK_ARGUMENT: &str = "try-network";

/// Whether this program was started as the init of a sandbox. Programs that run sandboxes call this
/// before anything else.
pub fn is_requested() -> bool {
    std::env::args_os().nth(1).is_some_and(|argument| argument == INIT_ARGUMENT)
}

/// Exits at once, with the error of the trial on standard output.
#[expect(clippy::needless_pass_by_value, reason = "nothing comes after it")]
fn exit_with_trial_result(tried: Result<(), InitError>) -> ! {
    if let Err(error) = &tried {
        let mut out = std::io::stdout();
        // `exit_now` does not flush; without a reader the error is dropped.
        let _ = out.write_all(error.to_string().as_bytes()).and_then(|()| out.flush());
    }
    sys::exit_now(i32::from(tried.is_err()))
}

/// Builds the sandbox that the host describes on standard input, and serves it until it ends.
pub fn run() -> ! {
    let trial = std::env::args_os().nth(2);
    if trial.as_ref().is_some_and(|argument| argument == TRY_NAMESPACES_ARGUMENT) {
        exit_with_trial_result(start::try_namespaces(|| Ok(())));
    }
    if trial.as_ref().is_some_and(|argument| argument == TRY_NETWORK_ARGUMENT) {
        exit_with_trial_result(start::try_namespaces(|| {
            network::try_shaping(root::TRIAL_PROC_PATH.into())
        }));
    }
    let host = UnixStream::from(sys::own_descriptor(0));
    // Descriptors that Menace has inherited must not reach the guest.
    let closed = sys::close_from(3).with_context(|| "cannot close what was inherited".to_owned());
    let code = match closed.and_then(|()| start::start(&host)) {
        Ok(()) => 0,
        Err(error) => {
            // The host may be gone; there is no other place to report the error.
            let _ = channel::send(&host, &FromInitMessage::Failed(error.to_string()));
            1
        }
    };
    sys::exit_now(code)
}

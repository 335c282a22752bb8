//! The host side of a sandbox: starts it, sends calls, and turns reports into outcomes.

mod backend;
mod canary;
mod cancel;
mod conditions_report;
mod fixture_files;
mod hang_location;
mod import_usage;
mod leftovers;
mod local;
mod options;
mod owner_namespaces;
mod pool;
mod report;
mod request;
mod sandbox;
mod scheduler;
mod session;
mod steps;
mod verdict;
mod workspace;

pub use backend::{CallSession, SandboxBackend};
pub use cancel::CancelToken;
pub use local::LocalBackend;
pub use options::BackendOptions;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use report::{ReportContext, build_outcome};
pub use scheduler::{CallJob, CallScheduler};

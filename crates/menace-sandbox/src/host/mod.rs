//! The host side of a sandbox: starts it, sends calls, and turns reports into outcomes.

mod backend;
mod canary;
mod cancel;
mod fixture_files;
mod hang_location;
mod harness_report;
mod import_usage;
mod leftovers;
mod local;
mod options;
mod owner_mappings;
mod pool;
mod report;
mod request;
mod sandbox;
mod scheduler;
mod session;
mod steps;
mod verdict;
mod workspace;

pub use backend::{SandboxBackend, WarmSession};
pub use cancel::CancelToken;
pub use local::LocalBackend;
pub use options::BackendOptions;
pub use scheduler::{CallJob, CallScheduler};

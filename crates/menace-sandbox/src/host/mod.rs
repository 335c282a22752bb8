//! The outside of a sandbox: starts it, asks it for calls, and says what came of them.

mod backend;
mod canary;
mod cancel;
mod leftovers;
mod local;
mod nursery;
mod options;
mod owners;
mod planted;
mod pool;
mod report;
mod request;
mod sandbox;
mod session;
mod steps;
mod told;
mod verdict;
mod whereabouts;
mod widened;
mod workspace;

pub use backend::{Backend, Warm};
pub use cancel::Cancel;
pub use local::LocalBackend;
pub use options::{Options, WarmSpec};
pub use pool::{Job, Pool};

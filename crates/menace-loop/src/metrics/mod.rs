//! Metrics of the user's own: Python plugins, found through settings and run in the sandbox.
//!
//! Menace's own metrics belong to `menace-track`. Invariant: whatever a plugin does, it costs its
//! own metrics and a warning, nothing else.

mod directories;
mod plugins;

pub use directories::{Directories, MetricsFileError};
pub use plugins::{Collected, History, MetricPlugins, Prediction, Told};

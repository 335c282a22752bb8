//! Metrics of the user: Python plugins that settings name, run in the sandbox.
//!
//! The built-in metrics belong to `menace-track`. Invariant: a plugin that fails loses its own
//! metrics, with a warning.

mod directories;
mod plugins;

pub use directories::{MetricsFileError, PluginDirectories};
pub use plugins::{MetricHistory, MetricPlugins, PluginInput, PluginMetrics, PluginPrediction};

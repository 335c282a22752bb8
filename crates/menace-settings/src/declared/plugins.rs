//! Metrics of the user's own.

use std::path::PathBuf;

use crate::group::group;

group! {
    /// Metrics of the user's own.
    pub struct PluginSettings = "Metric plugins" {
        /// A directory of Python files, each with a `collect_metrics` function.
        dir: Option<PathBuf> = "SANDBOX_METRICS_PLUGIN_DIR".user();

        /// A YAML file whose `plugin_dirs` lists more such directories.
        file: Option<PathBuf> = "SANDBOX_METRICS_FILE".user();
    }
}

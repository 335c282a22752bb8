//! The metric plugins that settings name.

use menace_loop::inputs::PluginIsolation;
use menace_loop::metrics::{MetricPlugins, PluginDirectories};
use menace_model::CallLimits;

use crate::context::CommandContext;
use crate::exit::CommandError;

/// `None` when the settings name no plugins.
pub(super) fn find_metric_plugins(
    context: &CommandContext,
    isolation: &PluginIsolation,
) -> Result<Option<MetricPlugins>, CommandError> {
    let named = &context.settings.plugins;
    let directory = named.dir.value.as_deref();
    let file = named.file.value.as_deref();
    let PluginDirectories { paths, warnings } =
        PluginDirectories::read(directory, file).map_err(CommandError::request)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    if paths.is_empty() {
        return Ok(None);
    }
    let found = MetricPlugins::find(&paths, CallLimits::default(), isolation);
    found.map(Some).map_err(CommandError::request)
}

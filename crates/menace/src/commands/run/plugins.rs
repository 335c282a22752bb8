//! The metric plugins that settings name.

use menace_loop::inputs::Isolation;
use menace_loop::metrics::{Directories, MetricPlugins};
use menace_model::Limits;

use crate::context::Context;
use crate::exit::Failure;

/// None when there are none.
pub(super) fn find(
    context: &Context,
    isolation: &Isolation,
) -> Result<Option<MetricPlugins>, Failure> {
    let named = &context.settings.plugins;
    let (directory, file) = (named.dir.value.as_deref(), named.file.value.as_deref());
    let Directories { paths, warnings } =
        Directories::read(directory, file).map_err(Failure::request)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    if paths.is_empty() {
        return Ok(None);
    }
    let found = MetricPlugins::find(&paths, Limits::default(), isolation);
    found.map(Some).map_err(Failure::request)
}

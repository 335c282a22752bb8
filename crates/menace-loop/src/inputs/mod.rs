//! Inputs from users and models: files that settings name, plugins, answers of a language model.
//!
//! Invariant: an unreadable line is skipped with a warning; an unreadable file is an error, since
//! the user has named it.

mod files;
mod model_inputs;
mod plugins;

pub use files::{InputFileError, append_history, read};
pub use model_inputs::ModelInputCache;
pub use plugins::{InputPlugins, PluginSection};

pub use crate::plugin::{PluginError, PluginIsolation};

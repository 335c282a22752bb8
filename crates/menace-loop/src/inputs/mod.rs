//! What users and models give for inputs: files that settings name, plugins, answers of a model.
//!
//! Invariant: an unreadable line costs that line and a warning; an unreadable file is refused, since
//! whoever named it wants it used.

mod files;
mod plugins;
mod written;

pub use files::{InputFileError, read, remember};
pub use plugins::{Plugins, Shown};
pub use written::Written;

pub use crate::plugin::{Isolation, PluginError};

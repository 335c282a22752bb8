//! The places that settings come from, already read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::{DotEnv, YamlFile};

/// What each place says. Plain data: tests fill it by hand, [`Sources::load`] from the machine.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Flags as typed (`--log-level`) with their values; `1` for a switch. See [`crate::flags`].
    pub flags: BTreeMap<String, String>,
    /// The process environment. Also the place to look for what is not a setting, like `PATH`.
    pub environment: BTreeMap<String, String>,
    /// Variables of the environment whose value is not UTF-8.
    pub not_unicode: BTreeSet<String>,
    pub dotenv: Option<DotEnv>,
    pub yaml: Option<YamlFile>,
}

impl Sources {
    /// The home directory, from the environment.
    pub fn home(&self) -> Option<PathBuf> {
        self.environment.get("HOME").filter(|home| !home.is_empty()).map(Into::into)
    }
}

//! The places that settings come from, already read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use crate::{DotEnv, YamlFile};

/// What each place says. Plain data: tests fill it by hand, [`Sources::load`] from the machine.
/// Its debug form names variables but never shows values: some of them are secrets.
#[derive(Clone, Default)]
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

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources")
            .field("flags", &self.flags.keys())
            .field("environment", &self.environment.keys())
            .field("not_unicode", &self.not_unicode)
            .field("dotenv", &self.dotenv)
            .field("yaml", &self.yaml)
            .finish()
    }
}

impl Sources {
    /// The home directory, from the environment.
    pub fn home(&self) -> Option<PathBuf> {
        self.environment.get("HOME").filter(|home| !home.is_empty()).map(Into::into)
    }
}

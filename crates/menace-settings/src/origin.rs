//! The origin of a value.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// The place that decided a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum SettingOrigin {
    /// A flag on the command line, as typed.
    Flag { name: String },
    /// The process environment, under this name (which may be an alias).
    Environment { name: String },
    /// The `.env` file, under this name.
    #[serde(rename = "dotenv")]
    DotEnv { path: PathBuf, line: usize, name: String },
    /// The YAML file, under this key.
    Yaml { path: PathBuf, line: usize, key: String },
    /// The value of another setting.
    Implied { by: &'static str },
    /// It was set nowhere.
    Default,
}

impl SettingOrigin {
    /// Whether the user set the value, as opposed to it being implied or the default.
    pub fn is_explicit(&self) -> bool {
        !matches!(self, Self::Implied { .. } | Self::Default)
    }

    /// The order of the places: a stronger one wins.
    pub(crate) fn precedence(&self) -> u8 {
        match self {
            Self::Flag { .. } => 5,
            Self::Environment { .. } => 4,
            Self::DotEnv { .. } => 3,
            Self::Yaml { .. } => 2,
            Self::Implied { .. } => 1,
            Self::Default => 0,
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag { name } => write!(f, "flag {name}"),
            Self::Environment { name } => write!(f, "environment {name}"),
            Self::DotEnv { path, line, .. } | Self::Yaml { path, line, .. } => {
                write!(f, "{} line {line}", path.display())
            }
            Self::Implied { by } => write!(f, "implied by {by}"),
            Self::Default => f.write_str("default"),
        }
    }
}

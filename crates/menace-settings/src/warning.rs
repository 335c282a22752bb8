//! What is odd about the settings but does not stop a run.

use std::fmt;

use serde::Serialize;

use crate::Origin;

/// Something to tell the user about; the run goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "warning", rename_all = "snake_case")]
pub enum Warning {
    /// A name kept for old configurations was used.
    LegacyName { used: String, instead: &'static str, origin: Origin },
    /// A name that looks like ours but is not declared.
    UnknownName { name: String, origin: Origin, suggestion: Option<&'static str> },
    /// The same name twice in `.env`; the last one counts.
    SetTwice { name: String, origin: Origin },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LegacyName { used, instead, origin } => {
                write!(f, "{used} ({origin}) is an old name: use {instead}")
            }
            Self::UnknownName { name, origin, suggestion: Some(known) } => {
                write!(f, "{name} ({origin}) is not a setting; did you mean {known}?")
            }
            Self::UnknownName { name, origin, suggestion: None } => {
                write!(f, "{name} ({origin}) is not a setting; `menace settings` lists them all")
            }
            Self::SetTwice { name, origin } => {
                write!(f, "{name} is set twice ({origin}): remove one, the last one counts")
            }
        }
    }
}

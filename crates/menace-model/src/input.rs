//! What an input is meant to be, and what lies around it.

use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// What an input is meant to be. Decides whether an exception is a refusal or a bug.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum InputIntent {
        /// What a well-meaning caller would pass.
        #[default]
        Valid = "valid",
        /// Of the right type, at its edge.
        Boundary = "boundary",
        /// Of the right type, made to do harm.
        Hostile = "hostile",
        /// Not what the section asks for.
        Misuse = "misuse",
        /// Once right, changed since.
        Drifted = "drifted",
    }
}

impl InputIntent {
    /// A section may say no to it.
    pub fn may_be_refused(self) -> bool {
        !matches!(self, Self::Valid)
    }
}

/// What is there before the call, beside the repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CallFixtures {
    pub files: Vec<FixtureFile>,
    pub environment: Vec<(String, String)>,
}

impl CallFixtures {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.environment.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixtureFile {
    /// Relative to the repository, or below `/tmp`.
    pub path: String,
    pub content: Vec<u8>,
}

//! The intent of an input, and the fixtures of a call.

use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// The intent of an input, which decides whether an exception is a refusal or a bug.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum InputIntent {
        /// An input that a well-meaning caller would pass.
        #[default]
        Valid = "valid",
        /// An input of the right type at the edge of its domain.
        Boundary = "boundary",
        /// An input of the right type that is made to do harm.
        Hostile = "hostile",
        /// An input of the wrong type or structure.
        Misuse = "misuse",
        /// An input that was valid before data changed its shape.
        Drifted = "drifted",
    }
}

impl InputIntent {
    /// Whether the section may reject the input.
    pub fn may_be_refused(self) -> bool {
        !matches!(self, Self::Valid)
    }
}

/// Files and environment variables that exist before the call, beside the repository.
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

//! The ways to make inputs, in the order in which they are tried.

use std::fmt;

use serde::{Deserialize, Serialize};

use menace_settings::StubStrategy;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Given by the user; nothing else is then tried.
    Stubs,
    /// Made by a plugin; these come first.
    Plugins,
    /// What was worth keeping of earlier runs.
    History,
    /// Values that a file gives for a section or a parameter.
    Templates,
    /// From types, defaults and uses; the edges of types belong to it.
    Signature,
    /// Realistic.
    Smart,
    /// From docstrings, callers and, if there is one, a language model.
    Synthetic,
    Hostile,
    Misuse,
    Random,
    /// An input that reached something new, changed.
    Mutated,
}

impl Strategy {
    /// In the documented order.
    pub const ORDER: [Self; 8] = [
        Self::History,
        Self::Templates,
        Self::Signature,
        Self::Smart,
        Self::Synthetic,
        Self::Hostile,
        Self::Misuse,
        Self::Random,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stubs => "stubs",
            Self::Plugins => "plugins",
            Self::History => "history",
            Self::Templates => "templates",
            Self::Signature => "signature",
            Self::Smart => "smart",
            Self::Synthetic => "synthetic",
            Self::Hostile => "hostile",
            Self::Misuse => "misuse",
            Self::Random => "random",
            Self::Mutated => "mutated",
        }
    }

    /// What it makes is of the declared types.
    pub fn follows_types(self) -> bool {
        matches!(self, Self::Signature | Self::Smart | Self::Random)
    }

    /// It makes what no well-meaning caller passes.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Hostile | Self::Misuse)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<StubStrategy> for Strategy {
    fn from(strategy: StubStrategy) -> Self {
        match strategy {
            StubStrategy::History => Self::History,
            StubStrategy::Templates => Self::Templates,
            StubStrategy::Signature => Self::Signature,
            StubStrategy::Smart => Self::Smart,
            StubStrategy::Synthetic => Self::Synthetic,
            StubStrategy::Hostile => Self::Hostile,
            StubStrategy::Misuse => Self::Misuse,
            StubStrategy::Random => Self::Random,
        }
    }
}

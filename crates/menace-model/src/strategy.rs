//! Input strategies, in the order in which they are tried.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How an input was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputStrategy {
    /// Given by the user; no other strategy is then used.
    Stubs,
    /// Made by a plugin; these come first.
    Plugins,
    /// Stored inputs of earlier runs.
    History,
    /// Values of a template file for a section or a parameter.
    Templates,
    /// From types, defaults and uses; boundary values belong to it.
    Signature,
    /// Realistic.
    Smart,
    /// From docstrings, call sites and a language model, if there is one.
    Synthetic,
    Hostile,
    Misuse,
    Random,
    /// A mutated input of the corpus.
    Mutated,
}

impl InputStrategy {
    /// The documented order.
    pub const DEFAULT_ORDER: [Self; 8] = [
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

    /// Are its inputs of the declared types?
    pub fn follows_types(self) -> bool {
        matches!(self, Self::Signature | Self::Smart | Self::Random)
    }

    /// Are its inputs hostile or misuse?
    pub fn is_adversarial(self) -> bool {
        matches!(self, Self::Hostile | Self::Misuse)
    }
}

impl fmt::Display for InputStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

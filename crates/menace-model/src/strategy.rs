//! Input strategies, in the order in which they are tried.

use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// How an input was made.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum InputStrategy {
        /// Given by the user; no other strategy is then used.
        Stubs = "stubs",
        /// Made by a plugin; these come first.
        Plugins = "plugins",
        /// Stored inputs of earlier runs.
        History = "history",
        /// Values of a template file for a section or a parameter.
        Templates = "templates",
        /// From types, defaults and uses; boundary values belong to it.
        Signature = "signature",
        /// Realistic.
        Smart = "smart",
        /// From docstrings, call sites and a language model, if there is one.
        Synthetic = "synthetic",
        Hostile = "hostile",
        Misuse = "misuse",
        Random = "random",
        /// A mutated input of the corpus.
        Mutated = "mutated",
    }
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

    /// Are its inputs of the declared types?
    pub fn follows_types(self) -> bool {
        matches!(self, Self::Signature | Self::Smart | Self::Random)
    }

    /// Are its inputs hostile or misuse?
    pub fn is_adversarial(self) -> bool {
        matches!(self, Self::Hostile | Self::Misuse)
    }
}

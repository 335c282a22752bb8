//! Input strategies, in the order in which they are tried.

use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// The strategy that made an input.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum InputStrategy {
        /// Given by the user; then no other strategy is used.
        Stubs = "stubs",
        /// Made by a plugin; these inputs come first.
        Plugins = "plugins",
        /// Stored inputs of earlier runs.
        History = "history",
        /// Values of a template file for a section or a parameter.
        Templates = "templates",
        /// Made from types, defaults and uses, including boundary values.
        Signature = "signature",
        /// Realistic values.
        Smart = "smart",
        /// Made from docstrings, call sites, and a language model if there is one.
        Synthetic = "synthetic",
        Hostile = "hostile",
        Misuse = "misuse",
        Random = "random",
        /// A mutated input of the corpus.
        Mutated = "mutated",
    }
}

impl InputStrategy {
    /// The documented order of strategies.
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

    /// Whether its inputs have the declared types.
    pub fn follows_types(self) -> bool {
        matches!(self, Self::Signature | Self::Smart | Self::Random)
    }

    /// Whether its inputs are hostile or misuse.
    pub fn is_adversarial(self) -> bool {
        matches!(self, Self::Hostile | Self::Misuse)
    }
}

//! What can be wrong with a section. When it is blamed for it is decided in `menace-scenario`.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeaknessKind {
    /// An exception that nobody meant, on an input of the declared type.
    Unhandled,
    /// Text that it cannot encode or decode.
    Encoding,
    /// It calls itself until the stack is used up.
    Recursion,
    Crash,
    /// It does not come to an end.
    Hang,
    /// Time grows much faster than the input.
    Slow,
    /// A small input takes all the memory.
    Memory,
    /// Descriptors, threads or processes stay behind.
    Leak,
    /// It changes what the next caller relies on: a default, the working directory, the environment.
    SharedState,
    /// Runs at once get in each other's way.
    Race,
    Deadlock,
    /// A file that is neither the old one nor the new one.
    PartialWrite,
    /// Something failed, and it says that all went well.
    SilentFailure,
    /// It takes whatever it is told by others for good.
    UncheckedResponse,
    /// It would wait for ever.
    NoTimeout,
    /// Input becomes code, a command, a query or markup.
    Injection,
    /// Input leads it to files that it was not meant to touch.
    Traversal,
    /// It cannot even be imported.
    Import,
}

impl WeaknessKind {
    pub const ALL: [Self; 18] = [
        Self::Unhandled,
        Self::Encoding,
        Self::Recursion,
        Self::Crash,
        Self::Hang,
        Self::Slow,
        Self::Memory,
        Self::Leak,
        Self::SharedState,
        Self::Race,
        Self::Deadlock,
        Self::PartialWrite,
        Self::SilentFailure,
        Self::UncheckedResponse,
        Self::NoTimeout,
        Self::Injection,
        Self::Traversal,
        Self::Import,
    ];

    /// Does another look at the same call that shows `again` show this once more? Whoever fills the
    /// memory runs out of time first where the machine is busy.
    pub fn is_shown_by(self, again: Self) -> bool {
        self == again
            || matches!((self, again), (Self::Hang, Self::Memory) | (Self::Memory, Self::Hang))
    }

    /// Does what was seen first stand, though another look at the same call shows `again`? What filled the
    /// memory once does so; otherwise the second look is the longer one.
    pub fn stands_against(self, again: Self) -> bool {
        matches!((self, again), (Self::Memory, Self::Hang))
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unhandled => "unhandled",
            Self::Encoding => "encoding",
            Self::Recursion => "recursion",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::Slow => "slow",
            Self::Memory => "memory",
            Self::Leak => "leak",
            Self::SharedState => "shared_state",
            Self::Race => "race",
            Self::Deadlock => "deadlock",
            Self::PartialWrite => "partial_write",
            Self::SilentFailure => "silent_failure",
            Self::UncheckedResponse => "unchecked_response",
            Self::NoTimeout => "no_timeout",
            Self::Injection => "injection",
            Self::Traversal => "traversal",
            Self::Import => "import",
        }
    }
}

impl fmt::Display for WeaknessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_written_the_same_everywhere() {
        for kind in WeaknessKind::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
    }
}

//! The kinds of weaknesses. The oracles that find them are in `menace-scenario`.

use serde::{Deserialize, Serialize};

crate::named_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum WeaknessKind {
        /// An exception without a `raise` statement, for an input of the declared type.
        Unhandled = "unhandled",
        /// It fails on text that cannot be encoded or decoded.
        Encoding = "encoding",
        /// It calls itself until the stack is used up.
        Recursion = "recursion",
        Crash = "crash",
        /// It does not end.
        Hang = "hang",
        /// Time grows much faster than the input.
        Slow = "slow",
        /// A small input makes it use all the memory.
        Memory = "memory",
        /// It leaves descriptors, threads or processes behind.
        Leak = "leak",
        /// It changes state that later calls depend on: a default, the working directory, the
        /// environment.
        SharedState = "shared_state",
        /// Concurrent runs disturb each other.
        Race = "race",
        Deadlock = "deadlock",
        /// It leaves a file that has neither the old content nor the new one.
        PartialWrite = "partial_write",
        /// An operation failed, and it reports success.
        SilentFailure = "silent_failure",
        /// It accepts every reply of a service as valid.
        UncheckedResponse = "unchecked_response",
        /// It waits for ever when a service does not reply.
        NoTimeout = "no_timeout",
        /// Input is executed or interpreted as code, a command, a query or markup.
        Injection = "injection",
        /// Input makes it access files that it should not.
        Traversal = "traversal",
        /// The module cannot be imported.
        Import = "import",
    }
}

impl WeaknessKind {
    /// Whether a rerun that shows the weakness `rerun` confirms this one. A call that fills its
    /// memory may time out first on a busy machine, so these two confirm each other.
    pub fn is_confirmed_by(self, rerun: Self) -> bool {
        self == rerun
            || matches!((self, rerun), (Self::Hang, Self::Memory) | (Self::Memory, Self::Hang))
    }

    /// Whether this weakness is reported although the rerun shows another one. A call that filled
    /// its memory once is reported as such; otherwise the rerun decides, since it has the longer
    /// timeout.
    pub fn takes_precedence_over(self, rerun: Self) -> bool {
        matches!((self, rerun), (Self::Memory, Self::Hang))
    }

    /// Whether it shows only under faults.
    pub fn needs_faults(self) -> bool {
        matches!(
            self,
            Self::PartialWrite | Self::SilentFailure | Self::UncheckedResponse | Self::NoTimeout
        )
    }

    pub fn is_about_concurrency(self) -> bool {
        matches!(self, Self::Race | Self::Deadlock)
    }

    /// Whether the input decides if it is a weakness: a wrong one explains it. What a section
    /// leaves behind or damages is its own.
    pub fn is_about_input(self) -> bool {
        !matches!(
            self,
            Self::Crash
                | Self::Leak
                | Self::SharedState
                | Self::PartialWrite
                | Self::SilentFailure
                | Self::Import
        )
    }

    /// The order in which failures should be looked at: what an attacker can use, what ends or
    /// blocks the process, what damages data, then exceptions and slowness.
    pub const WORST_FIRST: [Self; 18] = [
        Self::Injection,
        Self::Traversal,
        Self::Crash,
        Self::Deadlock,
        Self::Hang,
        Self::Memory,
        Self::Recursion,
        Self::NoTimeout,
        Self::Import,
        Self::PartialWrite,
        Self::SilentFailure,
        Self::Race,
        Self::SharedState,
        Self::Unhandled,
        Self::Encoding,
        Self::UncheckedResponse,
        Self::Leak,
        Self::Slow,
    ];

    /// The place of this kind in [`Self::WORST_FIRST`].
    pub fn rank(self) -> usize {
        let place = Self::WORST_FIRST.iter().position(|kind| *kind == self);
        place.unwrap_or(Self::WORST_FIRST.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_written_the_same_everywhere() {
        for kind in WeaknessKind::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert_eq!("of a later version".parse::<WeaknessKind>(), Err(()));
    }

    #[test]
    fn every_kind_has_a_rank() {
        for kind in WeaknessKind::ALL {
            assert_eq!(WeaknessKind::WORST_FIRST[kind.rank()], kind);
        }
    }
}

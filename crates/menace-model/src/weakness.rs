//! What can be wrong with a section. The oracles that decide it are in `menace-scenario`.

use serde::{Deserialize, Serialize};

crate::named_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum WeaknessKind {
        /// An exception that no `raise` statement meant, on an input of the declared type.
        Unhandled = "unhandled",
        /// Text that it cannot encode or decode.
        Encoding = "encoding",
        /// It calls itself until the stack is used up.
        Recursion = "recursion",
        Crash = "crash",
        /// It does not come to an end.
        Hang = "hang",
        /// Time grows much faster than the input.
        Slow = "slow",
        /// A small input takes all the memory.
        Memory = "memory",
        /// Descriptors, threads or processes stay behind.
        Leak = "leak",
        /// It changes what later calls rely on: a default, the working directory, the environment.
        SharedState = "shared_state",
        /// Runs at once get in each other's way.
        Race = "race",
        Deadlock = "deadlock",
        /// A file that is neither the old one nor the new one.
        PartialWrite = "partial_write",
        /// Something failed, and it says that all went well.
        SilentFailure = "silent_failure",
        /// It accepts every answer of a service as valid.
        UncheckedResponse = "unchecked_response",
        /// It would wait for ever.
        NoTimeout = "no_timeout",
        /// Input becomes code, a command, a query or markup.
        Injection = "injection",
        /// Input leads it to files that it was not meant to touch.
        Traversal = "traversal",
        /// It cannot even be imported.
        Import = "import",
    }
}

impl WeaknessKind {
    /// Whether a rerun of the call that shows `rerun` confirms this weakness. A call that fills its
    /// memory may time out first on a busy machine, so the two confirm each other.
    pub fn is_confirmed_by(self, rerun: Self) -> bool {
        self == rerun
            || matches!((self, rerun), (Self::Hang, Self::Memory) | (Self::Memory, Self::Hang))
    }

    /// Whether this weakness is reported although the rerun shows another. A call that filled its
    /// memory once stays one that does; otherwise the rerun, which has the longer timeout, decides.
    pub fn takes_precedence_over(self, rerun: Self) -> bool {
        matches!((self, rerun), (Self::Memory, Self::Hang))
    }

    /// The order in which people should look at failures: what an attacker can use, what takes the
    /// process down or makes it wait, what damages data, then exceptions and slowness.
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

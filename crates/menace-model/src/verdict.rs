//! How a call ended.

use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// The end of a call in one word. Whatever a guest does is no error of Menace.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Verdict {
        /// The section returned.
        Returned = "returned",
        /// It rejected an intentionally bad input with an exception meant for that.
        Refused = "refused",
        /// Any other exception.
        Raised = "raised",
        /// A signal, an abort, an exit.
        Crashed = "crashed",
        /// The deadline or the processor time was used up.
        TimedOut = "timed_out",
        OutOfMemory = "out_of_memory",
        OutOfDisk = "out_of_disk",
        /// It attempted something that the policy forbids.
        Violated = "violated",
        /// There was no way to call it.
        Unreachable = "unreachable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_written_the_same_everywhere() {
        for verdict in Verdict::ALL {
            let json = serde_json::to_string(&verdict).unwrap();
            assert_eq!(json, format!("\"{verdict}\""));
        }
    }
}

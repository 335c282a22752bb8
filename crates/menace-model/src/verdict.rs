//! How a call ended.

use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// One word for the end of a call. What a guest does is never an error of ours.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Verdict {
        /// The section returned.
        Returned = "returned",
        /// It raised, on purpose, an exception fit for an input that was bad on purpose.
        Refused = "refused",
        /// Any other exception.
        Raised = "raised",
        /// A signal, an abort, an exit.
        Crashed = "crashed",
        /// The deadline or the processor time was used up.
        TimedOut = "timed_out",
        OutOfMemory = "out_of_memory",
        OutOfDisk = "out_of_disk",
        /// It tried what the policy forbids.
        Violated = "violated",
        /// No way was found to call it.
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

//! How a call ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One word for the end of a call. What a guest does is never an error of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The section returned.
    Returned,
    /// It raised, on purpose, an exception fit for an input that was bad on purpose.
    Refused,
    /// Any other exception.
    Raised,
    /// A signal, an abort, an exit.
    Crashed,
    /// The deadline or the processor time was used up.
    TimedOut,
    OutOfMemory,
    OutOfDisk,
    /// It tried what the policy forbids.
    Violated,
    /// No way was found to call it.
    Unreachable,
}

impl Verdict {
    pub const ALL: [Self; 9] = [
        Self::Returned,
        Self::Refused,
        Self::Raised,
        Self::Crashed,
        Self::TimedOut,
        Self::OutOfMemory,
        Self::OutOfDisk,
        Self::Violated,
        Self::Unreachable,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Refused => "refused",
            Self::Raised => "raised",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed_out",
            Self::OutOfMemory => "out_of_memory",
            Self::OutOfDisk => "out_of_disk",
            Self::Violated => "violated",
            Self::Unreachable => "unreachable",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
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

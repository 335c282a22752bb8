//! The records of one `menace run`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A short id made by the caller: `r-20261116-213500-ab12`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl RunId {
    /// Whether the id can be used as a file name.
    pub(crate) fn is_valid(&self) -> bool {
        let is_fine = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
        (1..=64).contains(&self.0.len()) && self.0.chars().all(is_fine)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

menace_model::named_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RunStatus {
        Running = "running",
        Finished = "finished",
        /// The process of the run died, or the user ended it.
        Interrupted = "interrupted",
        /// The budget was used up.
        CutShort = "cut_short",
    }
}

/// What is stored when a run starts.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStartRecord {
    pub id: RunId,
    pub seed: u64,
    pub repository: String,
    /// Milliseconds since 1970.
    pub started_ms: i64,
    pub settings: serde_json::Value,
}

/// What is stored when a run ends.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEndRecord {
    pub status: RunStatus,
    pub finished_ms: i64,
    pub cycles: u32,
    pub report: serde_json::Value,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRecord {
    pub id: RunId,
    pub seed: u64,
    pub repository: String,
    pub started_ms: i64,
    /// `None` while the run is active, or when it was interrupted.
    pub finished_ms: Option<i64>,
    pub status: RunStatus,
    pub settings: serde_json::Value,
    /// Number of cycles begun.
    pub cycles: u32,
    pub report: Option<serde_json::Value>,
}

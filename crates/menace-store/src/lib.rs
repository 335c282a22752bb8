//! Remembers: runs, calls and failures in a database, histories and flags in files.
//!
//! What is worth remembering is decided by `menace-loop`, what it means by `menace-track`; moments
//! and names of runs are given by the caller, no clock is read here. Everything lies below one
//! directory (`SANDBOX_DATA_DIR`), which several processes may use at once.
//!
//! Invariants: what was acknowledged survives a kill at any instant; what cannot be read is moved
//! aside and told of, never replaced in silence.

mod borderline;
mod database;
pub mod files;
mod flags;
mod metrics;
mod notice;
mod read;
mod record;
mod store;
mod synergy;
mod writer;

pub use borderline::{BorderlineBucket, Candidate, CandidateStatus, Seen as SeenOnBorder};
pub use database::{Error, Result};
pub use flags::Flags;
pub use metrics::{Measurement, Metrics};
pub use notice::Notice;
pub use read::{
    BESIDE, CallFilter, CallOrder, FailureFilter, FailureLine, FailureOrder, HeatSum, HistoryPoint,
    LiveRun, Page, RunLine, RunOrder, StoreTotals,
};
pub use record::{
    CallRecord, Cell, CellKey, KnownFailure, ModuleRecord, NewRun, Numbers, Run, RunEnd, RunId,
    RunStatus, ScenarioRecord, SectionRecord, Seen, Sighting,
};
pub use store::Store;
pub use synergy::{Entry, SynergyHistory, SynergyReader};
pub use writer::RunWriter;

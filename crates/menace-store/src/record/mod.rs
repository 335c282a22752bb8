//! What is remembered of a run.
//!
//! Numbers that are not finite are kept as nothing and read as "not a number".

mod call;
mod failure;
mod run;
mod worth;

use std::collections::BTreeMap;

pub(crate) use call::short;
pub use call::{CallRecord, CellKey};
pub use failure::{KnownFailure, Seen, Sighting};
pub use run::{NewRun, Run, RunEnd, RunId, RunStatus};
pub use worth::{Cell, ModuleRecord, ScenarioRecord, SectionRecord};

/// Metrics by name.
pub type Numbers = BTreeMap<String, f64>;

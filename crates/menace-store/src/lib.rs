//! Stores runs, calls and failures in a database, histories and flags in files.
//!
//! `menace-loop` decides what is stored, `menace-track` what it means; callers pass times and run
//! ids, no clock is read here. Everything is in one directory (`SANDBOX_DATA_DIR`), which several
//! processes may use at once.
//!
//! Invariants: acknowledged data survives a kill at any moment; a file that cannot be read is moved
//! aside with a notice, never replaced silently.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they read"))]

mod borderline;
mod database;
mod decision_report;
pub mod files;
mod flags;
mod metrics;
mod notice;
mod read;
mod record;
mod report;
mod source_file;
mod store;
mod synergy;
mod writer;

pub use borderline::{BorderlineBucket, BorderlineMeasurement, BorderlineModule, BorderlineStatus};
pub use database::{LOCK_TIMEOUT, StoreError, StoreResult};
pub use decision_report::DecisionReport;
pub use flags::ModuleFlagsFile;
pub use metrics::{MetricMeasurement, MetricsDatabase};
pub use notice::StoreNotice;
pub use read::{
    CallFilter, CallSortOrder, FailureFilter, FailureListRow, FailureSortOrder, HeatmapTotals,
    LiveRunStats, PageRange, RoiHistoryPoint, RunListRow, RunSortOrder, StoreTotals,
};
pub use record::{
    CallRecord, CellKey, CellRecord, FailureRecord, MetricMap, ModuleRecord, OccurrenceTime,
    OutsideCellScenario, RunEndRecord, RunId, RunOccurrences, RunRecord, RunStartRecord, RunStatus,
    ScenarioRecord, SectionRecord, StoredMetricMap,
};
pub use report::{
    CoverageReport, FailureReport, ImportFailureReport, ModuleScoreReport, REPORT_VERSION,
    RunReport, ScenarioReport, SkippedStage, SkippedStageReport, UncallableSectionReport,
};
pub use source_file::{SourceLine, read_source_file, read_source_lines};
pub use store::Store;
pub use synergy::{SynergyEntry, SynergyHistory, SynergyReader};
pub use writer::RunWriter;

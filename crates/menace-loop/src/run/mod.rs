//! A whole run: cycles, their scores and decisions, and the histories that later runs continue.
//!
//! | module | contents |
//! |---|---|
//! | `cycle_loop` | the cycles, one after the other; calls the steps below |
//! | `engine` | plans a cycle and makes its calls |
//! | `recorder` | stores calls while they are made |
//! | `known_failures` | checks failures of earlier runs again |
//! | `measure` | results of calls → metrics; calls the plugins before |
//! | `synergy` | sections in one process compared with isolated runs |
//! | `score` | metrics → ROI, deltas, discrepancies; appends the cycle to the history |
//! | `presets`, `signatures` | what has changed since earlier cycles |
//! | `history` | `roi_history.json` and flags, under their locks |
//! | `decide` | continue or stop, which modules to flag, which to test again |
//! | `persist` | stores a cycle that was decided on |
//! | `summary` | all cycles → the report |
//! | `warnings` | what the user should know beside the results |
//! | `scoring_config` | the profile and the impact table that scores are computed with |
//!
//! Invariant: each cycle is added to the history once and in order, even if several runs use the
//! data directory.

mod cycle_loop;
mod decide;
mod engine;
mod history;
mod known_failures;
mod measure;
mod persist;
mod presets;
mod recorder;
mod score;
mod scoring_config;
mod signatures;
mod summary;
mod synergy;
mod warnings;

use std::path::{Path, PathBuf};
use std::time::Instant;

use menace_model::{Seed, format_utc, now_ms};
use menace_sandbox::{CancelToken, SandboxBackend, SandboxError};
use menace_scenario::ConfigError;
use menace_scenario::explore::ExploreBudget;
use menace_scenario::input::InputSettings;
use menace_scenario::preset::{MissingScenariosError, PresetSelection};
use menace_settings::{KeywordProfiles, Settings};
use menace_source::{Analysis, SurveyError};
use menace_store::{RunId, RunReport, RunStartRecord, Store};

use crate::assess::FindingAssessor;
use crate::calls::CallRunner;
use crate::cycle::{RunObserver, SectionFilter};
use crate::failure::SourceLineCache;
use crate::metrics::MetricPlugins;
use crate::survey::SurveyedAnalysis;

use cycle_loop::CycleLoop;
use history::HistoryStore;
use known_failures::KnownFailures;
use persist::MetricArchive;
use warnings::WarningLog;

pub use decide::{CALIBRATION_FILE, ColdStartFileError, calibrated};
pub(crate) use engine::CycleEngine;
pub use scoring_config::{ScoringConfig, ScoringConfigError};

/// Everything that a run needs.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of the command")]
pub struct RunRequest<'a> {
    /// See [`new_id`].
    pub id: RunId,
    pub analysis: &'a Analysis,
    pub backend: &'a dyn SandboxBackend,
    pub repository: &'a Path,
    pub data_dir: &'a Path,
    pub settings: &'a Settings,
    pub presets: &'a PresetSelection<'a>,
    pub keywords: &'a KeywordProfiles,
    pub input_settings: &'a InputSettings,
    pub scoring: &'a ScoringConfig,
    pub plugins: Option<&'a MetricPlugins>,
    pub sections: &'a dyn SectionFilter,
    /// `sections` as text; empty for all sections. Cycles over other sections do not compare.
    pub sections_text: String,
    /// The interpreter of the calls, for display: `CPython 3.12.4`.
    pub python: String,
    pub seed: Seed,
    pub cycles: u32,
    pub calls_per_cell: usize,
    /// `None` for a run without a depth phase.
    pub depth: Option<ExploreBudget>,
    pub workers: usize,
    pub cancel: CancelToken,
    pub deadline: Option<Instant>,
    pub reset_flags: bool,
    pub recover: bool,
    /// Receives a line of JSON after each cycle.
    pub forecast_log: Option<&'a Path>,
    /// Whether findings are proved, lifted and rated.
    pub assess_findings: bool,
    /// Run each pending micro-pilot even where the settings only queue them.
    pub process_borderline: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Survey(#[from] SurveyError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Presets(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] menace_store::StoreError),
    #[error(transparent)]
    Files(#[from] menace_store::files::StoreFileError),
    #[error(transparent)]
    Missing(#[from] MissingScenariosError),
    #[error(transparent)]
    ColdStart(#[from] ColdStartFileError),
    #[error(transparent)]
    Calibration(#[from] menace_track::stats::forecast_calibrator::CalibrationError),
    #[error(
        "`{}` belongs to another repository, `{other}`; name another directory with \
         --sandbox-data-dir", .data_dir.display()
    )]
    OtherRepository { data_dir: PathBuf, other: String },
}

/// Runs all cycles; `observer` receives the events meanwhile.
pub fn run(
    request: &RunRequest<'_>,
    observer: &mut dyn RunObserver,
) -> Result<RunReport, RunError> {
    let started = Instant::now();
    let cold_start_curves = decide::read_cold_start_curves(request.settings)?;
    let url = request.settings.store.database_url.value.as_str();
    let (store, notices) = Store::open(request.data_dir, url)?;
    let repository = check_repository(request, &store)?;
    let mut warnings = WarningLog::default();
    warnings.add(notices, observer);
    let (archive, archive_warnings) = MetricArchive::open(request)?;
    warnings.add(archive_warnings, observer);
    let (history, history_warnings) = HistoryStore::open(request)?;
    warnings.add(history_warnings, observer);
    let surveyed = SurveyedAnalysis::new(request.analysis)?;
    let facts = surveyed.facts();
    let exposure = request.assess_findings.then(|| request.analysis.exposure());
    let lines = SourceLineCache::new(request.repository);
    let known = KnownFailures::read(&store)?;
    let writer = store.start_run(&RunStartRecord {
        id: request.id.clone(),
        seed: request.seed.0,
        repository,
        started_ms: now_ms(),
        settings: settings_json(request),
    })?;
    let runner =
        CallRunner::new(request.backend, request.workers, request.cancel.clone(), request.deadline);
    let engine =
        CycleEngine { request, surveyed: &surveyed, facts: &facts, runner: &runner, lines: &lines };
    let mut cycles = CycleLoop {
        request,
        engine,
        assessor: exposure.as_ref().map(|exposure| FindingAssessor::new(&engine, exposure)),
        known,
        cold_start_curves,
        history,
        archive,
        writer,
        observer,
        warnings,
    };
    let finished = cycles.run_cycles()?;
    cycles.finish(finished, started)
}

/// The absolute path of the repository. Fails when the data directory belongs to another repository
/// that still exists; one that does not exist any more was moved.
fn check_repository(request: &RunRequest<'_>, store: &Store) -> Result<String, RunError> {
    let path = menace_files::resolve_named_path(request.repository);
    let path = path.unwrap_or_else(|_| request.repository.to_owned()).display().to_string();
    match store.latest_run()? {
        Some(last) if last.repository != path && Path::new(&last.repository).is_dir() => {
            let data_dir = request.data_dir.to_owned();
            Err(RunError::OtherRepository { data_dir, other: last.repository })
        }
        _ => Ok(path),
    }
}

/// The settings that the calls of a run depend on, stored with the run.
fn settings_json(request: &RunRequest<'_>) -> serde_json::Value {
    let sections = request.sections_text.as_str();
    serde_json::json!({
        "calls_per_cell": request.calls_per_cell,
        "depth": request.depth.is_some(),
        "profile": request.scoring.profile.name(),
        "roi_profile": request.scoring.profile.to_json(),
        "cycles": request.cycles,
        "selection": if sections.is_empty() { "everything" } else { sections },
        "python": request.python,
        "isolation": request.backend.tier().as_str(),
    })
}

/// `r-20261116-213500-ab12`: the time in UTC at which the run began, and four digits that
/// distinguish runs of one second.
pub fn new_id(seed: Seed) -> RunId {
    let now = now_ms();
    let own = seed.derive(&format!("{now} {}", std::process::id())).0 & 0xffff;
    RunId(format!("r-{}-{own:04x}", format_utc(now, "%Y%m%d-%H%M%S")))
}

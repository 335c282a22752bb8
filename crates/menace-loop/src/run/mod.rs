//! A whole run: cycles, what they are worth, and what is remembered of them.
//!
//! | room | what is in it |
//! |---|---|
//! | `yardstick` | the profile and the impact table that results are measured with |
//! | `record` | calls go to the store while they are made |
//! | `decide` | what follows: go on or stop, whom to leave out, whom to try in small |
//! | `worth` | what a cycle saw → metrics, ROI, synergy, discrepancies |
//! | `synergy` | sections together against each alone |
//! | `selection` | cycles about other sections are set aside |
//! | `presets` | scenarios of one name that are not the same |
//! | `signatures` | which sections came, went or changed |
//! | `keep` | histories, flags, metrics: files that later runs go on from |
//! | `known` | failures of earlier runs are looked at again |
//! | `telling` | everything → the report |
//!
//! Invariant: the tracker hears of cycles in their order, and of each once, however many runs share
//! the data directory.

mod decide;
mod keep;
mod known;
mod presets;
mod record;
mod selection;
mod signatures;
mod synergy;
mod telling;
mod worth;
mod yardstick;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use menace_model::{ModuleReport, Section, Seed};
use menace_sandbox::{Backend, Cancel, SandboxError};
use menace_scenario::Problems;
use menace_scenario::explore::Budget;
use menace_scenario::input::InputSettings;
use menace_scenario::preset::{Choice, MissingScenarios, Values};
use menace_settings::{KeywordProfiles, Settings};
use menace_source::{Analysis, SurveyError};
use menace_store::{NewRun, RunEnd, RunId, RunStatus, Store};

use crate::calls::Caller;
use crate::cycle::{self, Extent, Missed, Plan, Seen, Wanted, Watch, Wish};
use crate::failure::Lines;
use crate::inputs;
use crate::metrics::MetricPlugins;
use crate::report::RunReport;
use crate::survey::Surveyed;

use decide::Pilots;
use keep::Keep;
use record::Recorder;
use telling::Told;
use worth::{Worth, compared_with};

pub use decide::{CALIBRATION_FILE, TemplatesError, calibrated};
pub use selection::{Began, of_last_selection};
pub use yardstick::{Yardstick, YardstickError};

/// What a run is made of.
#[derive(Debug)]
pub struct Run<'a> {
    /// See [`new_id`].
    pub id: RunId,
    pub analysis: &'a Analysis,
    pub backend: &'a dyn Backend,
    pub repository: &'a Path,
    pub data_dir: &'a Path,
    pub settings: &'a Settings,
    pub choice: &'a Choice<'a>,
    pub keywords: &'a KeywordProfiles,
    pub inputs: &'a InputSettings,
    pub yardstick: &'a Yardstick,
    pub plugins: Option<&'a MetricPlugins>,
    pub wanted: &'a dyn Wanted,
    /// The same in words; empty for everything. Cycles over other sections do not compare.
    pub selection: String,
    /// Who runs the calls, for people: `CPython 3.12.4`.
    pub python: String,
    pub seed: Seed,
    pub cycles: u32,
    pub calls_per_cell: usize,
    /// None for a run without depth.
    pub depth: Option<Budget>,
    pub workers: usize,
    pub cancel: Cancel,
    pub deadline: Option<Instant>,
    pub reset_flags: bool,
    pub recover: bool,
    /// Gets a line of JSON after each cycle.
    pub forecast_log: Option<&'a Path>,
    /// Try whoever waits in the borderline bucket, also where pilots are only queued.
    pub process_borderline: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Survey(#[from] SurveyError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Presets(#[from] Problems),
    #[error(transparent)]
    Store(#[from] menace_store::Error),
    #[error(transparent)]
    Files(#[from] menace_store::files::Error),
    #[error(transparent)]
    Missing(#[from] MissingScenarios),
    #[error(transparent)]
    Templates(#[from] TemplatesError),
    #[error(transparent)]
    Calibration(#[from] menace_track::stats::truth::TruthError),
    #[error(
        "`{}` holds what is known of another repository, `{other}`; name another directory with \
         --sandbox-data-dir", .data_dir.display()
    )]
    OtherRepository { data_dir: PathBuf, other: String },
}

/// Goes through all cycles; `view` hears of everything meanwhile.
pub fn run(run: &Run<'_>, view: &mut dyn Watch) -> Result<RunReport, RunError> {
    let started = Instant::now();
    let templates = decide::templates(run.settings)?;
    let url = run.settings.store.database_url.value.as_str();
    let (store, notices) = Store::open(run.data_dir, url)?;
    let repository = home_of(run, &store)?;
    let mut told = Told::new(run.seed, notices.iter().map(ToString::to_string));
    let id = &run.id;
    let mut keep = Keep::open(run, &mut told)?;
    told.say(view);
    for module in run.analysis.modules.iter().filter(|module| run.wanted.has_module(module)) {
        told.unreadable(module);
    }
    let surveyed = Surveyed::new(run.analysis)?;
    let facts = surveyed.facts();
    let lines = Lines::new(run.repository);
    let known = known::Known::of(&store)?;
    let writer = store.start_run(&NewRun {
        id: id.clone(),
        seed: run.seed.0,
        repository,
        started_ms: now_ms(),
        settings: settings_of(run),
    })?;
    let caller = Caller::new(run.backend, run.workers, run.cancel.clone(), run.deadline);
    for cycle in 0..run.cycles {
        let flagged = keep.flagged(run, &mut told)?;
        let wanted = Unflagged { wanted: run.wanted, flagged: &flagged };
        let values = Values::of_settings(run.settings);
        let wish = Wish {
            presets: presets::of_cycle(run.choice, cycle)?,
            profiles: run.choice.profiles,
            keywords: run.keywords,
            settings: &values,
            inputs: run.inputs,
            recordings: &run.choice.recordings,
            // Cells have the same inputs in every cycle: what moves their numbers is the code.
            seed: run.seed,
            wanted: &wanted,
        };
        let plan = Plan::new(run.analysis, &surveyed, &wish)?;
        if plan.subjects.is_empty() {
            if cycle == 0 {
                let mut found = Seen::default();
                known.look_again(run, &mut found, &writer, view)?;
                told.fail(found, &known);
            }
            break;
        }
        writer.cycles(cycle + 1)?;
        view.plans(plan.subjects.len());
        let extent = Extent {
            calls_per_cell: run.calls_per_cell,
            depth: run.depth,
            seed: seed_of(run.seed, cycle),
            inputs: run.inputs,
        };
        let mut recorder = Recorder::new(&writer, view, cycle, run.cancel.clone());
        let meter = worth::Meter::start();
        let found = cycle::run(&plan, &facts, &caller, &extent, &lines, &mut recorder);
        if let Some(error) = recorder.error.take() {
            return Err(error.into());
        }
        let mut found = found?;
        if cycle == 0 {
            known.look_again(run, &mut found, &writer, view)?;
        }
        let joules = meter.stop();
        let about = selection::without(&compared_with(run, &found), &left_out(run, &flagged));
        let worth =
            Worth::of(run, &about, &wanted, &plan, &mut found, joules, &mut keep, &mut told)?;
        keep.remember(&writer, cycle, &plan, &found, &worth)?;
        inputs::remember(&run.settings.stubs.history, &found.worth_keeping)?;
        let decided = worth.concluded.write(run, id, cycle, &templates, &mut told)?;
        told.decide(decided);
        let has_converged = worth.concluded.ends_the_run();
        told.cycle(&plan, found, worth, &known);
        told.say(view);
        if run.settings.presets.fail_on_missing_scenarios.value {
            told.check_scenarios(&plan, run)?;
        }
        if caller.is_late() {
            told.miss("cycles", Missed::number((run.cycles - cycle - 1) as usize));
            break;
        }
        if has_converged && cycle + 1 < run.cycles {
            told.warn(format!(
                "gains have faded and synergy is at rest: ended after cycle {} of {}",
                cycle + 1,
                run.cycles
            ));
            break;
        }
    }
    let pilots = Pilots { run, surveyed: &surveyed, facts: &facts, caller: &caller, lines: &lines };
    told.pilot(&pilots, &keep)?;
    let left_out = keep.left_out(run, &mut told)?;
    told.left_out(left_out);
    told.say(view);
    let is_whole = told.is_whole();
    let report = told.report(id, started.elapsed());
    writer.finish(RunEnd {
        status: if is_whole { RunStatus::Finished } else { RunStatus::CutShort },
        finished_ms: now_ms(),
        cycles: report.cycles as u32,
        summary: serde_json::to_value(&report).unwrap_or_default(),
    })?;
    Ok(report)
}

/// Modules that are wanted, but flagged.
fn left_out<'r>(run: &'r Run<'_>, flagged: &BTreeSet<String>) -> Vec<&'r str> {
    let modules = run.analysis.modules.iter();
    let out = modules.filter(|one| flagged.contains(&one.path) && run.wanted.has_module(one));
    out.map(|module| module.path.as_str()).collect()
}

/// Wanted, and not left out because gains have faded.
#[derive(Debug)]
struct Unflagged<'a> {
    wanted: &'a dyn Wanted,
    flagged: &'a BTreeSet<String>,
}

impl Wanted for Unflagged<'_> {
    fn has_module(&self, module: &ModuleReport) -> bool {
        !self.flagged.contains(&module.path) && self.wanted.has_module(module)
    }

    fn has_path(&self, path: &str) -> bool {
        self.wanted.has_path(path)
    }

    fn has(&self, module: &ModuleReport, section: &Section) -> bool {
        !self.flagged.contains(&module.path) && self.wanted.has(module, section)
    }
}

/// Where the repository is. What is known of another one that is still there would be mixed up with it;
/// one that is not there any more has moved.
fn home_of(run: &Run<'_>, store: &Store) -> Result<String, RunError> {
    let home = run.repository.canonicalize().unwrap_or_else(|_| run.repository.to_owned());
    let home = home.display().to_string();
    match store.latest_run()? {
        Some(last) if last.repository != home && Path::new(&last.repository).is_dir() => {
            let data_dir = run.data_dir.to_owned();
            Err(RunError::OtherRepository { data_dir, other: last.repository })
        }
        _ => Ok(home),
    }
}

/// Every cycle explores with other inputs; the first one with the seed that was given, so that single runs
/// compare.
fn seed_of(seed: Seed, cycle: u32) -> Seed {
    if cycle == 0 { seed } else { seed.of("cycle").nth(u64::from(cycle)) }
}

/// What decides on the calls of a run, for those who look at it later.
fn settings_of(run: &Run<'_>) -> serde_json::Value {
    serde_json::json!({
        "calls_per_cell": run.calls_per_cell,
        "depth": run.depth.is_some(),
        "profile": run.yardstick.profile.name(),
        "roi_profile": run.yardstick.profile.written(),
        "cycles": run.cycles,
        "selection": if run.selection.is_empty() { "everything" } else { &run.selection },
        "python": run.python,
        "isolation": run.backend.tier().as_str(),
    })
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// `r-20261116-213500-ab12`: when it began, in UTC, and something that no other has.
pub fn new_id(seed: Seed) -> RunId {
    let now = now_ms();
    let seconds = now.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let own = seed.of(&format!("{now} {}", std::process::id())).0 & 0xffff;
    RunId(format!("r-{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{own:04x}"))
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar.
fn date(days: i64) -> (i64, i64, i64) {
    // Years begin in March, so that the leap day is the last one; eras have 400 years.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_773), (2026, 11, 16));
        assert_eq!(date(-1), (1969, 12, 31));
    }

    #[test]
    fn the_first_cycle_has_the_seed_of_the_run() {
        assert_eq!(seed_of(Seed(7), 0), Seed(7));
        assert_ne!(seed_of(Seed(7), 1), seed_of(Seed(7), 2));
    }
}

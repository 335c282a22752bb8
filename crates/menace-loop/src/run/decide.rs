//! What follows from a cycle: go on or stop, whom to leave out, whom to look at more closely.
//!
//! | room | what is in it |
//! |---|---|
//! | `rules` | settings → when gains have faded |
//! | `logs` | `threshold_log.jsonl`, `--forecast-log` |
//! | `calibration` | the model of how far forecasts are off, and its file |
//! | `foresight` | where each workflow is heading, and its file |
//! | `pilot` | workflows on the border, tried in small |
//!
//! The statistics are in `menace-track`. Invariant: a cycle that was cut short decides nothing.

mod calibration;
mod foresight;
mod logs;
mod pilot;
mod rules;

use std::collections::BTreeMap;
use std::path::Path;

use menace_store::{Flags, RunId};
use menace_track::stats::evidence::Verdict;
use menace_track::stats::forecast::{Forecast, Outlook};
use menace_track::stats::templates::Templates;
use menace_track::{
    Bottleneck, Cell, CycleReport, History, Judgement, Metrics, ModuleFacts, Tracker, bottlenecks,
    risk_of,
};

use super::telling::Told;
use super::{Run, RunError};
use crate::decided::Decided;

use calibration::Calibration;

pub use calibration::{FILE as CALIBRATION_FILE, calibrated};
pub use foresight::TemplatesError;
pub(super) use foresight::templates;
pub(super) use pilot::{Flown, Pilots};

/// Hints of a workflow that are told.
const MOST_HINTS: usize = 3;

/// What the histories say after a cycle.
#[derive(Debug)]
pub(super) struct Conclusions {
    pub judgement: Judgement,
    forecast: Option<Forecast>,
    predictions: Metrics,
    confidence: BTreeMap<String, f64>,
    bottlenecks: BTreeMap<String, Vec<Bottleneck>>,
    roi: Option<f64>,
    /// By path.
    returns: BTreeMap<String, f64>,
    /// How hard the conditions were, in [0, 1].
    stress: f64,
    evidence: calibration::Evidence,
    /// Which modules the cycle called.
    about: String,
    is_whole: bool,
}

/// Compares what was expected of a cycle with what came of it; before the tracker hears of it.
pub(super) fn compare(tracker: &mut Tracker, report: &CycleReport) {
    tracker.compare_predictions(&tracker.panel(), report);
}

/// Draws the conclusions from a cycle that the tracker has just heard of, or has not if it was cut short.
#[expect(clippy::too_many_arguments, reason = "everything that conclusions are drawn from")]
pub(super) fn conclude(
    run: &Run<'_>,
    about: &str,
    tracker: &mut Tracker,
    report: &CycleReport,
    modules: &[ModuleFacts],
    cells: &[Cell],
    stress: f64,
    is_whole: bool,
) -> Conclusions {
    if is_whole {
        tracker.note_resources(&used(cells));
        tracker.note_patches(modules, report);
    }
    let judgement =
        tracker.judge(&rules::of(run.settings), report.modules.keys().map(String::as_str));
    let forecast = tracker.forecast(Outlook::default());
    let predictions = tracker.predict_all_metrics(&tracker.panel());
    let history = tracker.history();
    let evidence = calibration::Evidence::of(history, forecast.as_ref(), &predictions);
    let severities: BTreeMap<&str, f64> =
        modules.iter().map(|module| (module.path.as_str(), module.severity)).collect();
    let mut held_back = BTreeMap::new();
    for (path, scored) in &report.modules {
        let Some(roi) = &scored.roi else { continue };
        let deltas = deltas(history, path);
        let risk = risk_of(&scored.metrics, severities.get(path.as_str()).copied(), deltas);
        let mut found = bottlenecks(roi, &risk);
        found.truncate(MOST_HINTS);
        held_back.insert(path.clone(), found);
    }
    let returns = report.modules.iter();
    Conclusions {
        judgement,
        forecast,
        predictions,
        confidence: report
            .modules
            .keys()
            .filter_map(|path| Some((path.clone(), tracker.workflow_confidence(path)?)))
            .collect(),
        bottlenecks: held_back,
        roi: report.run.value(),
        returns: returns.filter_map(|(path, one)| Some((path.clone(), one.value()?))).collect(),
        stress,
        evidence,
        about: about.to_owned(),
        is_whole,
    }
}

fn deltas<'h>(history: &'h History, path: &str) -> &'h [f64] {
    history.module_deltas.get(path).map(Vec::as_slice).unwrap_or_default()
}

/// What a cycle used of the machine, as forecasts know it.
fn used(cells: &[Cell]) -> BTreeMap<String, f64> {
    let costs = || cells.iter().map(|cell| cell.tally.costs());
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    let sum = |values: &mut dyn Iterator<Item = u64>| values.fold(0, u64::saturating_add);
    let cpu = sum(&mut cells.iter().map(|cell| cell.tally.cpu_ns));
    let time = sum(&mut costs().map(|costs| costs.wall_ns.sum()));
    let disk = sum(&mut costs().map(|costs| costs.io_bytes.sum()));
    let memory = costs().map(|costs| costs.memory_bytes.max()).max().unwrap_or_default();
    BTreeMap::from([
        ("cpu".to_owned(), seconds(cpu)),
        ("memory".to_owned(), memory as f64),
        ("disk".to_owned(), disk as f64),
        ("time".to_owned(), seconds(time)),
    ])
}

/// Modules that are named where many have faded.
const NAMED: usize = 5;

fn faded_in_words(modules: &[&str]) -> String {
    let named = modules.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = match modules.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("gains have faded and later cycles leave out, until the source changes: {named}{more}")
}

impl Conclusions {
    /// Writes down what was concluded: logs, flags, models.
    pub(super) fn write(
        &self,
        run: &Run<'_>,
        id: &RunId,
        cycle: u32,
        templates: &Templates,
        told: &mut Told,
    ) -> Result<Decided, RunError> {
        let directory: &Path = run.data_dir;
        let mut calibration = Calibration::default();
        let mut collapse = BTreeMap::new();
        if self.is_whole {
            calibration = calibration::calibrate(directory, &self.evidence, &self.about, told)?;
            // A module is worth the same whoever else is called.
            let selection = run.selection.as_str();
            let seen = foresight::Seen { returns: &self.returns, stress: self.stress, selection };
            collapse = foresight::look_ahead(templates, directory, &seen, told)?;
            let complete: Vec<&str> = self.judgement.complete().collect();
            if !complete.is_empty() {
                tracing::debug!("modules hitting entropy ceiling: {complete:?}");
                let flags = Flags::new(&directory.join("entropy.flags"));
                told.notice(flags.add(complete)?.as_slice());
            }
            let faded: Vec<&str> = self.judgement.faded().collect();
            if !faded.is_empty() {
                tracing::debug!("sandbox diminishing: {faded:?}");
                told.warn(faded_in_words(&faded));
            }
            logs::write(run, id, cycle, self, &calibration)?;
        }
        let mut judgement = self.judgement.clone();
        judgement.modules.retain(|_, decision| decision.verdict != Verdict::TooFewSamples);
        Ok(Decided {
            judgement,
            forecast: self.forecast.clone(),
            calibrated: calibration.next,
            drifts: calibration.drifts,
            predictions: self
                .predictions
                .iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            confidence: self.confidence.clone(),
            bottlenecks: self.bottlenecks.clone(),
            collapse,
            borderline: Vec::new(),
            borderline_evidence: BTreeMap::new(),
        })
    }

    /// Gains have faded and synergy is at rest: another cycle would tell nothing new.
    pub(super) fn ends_the_run(&self) -> bool {
        self.is_whole && self.judgement.converged
    }
}

//! Micro-pilot: a short extra cycle for a borderline module.
//!
//! `menace-track` has the thresholds, `menace-store` the file of borderline modules. A micro-pilot
//! is a cycle over one module: every scenario, few calls, no depth phase. Invariant: a micro-pilot
//! changes no history, and no decision follows from one that was ended early.

use std::collections::BTreeMap;

use menace_model::{AnalyzedModule, Section};
use menace_settings::MicropilotMode;
use menace_store::{BorderlineBucket, BorderlineMeasurement, BorderlineModule, BorderlineStatus};
use menace_track::stats::evidence::StatisticalDecision;
use menace_track::{BorderlineThresholds, ExternalMeasurements, Tracker, score_cycle};

use super::super::RunError;
use super::super::engine::CycleEngine;
use super::super::history::{HistoryStore, source_hash};
use super::super::measure::MeasuringData;
use super::super::score::CycleEvaluation;
use super::super::warnings::RunWarning;
use crate::cycle::{CycleOptions, SectionFilter};

const BORDERLINE_FILE: &str = "borderline_bucket.jsonl";
/// Inputs of a section under each scenario.
const CALLS_PER_CELL: usize = 2;

/// The sections of one module.
#[derive(Debug)]
struct PilotFilter<'a> {
    sections: &'a dyn SectionFilter,
    path: &'a str,
}

impl SectionFilter for PilotFilter<'_> {
    fn has_module(&self, module: &AnalyzedModule) -> bool {
        module.path == self.path && self.sections.has_module(module)
    }

    fn has_path(&self, path: &str) -> bool {
        path == self.path && self.sections.has_path(path)
    }

    fn has(&self, module: &AnalyzedModule, section: &Section) -> bool {
        module.path == self.path && self.sections.has(module, section)
    }
}

/// The borderline modules of a run.
#[derive(Debug, Default)]
pub(in crate::run) struct PilotResults {
    pub modules: Vec<BorderlineModule>,
    /// The test of each module against the borderline thresholds, by path.
    pub evidence: BTreeMap<String, StatisticalDecision>,
    pub warnings: Vec<RunWarning>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct PilotMeasurement {
    raroi: f64,
    confidence: f64,
}

/// Adds the modules that are on the border after the last cycle to the bucket, runs a micro-pilot
/// for each pending one where that is due, and returns the modules that this run has added or
/// tested.
pub(in crate::run) fn test_borderline_modules(
    engine: CycleEngine<'_>,
    history: &HistoryStore,
    last: Option<&CycleEvaluation>,
) -> Result<PilotResults, RunError> {
    let request = engine.request;
    let risk = &request.settings.risk;
    let mode = risk.micropilot_mode.value;
    if mode == MicropilotMode::Off {
        return Ok(PilotResults::default());
    }
    let (history, warnings) = history.read()?;
    let mut results = PilotResults { warnings, ..PilotResults::default() };
    let pilot = MicroPilot {
        engine,
        border: BorderlineThresholds {
            raroi: risk.borderline_raroi_threshold.value,
            confidence: risk.borderline_confidence_threshold.value.get(),
        },
        bucket: BorderlineBucket::new(&request.data_dir.join(BORDERLINE_FILE)),
        tracker: Tracker::new(history),
    };
    if let Some(last) = last.filter(|last| last.is_breadth_complete) {
        pilot.add_modules(last, &mut results)?;
    }
    if mode == MicropilotMode::Auto || request.process_borderline {
        pilot.test_pending(&mut results)?;
    }
    let (modules, notice) = pilot.bucket.modules()?;
    results.warnings.extend(notice.map(RunWarning::from));
    results.modules = modules;
    results.modules.retain(|one| results.evidence.contains_key(&one.module));
    Ok(results)
}

struct MicroPilot<'p> {
    engine: CycleEngine<'p>,
    border: BorderlineThresholds,
    bucket: BorderlineBucket,
    tracker: Tracker,
}

impl MicroPilot<'_> {
    fn add_modules(
        &self,
        last: &CycleEvaluation,
        results: &mut PilotResults,
    ) -> Result<(), RunError> {
        for (path, scored) in &last.scores.modules {
            let Some(raroi) = scored.raroi else { continue };
            let confidence = self.tracker.module_confidence(path);
            let decision = self.border.check_thresholds(raroi, confidence);
            if !decision.is_yes() {
                let source = source_hash(self.engine.request.repository, path);
                let measurement = BorderlineMeasurement { raroi, confidence, source_hash: &source };
                let notice = self.bucket.add_measurement(path, measurement)?;
                results.warnings.extend(notice.map(RunWarning::from));
                results.evidence.insert(path.clone(), decision);
            }
        }
        Ok(())
    }

    fn test_pending(&self, results: &mut PilotResults) -> Result<(), RunError> {
        let (modules, notice) = self.bucket.modules()?;
        results.warnings.extend(notice.map(RunWarning::from));
        let pending = modules.iter().filter(|one| one.status == BorderlineStatus::Pending);
        for BorderlineModule { module, .. } in pending {
            if self.engine.runner.is_late() {
                break;
            }
            let Some(measured) = self.measure(module)? else { continue };
            let PilotMeasurement { raroi, confidence } = measured;
            let confidence = Some(confidence);
            let decision = self.border.check_thresholds(raroi, confidence);
            let status = if decision.is_yes() {
                BorderlineStatus::Promoted
            } else {
                BorderlineStatus::Terminated
            };
            tracing::debug!(module, raroi, confidence, ?status, "micro-pilot");
            let source = source_hash(self.engine.request.repository, module);
            let measurement = BorderlineMeasurement { raroi, confidence, source_hash: &source };
            let notice = self.bucket.record_pilot_result(module, measurement, status)?;
            results.warnings.extend(notice.map(RunWarning::from));
            results.evidence.insert(module.clone(), decision);
        }
        Ok(())
    }

    /// Runs one micro-pilot. None where the module is gone, is not selected, or time ran out.
    fn measure(&self, path: &str) -> Result<Option<PilotMeasurement>, RunError> {
        let request = self.engine.request;
        let seed = request.seed.derive("micro-pilot").derive(path);
        let filter = PilotFilter { sections: request.sections, path };
        let plan = self.engine.plan(request.presets.presets(0)?, seed, &filter)?;
        if plan.sections.is_empty() {
            return Ok(None);
        }
        let options = CycleOptions {
            calls_per_cell: CALLS_PER_CELL,
            depth: None,
            seed,
            input_settings: request.input_settings,
        };
        let mut result = self.engine.make_calls(&plan, &options, &mut ())?;
        if !result.skipped_stages.is_empty() {
            return Ok(None);
        }
        let tallies = std::mem::take(&mut result.cells);
        let parts = MeasuringData::collect(request, &plan, &result, tallies);
        let profile = &request.scoring.profile;
        let metrics = parts.measure(profile, &ExternalMeasurements::default());
        let scores = score_cycle(&metrics, &parts.modules, profile, &self.tracker);
        let Some(module) = scores.modules.get(path) else { return Ok(None) };
        let Some((roi, raroi)) = module.roi_value().zip(module.raroi) else { return Ok(None) };
        let confidence = self.tracker.module_confidence_with(path, roi);
        Ok(Some(PilotMeasurement { raroi, confidence }))
    }
}

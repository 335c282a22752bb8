//! Stores a cycle that was decided on: flags, rows in `menace.db`, metrics in `metrics.db` and
//! `synergy_history.db`, inputs for later runs, models and logs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use menace_model::now_ms;
use menace_store::{
    CellKey, CellRecord, MetricMeasurement, MetricsDatabase, ModuleRecord, RunId, RunWriter,
    ScenarioRecord, SectionRecord, StoreResult, SynergyHistory,
};
use menace_track::{CycleScores, MetricValues, Risk, ScoredMetrics};
use menace_track::{compute_roi, hash_signature};

use super::decide::{CycleDecisions, DecisionInput, DecisionModels};
use super::history::{HistoryStore, restorable_copy};
use super::measure::CycleMeasurement;
use super::warnings::RunWarning;
use super::{RunError, RunRequest};
use crate::cycle::{CyclePlan, CycleResult};
use crate::inputs;

/// The databases that hold the metrics of all cycles.
#[derive(Debug)]
pub(super) struct MetricArchive {
    run: RunId,
    synergy: SynergyHistory,
    metrics: MetricsDatabase,
}

impl MetricArchive {
    pub(super) fn open(request: &RunRequest<'_>) -> Result<(Self, Vec<RunWarning>), RunError> {
        let path = request.data_dir.join("synergy_history.db");
        let (synergy, notices) = if request.recover {
            SynergyHistory::recover(&path)?
        } else {
            SynergyHistory::open(&path)?
        };
        let mut warnings: Vec<RunWarning> = notices.into_iter().map(RunWarning::from).collect();
        if !warnings.is_empty() {
            warnings.extend(restorable_copy(&path)?);
        }
        let (metrics, notices) = MetricsDatabase::open(&request.data_dir.join("metrics.db"))?;
        warnings.extend(notices.into_iter().map(RunWarning::from));
        Ok((Self { run: request.id.clone(), synergy, metrics }, warnings))
    }

    /// Adds the metrics of a whole cycle.
    pub(super) fn append(&mut self, cycle: u32, scores: &CycleScores) -> Result<(), RunError> {
        let at_ms = now_ms();
        let mut measurements = Vec::new();
        let mut add = |scenario: &str, module: &str, metrics: &MetricValues| {
            measurements.extend(metrics.iter().map(|(name, value)| MetricMeasurement {
                at_ms,
                run: self.run.clone(),
                cycle,
                scenario: scenario.to_owned(),
                module: module.to_owned(),
                name: name.to_owned(),
                value: Some(value),
            }));
        };
        add("", "", &scores.run.metrics);
        for (name, scored) in &scores.scenarios {
            add(name, "", &scored.metrics);
        }
        for (path, scored) in &scores.modules {
            add("", path, &scored.metrics);
        }
        for (name, synergy) in &scores.scenario_synergy {
            add(name, "", &synergy.metrics);
        }
        if let Some(synergy) = &scores.synergy {
            add("", "", &synergy.metrics);
            self.synergy.append(&[metric_map(&synergy.metrics)])?;
        }
        self.metrics.record(&measurements)?;
        Ok(())
    }
}

/// A cycle with its decisions.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecidedCycle<'c> {
    pub input: DecisionInput<'c>,
    pub plan: &'c CyclePlan<'c>,
    pub result: &'c CycleResult,
    pub decisions: &'c CycleDecisions,
}

impl DecidedCycle<'_> {
    /// Stores all of it: flags, rows, metrics, inputs for later runs, models and logs.
    pub(super) fn persist(
        &self,
        models: &DecisionModels,
        history: &mut HistoryStore,
        archive: &mut MetricArchive,
        writer: &RunWriter,
    ) -> Result<Vec<RunWarning>, RunError> {
        let DecisionInput { request, cycle, evaluation, .. } = self.input;
        let CycleDecisions { converged_modules, entropy_capped_modules, .. } = self.decisions;
        let mut warnings =
            history.flag_modules(request.repository, converged_modules, entropy_capped_modules)?;
        let began = Instant::now();
        self.write_rows(writer)?;
        // A cycle that was ended early is not comparable with others, and is not in the history
        // either.
        if evaluation.is_breadth_complete {
            archive.append(cycle, &evaluation.scores)?;
        }
        let elapsed: Duration = history.take_elapsed() + began.elapsed();
        tracing::debug!(histories_ms = elapsed.as_secs_f64() * 1e3, "histories are written");
        inputs::append_history(&request.settings.stubs.history, &self.result.reusable_input_lines)?;
        warnings.extend(self.input.persist(self.decisions, models)?);
        Ok(warnings)
    }

    /// Writes cells, sections, modules, scenarios and repeated failures.
    fn write_rows(&self, writer: &RunWriter) -> StoreResult<()> {
        self.write_cells(writer)?;
        self.write_sections(writer)?;
        let DecisionInput { cycle, measurement, evaluation, .. } = self.input;
        for (path, scored) in &evaluation.scores.modules {
            let risks = module_risks(&measurement.risks, path);
            writer.record_module(ModuleRecord {
                cycle,
                path: path.clone(),
                roi: scored.roi_value(),
                raroi: scored.raroi,
                metrics: metric_map(&scored.metrics),
                flagged: self.decisions.converged_modules.contains(path),
                risk_flags: serde_json::to_value(risks).unwrap_or_default(),
            })?;
        }
        for (name, scored) in &evaluation.scores.scenarios {
            writer.record_scenario(ScenarioRecord {
                cycle,
                scenario: name.clone(),
                severity: None,
                roi: scored.roi_value(),
                roi_delta: scored.roi_delta,
                metrics: metric_map(&scored.metrics),
            })?;
        }
        for counted in self.result.failures.values().filter(|counted| counted.occurrences > 1) {
            // The first occurrence was stored when it was confirmed.
            writer.record_failure(&counted.failure, now_ms(), counted.occurrences - 1)?;
        }
        writer.flush()
    }

    fn write_cells(&self, writer: &RunWriter) -> StoreResult<()> {
        let DecisionInput { request, cycle, measurement, .. } = self.input;
        let CycleMeasurement { cells, cell_metrics, .. } = measurement;
        for (cell, measured) in cells.iter().zip(cell_metrics) {
            let scenario = &self.plan.scenarios[cell.scenario];
            let roi = compute_roi(&request.scoring.profile, &measured.metrics);
            writer.record_cell(CellRecord {
                key: CellKey { cycle, section: cell.section.clone(), scenario: scenario.label() },
                severity: scenario.severity,
                calls: Some(cell.tally.calls),
                verdicts: cell.tally.verdicts.clone(),
                roi: roi.map(|roi| roi.value),
                metrics: metric_map(&measured.metrics),
            })?;
        }
        Ok(())
    }

    fn write_sections(&self, writer: &RunWriter) -> StoreResult<()> {
        for planned in &self.plan.sections {
            let scored = self.input.evaluation.scores.sections.get(&planned.section.id);
            writer.record_section(SectionRecord {
                cycle: self.input.cycle,
                section: planned.section.id.clone(),
                signature: Some(format!("{:016x}", hash_signature(planned.section))),
                roi: scored.and_then(ScoredMetrics::roi_value),
                raroi: scored.and_then(|scored| scored.raroi),
                metrics: scored.map(|scored| metric_map(&scored.metrics)).unwrap_or_default(),
                uncallable_reason: None,
            })?;
        }
        for uncallable in &self.plan.uncallable {
            writer.record_section(SectionRecord {
                cycle: self.input.cycle,
                section: uncallable.section.clone(),
                signature: None,
                roi: None,
                raroi: None,
                metrics: BTreeMap::new(),
                uncallable_reason: Some(uncallable.why.clone()),
            })?;
        }
        Ok(())
    }
}

pub(super) fn module_risks<'r>(risks: &'r [Risk], module: &str) -> Vec<&'r Risk> {
    risks.iter().filter(|flag| flag.module == module).collect()
}

/// Metrics by name, as they are stored and reported: with or without room for missing values.
pub(super) fn metric_map<V: From<f64>>(metrics: &MetricValues) -> BTreeMap<String, V> {
    metrics.iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

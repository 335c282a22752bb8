//! The scores of a cycle as they are reported and stored: metrics, ROI, RAROI, deltas.

use std::collections::BTreeMap;

use menace_model::SectionId;
use serde::{Deserialize, Serialize};

use crate::{
    CycleMetrics, MetricValues, ModuleFacts, RoiBreakdown, RoiProfile, RoiRisk, SynergyDelta,
    Tracker, compute_raroi, compute_roi,
};

/// Metrics and their score.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoredMetrics {
    pub metrics: MetricValues,
    /// `None` when the profile has no weight for any measured metric.
    pub roi: Option<RoiBreakdown>,
    pub raroi: Option<f64>,
    /// The difference to the previous cycle; `None` in the first.
    pub roi_delta: Option<f64>,
}

impl ScoredMetrics {
    pub fn roi_value(&self) -> Option<f64> {
        self.roi.as_ref().map(|roi| roi.value)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CycleScores {
    pub run: ScoredMetrics,
    /// By path.
    pub modules: BTreeMap<String, ScoredMetrics>,
    pub sections: BTreeMap<SectionId, ScoredMetrics>,
    /// By name.
    pub scenarios: BTreeMap<String, ScoredMetrics>,
    /// Synergy of the combined phase, if there was one.
    pub synergy: Option<SynergyDelta>,
    /// Synergy by scenario, including the baseline.
    pub scenario_synergy: BTreeMap<String, SynergyDelta>,
}

impl CycleScores {
    /// The scenario with the lowest ROI; the first by name if there are several.
    pub fn worst_scenario(&self) -> Option<&str> {
        let rated =
            self.scenarios.iter().filter_map(|(name, scored)| Some((name, scored.roi_value()?)));
        rated.min_by(|(_, one), (_, two)| one.total_cmp(two)).map(|(name, _)| name.as_str())
    }
}

/// Scores the metrics of a cycle; deltas are against the history of `tracker`.
pub fn score_cycle(
    measured: &CycleMetrics,
    modules: &[ModuleFacts],
    profile: &RoiProfile,
    tracker: &Tracker,
) -> CycleScores {
    let history = tracker.history();
    let severities: BTreeMap<&str, f64> =
        modules.iter().map(|module| (module.path.as_str(), module.severity)).collect();
    let severity = |path: &str| severities.get(path).copied();
    let scored = |metrics: &MetricValues, before: &[f64], deltas: &[f64], severity: Option<f64>| {
        let roi = compute_roi(profile, metrics);
        let value = roi.as_ref().map(|roi| roi.value);
        let roi_delta = value.zip(before.last()).map(|(now, before)| now - before);
        let recent: Vec<f64> = deltas.iter().copied().chain(roi_delta).collect();
        let risk = compute_risk(metrics, severity, &recent);
        ScoredMetrics {
            metrics: metrics.clone(),
            raroi: value.map(|value| compute_raroi(value, &risk)),
            roi,
            roi_delta,
        }
    };
    CycleScores {
        run: scored(&measured.run, &history.roi_history, &history.roi_deltas, None),
        modules: measured
            .modules
            .iter()
            .map(|(path, metrics)| {
                let before = history_series(&history.module_roi, path);
                let deltas = history_series(&history.module_deltas, path);
                (path.clone(), scored(metrics, before, deltas, severity(path)))
            })
            .collect(),
        sections: measured
            .sections
            .iter()
            .map(|(id, metrics)| {
                let before = history_series(&history.section_roi, id.as_str());
                let deltas = history_series(&history.section_deltas, id.as_str());
                (id.clone(), scored(metrics, before, deltas, severity(id.path())))
            })
            .collect(),
        scenarios: measured
            .scenarios
            .iter()
            .map(|(name, metrics)| {
                let before = history_series(&history.scenario_roi, name);
                let deltas = history_series(&history.scenario_roi_deltas, name);
                (name.clone(), scored(metrics, before, deltas, None))
            })
            .collect(),
        synergy: None,
        scenario_synergy: BTreeMap::new(),
    }
}

/// The factors between ROI and RAROI.
///
/// The risk index is probability × severity. Without a known severity all of it counts as
/// probability.
pub fn compute_risk(metrics: &MetricValues, severity: Option<f64>, deltas: &[f64]) -> RoiRisk {
    let index = metrics.get("risk_index").unwrap_or_default();
    let severity = severity.filter(|severity| *severity > 0.0).unwrap_or(1.0);
    RoiRisk {
        rollback_probability: index / severity,
        impact_severity: severity,
        stability: RoiRisk::compute_stability(deltas),
        safety: metrics.get("safety_rating").unwrap_or(1.0),
    }
}

fn history_series<'a>(histories: &'a BTreeMap<String, Vec<f64>>, key: &str) -> &'a [f64] {
    histories.get(key).map(Vec::as_slice).unwrap_or_default()
}

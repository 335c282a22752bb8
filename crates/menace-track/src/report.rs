//! A cycle as it is told and remembered: metrics, ROI, RAROI, deltas.

use std::collections::BTreeMap;

use menace_model::SectionId;
use serde::{Deserialize, Serialize};

use crate::{Measured, Metrics, ModuleFacts, Profile, Risk, Roi, Synergy, Tracker, raroi, roi};

/// Something that was measured, and what it is worth.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    pub metrics: Metrics,
    /// None when the profile weighs nothing that was measured.
    pub roi: Option<Roi>,
    pub raroi: Option<f64>,
    /// Against the previous cycle; none in the first.
    pub roi_delta: Option<f64>,
}

impl Scored {
    pub fn value(&self) -> Option<f64> {
        self.roi.as_ref().map(|roi| roi.value)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CycleReport {
    pub run: Scored,
    /// By path.
    pub modules: BTreeMap<String, Scored>,
    pub sections: BTreeMap<SectionId, Scored>,
    /// By name.
    pub scenarios: BTreeMap<String, Scored>,
    /// Of the combined phase, when there was one.
    pub synergy: Option<Synergy>,
    /// By scenario, the baseline among them.
    pub scenario_synergy: BTreeMap<String, Synergy>,
}

impl CycleReport {
    /// Lowest ROI; the first by name when there are several.
    pub fn worst_scenario(&self) -> Option<&str> {
        let rated =
            self.scenarios.iter().filter_map(|(name, scored)| Some((name, scored.value()?)));
        rated.min_by(|(_, one), (_, two)| one.total_cmp(two)).map(|(name, _)| name.as_str())
    }
}

/// What the metrics of a cycle are worth, against what `tracker` remembers.
pub fn score(
    measured: &Measured,
    modules: &[ModuleFacts],
    profile: &Profile,
    tracker: &Tracker,
) -> CycleReport {
    let history = tracker.history();
    let severities: BTreeMap<&str, f64> =
        modules.iter().map(|module| (module.path.as_str(), module.severity)).collect();
    let severity = |path: &str| severities.get(path).copied();
    let scored = |metrics: &Metrics, before: &[f64], deltas: &[f64], severity: Option<f64>| {
        let roi = roi(profile, metrics);
        let value = roi.as_ref().map(|roi| roi.value);
        let roi_delta = value.zip(before.last()).map(|(now, before)| now - before);
        let recent: Vec<f64> = deltas.iter().copied().chain(roi_delta).collect();
        let risk = risk_of(metrics, severity, &recent);
        Scored {
            metrics: metrics.clone(),
            raroi: value.map(|value| raroi(value, &risk)),
            roi,
            roi_delta,
        }
    };
    CycleReport {
        run: scored(&measured.run, &history.roi_history, &history.roi_deltas, None),
        modules: measured
            .modules
            .iter()
            .map(|(path, metrics)| {
                let before = series(&history.module_roi, path);
                let deltas = series(&history.module_deltas, path);
                (path.clone(), scored(metrics, before, deltas, severity(path)))
            })
            .collect(),
        sections: measured
            .sections
            .iter()
            .map(|(id, metrics)| {
                let before = series(&history.section_roi, id.as_str());
                let deltas = series(&history.section_deltas, id.as_str());
                (id.clone(), scored(metrics, before, deltas, severity(id.path())))
            })
            .collect(),
        scenarios: measured
            .scenarios
            .iter()
            .map(|(name, metrics)| {
                let before = series(&history.scenario_roi, name);
                let deltas = series(&history.scenario_roi_deltas, name);
                (name.clone(), scored(metrics, before, deltas, None))
            })
            .collect(),
        synergy: None,
        scenario_synergy: BTreeMap::new(),
    }
}

/// What stands between ROI and RAROI.
///
/// The risk index is the probability times the severity already: where no severity is known, all of
/// it is taken for the probability.
pub fn risk_of(metrics: &Metrics, severity: Option<f64>, deltas: &[f64]) -> Risk {
    let index = metrics.get("risk_index").unwrap_or_default();
    let severity = severity.filter(|severity| *severity > 0.0).unwrap_or(1.0);
    Risk {
        rollback_probability: index / severity,
        impact_severity: severity,
        stability: Risk::stability_of(deltas),
        safety: metrics.get("safety_rating").unwrap_or(1.0),
    }
}

fn series<'a>(histories: &'a BTreeMap<String, Vec<f64>>, key: &str) -> &'a [f64] {
    histories.get(key).map(Vec::as_slice).unwrap_or_default()
}

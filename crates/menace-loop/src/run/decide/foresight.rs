//! The forecast of each module's stability: `foresight.json`, and the curves that new modules start
//! from.
//!
//! Invariant: a module starts from its cold-start curve once, in its first cycle.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

use menace_settings::{SettingValue, Settings};
use menace_track::stats::cold_start::{ColdStartCurveError, ColdStartCurves};
use menace_track::stats::foresight::{
    CollapsePrediction, CollapseRisk, ForesightCycle, ForesightLimits, ForesightTracker,
};

use super::super::warnings::RunWarning;

/// Name of the file in the data directory.
pub(super) const FORESIGHT_FILE: &str = "foresight.json";
/// Fewer cycles make no trend.
const MIN_SAMPLES: usize = 3;
/// ROI lies between -1 and 1: a standard deviation of a fifth is large.
const VOLATILITY_LIMIT: f64 = 0.2;

/// Why cold-start curves cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ColdStartFileError {
    #[error(
        "cannot read `{}`; fix the file or point FORESIGHT_TEMPLATES elsewhere", .path.display()
    )]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}", .path.display())]
    Content { path: PathBuf, source: ColdStartCurveError },
}

/// The scores of a cycle.
#[derive(Debug, Clone)]
pub(super) struct StabilitySample<'s> {
    /// By path of the module.
    pub rois: BTreeMap<String, f64>,
    /// Mean severity of the scenarios, in [0, 1].
    pub stress: f64,
    /// Empty for all sections.
    pub sections_text: &'s str,
}

impl StabilitySample<'_> {
    /// The name of a module in the file. Some of its sections are forecast apart.
    fn key(&self, module: &str) -> String {
        match self.sections_text {
            "" => module.to_owned(),
            sections_text => format!("{module} ({sections_text})"),
        }
    }
}

/// The ROI history of each module, under the name that it has in the file.
pub(super) type ForesightTrackers = BTreeMap<String, ForesightTracker>;

/// Adds a cycle. Returns predictions for the modules whose ROI is not stable.
pub(super) fn record(
    trackers: &mut ForesightTrackers,
    sample: &StabilitySample<'_>,
    cold_start_curves: &ColdStartCurves,
) -> BTreeMap<String, CollapsePrediction> {
    let limits = ForesightLimits { volatility: VOLATILITY_LIMIT, ..ForesightLimits::default() };
    let mut predictions = BTreeMap::new();
    for (module, roi) in &sample.rois {
        let foresight =
            trackers.entry(sample.key(module)).or_insert_with(|| {
                match cold_start_curves.curve_for(module) {
                    Some(curve) => ForesightTracker::with_cold_start(limits, curve),
                    None => ForesightTracker::new(limits),
                }
            });
        foresight.record(ForesightCycle {
            roi: *roi,
            stress: Some(sample.stress),
            ..ForesightCycle::default()
        });
        let collapse = foresight.predict_collapse();
        let is_stable = collapse.risk == CollapseRisk::Stable && !collapse.brittle;
        if collapse.samples >= MIN_SAMPLES && !is_stable {
            predictions.insert(module.clone(), collapse);
        }
    }
    predictions
}

/// One warning for each module that is about to collapse.
pub(super) fn collapse_warnings(
    predictions: &BTreeMap<String, CollapsePrediction>,
) -> impl Iterator<Item = RunWarning> {
    let collapsing =
        predictions.iter().filter(|(_, one)| one.risk == CollapseRisk::ImmediateCollapse);
    collapsing.map(|(module, collapse)| RunWarning::RoiCollapse {
        module: module.clone(),
        cycles: collapse.collapse_in.filter(|cycles| *cycles > 0),
    })
}

const MAX_TEMPLATES_BYTES: u64 = 4 << 20;

/// Reads the file that the settings name; a file that only the default names may be missing.
pub(in crate::run) fn read_cold_start_curves(
    settings: &Settings,
) -> Result<ColdStartCurves, ColdStartFileError> {
    let SettingValue { value: path, .. } = &settings.risk.foresight_templates;
    match menace_files::read_named_text(path, MAX_TEMPLATES_BYTES) {
        Ok(text) => ColdStartCurves::parse(&text)
            .map_err(|source| ColdStartFileError::Content { path: path.clone(), source }),
        Err(error)
            if error.kind() == ErrorKind::NotFound
                && !settings.risk.foresight_templates.is_explicit() =>
        {
            Ok(ColdStartCurves::default())
        }
        Err(source) => Err(ColdStartFileError::Read { path: path.clone(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(
        values: &[f64],
        cold_start_curves: &ColdStartCurves,
    ) -> BTreeMap<String, CollapsePrediction> {
        under(&values.iter().map(|value| (*value, 0.5)).collect::<Vec<_>>(), cold_start_curves)
    }

    /// ROI and stress of each cycle.
    fn under(
        cycles: &[(f64, f64)],
        cold_start_curves: &ColdStartCurves,
    ) -> BTreeMap<String, CollapsePrediction> {
        let mut trackers = BTreeMap::new();
        let mut predictions = BTreeMap::new();
        for (value, stress) in cycles {
            let rois = BTreeMap::from([("m.py".to_owned(), *value)]);
            let sample = StabilitySample { rois, stress: *stress, sections_text: "" };
            predictions = record(&mut trackers, &sample, cold_start_curves);
            // As if they were stored between two runs.
            trackers = serde_json::from_str(&serde_json::to_string(&trackers).unwrap()).unwrap();
        }
        predictions
    }

    #[test]
    fn a_falling_module_is_predicted_to_collapse_and_a_stable_one_is_not() {
        let none = ColdStartCurves::default();
        let falling = after(&[0.9, 0.6, 0.3, 0.1], &none);
        assert_eq!(falling["m.py"].risk, CollapseRisk::ImmediateCollapse);
        assert!(after(&[0.5, 0.5, 0.5, 0.5], &none).is_empty());
        assert!(after(&[0.9, 0.1], &none).is_empty(), "two cycles say nothing");
        assert_eq!(after(&[0.9, 0.1, 0.9, 0.1, 0.9], &none)["m.py"].risk, CollapseRisk::Volatile);
    }

    #[test]
    fn cycles_of_some_sections_are_not_part_of_the_modules_history() {
        let mut trackers = BTreeMap::new();
        for (roi, sections_text) in [(0.9, ""), (0.1, "section m.py:f"), (0.9, ""), (0.9, "")] {
            let rois = BTreeMap::from([("m.py".to_owned(), roi)]);
            let sample = StabilitySample { rois, stress: 0.5, sections_text };
            assert!(record(&mut trackers, &sample, &ColdStartCurves::default()).is_empty());
        }
        let names: Vec<&str> = trackers.keys().map(String::as_str).collect();
        assert_eq!(names, ["m.py", "m.py (section m.py:f)"]);
        assert_eq!(trackers["m.py"].predict_collapse().samples, 3);
    }

    #[test]
    fn a_module_that_a_little_more_stress_breaks_is_brittle() {
        let none = ColdStartCurves::default();
        let brittle = |cycles: &[(f64, f64)]| {
            under(cycles, &none).get("m.py").is_some_and(|collapse| collapse.brittle)
        };
        assert!(brittle(&[(0.8, 0.5), (0.2, 0.55), (0.8, 0.5)]));
        assert!(!brittle(&[(0.8, 0.5), (0.2, 0.5), (0.8, 0.5)]), "stress did not change");
    }

    #[test]
    fn a_new_module_starts_from_its_curve() {
        // Without a curve, these first cycles are a falling trend.
        let values = [0.30, 0.25, 0.20];
        assert!(!after(&values, &ColdStartCurves::default()).is_empty());
        let rising = ColdStartCurves::parse("trajectories: {default: [0.1, 0.3, 0.6]}").unwrap();
        assert!(after(&values, &rising).is_empty());
    }
}

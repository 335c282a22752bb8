//! The forecast of each workflow's stability: `foresight.json`, and the templates of new workflows.
//!
//! A workflow is a module. Invariant: a workflow starts from its template once, in its first cycle.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

use menace_settings::{SettingValue, Settings};
use menace_track::stats::foresight::{
    CollapsePrediction, CollapseRisk, ForesightCycle, ForesightLimits, ForesightTracker,
};
use menace_track::stats::templates::{ColdStartTemplates, TemplateError};

use super::super::warnings::RunWarning;

/// Name of the file in the data directory.
pub(super) const FORESIGHT_FILE: &str = "foresight.json";
/// Fewer cycles make no trend.
const MIN_SAMPLES: usize = 3;
/// ROI lies between -1 and 1: a standard deviation of a fifth is large.
const VOLATILITY_LIMIT: f64 = 0.2;

/// Why templates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplatesError {
    #[error(
        "cannot read `{}`; fix the file or point FORESIGHT_TEMPLATES elsewhere", .path.display()
    )]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}", .path.display())]
    Content { path: PathBuf, source: TemplateError },
}

/// The scores of a cycle.
#[derive(Debug, Clone)]
pub(super) struct StabilitySample<'s> {
    /// By path of the module.
    pub rois: BTreeMap<String, f64>,
    /// Mean severity of the scenarios, in [0, 1].
    pub stress: f64,
    /// Empty for all sections.
    pub selection: &'s str,
}

impl StabilitySample<'_> {
    /// The name of a workflow in the file. Some of its sections make another workflow.
    fn key(&self, workflow: &str) -> String {
        match self.selection {
            "" => workflow.to_owned(),
            selection => format!("{workflow} ({selection})"),
        }
    }
}

/// The ROI history of each workflow, under the name that it has in the file.
pub(super) type ForesightTrackers = BTreeMap<String, ForesightTracker>;

/// Adds a cycle. Returns predictions for the workflows whose ROI is not stable.
pub(super) fn record(
    trackers: &mut ForesightTrackers,
    sample: &StabilitySample<'_>,
    templates: &ColdStartTemplates,
) -> BTreeMap<String, CollapsePrediction> {
    let limits = ForesightLimits { volatility: VOLATILITY_LIMIT, ..ForesightLimits::default() };
    let mut predictions = BTreeMap::new();
    for (workflow, roi) in &sample.rois {
        let foresight = trackers.entry(sample.key(workflow)).or_insert_with(|| {
            match templates.curve_for(workflow) {
                Some(curve) => ForesightTracker::with_template(limits, curve),
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
            predictions.insert(workflow.clone(), collapse);
        }
    }
    predictions
}

/// One warning for each workflow that is about to collapse.
pub(super) fn collapse_warnings(
    predictions: &BTreeMap<String, CollapsePrediction>,
) -> impl Iterator<Item = RunWarning> {
    let collapsing =
        predictions.iter().filter(|(_, one)| one.risk == CollapseRisk::ImmediateCollapse);
    collapsing.map(|(workflow, collapse)| RunWarning::RoiCollapse {
        module: workflow.clone(),
        cycles: collapse.collapse_in.filter(|cycles| *cycles > 0),
    })
}

const MAX_TEMPLATES_BYTES: u64 = 4 << 20;

/// Reads the file that the settings name; a file that only the default names may be missing.
pub(in crate::run) fn read_templates(
    settings: &Settings,
) -> Result<ColdStartTemplates, TemplatesError> {
    let SettingValue { value: path, .. } = &settings.risk.foresight_templates;
    match menace_files::read_named_text(path, MAX_TEMPLATES_BYTES) {
        Ok(text) => ColdStartTemplates::parse(&text)
            .map_err(|source| TemplatesError::Content { path: path.clone(), source }),
        Err(error)
            if error.kind() == ErrorKind::NotFound
                && !settings.risk.foresight_templates.is_explicit() =>
        {
            Ok(ColdStartTemplates::default())
        }
        Err(source) => Err(TemplatesError::Read { path: path.clone(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(
        values: &[f64],
        templates: &ColdStartTemplates,
    ) -> BTreeMap<String, CollapsePrediction> {
        under(&values.iter().map(|value| (*value, 0.5)).collect::<Vec<_>>(), templates)
    }

    /// ROI and stress of each cycle.
    fn under(
        cycles: &[(f64, f64)],
        templates: &ColdStartTemplates,
    ) -> BTreeMap<String, CollapsePrediction> {
        let mut trackers = BTreeMap::new();
        let mut predictions = BTreeMap::new();
        for (value, stress) in cycles {
            let rois = BTreeMap::from([("m.py".to_owned(), *value)]);
            let sample = StabilitySample { rois, stress: *stress, selection: "" };
            predictions = record(&mut trackers, &sample, templates);
            // As if they were stored between two runs.
            trackers = serde_json::from_str(&serde_json::to_string(&trackers).unwrap()).unwrap();
        }
        predictions
    }

    #[test]
    fn a_falling_workflow_is_predicted_to_collapse_and_a_stable_one_is_not() {
        let none = ColdStartTemplates::default();
        let falling = after(&[0.9, 0.6, 0.3, 0.1], &none);
        assert_eq!(falling["m.py"].risk, CollapseRisk::ImmediateCollapse);
        assert!(after(&[0.5, 0.5, 0.5, 0.5], &none).is_empty());
        assert!(after(&[0.9, 0.1], &none).is_empty(), "two cycles say nothing");
        assert_eq!(after(&[0.9, 0.1, 0.9, 0.1, 0.9], &none)["m.py"].risk, CollapseRisk::Volatile);
    }

    #[test]
    fn cycles_of_some_sections_are_not_part_of_the_workflows_history() {
        let mut trackers = BTreeMap::new();
        for (roi, selection) in [(0.9, ""), (0.1, "section m.py:f"), (0.9, ""), (0.9, "")] {
            let rois = BTreeMap::from([("m.py".to_owned(), roi)]);
            let sample = StabilitySample { rois, stress: 0.5, selection };
            assert!(record(&mut trackers, &sample, &ColdStartTemplates::default()).is_empty());
        }
        let names: Vec<&str> = trackers.keys().map(String::as_str).collect();
        assert_eq!(names, ["m.py", "m.py (section m.py:f)"]);
        assert_eq!(trackers["m.py"].predict_collapse().samples, 3);
    }

    #[test]
    fn a_workflow_that_a_little_more_stress_breaks_is_brittle() {
        let none = ColdStartTemplates::default();
        let brittle = |cycles: &[(f64, f64)]| {
            under(cycles, &none).get("m.py").is_some_and(|collapse| collapse.brittle)
        };
        assert!(brittle(&[(0.8, 0.5), (0.2, 0.55), (0.8, 0.5)]));
        assert!(!brittle(&[(0.8, 0.5), (0.2, 0.5), (0.8, 0.5)]), "stress did not change");
    }

    #[test]
    fn a_new_workflow_starts_from_its_template() {
        // Without a template, these first cycles are a falling trend.
        let values = [0.30, 0.25, 0.20];
        assert!(!after(&values, &ColdStartTemplates::default()).is_empty());
        let rising = ColdStartTemplates::parse("trajectories: {default: [0.1, 0.3, 0.6]}").unwrap();
        assert!(after(&values, &rising).is_empty());
    }
}

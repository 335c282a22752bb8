//! Where each workflow is heading: `foresight.json`, and the templates that new ones begin with.
//!
//! A workflow is a module. Invariant: a workflow begins with its template once, when it is first seen.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use menace_settings::{Settings, Value};
use menace_store::files::{self, Loaded, Lock};
use menace_track::stats::foresight::{Collapse, Cycle, Foresight, Limits, Risk};
use menace_track::stats::templates::{TemplateError, Templates};

use super::super::{RunError, keep};
use crate::run::telling::Told;

const FILE: &str = "foresight.json";
/// Below this, a line is drawn through next to nothing.
const FEWEST: usize = 3;
/// ROI lies between -1 and 1: jumps of a fifth are large.
const VOLATILE: f64 = 0.2;

/// Why templates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplatesError {
    #[error("cannot read `{}`; mend the file or point FORESIGHT_TEMPLATES elsewhere", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}", .path.display())]
    Content { path: PathBuf, source: TemplateError },
}

/// What a cycle was worth, under what, and of which sections; empty for all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'s> {
    pub returns: &'s BTreeMap<String, f64>,
    pub stress: f64,
    pub selection: &'s str,
}

impl Seen<'_> {
    /// What a workflow is called in the file. Of some sections only, it is another one.
    fn key(&self, workflow: &str) -> String {
        match self.selection {
            "" => workflow.to_owned(),
            selection => format!("{workflow} ({selection})"),
        }
    }
}

/// Takes in a cycle; gives what is to be said of workflows that do not hold their ROI.
pub(super) fn look_ahead(
    templates: &Templates,
    directory: &Path,
    seen: &Seen<'_>,
    told: &mut Told,
) -> Result<BTreeMap<String, Collapse>, RunError> {
    let path = directory.join(FILE);
    let _lock = Lock::acquire(&path, keep::PATIENCE)?;
    let mut known: BTreeMap<String, Foresight> = match files::load(&path)? {
        Loaded::Fine(known) => known,
        Loaded::Missing => BTreeMap::new(),
        Loaded::Corrupt(notice) => {
            told.warn(notice.to_string());
            BTreeMap::new()
        }
    };
    let found = record(&mut known, seen, templates);
    files::save(&path, &known)?;
    for (workflow, collapse) in &found {
        if collapse.risk == Risk::ImmediateCollapse {
            let when = match collapse.collapse_in {
                Some(0) | None => "is at or below zero".to_owned(),
                Some(cycles) => format!("reaches zero in {cycles} cycles if it goes on like that"),
            };
            told.warn(format!("{workflow}: its ROI {when}"));
        }
    }
    Ok(found)
}

fn record(
    known: &mut BTreeMap<String, Foresight>,
    seen: &Seen<'_>,
    templates: &Templates,
) -> BTreeMap<String, Collapse> {
    let limits = Limits { volatility: VOLATILE, ..Limits::default() };
    let mut found = BTreeMap::new();
    for (workflow, roi) in seen.returns {
        let foresight =
            known.entry(seen.key(workflow)).or_insert_with(|| match templates.of(workflow) {
                Some(curve) => Foresight::with_template(limits, curve),
                None => Foresight::new(limits),
            });
        foresight.record(Cycle { roi: *roi, stress: Some(seen.stress), ..Cycle::default() });
        let collapse = foresight.predict_collapse();
        let is_sound = collapse.risk == Risk::Stable && !collapse.brittle;
        if collapse.samples >= FEWEST && !is_sound {
            found.insert(workflow.clone(), collapse);
        }
    }
    found
}

/// The file that the settings name; what is only a default need not be there.
pub(in crate::run) fn templates(settings: &Settings) -> Result<Templates, TemplatesError> {
    let Value { value: path, .. } = &settings.risk.foresight_templates;
    match std::fs::read_to_string(path) {
        Ok(text) => Templates::parse(&text)
            .map_err(|source| TemplatesError::Content { path: path.clone(), source }),
        Err(error)
            if error.kind() == ErrorKind::NotFound
                && !settings.risk.foresight_templates.is_explicit() =>
        {
            Ok(Templates::default())
        }
        Err(source) => Err(TemplatesError::Read { path: path.clone(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(values: &[f64], templates: &Templates) -> BTreeMap<String, Collapse> {
        under(&values.iter().map(|value| (*value, 0.5)).collect::<Vec<_>>(), templates)
    }

    /// ROI and stress of each cycle.
    fn under(cycles: &[(f64, f64)], templates: &Templates) -> BTreeMap<String, Collapse> {
        let mut known = BTreeMap::new();
        let mut found = BTreeMap::new();
        for (value, stress) in cycles {
            let returns = BTreeMap::from([("m.py".to_owned(), *value)]);
            let seen = Seen { returns: &returns, stress: *stress, selection: "" };
            found = record(&mut known, &seen, templates);
            // As it is kept between two runs.
            known = serde_json::from_str(&serde_json::to_string(&known).unwrap()).unwrap();
        }
        found
    }

    #[test]
    fn a_workflow_that_falls_is_told_and_one_that_holds_is_not() {
        let none = Templates::default();
        let falling = after(&[0.9, 0.6, 0.3, 0.1], &none);
        assert_eq!(falling["m.py"].risk, Risk::ImmediateCollapse);
        assert!(after(&[0.5, 0.5, 0.5, 0.5], &none).is_empty());
        assert!(after(&[0.9, 0.1], &none).is_empty(), "two cycles say nothing");
        assert_eq!(after(&[0.9, 0.1, 0.9, 0.1, 0.9], &none)["m.py"].risk, Risk::Volatile);
    }

    #[test]
    fn cycles_about_some_sections_are_no_past_of_the_whole_workflow() {
        let mut known = BTreeMap::new();
        for (roi, selection) in [(0.9, ""), (0.1, "section m.py:f"), (0.9, ""), (0.9, "")] {
            let returns = BTreeMap::from([("m.py".to_owned(), roi)]);
            let seen = Seen { returns: &returns, stress: 0.5, selection };
            assert!(record(&mut known, &seen, &Templates::default()).is_empty());
        }
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        assert_eq!(names, ["m.py", "m.py (section m.py:f)"]);
        assert_eq!(known["m.py"].predict_collapse().samples, 3);
    }

    #[test]
    fn a_workflow_that_a_little_more_stress_breaks_is_brittle() {
        let none = Templates::default();
        let brittle = |cycles: &[(f64, f64)]| {
            under(cycles, &none).get("m.py").is_some_and(|collapse| collapse.brittle)
        };
        assert!(brittle(&[(0.8, 0.5), (0.2, 0.55), (0.8, 0.5)]));
        assert!(!brittle(&[(0.8, 0.5), (0.2, 0.5), (0.8, 0.5)]), "for another reason");
    }

    #[test]
    fn a_new_workflow_leans_on_its_template() {
        // Alone, these first cycles look like a fall; beside what was expected, they are a start.
        let values = [0.30, 0.25, 0.20];
        assert!(!after(&values, &Templates::default()).is_empty());
        let rising = Templates::parse("trajectories: {default: [0.1, 0.3, 0.6]}").unwrap();
        assert!(after(&values, &rising).is_empty());
    }
}

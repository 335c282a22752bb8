//! Irregularities after a cycle: what is not as it was, or not as it should be.

use std::collections::BTreeMap;
use std::fmt::Write;

use menace_model::{Section, SectionId, Seed};
use serde::{Deserialize, Serialize};

use crate::metric::scenario_metric;
use crate::series::{deviation, mean};
use crate::{Cell, Metrics};

/// Cycles before a metric has bounds of its own.
const LEAST_CYCLES: usize = 5;
/// Standard deviations on each side of the mean.
const WIDTH: f64 = 3.0;
/// A history that never moved still allows for so much of its mean.
const LEAST_SPREAD: f64 = 0.001;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discrepancy {
    pub kind: DiscrepancyKind,
    /// A section's id, a metric's name, or a module's path.
    pub subject: String,
    /// What was seen.
    pub sentence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscrepancyKind {
    /// Equal calls had different results.
    UnequalResults,
    /// A metric is outside of what its own history suggests.
    UnusualMetric,
    Appeared,
    Vanished,
    ChangedSignature,
}

/// Sections whose equal calls had different results.
pub fn unequal_results(cells: &[Cell]) -> Vec<Discrepancy> {
    let mut counts: BTreeMap<&SectionId, u64> = BTreeMap::new();
    for cell in cells {
        *counts.entry(&cell.section).or_default() += cell.tally.unequal_results();
    }
    let unequal = counts.into_iter().filter(|(_, count)| *count > 0);
    unequal
        .map(|(section, count)| Discrepancy {
            kind: DiscrepancyKind::UnequalResults,
            subject: section.to_string(),
            sentence: match count {
                1 => "one input had different results with the same seed".to_owned(),
                _ => format!("{count} inputs had different results with the same seed"),
            },
        })
        .collect()
}

/// Metrics outside of mean ± 3 standard deviations of their own history, of at least five cycles.
///
/// `history` is that of the cycles before.
pub fn unusual_metrics(
    metrics: &Metrics,
    history: &BTreeMap<String, Vec<f64>>,
) -> Vec<Discrepancy> {
    unusual(metrics.iter().map(|(name, value)| (name.to_owned(), value)), history)
}

/// The same of the metrics of scenarios, as `<scenario>:<metric>`.
pub fn unusual_scenarios(
    scenarios: &BTreeMap<String, Metrics>,
    history: &BTreeMap<String, Vec<f64>>,
) -> Vec<Discrepancy> {
    let all = scenarios.iter().flat_map(|(scenario, metrics)| {
        metrics.iter().map(|(name, value)| (scenario_metric(scenario, name), value))
    });
    unusual(all, history)
}

/// The same of what modules are worth, by path.
pub fn unusual_modules(
    rois: impl IntoIterator<Item = (String, f64)>,
    history: &BTreeMap<String, Vec<f64>>,
) -> Vec<Discrepancy> {
    let mut found = unusual(rois.into_iter(), history);
    for one in &mut found {
        one.sentence = format!("its ROI of {}", one.sentence);
    }
    found
}

fn unusual(
    values: impl Iterator<Item = (String, f64)>,
    history: &BTreeMap<String, Vec<f64>>,
) -> Vec<Discrepancy> {
    let unusual = |(name, value): (String, f64)| {
        let before = history.get(&name).filter(|values| values.len() >= LEAST_CYCLES)?;
        let (mean, spread) = (mean(before)?, deviation(before)?);
        let reach = WIDTH * spread.max(LEAST_SPREAD * mean.abs()) + f64::EPSILON;
        ((value - mean).abs() > reach).then(|| Discrepancy {
            kind: DiscrepancyKind::UnusualMetric,
            subject: name,
            sentence: format!(
                "{value:.4} is outside of {:.4} to {:.4}, the mean ± 3 standard deviations of {} cycles",
                mean - reach,
                mean + reach,
                before.len()
            ),
        })
    };
    values.filter_map(unusual).collect()
}

/// Sections that came, went, or take something else than before.
pub fn changed_sections(
    before: &[(SectionId, u64)],
    after: &[(SectionId, u64)],
) -> Vec<Discrepancy> {
    let map = |sections: &[(SectionId, u64)]| -> BTreeMap<SectionId, u64> {
        sections.iter().cloned().collect()
    };
    let (before, after) = (map(before), map(after));
    let item = |section: &SectionId, kind, sentence: &str| Discrepancy {
        kind,
        subject: section.to_string(),
        sentence: sentence.to_owned(),
    };
    let gone = before.keys().filter(|section| !after.contains_key(*section)).map(|section| {
        item(section, DiscrepancyKind::Vanished, "the section was there before and is not any more")
    });
    let others = after.iter().filter_map(|(section, signature)| match before.get(section) {
        None => Some(item(section, DiscrepancyKind::Appeared, "the section was not there before")),
        Some(known) if known != signature => Some(item(
            section,
            DiscrepancyKind::ChangedSignature,
            "the section takes other parameters, or returns something else, than before",
        )),
        Some(_) => None,
    });
    let mut found: Vec<Discrepancy> = gone.chain(others).collect();
    found.sort_by(|one, two| one.subject.cmp(&two.subject));
    found
}

/// A number for what a section takes and returns; the same in every version and on every machine.
pub fn signature(section: &Section) -> u64 {
    let mut text = format!("{:?} {}", section.kind, section.is_async);
    for param in &section.params {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n{} {:?} {:?} {:?}",
            param.name, param.kind, param.annotation, param.default
        );
    }
    let _ = write!(text, "\n{}", serde_json::to_string(&section.returns).unwrap_or_default());
    Seed(0).of(&text).0
}

#[cfg(test)]
mod tests {
    use menace_model::{
        Call, How, ModuleRef, Outcome, Param, ParamKind, SectionKind, Stage, Target, Verdict,
    };

    use super::*;
    use crate::Tally;

    fn metric(value: f64) -> Metrics {
        [("reliability", value)].into_iter().collect()
    }

    fn history(values: &[f64]) -> BTreeMap<String, Vec<f64>> {
        BTreeMap::from([("reliability".to_owned(), values.to_vec())])
    }

    #[test]
    fn a_scenario_and_a_module_have_bounds_of_their_own() {
        let values = vec![0.8, 0.9, 0.8, 0.9, 0.85];
        let known = BTreeMap::from([
            ("hostile_input:reliability".to_owned(), values.clone()),
            ("desk.py".to_owned(), values),
        ]);
        let scenarios = |value| BTreeMap::from([("hostile_input".to_owned(), metric(value))]);
        assert_eq!(unusual_scenarios(&scenarios(0.85), &known), []);
        let found = unusual_scenarios(&scenarios(0.2), &known);
        assert_eq!(found[0].subject, "hostile_input:reliability");
        let module = |roi| unusual_modules([("desk.py".to_owned(), roi)], &known);
        assert_eq!(module(0.85), []);
        assert_eq!(module(0.2)[0].subject, "desk.py");
        assert!(module(0.2)[0].sentence.starts_with("its ROI of 0.2000 is outside"));
    }

    #[test]
    fn a_metric_outside_of_its_history_is_unusual() {
        let known = history(&[0.8, 0.9, 0.8, 0.9, 0.85]);
        assert!(unusual_metrics(&metric(0.95), &known).is_empty());
        let found = unusual_metrics(&metric(0.4), &known);
        assert_eq!(
            found[0].sentence,
            "0.4000 is outside of 0.7158 to 0.9842, the mean ± 3 standard deviations of 5 cycles"
        );
    }

    #[test]
    fn four_cycles_are_no_history() {
        assert!(unusual_metrics(&metric(0.0), &history(&[1.0; 4])).is_empty());
        assert_eq!(unusual_metrics(&metric(0.0), &history(&[1.0; 5])).len(), 1);
    }

    #[test]
    fn what_never_moved_may_move_a_little() {
        assert!(unusual_metrics(&metric(0.999), &history(&[1.0; 9])).is_empty());
        assert!(unusual_metrics(&metric(0.0), &history(&[0.0; 9])).is_empty());
    }

    #[test]
    fn sections_that_came_went_or_changed_are_told() {
        let id = |name: &str| SectionId::new("a.py", name);
        let before = [(id("gone"), 1), (id("same"), 2), (id("other"), 3)];
        let after = [(id("other"), 4), (id("same"), 2), (id("came"), 5)];
        let found = changed_sections(&before, &after);
        let told: Vec<_> = found.iter().map(|item| (item.subject.as_str(), item.kind)).collect();
        assert_eq!(
            told,
            [
                ("a.py::came", DiscrepancyKind::Appeared),
                ("a.py::gone", DiscrepancyKind::Vanished),
                ("a.py::other", DiscrepancyKind::ChangedSignature),
            ]
        );
    }

    #[test]
    fn a_signature_changes_with_what_is_taken() {
        let param = |default: Option<&str>| Param {
            name: "amount".to_owned(),
            kind: ParamKind::PositionalOrKeyword,
            annotation: Some("int".to_owned()),
            resolved: None,
            default: default.map(str::to_owned),
        };
        let mut section = Section {
            id: SectionId::new("a.py", "pay"),
            kind: SectionKind::Function,
            is_async: false,
            is_generator: false,
            line: 1,
            start_line: 1,
            end_line: 2,
            decorators: Vec::new(),
            docstring: None,
            params: vec![param(None)],
            returns: None,
            complexity: 1,
            calls: Vec::new(),
            construction: None,
        };
        let before = signature(&section);
        section.line = 40;
        section.docstring = Some("Pays.".to_owned());
        assert_eq!(signature(&section), before);
        section.params = vec![param(Some("0"))];
        assert_ne!(signature(&section), before);
    }

    #[test]
    fn sections_with_unequal_results_are_named_once() {
        let module = ModuleRef { name: "a".to_owned(), path: None };
        let target = Target { module, qualname: "pay".to_owned(), how: How::Function };
        let raised = |kind: &str| {
            let mut outcome = Outcome::of(Verdict::Raised, Stage::Call);
            let json = format!(
                r#"{{"type": "{kind}", "message": "", "bases": [], "explicit": false, "frames": [],
                    "errno": null, "cause": null, "group": [], "notes": []}}"#
            );
            outcome.exception = Some(serde_json::from_str(&json).unwrap());
            outcome
        };
        let mut tally = Tally::default();
        tally.add(&Call::new(target.clone()), &raised("KeyError"), false);
        tally.add(&Call::new(target), &raised("IndexError"), false);
        let cell =
            |scenario, tally| Cell { section: SectionId::new("a.py", "pay"), scenario, tally };
        let found = unequal_results(&[cell(0, tally), cell(1, Tally::default())]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].sentence, "one input had different results with the same seed");
    }
}

//! Finds discrepancies after a cycle: values that changed or contradict each other unexpectedly.

use std::collections::BTreeMap;
use std::fmt::Write;

use menace_model::{Section, SectionId, Seed};
use serde::{Deserialize, Serialize};

use crate::metric::scenario_metric_name;
use crate::series::{mean, population_deviation};
use crate::{MetricValues, TalliedCell};

/// Cycles that a metric's history needs before bounds are computed from it.
const MIN_HISTORY_CYCLES: usize = 5;
/// How many standard deviations a value may be away from the mean of its history.
const BOUND_DEVIATIONS: f64 = 3.0;
/// The smallest standard deviation that is assumed, as a share of the mean: a history without any
/// variation would report every rounding difference.
const MIN_RELATIVE_SPREAD: f64 = 0.001;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleDiscrepancy {
    pub kind: DiscrepancyKind,
    /// A section's id, a metric's name, or a module's path.
    pub subject: String,
    /// A sentence for the report.
    pub sentence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscrepancyKind {
    /// Equal calls had different results.
    UnequalResults,
    /// A metric is outside of the bounds of its own history.
    UnusualMetric,
    Appeared,
    Vanished,
    ChangedSignature,
}

/// Sections whose equal calls had different results.
pub fn find_unequal_results(cells: &[TalliedCell]) -> Vec<CycleDiscrepancy> {
    let mut counts: BTreeMap<&SectionId, u64> = BTreeMap::new();
    for cell in cells {
        *counts.entry(&cell.section).or_default() += cell.tally.unequal_results();
    }
    let unequal = counts.into_iter().filter(|(_, count)| *count > 0);
    unequal
        .map(|(section, count)| CycleDiscrepancy {
            kind: DiscrepancyKind::UnequalResults,
            subject: section.to_string(),
            sentence: match count {
                1 => "one input had different results with the same seed".to_owned(),
                _ => format!("{count} inputs had different results with the same seed"),
            },
        })
        .collect()
}

/// Metrics outside of mean ± 3 standard deviations of their own history, which needs at least five
/// cycles.
///
/// `history` has the cycles before.
pub fn find_unusual_metrics(
    metrics: &MetricValues,
    history: &BTreeMap<String, Vec<f64>>,
) -> Vec<CycleDiscrepancy> {
    find_unusual_values(metrics.iter().map(|(name, value)| (name.to_owned(), value)), history)
}

/// Like [`find_unusual_metrics`], for the metrics of scenarios, as `<scenario>:<metric>`.
pub fn find_unusual_scenarios(
    scenarios: &BTreeMap<String, MetricValues>,
    history: &BTreeMap<String, Vec<f64>>,
) -> Vec<CycleDiscrepancy> {
    let all = scenarios.iter().flat_map(|(scenario, metrics)| {
        metrics.iter().map(|(name, value)| (scenario_metric_name(scenario, name), value))
    });
    find_unusual_values(all, history)
}

/// Like [`find_unusual_metrics`], for the ROI of modules, by path.
pub fn find_unusual_modules(
    rois: impl IntoIterator<Item = (String, f64)>,
    history: &BTreeMap<String, Vec<f64>>,
) -> Vec<CycleDiscrepancy> {
    let mut found = find_unusual_values(rois.into_iter(), history);
    for one in &mut found {
        one.sentence = format!("its ROI of {}", one.sentence);
    }
    found
}

fn find_unusual_values(
    values: impl Iterator<Item = (String, f64)>,
    history: &BTreeMap<String, Vec<f64>>,
) -> Vec<CycleDiscrepancy> {
    let unusual = |(name, value): (String, f64)| {
        let before = history.get(&name).filter(|values| values.len() >= MIN_HISTORY_CYCLES)?;
        let (mean, spread) = (mean(before)?, population_deviation(before)?);
        let reach = BOUND_DEVIATIONS * spread.max(MIN_RELATIVE_SPREAD * mean.abs()) + f64::EPSILON;
        ((value - mean).abs() > reach).then(|| CycleDiscrepancy {
            kind: DiscrepancyKind::UnusualMetric,
            subject: name,
            sentence: format!(
                "{value:.4} is outside of {:.4} to {:.4}, the mean ± 3 standard deviations of {} \
                 cycles",
                mean - reach,
                mean + reach,
                before.len()
            ),
        })
    };
    values.filter_map(unusual).collect()
}

/// Sections that appeared, vanished, or changed their signature.
pub fn find_changed_sections(
    before: &[(SectionId, u64)],
    after: &[(SectionId, u64)],
) -> Vec<CycleDiscrepancy> {
    let map = |sections: &[(SectionId, u64)]| -> BTreeMap<SectionId, u64> {
        sections.iter().cloned().collect()
    };
    let (before, after) = (map(before), map(after));
    let item = |section: &SectionId, kind, sentence: &str| CycleDiscrepancy {
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
    let mut found: Vec<CycleDiscrepancy> = gone.chain(others).collect();
    found.sort_by(|one, two| one.subject.cmp(&two.subject));
    found
}

/// A hash of a section's parameters and return type, which is the same in every version and on
/// every machine.
pub fn hash_signature(section: &Section) -> u64 {
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
    Seed(0).derive(&text).0
}

#[cfg(test)]
mod tests {
    use menace_model::{
        Call, CallStage, CallTarget, ModuleRef, Outcome, ParamKind, SectionKind, SignatureParam,
        TargetKind, Verdict,
    };

    use super::*;
    use crate::CallTally;

    fn metric(value: f64) -> MetricValues {
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
        assert_eq!(find_unusual_scenarios(&scenarios(0.85), &known), []);
        let found = find_unusual_scenarios(&scenarios(0.2), &known);
        assert_eq!(found[0].subject, "hostile_input:reliability");
        let module = |roi| find_unusual_modules([("desk.py".to_owned(), roi)], &known);
        assert_eq!(module(0.85), []);
        assert_eq!(module(0.2)[0].subject, "desk.py");
        assert!(module(0.2)[0].sentence.starts_with("its ROI of 0.2000 is outside"));
    }

    #[test]
    fn a_metric_outside_of_its_history_is_unusual() {
        let known = history(&[0.8, 0.9, 0.8, 0.9, 0.85]);
        assert!(find_unusual_metrics(&metric(0.95), &known).is_empty());
        let found = find_unusual_metrics(&metric(0.4), &known);
        assert_eq!(
            found[0].sentence,
            "0.4000 is outside of 0.7158 to 0.9842, the mean ± 3 standard deviations of 5 cycles"
        );
    }

    #[test]
    fn four_cycles_are_no_history() {
        assert!(find_unusual_metrics(&metric(0.0), &history(&[1.0; 4])).is_empty());
        assert_eq!(find_unusual_metrics(&metric(0.0), &history(&[1.0; 5])).len(), 1);
    }

    #[test]
    fn what_never_moved_may_move_a_little() {
        assert!(find_unusual_metrics(&metric(0.999), &history(&[1.0; 9])).is_empty());
        assert!(find_unusual_metrics(&metric(0.0), &history(&[0.0; 9])).is_empty());
    }

    #[test]
    fn added_removed_and_changed_sections_are_reported() {
        let id = |name: &str| SectionId::new("a.py", name);
        let before = [(id("gone"), 1), (id("same"), 2), (id("other"), 3)];
        let after = [(id("other"), 4), (id("same"), 2), (id("came"), 5)];
        let found = find_changed_sections(&before, &after);
        let reported: Vec<_> =
            found.iter().map(|item| (item.subject.as_str(), item.kind)).collect();
        assert_eq!(
            reported,
            [
                ("a.py::came", DiscrepancyKind::Appeared),
                ("a.py::gone", DiscrepancyKind::Vanished),
                ("a.py::other", DiscrepancyKind::ChangedSignature),
            ]
        );
    }

    #[test]
    fn a_signature_changes_with_what_is_taken() {
        let param = |default: Option<&str>| SignatureParam {
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
        let before = hash_signature(&section);
        section.line = 40;
        section.docstring = Some("Pays.".to_owned());
        assert_eq!(hash_signature(&section), before);
        section.params = vec![param(Some("0"))];
        assert_ne!(hash_signature(&section), before);
    }

    #[test]
    fn sections_with_unequal_results_are_named_once() {
        let module = ModuleRef { name: "a".to_owned(), path: None };
        let target = CallTarget { module, qualname: "pay".to_owned(), kind: TargetKind::Function };
        let raised = |kind: &str| {
            let mut outcome = Outcome::new(Verdict::Raised, CallStage::Call);
            let json = format!(
                r#"{{"type": "{kind}", "message": "", "bases": [], "explicit": false, "frames": [],
                    "errno": null, "cause": null, "group": [], "notes": []}}"#
            );
            outcome.exception = Some(serde_json::from_str(&json).unwrap());
            outcome
        };
        let mut tally = CallTally::default();
        tally.add(&Call::new(target.clone()), &raised("KeyError"), false);
        tally.add(&Call::new(target), &raised("IndexError"), false);
        let cell = |scenario, tally| TalliedCell {
            section: SectionId::new("a.py", "pay"),
            scenario,
            tally,
        };
        let found = find_unequal_results(&[cell(0, tally), cell(1, CallTally::default())]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].sentence, "one input had different results with the same seed");
    }
}

//! Cycles over different sections (`--module`, `--section`) lie in one history and do not compare.
//!
//! What was measured of single modules and sections compares whatever else was called; the series of the
//! whole run do not. Those of other selections are set aside while a cycle is scored and conclusions are
//! drawn, then put back. Invariant: a history that is put back has lost nothing.

use std::collections::BTreeMap;

use menace_track::{History, Metrics};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Under this key the history remembers what the last cycle was about.
const SELECTION: &str = "selection";
/// Under this one, how long each series was when the cycles about it began.
const BEGAN: &str = "selection_began";

/// Between the sections and the modules that are left out.
const WITHOUT: &str = " without ";

type Series = BTreeMap<String, Vec<f64>>;
type Lengths = BTreeMap<String, usize>;

/// Series of the whole run before the cycles about a selection began.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    roi_history: Vec<f64>,
    roi_deltas: Vec<f64>,
    synergy_history: Vec<Metrics>,
    raroi_history: Vec<f64>,
    predicted_roi: Vec<f64>,
    actual_roi: Vec<f64>,
    metrics_history: Series,
    resource_history: Series,
    predicted_metrics: Series,
    actual_metrics: Series,
    /// By predictor.
    predictor_errors: BTreeMap<String, Series>,
}

/// How long each series was before the cycles about a selection began, as `selection_began` has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Began {
    pub roi_history: usize,
    pub roi_deltas: usize,
    pub synergy_history: usize,
    pub raroi_history: usize,
    pub predicted_roi: usize,
    pub actual_roi: usize,
    pub metrics_history: Lengths,
    pub resource_history: Lengths,
    pub predicted_metrics: Lengths,
    pub actual_metrics: Lengths,
    /// By predictor.
    pub predictor_errors: BTreeMap<String, Lengths>,
}

impl Began {
    /// A note that somebody has damaged is as good as none.
    pub fn read(note: &Value) -> Option<Self> {
        Self::deserialize(note).ok()
    }
}

/// Whether the last cycle was about the same; histories of older programs are about everything.
pub(super) fn is_same(history: &History, selection: &str) -> bool {
    history.others.get(SELECTION).and_then(Value::as_str).unwrap_or_default() == selection
}

/// A selection without the modules that are left out: what they were worth is missing from the run, and its
/// ROI would seem to change when one is flagged.
pub(super) fn without(selection: &str, left_out: &[&str]) -> String {
    if left_out.is_empty() {
        return selection.to_owned();
    }
    let mut left_out = left_out.to_vec();
    left_out.sort_unstable();
    format!("{selection}{WITHOUT}{}", left_out.join(", "))
}

/// Whether the last cycle was about the same sections, whoever was left out.
pub(super) fn has_same_sections(history: &History, selection: &str) -> bool {
    let last = history.others.get(SELECTION).and_then(Value::as_str).unwrap_or_default();
    sections(last) == sections(selection)
}

fn sections(selection: &str) -> &str {
    selection.split_once(WITHOUT).map_or(selection, |(sections, _)| sections)
}

/// Leaves in the history what compares with a cycle about this selection.
pub(super) fn set_aside(history: &mut History, selection: &str) -> Earlier {
    if !is_same(history, selection) {
        return Earlier {
            roi_history: std::mem::take(&mut history.roi_history),
            roi_deltas: std::mem::take(&mut history.roi_deltas),
            synergy_history: std::mem::take(&mut history.synergy_history),
            raroi_history: std::mem::take(&mut history.raroi_history),
            predicted_roi: std::mem::take(&mut history.predicted_roi),
            actual_roi: std::mem::take(&mut history.actual_roi),
            metrics_history: std::mem::take(&mut history.metrics_history),
            resource_history: std::mem::take(&mut history.resource_history),
            predicted_metrics: std::mem::take(&mut history.predicted_metrics),
            actual_metrics: std::mem::take(&mut history.actual_metrics),
            predictor_errors: std::mem::take(&mut history.predictor_errors),
        };
    }
    let began = history.others.get(BEGAN).and_then(Began::read);
    let Some(began) = began else { return Earlier::default() };
    let mut predictor_errors = BTreeMap::new();
    for (who, lengths) in &began.predictor_errors {
        if let Some(errors) = history.predictor_errors.get_mut(who) {
            predictor_errors.insert(who.clone(), heads(errors, lengths));
        }
    }
    history.predictor_errors.retain(|_, errors| !errors.is_empty());
    Earlier {
        roi_history: head(&mut history.roi_history, began.roi_history),
        roi_deltas: head(&mut history.roi_deltas, began.roi_deltas),
        synergy_history: head(&mut history.synergy_history, began.synergy_history),
        raroi_history: head(&mut history.raroi_history, began.raroi_history),
        predicted_roi: head(&mut history.predicted_roi, began.predicted_roi),
        actual_roi: head(&mut history.actual_roi, began.actual_roi),
        metrics_history: heads(&mut history.metrics_history, &began.metrics_history),
        resource_history: heads(&mut history.resource_history, &began.resource_history),
        predicted_metrics: heads(&mut history.predicted_metrics, &began.predicted_metrics),
        actual_metrics: heads(&mut history.actual_metrics, &began.actual_metrics),
        predictor_errors,
    }
}

/// Notes that a cycle about this selection goes into the history.
pub(super) fn begin(history: &mut History, selection: &str, earlier: &Earlier) {
    if is_same(history, selection) {
        return;
    }
    let lengths = |series: &Series| -> Lengths {
        series.iter().map(|(name, values)| (name.clone(), values.len())).collect()
    };
    let began = Began {
        roi_history: earlier.roi_history.len(),
        roi_deltas: earlier.roi_deltas.len(),
        synergy_history: earlier.synergy_history.len(),
        raroi_history: earlier.raroi_history.len(),
        predicted_roi: earlier.predicted_roi.len(),
        actual_roi: earlier.actual_roi.len(),
        metrics_history: lengths(&earlier.metrics_history),
        resource_history: lengths(&earlier.resource_history),
        predicted_metrics: lengths(&earlier.predicted_metrics),
        actual_metrics: lengths(&earlier.actual_metrics),
        predictor_errors: earlier
            .predictor_errors
            .iter()
            .map(|(who, errors)| (who.clone(), lengths(errors)))
            .collect(),
    };
    history.others.insert(BEGAN.to_owned(), serde_json::json!(began));
    history.others.insert(SELECTION.to_owned(), selection.into());
}

pub(super) fn put_back(history: &mut History, earlier: Earlier) {
    let Earlier {
        roi_history,
        roi_deltas,
        synergy_history,
        raroi_history,
        predicted_roi,
        actual_roi,
        metrics_history,
        resource_history,
        predicted_metrics,
        actual_metrics,
        predictor_errors,
    } = earlier;
    for (values, earlier) in [
        (&mut history.roi_history, roi_history),
        (&mut history.roi_deltas, roi_deltas),
        (&mut history.raroi_history, raroi_history),
        (&mut history.predicted_roi, predicted_roi),
        (&mut history.actual_roi, actual_roi),
    ] {
        values.splice(0..0, earlier);
    }
    history.synergy_history.splice(0..0, synergy_history);
    for (series, earlier) in [
        (&mut history.metrics_history, metrics_history),
        (&mut history.resource_history, resource_history),
        (&mut history.predicted_metrics, predicted_metrics),
        (&mut history.actual_metrics, actual_metrics),
    ] {
        put_series_back(series, earlier);
    }
    for (who, earlier) in predictor_errors {
        put_series_back(history.predictor_errors.entry(who).or_default(), earlier);
    }
}

fn put_series_back(series: &mut Series, earlier: Series) {
    for (name, values) in earlier {
        series.entry(name).or_default().splice(0..0, values);
    }
}

/// The cycles that compare with the last one, for those who look ahead from it.
pub fn of_last_selection(mut history: History) -> History {
    let last = history.others.get(SELECTION).and_then(Value::as_str).unwrap_or_default().to_owned();
    set_aside(&mut history, &last);
    history
}

fn head<T>(values: &mut Vec<T>, count: usize) -> Vec<T> {
    values.drain(..count.min(values.len())).collect()
}

fn heads(series: &mut Series, counts: &BTreeMap<String, usize>) -> Series {
    let mut found = Series::new();
    for (name, count) in counts {
        if let Some(values) = series.get_mut(name) {
            found.insert(name.clone(), head(values, *count));
        }
    }
    series.retain(|_, values| !values.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(history: &mut History, selection: &str, value: f64) -> Vec<f64> {
        let earlier = set_aside(history, selection);
        let compared = history.roi_history.clone();
        let of = |series: &Series| series.get("x").cloned().unwrap_or_default();
        let errors = history.predictor_errors.get("last_value").map(of).unwrap_or_default();
        for others in [
            of(&history.metrics_history),
            of(&history.predicted_metrics),
            of(&history.actual_metrics),
            errors,
            history.raroi_history.clone(),
            history.predicted_roi.clone(),
            history.actual_roi.clone(),
        ] {
            assert_eq!(others, compared);
        }
        add(history, value);
        begin(history, selection, &earlier);
        put_back(history, earlier);
        // As it is kept between two runs.
        *history = serde_json::from_str(&serde_json::to_string(history).unwrap()).unwrap();
        compared
    }

    fn add(history: &mut History, value: f64) {
        let errors = history.predictor_errors.entry("last_value".to_owned()).or_default();
        for series in [
            &mut history.metrics_history,
            &mut history.predicted_metrics,
            &mut history.actual_metrics,
            errors,
        ] {
            series.entry("x".to_owned()).or_default().push(value);
        }
        for values in [
            &mut history.roi_history,
            &mut history.raroi_history,
            &mut history.predicted_roi,
            &mut history.actual_roi,
        ] {
            values.push(value);
        }
    }

    #[test]
    fn a_cycle_meets_those_of_its_selection_only_and_none_is_lost() {
        let mut history = History::default();
        add(&mut history, 0.1);
        assert_eq!(cycle(&mut history, "", 0.2), [0.1]);
        assert_eq!(cycle(&mut history, "a.py", 0.3), [0.0; 0]);
        assert_eq!(cycle(&mut history, "a.py", 0.4), [0.3]);
        assert_eq!(cycle(&mut history, "", 0.5), [0.0; 0]);
        assert_eq!(cycle(&mut history, "", 0.6), [0.5]);
        assert_eq!(history.roi_history, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
        assert_eq!(history.metrics_history["x"], history.roi_history);
        assert_eq!(history.predictor_errors["last_value"]["x"], history.roi_history);
        assert_eq!(of_last_selection(history).roi_history, [0.5, 0.6]);
    }

    #[test]
    fn a_run_without_a_module_does_not_compare_with_one_that_has_it() {
        assert_eq!(without("", &[]), "");
        let about = without("", &["b.py", "a.py"]);
        assert_eq!(about, " without a.py, b.py");
        let mut history = History::default();
        cycle(&mut history, "", 0.9);
        assert!(!is_same(&history, &about) && has_same_sections(&history, &about));
        assert!(!has_same_sections(&history, &without("module c.py", &["a.py"])));
        assert_eq!(cycle(&mut history, &about, 0.3), [0.0; 0]);
        assert_eq!(cycle(&mut history, &about, 0.3), [0.3]);
    }

    #[test]
    fn what_is_set_aside_and_put_back_is_as_it_was() {
        let mut history = History { roi_deltas: vec![0.0], ..History::default() };
        cycle(&mut history, "a.py", 0.3);
        for selection in ["a.py", "b.py"] {
            let mut again = history.clone();
            let earlier = set_aside(&mut again, selection);
            put_back(&mut again, earlier);
            assert_eq!(again, history);
        }
    }
}

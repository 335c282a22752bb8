//! Handles cycles over different sections (`--module`, `--section`) in one history, which are not
//! comparable.
//!
//! Figures of single modules and sections are comparable whatever else was called; the series of
//! the whole run are not. The values of other selections are taken out of the history while a cycle
//! is scored and decisions are made, and restored afterwards. Invariant: a restored history has
//! lost nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::RoiHistory;

/// Key in the history: the selection of the last cycle.
const LAST_KEY: &str = "selection";
/// Key in the history: the length of each series before the first cycle of that selection.
const START_KEY: &str = "selection_began";

/// Separates the sections from the excluded modules in the text of a selection.
const EXCLUDED_SEPARATOR: &str = " without ";

type SeriesByName = BTreeMap<String, Vec<f64>>;
type LengthByName = BTreeMap<String, usize>;

/// The values of the whole run from before the first cycle of a selection. Only its series are set.
#[derive(Debug, Default)]
pub struct EarlierSeries(RoiHistory);

/// The length of each series before the first cycle of a selection: `selection_began` in the
/// history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ComparisonStart {
    pub roi_history: usize,
    pub roi_deltas: usize,
    pub synergy_history: usize,
    pub raroi_history: usize,
    pub predicted_roi: usize,
    pub actual_roi: usize,
    pub metrics_history: LengthByName,
    pub resource_history: LengthByName,
    pub predicted_metrics: LengthByName,
    pub actual_metrics: LengthByName,
    /// By predictor and metric.
    pub predictor_errors: BTreeMap<String, LengthByName>,
}

impl ComparisonStart {
    /// `None` when the stored value is damaged.
    pub fn read(note: &Value) -> Option<Self> {
        Self::deserialize(note).ok()
    }

    /// The present lengths of a history's series.
    fn measure(history: &RoiHistory) -> Self {
        let lengths = |series: &SeriesByName| -> LengthByName {
            series.iter().map(|(name, values)| (name.clone(), values.len())).collect()
        };
        let errors = history.predictor_errors.iter();
        Self {
            roi_history: history.roi_history.len(),
            roi_deltas: history.roi_deltas.len(),
            synergy_history: history.synergy_history.len(),
            raroi_history: history.raroi_history.len(),
            predicted_roi: history.predicted_roi.len(),
            actual_roi: history.actual_roi.len(),
            metrics_history: lengths(&history.metrics_history),
            resource_history: lengths(&history.resource_history),
            predicted_metrics: lengths(&history.predicted_metrics),
            actual_metrics: lengths(&history.actual_metrics),
            predictor_errors: errors.map(|(name, one)| (name.clone(), lengths(one))).collect(),
        }
    }
}

fn last_comparison_key(history: &RoiHistory) -> &str {
    history.extra_fields.get(LAST_KEY).and_then(Value::as_str).unwrap_or_default()
}

/// Whether the last cycle had this selection. Histories of older versions have the empty selection,
/// which means all sections.
pub fn is_same(history: &RoiHistory, comparison_key: &str) -> bool {
    last_comparison_key(history) == comparison_key
}

/// The selection of a run that excludes flagged modules: without their scores its ROI is not
/// comparable with that of a run that called them.
pub fn exclude_modules(comparison_key: &str, left_out: &[&str]) -> String {
    if left_out.is_empty() {
        return comparison_key.to_owned();
    }
    let mut left_out = left_out.to_vec();
    left_out.sort_unstable();
    format!("{comparison_key}{EXCLUDED_SEPARATOR}{}", left_out.join(", "))
}

/// Whether the last cycle selected the same sections; the modules that were left out may differ.
pub fn has_same_sections(history: &RoiHistory, comparison_key: &str) -> bool {
    sections_of(last_comparison_key(history)) == sections_of(comparison_key)
}

fn sections_of(comparison_key: &str) -> &str {
    comparison_key.split_once(EXCLUDED_SEPARATOR).map_or(comparison_key, |(sections, _)| sections)
}

/// Takes out all values that are not comparable with a cycle of this selection.
pub fn remove_incomparable(history: &mut RoiHistory, comparison_key: &str) -> EarlierSeries {
    let start = if is_same(history, comparison_key) {
        history.extra_fields.get(START_KEY).and_then(ComparisonStart::read)
    } else {
        Some(ComparisonStart::measure(history))
    };
    let Some(start) = start else { return EarlierSeries::default() };
    let mut predictor_errors = BTreeMap::new();
    for (predictor, lengths) in &start.predictor_errors {
        if let Some(errors) = history.predictor_errors.get_mut(predictor) {
            predictor_errors.insert(predictor.clone(), drain_series(errors, lengths));
        }
    }
    history.predictor_errors.retain(|_, errors| !errors.is_empty());
    EarlierSeries(RoiHistory {
        roi_history: drain_start(&mut history.roi_history, start.roi_history),
        roi_deltas: drain_start(&mut history.roi_deltas, start.roi_deltas),
        synergy_history: drain_start(&mut history.synergy_history, start.synergy_history),
        raroi_history: drain_start(&mut history.raroi_history, start.raroi_history),
        predicted_roi: drain_start(&mut history.predicted_roi, start.predicted_roi),
        actual_roi: drain_start(&mut history.actual_roi, start.actual_roi),
        metrics_history: drain_series(&mut history.metrics_history, &start.metrics_history),
        resource_history: drain_series(&mut history.resource_history, &start.resource_history),
        predicted_metrics: drain_series(&mut history.predicted_metrics, &start.predicted_metrics),
        actual_metrics: drain_series(&mut history.actual_metrics, &start.actual_metrics),
        predictor_errors,
        ..RoiHistory::default()
    })
}

/// Records in the history that a cycle of this selection was added.
pub fn record_start(history: &mut RoiHistory, comparison_key: &str, earlier: &EarlierSeries) {
    if is_same(history, comparison_key) {
        return;
    }
    let start = ComparisonStart::measure(&earlier.0);
    history.extra_fields.insert(START_KEY.to_owned(), serde_json::json!(start));
    history.extra_fields.insert(LAST_KEY.to_owned(), comparison_key.into());
}

/// Restores the values that [`remove_incomparable`] took out.
pub fn restore(history: &mut RoiHistory, earlier: EarlierSeries) {
    let EarlierSeries(earlier) = earlier;
    for (values, earlier) in [
        (&mut history.roi_history, earlier.roi_history),
        (&mut history.roi_deltas, earlier.roi_deltas),
        (&mut history.raroi_history, earlier.raroi_history),
        (&mut history.predicted_roi, earlier.predicted_roi),
        (&mut history.actual_roi, earlier.actual_roi),
    ] {
        values.splice(0..0, earlier);
    }
    history.synergy_history.splice(0..0, earlier.synergy_history);
    for (series, earlier) in [
        (&mut history.metrics_history, earlier.metrics_history),
        (&mut history.resource_history, earlier.resource_history),
        (&mut history.predicted_metrics, earlier.predicted_metrics),
        (&mut history.actual_metrics, earlier.actual_metrics),
    ] {
        restore_series(series, earlier);
    }
    for (predictor, earlier) in earlier.predictor_errors {
        restore_series(history.predictor_errors.entry(predictor).or_default(), earlier);
    }
}

fn restore_series(series: &mut SeriesByName, earlier: SeriesByName) {
    for (name, values) in earlier {
        series.entry(name).or_default().splice(0..0, values);
    }
}

/// Keeps only the cycles that are comparable with the last one, for forecasts.
pub fn keep_comparable(mut history: RoiHistory) -> RoiHistory {
    let last = last_comparison_key(&history).to_owned();
    remove_incomparable(&mut history, &last);
    history
}

fn drain_start<T>(values: &mut Vec<T>, count: usize) -> Vec<T> {
    values.drain(..count.min(values.len())).collect()
}

fn drain_series(series: &mut SeriesByName, counts: &LengthByName) -> SeriesByName {
    let mut drained = SeriesByName::new();
    for (name, count) in counts {
        if let Some(values) = series.get_mut(name) {
            drained.insert(name.clone(), drain_start(values, *count));
        }
    }
    series.retain(|_, values| !values.is_empty());
    drained
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(history: &mut RoiHistory, comparison_key: &str, value: f64) -> Vec<f64> {
        let earlier = remove_incomparable(history, comparison_key);
        let compared = history.roi_history.clone();
        let x_values = |series: &SeriesByName| series.get("x").cloned().unwrap_or_default();
        let errors = history.predictor_errors.get("last_value").map(x_values).unwrap_or_default();
        for others in [
            x_values(&history.metrics_history),
            x_values(&history.predicted_metrics),
            x_values(&history.actual_metrics),
            errors,
            history.raroi_history.clone(),
            history.predicted_roi.clone(),
            history.actual_roi.clone(),
        ] {
            assert_eq!(others, compared);
        }
        add(history, value);
        record_start(history, comparison_key, &earlier);
        restore(history, earlier);
        // As if the history was stored between two runs.
        *history = serde_json::from_str(&serde_json::to_string(history).unwrap()).unwrap();
        compared
    }

    fn add(history: &mut RoiHistory, value: f64) {
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
    fn a_cycle_compares_with_its_own_selection_and_none_is_lost() {
        let mut history = RoiHistory::default();
        add(&mut history, 0.1);
        assert_eq!(cycle(&mut history, "", 0.2), [0.1]);
        assert_eq!(cycle(&mut history, "a.py", 0.3), [0.0; 0]);
        assert_eq!(cycle(&mut history, "a.py", 0.4), [0.3]);
        assert_eq!(cycle(&mut history, "", 0.5), [0.0; 0]);
        assert_eq!(cycle(&mut history, "", 0.6), [0.5]);
        assert_eq!(history.roi_history, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
        assert_eq!(history.metrics_history["x"], history.roi_history);
        assert_eq!(history.predictor_errors["last_value"]["x"], history.roi_history);
        assert_eq!(keep_comparable(history).roi_history, [0.5, 0.6]);
    }

    #[test]
    fn a_run_without_a_module_does_not_compare_with_one_that_has_it() {
        assert_eq!(exclude_modules("", &[]), "");
        let about = exclude_modules("", &["b.py", "a.py"]);
        assert_eq!(about, " without a.py, b.py");
        let mut history = RoiHistory::default();
        cycle(&mut history, "", 0.9);
        assert!(!is_same(&history, &about) && has_same_sections(&history, &about));
        assert!(!has_same_sections(&history, &exclude_modules("module c.py", &["a.py"])));
        assert_eq!(cycle(&mut history, &about, 0.3), [0.0; 0]);
        assert_eq!(cycle(&mut history, &about, 0.3), [0.3]);
    }

    #[test]
    fn a_restored_history_is_unchanged() {
        let mut history = RoiHistory { roi_deltas: vec![0.0], ..RoiHistory::default() };
        cycle(&mut history, "a.py", 0.3);
        for comparison_key in ["a.py", "b.py"] {
            let mut copy = history.clone();
            let earlier = remove_incomparable(&mut copy, comparison_key);
            restore(&mut copy, earlier);
            assert_eq!(copy, history);
        }
    }
}

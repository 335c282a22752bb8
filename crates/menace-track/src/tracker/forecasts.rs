//! Forecasts of ROI, metrics and synergy.
//!
//! The methods are in `stats`, the predictors in `predict`. Invariant: a model is chosen again only
//! when its history has changed.

use std::collections::BTreeMap;

use super::Tracker;
use crate::metric::{METRICS, SYNERGY_ROI, synergy_metric_name};
use crate::predict::{PanelPrediction, PredictorPanel, predicted_metric_name, record_errors};
use crate::series::last_values;
use crate::stats::forecast::{
    ForecastOptions, MIN_LINE_SAMPLES, MetricForecast, ResourceSeries, forecast,
};
use crate::{CycleScores, MetricValues};

/// The owner of the tracker's own models in the cache.
const TRACKER_MODEL_OWNER: &str = "tracker";
/// The key of the model for ROI in the cache; no metric has an empty name.
const ROI_MODEL_KEY: &str = "";
/// How many of the last cycles a forecast uses.
const MAX_FORECAST_CYCLES: usize = 200;
/// How many of the last cycles a forecast of a module's ROI uses: few enough for a line, since
/// there are many modules.
const MAX_MODULE_FORECAST_CYCLES: usize = 11;

impl Tracker {
    /// Forecasts ROI, with the used resources as regressors; `None` without a history.
    pub fn forecast_roi(&mut self, outlook: ForecastOptions) -> Option<MetricForecast> {
        let history = last_values(&self.history.roi_history, MAX_FORECAST_CYCLES).to_vec();
        let resources = self.resources(history.len());
        self.models.forecast(TRACKER_MODEL_OWNER, ROI_MODEL_KEY, &history, &resources, outlook)
    }

    /// Forecasts a metric.
    pub fn predict_metric(&mut self, name: &str, ahead: ForecastOptions) -> Option<MetricForecast> {
        let history = last_values(self.history.metrics_history.get(name)?, MAX_FORECAST_CYCLES);
        self.models.forecast(TRACKER_MODEL_OWNER, name, history, &[], ahead)
    }

    /// Forecasts `synergy_roi`.
    pub fn predict_synergy(&mut self, outlook: ForecastOptions) -> Option<MetricForecast> {
        self.predict_metric(SYNERGY_ROI, outlook)
    }

    /// Forecasts a synergy metric; `name` with or without `synergy_`.
    pub fn predict_synergy_metric(
        &mut self,
        name: &str,
        outlook: ForecastOptions,
    ) -> Option<MetricForecast> {
        self.predict_metric(&synergy_metric_name(name), outlook)
    }

    /// The prediction of a panel for one metric of the run.
    pub fn predict_metric_with(
        &mut self,
        panel: &PredictorPanel,
        metric: &str,
    ) -> Option<PanelPrediction> {
        let history = self.history.metrics_history.get(metric)?;
        panel.predict(metric, history, &self.history.predictor_errors, &mut self.models)
    }

    /// Predicts `pred_<metric>` for the next cycle, for every metric of the table and every synergy
    /// metric with a history. The predictions replace those stored last.
    pub fn predict_all_metrics(&mut self, panel: &PredictorPanel) -> MetricValues {
        let mut predicted = MetricValues::default();
        let documented = METRICS.iter().map(|metric| metric.name.to_owned());
        let synergies = self.history.metrics_history.keys();
        let synergies = synergies.filter(|name| name.starts_with("synergy_")).cloned();
        for name in documented.chain(synergies).collect::<Vec<_>>() {
            let said = self.predict_metric_with(panel, &name);
            predicted.set(&predicted_metric_name(&name), said.map(|said| said.value));
        }
        self.history.predictions = predicted.clone();
        predicted
    }

    /// Compares the predictions for a cycle with its actual values. Call before [`Self::update`].
    /// Predictions of plugins for this cycle are removed.
    ///
    /// Series with fewer values than a line needs are left out.
    pub fn compare_predictions(&mut self, panel: &PredictorPanel, report: &CycleScores) {
        let expected = self.forecast_roi(ForecastOptions::default());
        let expected = expected.filter(|one| one.samples >= MIN_LINE_SAMPLES);
        let expected = expected.and_then(|one| Some(one.points.first()?.mean));
        if let Some((predicted, actual)) = expected.zip(report.run.roi_value()) {
            self.record_prediction(predicted, actual);
        }
        let synergy = report.synergy.iter().flat_map(|synergy| synergy.metrics.iter());
        for (name, actual) in report.run.metrics.iter().chain(synergy) {
            let known = self.history.metrics_history.get(name).map_or(0, Vec::len);
            if known < MIN_LINE_SAMPLES {
                continue;
            }
            let Some(said) = self.predict_metric_with(panel, name) else { continue };
            record_errors(&mut self.history.predictor_errors, &said, actual);
            self.record_metric_prediction(name, said.value, actual);
        }
        for (path, scored) in &report.modules {
            let Some(actual) = scored.roi_value() else { continue };
            self.compare_module(path, actual);
        }
        self.history.external_predictions.clear();
    }

    fn compare_module(&mut self, path: &str, actual: f64) {
        let history = &mut self.history;
        let Some(values) = history.module_roi.get(path) else { return };
        let values = last_values(values, MAX_MODULE_FORECAST_CYCLES);
        if values.len() < MIN_LINE_SAMPLES {
            return;
        }
        let made = forecast(values, ForecastOptions::default());
        let Some(said) = made.and_then(|made| Some(made.points.first()?.mean)) else { return };
        let error = (said - actual).abs();
        if error.is_finite() {
            let errors = history.module_errors.entry(path.to_owned()).or_default();
            errors.push(error);
            let surplus = errors.len().saturating_sub(crate::predict::MAX_ERRORS_PER_PREDICTOR);
            errors.drain(..surplus);
        }
    }

    /// Records the resources that a cycle used: `cpu`, `memory`, `disk`, `time`. Call after
    /// [`Self::update`].
    pub fn record_resources(&mut self, used: &BTreeMap<String, f64>) {
        for (name, value) in used.iter().filter(|(_, value)| value.is_finite()) {
            self.history.resource_history.entry(name.clone()).or_default().push(*value);
        }
    }

    /// Resources of the last cycles, as long as the history. Resources known for fewer than half of
    /// the cycles are left out; for the others missing values are gaps.
    fn resources(&self, cycles: usize) -> Vec<ResourceSeries> {
        let known =
            self.history.resource_history.values().map(|values| last_values(values, cycles));
        known
            .filter(|values| 2 * values.len() >= cycles)
            .map(|values| {
                let gap = std::iter::repeat_n(None, cycles - values.len());
                ResourceSeries {
                    past: gap.chain(values.iter().copied().map(Some)).collect(),
                    future: Vec::new(),
                }
            })
            .collect()
    }

    /// How often a model was chosen.
    pub fn models_chosen(&self) -> usize {
        self.models.models_chosen()
    }

    /// How many values models were chosen from in all.
    pub fn values_modelled(&self) -> usize {
        self.models.values_modelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RoiHistory;

    fn wave(length: u32) -> Vec<f64> {
        (0..length).map(|step| (f64::from(step) * 0.7).sin() * 0.2 + 0.5).collect()
    }

    fn tracker(metrics: &[(&str, Vec<f64>)]) -> Tracker {
        let metrics_history =
            metrics.iter().map(|(name, values)| ((*name).to_owned(), values.clone())).collect();
        Tracker::new(RoiHistory { metrics_history, roi_history: wave(20), ..RoiHistory::default() })
    }

    #[test]
    fn synergy_is_predicted_with_or_without_its_prefix() {
        let mut tracker = tracker(&[("synergy_security_score", vec![0.01, 0.03, 0.02])]);
        let with =
            tracker.predict_synergy_metric("synergy_security_score", ForecastOptions::default());
        let without = tracker.predict_synergy_metric("security_score", ForecastOptions::default());
        assert!(with.is_some());
        assert_eq!(with, without);
        assert_eq!(tracker.predict_synergy(ForecastOptions::default()), None);
    }

    #[test]
    fn a_model_is_kept_until_its_history_changes() {
        let mut tracker = tracker(&[("synergy_roi", wave(30))]);
        for _ in 0..3 {
            tracker.forecast_roi(ForecastOptions::default()).unwrap();
            tracker.predict_synergy(ForecastOptions::default()).unwrap();
        }
        assert_eq!(tracker.models_chosen(), 2);
        tracker.history.roi_history.push(0.4);
        tracker.forecast_roi(ForecastOptions::default()).unwrap();
        assert_eq!(tracker.models_chosen(), 3);
    }

    #[test]
    fn what_was_chosen_after_a_cycle_is_not_chosen_again_before_the_next() {
        let mut tracker = tracker(&[("resilience", wave(20)), ("synergy_roi", wave(15))]);
        let panel = PredictorPanel::bundled();
        tracker.forecast_roi(ForecastOptions::default()).unwrap();
        let predicted = tracker.predict_all_metrics(&panel);
        assert_eq!(tracker.models_chosen(), 3);
        // Between two cycles the history is stored in a file.
        let (history, models) = tracker.into_parts();
        let text = serde_json::to_string(&history).unwrap();
        let mut tracker = Tracker::with_models(serde_json::from_str(&text).unwrap(), models);
        let mut report = CycleScores::default();
        report.run.metrics = [("resilience", 0.5)].into_iter().collect();
        report.run.roi =
            Some(crate::RoiBreakdown { value: 0.5, terms: Vec::new(), vetoes: Vec::new() });
        report.synergy = Some(crate::SynergyDelta {
            metrics: [("synergy_roi", 0.1)].into_iter().collect(),
            ..crate::SynergyDelta::default()
        });
        tracker.compare_predictions(&panel, &report);
        assert_eq!(tracker.models_chosen(), 3);
        let said = tracker.history.predicted_metrics["resilience"][0];
        assert_eq!(predicted.get("pred_resilience"), Some(said));
        tracker.update(&report);
        tracker.predict_all_metrics(&panel);
        assert_eq!(tracker.models_chosen(), 5, "both metrics have one value more");
    }

    #[test]
    fn one_more_cycle_costs_the_same_after_any_history() {
        let outlook = ForecastOptions {
            grid: crate::stats::arima::ArimaOrderGrid { p: 1, d: 0, q: 0 },
            ..ForecastOptions::default()
        };
        // Cost in values that models are chosen from: once for the cycle before, and once for one
        // more.
        let cost = |cycles: u32| {
            let metrics = [("resilience", wave(cycles)), ("synergy_roi", wave(cycles))];
            let mut tracker = tracker(&metrics);
            tracker.history.roi_history = wave(cycles);
            let panel = PredictorPanel::bundled();
            let mut spent = Vec::new();
            for _ in 0..2 {
                let before = tracker.values_modelled();
                tracker.forecast_roi(outlook).unwrap();
                tracker.predict_all_metrics(&panel);
                spent.push(tracker.values_modelled() - before);
                tracker.history.roi_history.push(0.4);
                for values in tracker.history.metrics_history.values_mut() {
                    values.push(0.4);
                }
            }
            spent
        };
        assert_eq!(cost(250), [MAX_FORECAST_CYCLES + 60 + 60; 2]);
        assert_eq!(cost(2500), cost(250));
    }

    #[test]
    fn every_metric_with_a_history_gets_a_prediction() {
        let mut tracker = tracker(&[
            ("resilience", vec![0.4, 0.5, 0.6]),
            ("synergy_roi", vec![0.1, 0.1]),
            ("hostile_input:resilience", vec![0.3; 4]),
        ]);
        let predicted = tracker.predict_all_metrics(&PredictorPanel::bundled());
        let names: Vec<&str> = predicted.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["pred_resilience", "pred_synergy_roi"]);
        assert_eq!(tracker.history().predictions, predicted);
    }

    #[test]
    fn what_was_predicted_is_compared_with_what_came() {
        let mut tracker =
            tracker(&[("resilience", vec![0.4, 0.5, 0.6]), ("efficiency", vec![0.1])]);
        tracker.history.module_roi.insert("a.py".to_owned(), vec![0.1, 0.2, 0.3]);
        let mut report = CycleScores::default();
        report.run.metrics = [("resilience", 0.5), ("efficiency", 0.1)].into_iter().collect();
        let roi = Some(crate::RoiBreakdown { value: 0.5, terms: Vec::new(), vetoes: Vec::new() });
        let scored = crate::ScoredMetrics { roi, ..crate::ScoredMetrics::default() };
        report.modules.insert("a.py".to_owned(), scored);
        tracker.compare_predictions(&PredictorPanel::bundled(), &report);
        assert_eq!(tracker.history.actual_metrics["resilience"], [0.5]);
        assert!(!tracker.history.actual_metrics.contains_key("efficiency"), "one value is no past");
        let errors = &tracker.history.predictor_errors;
        assert!((errors["metrics_prediction"]["resilience"][0] - 0.2).abs() < 1e-9);
        assert!((errors["last_value"]["resilience"][0] - 0.1).abs() < 1e-9);
        assert!((tracker.history.module_errors["a.py"][0] - 0.1).abs() < 1e-9);
    }

    #[test]
    fn external_predictors_are_weighted_by_their_errors() {
        let mut tracker = tracker(&[("resilience", vec![0.2; 5])]);
        tracker.record_external_prediction("plugin:prophet", "resilience", 0.8, None);
        let panel = tracker.predictor_panel();
        let said = tracker.predict_metric_with(&panel, "resilience").unwrap();
        assert!((said.value - 0.35).abs() < 1e-6, "one of four: {said:?}");
        let mut report = CycleScores::default();
        report.run.metrics = [("resilience", 0.8)].into_iter().collect();
        tracker.compare_predictions(&panel, &report);
        let errors = &tracker.history.predictor_errors;
        assert_eq!(errors["plugin:prophet"]["resilience"], [0.0]);
        assert!(tracker.history.external_predictions.is_empty());
        // An accurate predictor has weight, and a prediction of a past cycle is not used again.
        tracker.record_external_prediction("plugin:prophet", "resilience", 0.8, Some(0.8));
        assert!(tracker.predictor_panel().names().all(|name| name != "plugin:prophet"));
        tracker.record_external_prediction("plugin:prophet", "resilience", 7.0, None);
        let panel = tracker.predictor_panel();
        let said = tracker.predict_metric_with(&panel, "resilience").unwrap();
        assert!((said.value - 1.0).abs() < 1e-3, "a share stays one: {said:?}");
    }

    #[test]
    fn resources_move_the_forecast_once_there_are_enough_of_them() {
        let cpu: Vec<f64> = (0..40_u32).map(|step| f64::from(step * step * 7 % 11)).collect();
        let roi: Vec<f64> = cpu.iter().map(|cpu| 0.03 * cpu).collect();
        let noise: Vec<f64> = wave(40).iter().map(|value| value * 1e-3).collect();
        let history = RoiHistory {
            roi_history: roi.iter().zip(&noise).map(|(roi, noise)| roi + noise).collect(),
            ..RoiHistory::default()
        };
        let mut with = Tracker::new(history.clone());
        for value in &cpu {
            with.record_resources(&BTreeMap::from([("cpu".to_owned(), *value)]));
        }
        // The last value of the resource is assumed to stay, and the forecast follows from it.
        let expected = 0.03 * cpu[39];
        let near = with.forecast_roi(ForecastOptions::default()).unwrap().points[0].mean;
        assert!((near - expected).abs() < 0.01, "{near} {expected}");
        let without =
            Tracker::new(history).forecast_roi(ForecastOptions::default()).unwrap().points[0].mean;
        assert!((without - expected).abs() > 0.01, "{without}");
    }

    #[test]
    fn resources_never_shorten_the_history() {
        let history = RoiHistory { roi_history: wave(100), ..RoiHistory::default() };
        let mut with = Tracker::new(history.clone());
        for step in 0..12_u32 {
            let value = f64::from(step * 7 % 11);
            with.record_resources(&BTreeMap::from([("cpu".to_owned(), value)]));
        }
        let made = with.forecast_roi(ForecastOptions::default()).unwrap();
        assert_eq!(made.samples, 100);
        assert_eq!(Some(made), Tracker::new(history).forecast_roi(ForecastOptions::default()));
        // With values for the later half of the cycles, they are used, and the first half still
        // counts.
        for step in 0..88_u32 {
            let value = f64::from(step * 7 % 11);
            with.record_resources(&BTreeMap::from([("disk".to_owned(), value)]));
        }
        let lengths: Vec<usize> = with.resources(100).iter().map(|one| one.past.len()).collect();
        assert_eq!(lengths, [100]);
    }
}

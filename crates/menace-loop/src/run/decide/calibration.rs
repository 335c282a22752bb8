//! The model of forecast errors: `truth_adapter.json`.
//!
//! Training and drift are in `menace-track`, the file in `models`. Invariant: a model that is
//! damaged, of another version or about other features is replaced by a newly trained one.

use menace_track::stats::forecast::MetricForecast;
use menace_track::stats::forecast_calibrator::{
    CalibratedPrediction, CalibrationError, CalibratorMetadata, DriftLimits, FeatureDrift,
    ForecastCalibrator, MIN_CALIBRATION_ROWS,
};
use menace_track::{MetricValues, RoiHistory, comparison};

/// Name of the file in the data directory.
pub const CALIBRATION_FILE: &str = "truth_adapter.json";
/// Name of the first feature; the others are forecasts of metrics.
const ROI_FEATURE: &str = "predicted_roi";

/// The forecasts for each cycle, and the measured ROI.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CalibrationEvidence {
    names: Vec<String>,
    rows: Vec<Vec<f64>>,
    targets: Vec<f64>,
    /// The features of the next cycle.
    next: Option<Vec<f64>>,
}

impl CalibrationEvidence {
    /// Collects all cycles whose forecasts could be compared. A metric is a feature only if there
    /// is a forecast of it for each of them.
    pub(super) fn collect(
        history: &RoiHistory,
        forecast: Option<&MetricForecast>,
        next: &MetricValues,
    ) -> Self {
        let count = history.predicted_roi.len().min(history.actual_roi.len());
        let metrics: Vec<(&String, &Vec<f64>)> = history
            .predicted_metrics
            .iter()
            .filter(|(name, values)| {
                let is_known =
                    next.get(&menace_track::predict::predicted_metric_name(name)).is_some();
                values.len() == count && is_known
            })
            .collect();
        let rows = (0..count).map(|row| {
            let features = metrics.iter().map(|(_, values)| values[row]);
            std::iter::once(history.predicted_roi[row]).chain(features).collect()
        });
        let ahead = forecast.and_then(|forecast| forecast.points.first()).map(|point| {
            let features = metrics.iter().filter_map(|(name, _)| {
                next.get(&menace_track::predict::predicted_metric_name(name))
            });
            std::iter::once(point.mean).chain(features).collect()
        });
        Self {
            rows: rows.collect(),
            targets: history.actual_roi[..count].to_vec(),
            next: ahead,
            names: std::iter::once(ROI_FEATURE.to_owned())
                .chain(metrics.iter().map(|(name, _)| (*name).clone()))
                .collect(),
        }
    }
}

/// The calibrated prediction after a cycle, and the state of its model.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CalibrationState {
    /// The next ROI; none before there are enough cycles.
    pub next: Option<CalibratedPrediction>,
    /// How far each feature has drifted since the training; empty while too few rows are new.
    pub drifts: Vec<FeatureDrift>,
}

/// Trains the model where that is due, and predicts with it. A model whose features have drifted
/// predicts once more, with low confidence, and is trained again with the next cycle. A model of
/// another selection is replaced. Returns no model where there are too few cycles for one.
pub(super) fn calibrate(
    stored: Option<ForecastCalibrator>,
    evidence: &CalibrationEvidence,
    comparison_key: &str,
    now: &str,
) -> Result<(Option<ForecastCalibrator>, CalibrationState), CalibrationError> {
    if evidence.rows.len() < MIN_CALIBRATION_ROWS {
        return Ok((None, CalibrationState::default()));
    }
    let stored = stored.filter(|calibrator| {
        let is_same = calibrator.metadata().comparison_key == comparison_key;
        is_same && calibrator.features().eq(evidence.names.iter().map(String::as_str))
    });
    let mut drifts = Vec::new();
    let calibrator = match stored {
        Some(mut calibrator) => {
            let CalibratorMetadata { samples, retrain: has_drifted, .. } = *calibrator.metadata();
            // With fewer rows than it was trained on, the history was started again: all rows are
            // new.
            let new = evidence.rows.get(samples..).unwrap_or(&evidence.rows);
            if new.len() >= MIN_CALIBRATION_ROWS && !has_drifted {
                drifts = calibrator.check_drift(new, now);
            }
            // The drift was reported in the cycle that detected it.
            if has_drifted || new.len() >= samples {
                train(evidence, comparison_key, now)?
            } else {
                Some(calibrator)
            }
        }
        None => train(evidence, comparison_key, now)?,
    };
    let Some(calibrator) = calibrator else { return Ok((None, CalibrationState::default())) };
    let drifted: Vec<&FeatureDrift> = drifts.iter().filter(|drift| drift.drifted).collect();
    if !drifted.is_empty() {
        tracing::debug!(?drifted, "features of the calibration model have drifted");
    }
    let next = evidence.next.as_ref().map(|row| calibrator.predict(row));
    Ok((Some(calibrator), CalibrationState { next, drifts }))
}

/// The next ROI that a model predicts, for commands that only read a history. `history` has the
/// cycles that compare with the last one. None where the model is of another selection or has other
/// features.
pub fn calibrated(
    model: &ForecastCalibrator,
    history: &RoiHistory,
    forecast: Option<&MetricForecast>,
) -> Option<CalibratedPrediction> {
    let CalibrationEvidence { names, next, .. } =
        CalibrationEvidence::collect(history, forecast, &history.predictions);
    let is_comparable = comparison::is_same(history, &model.metadata().comparison_key);
    let is_same = is_comparable && model.features().eq(names.iter().map(String::as_str));
    next.filter(|_| is_same).map(|row| model.predict(&row))
}

/// `None` if there are too few complete rows.
fn train(
    evidence: &CalibrationEvidence,
    comparison_key: &str,
    now: &str,
) -> Result<Option<ForecastCalibrator>, CalibrationError> {
    let CalibrationEvidence { names, rows, targets, .. } = evidence;
    match ForecastCalibrator::train(names, rows, targets, DriftLimits::default(), now) {
        Ok(calibrator) => Ok(Some(calibrator.with_comparison_key(comparison_key))),
        Err(CalibrationError::TooFew { .. } | CalibrationError::NoFeatures) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::models::ModelFile;
    use super::*;
    use menace_track::stats::forecast::{ForecastOptions, forecast};

    fn history(cycles: u32) -> RoiHistory {
        let value = |step: u32| f64::from(step * 7 % 11) / 11.0;
        let mut history = RoiHistory {
            predicted_roi: (0..cycles).map(value).collect(),
            // Forecasts are always a tenth too low.
            actual_roi: (0..cycles).map(|step| value(step) + 0.1).collect(),
            ..RoiHistory::default()
        };
        history
            .predicted_metrics
            .insert("resilience".to_owned(), (0..cycles).map(|step| value(step + 3)).collect());
        history.predicted_metrics.insert("late".to_owned(), vec![0.5; 3]);
        history
    }

    fn state(
        directory: &Path,
        evidence: &CalibrationEvidence,
        comparison_key: &str,
    ) -> CalibrationState {
        let (file, _) = ModelFile::load(directory.join(CALIBRATION_FILE)).unwrap();
        let calibrate =
            |stored| calibrate(stored, evidence, comparison_key, "2026-11-16T21:35:00Z");
        let (model, state) = calibrate(file.loaded().cloned()).unwrap();
        file.replace(model, |stored| Ok(calibrate(stored)?.0)).unwrap();
        state
    }

    fn evidence(cycles: u32) -> CalibrationEvidence {
        let ahead = forecast(&[0.5], ForecastOptions::default());
        let next = [("pred_resilience", 0.4), ("pred_late", 0.5)].into_iter().collect();
        CalibrationEvidence::collect(&history(cycles), ahead.as_ref(), &next)
    }

    /// The features that have drifted, and the number of those compared.
    fn drifted(state: &CalibrationState) -> (Vec<&str>, usize) {
        let drifted = state.drifts.iter().filter(|drift| drift.drifted);
        (drifted.map(|drift| drift.feature.as_str()).collect(), state.drifts.len())
    }

    #[test]
    fn a_metric_is_a_feature_only_if_every_cycle_predicted_it() {
        let evidence = evidence(20);
        assert_eq!(evidence.names, ["predicted_roi", "resilience"]);
        assert_eq!(evidence.next, Some(vec![0.5, 0.4]));
        assert!(evidence.rows.iter().all(|row| row.len() == 2));
    }

    #[test]
    fn forecasts_that_are_always_too_low_are_corrected() {
        let directory = tempfile::tempdir().unwrap();
        let few = state(directory.path(), &evidence(9), "");
        assert_eq!(few, CalibrationState::default());
        assert!(!directory.path().join(CALIBRATION_FILE).exists());
        let made = state(directory.path(), &evidence(20), "");
        let made = made.next.unwrap();
        assert!((made.value - 0.6).abs() < 0.03, "{made:?}");
        let written = std::fs::read_to_string(directory.path().join(CALIBRATION_FILE)).unwrap();
        let written: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert_eq!(written["version"], 1);
        assert!(written["metadata"]["trained_at"].as_str().unwrap().ends_with('Z'));
    }

    #[test]
    fn a_model_is_trained_again_once_the_rows_have_doubled() {
        let directory = tempfile::tempdir().unwrap();
        let samples = || {
            let text = std::fs::read_to_string(directory.path().join(CALIBRATION_FILE)).unwrap();
            serde_json::from_str::<ForecastCalibrator>(&text).unwrap().metadata().samples
        };
        state(directory.path(), &evidence(20), "");
        state(directory.path(), &evidence(24), "");
        assert_eq!(samples(), 20);
        state(directory.path(), &evidence(40), "");
        assert_eq!(samples(), 40);
    }

    #[test]
    fn drift_is_reported_with_low_confidence_and_then_trained_on() {
        let directory = tempfile::tempdir().unwrap();
        let metadata = || {
            let text = std::fs::read_to_string(directory.path().join(CALIBRATION_FILE)).unwrap();
            serde_json::from_str::<ForecastCalibrator>(&text).unwrap().metadata().clone()
        };
        let moved = |cycles: u32| {
            let mut evidence = evidence(cycles);
            for row in evidence.rows.iter_mut().skip(40) {
                row[1] += 2.0;
            }
            evidence
        };
        let made = state(directory.path(), &evidence(40), "");
        assert_eq!((made.next.unwrap().low_confidence, made.drifts.len()), (false, 0));
        let same = state(directory.path(), &evidence(50), "");
        assert!(!same.next.unwrap().low_confidence);
        assert_eq!(drifted(&same), (vec![], 2), "features without drift are listed, too");

        let drifting = state(directory.path(), &moved(50), "");
        assert!(drifting.next.unwrap().low_confidence);
        assert_eq!(drifted(&drifting), (vec!["resilience"], 2), "{:?}", drifting.drifts);
        let drift = &drifting.drifts[1];
        assert_eq!((drift.feature.as_str(), drift.samples), ("resilience", 10));
        assert!(drift.ks > 0.2 && drift.ks_p_value < 1e-3, "{drift:?}");
        assert_eq!((metadata().samples, metadata().retrain), (40, true));
        assert_eq!(metadata().drifted, ["resilience"]);

        let after = state(directory.path(), &moved(51), "");
        assert_eq!((after.next.unwrap().low_confidence, after.drifts.len()), (false, 0));
        assert_eq!((metadata().samples, metadata().retrain), (51, false));
    }

    #[test]
    fn drift_is_reported_in_the_cycle_that_trains_the_model_again() {
        let directory = tempfile::tempdir().unwrap();
        state(directory.path(), &evidence(20), "");
        let mut moved = evidence(40);
        for row in moved.rows.iter_mut().skip(20) {
            row[1] += 2.0;
        }
        let made = state(directory.path(), &moved, "");
        assert_eq!(drifted(&made), (vec!["resilience"], 2), "{:?}", made.drifts);
        let again = state(directory.path(), &moved, "");
        assert_eq!(again.drifts.len(), 0, "it was trained again");
    }

    #[test]
    fn a_model_of_another_selection_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let about = || {
            let text = std::fs::read_to_string(directory.path().join(CALIBRATION_FILE)).unwrap();
            let metadata =
                serde_json::from_str::<ForecastCalibrator>(&text).unwrap().metadata().clone();
            (metadata.comparison_key, metadata.samples)
        };
        state(directory.path(), &evidence(20), "");
        assert_eq!(about(), (String::new(), 20));
        let some = state(directory.path(), &evidence(12), "module a.py");
        assert!(some.next.is_some());
        assert_eq!(about(), ("module a.py".to_owned(), 12));
    }

    #[test]
    fn reading_the_model_gives_what_the_run_reported() {
        let directory = tempfile::tempdir().unwrap();
        let ahead = forecast(&[0.5], ForecastOptions::default());
        let reported = state(directory.path(), &evidence(20), "").next;
        let text = std::fs::read_to_string(directory.path().join(CALIBRATION_FILE)).unwrap();
        let model = ForecastCalibrator::from_json(&text).unwrap();
        let mut history = history(20);
        history.predictions = [("pred_resilience", 0.4), ("pred_late", 0.5)].into_iter().collect();
        assert!(reported.is_some());
        assert_eq!(calibrated(&model, &history, ahead.as_ref()), reported);
        let other = model.clone().with_comparison_key("module a.py");
        assert_eq!(calibrated(&other, &history, ahead.as_ref()), None);
        history.predictions = MetricValues::default();
        assert_eq!(calibrated(&model, &history, ahead.as_ref()), None, "it has a feature less");
    }

    #[test]
    fn a_damaged_model_is_moved_aside_and_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(CALIBRATION_FILE);
        state(directory.path(), &evidence(20), "");
        let good = std::fs::read_to_string(&path).unwrap();
        let old = good.replacen("\"version\":1", "\"version\":7", 1);
        let halves = good[..good.len() / 2].to_owned();
        for (number, bad) in [halves, old].into_iter().enumerate() {
            std::fs::write(&path, &bad).unwrap();
            let made = state(directory.path(), &evidence(20), "");
            assert!(made.next.is_some());
            let aside = directory.path().join(format!("{CALIBRATION_FILE}.corrupt-{}", number + 1));
            assert_eq!(std::fs::read_to_string(aside).unwrap(), bad);
            let again: ForecastCalibrator =
                serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            assert_eq!(again.metadata().samples, 20);
        }
    }
}

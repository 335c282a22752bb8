//! The model of how far forecasts are off: `truth_adapter.json`.
//!
//! Training and drift are in `menace-track`. Invariant: a file that is damaged, of another version or about
//! other features is replaced by a model that was trained anew, and that is told.

use std::path::Path;

use menace_store::files::{self, Loaded, Lock};
use menace_track::stats::forecast::Forecast;
use menace_track::stats::truth::{
    Calibrated, FEWEST_ROWS, FeatureDrift, Limits, Metadata, TruthAdapter, TruthError,
};
use menace_track::{History, Metrics};

use super::super::{RunError, keep, now_ms, selection};
use super::logs::timestamp;
use crate::run::telling::Told;

/// It lies beside the history.
pub const FILE: &str = "truth_adapter.json";
/// The first feature; the others are forecasts of metrics.
const ROI: &str = "predicted_roi";

/// What was expected in each cycle, and what came.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Evidence {
    names: Vec<String>,
    rows: Vec<Vec<f64>>,
    targets: Vec<f64>,
    /// What is expected of the next cycle.
    next: Option<Vec<f64>>,
}

impl Evidence {
    /// Of all cycles whose forecasts could be compared. A metric that was not forecast in each of them is no
    /// feature.
    pub(super) fn of(history: &History, forecast: Option<&Forecast>, next: &Metrics) -> Self {
        let count = history.predicted_roi.len().min(history.actual_roi.len());
        let metrics: Vec<(&String, &Vec<f64>)> = history
            .predicted_metrics
            .iter()
            .filter(|(name, values)| {
                let is_known = next.get(&menace_track::predict::predicted_metric(name)).is_some();
                values.len() == count && is_known
            })
            .collect();
        let rows = (0..count).map(|row| {
            let features = metrics.iter().map(|(_, values)| values[row]);
            std::iter::once(history.predicted_roi[row]).chain(features).collect()
        });
        let ahead = forecast.and_then(|forecast| forecast.points.first()).map(|point| {
            let features = metrics
                .iter()
                .filter_map(|(name, _)| next.get(&menace_track::predict::predicted_metric(name)));
            std::iter::once(point.mean).chain(features).collect()
        });
        Self {
            rows: rows.collect(),
            targets: history.actual_roi[..count].to_vec(),
            next: ahead,
            names: std::iter::once(ROI.to_owned())
                .chain(metrics.iter().map(|(name, _)| (*name).clone()))
                .collect(),
        }
    }
}

/// What the model says after a cycle.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Calibration {
    /// The next ROI; none before there are enough cycles.
    pub next: Option<Calibrated>,
    /// How far each feature has moved since the training; empty while too few rows are new.
    pub drifts: Vec<FeatureDrift>,
}

/// Brings the model up to date and asks it. A model whose features have drifted is asked once more, with
/// low confidence, and trained anew with the next cycle. One of other sections is replaced.
pub(super) fn calibrate(
    directory: &Path,
    evidence: &Evidence,
    selection: &str,
    told: &mut Told,
) -> Result<Calibration, RunError> {
    if evidence.rows.len() < FEWEST_ROWS {
        return Ok(Calibration::default());
    }
    let path = directory.join(FILE);
    let _lock = Lock::acquire(&path, keep::PATIENCE)?;
    let known = match files::load::<TruthAdapter>(&path)? {
        Loaded::Fine(adapter) => Some(adapter),
        Loaded::Missing => None,
        Loaded::Corrupt(notice) => {
            told.warn(notice.to_string());
            None
        }
    };
    let now = timestamp(now_ms());
    let known = known.filter(|adapter| {
        let is_same = adapter.metadata().selection == selection;
        is_same && adapter.features().eq(evidence.names.iter().map(String::as_str))
    });
    let mut drifts = Vec::new();
    let adapter = match known {
        Some(mut adapter) => {
            let Metadata { samples, retrain: was_told, .. } = *adapter.metadata();
            // Fewer rows than it was trained on are those of a later time.
            let new = evidence.rows.get(samples..).unwrap_or(&evidence.rows);
            if new.len() >= FEWEST_ROWS && !was_told {
                drifts = adapter.check(new, &now);
            }
            // What drifted was told in the cycle that saw it; from now on there is a better model.
            if was_told || new.len() >= samples {
                train(evidence, selection, &now)?
            } else {
                Some(adapter)
            }
        }
        None => train(evidence, selection, &now)?,
    };
    let Some(adapter) = adapter else { return Ok(Calibration::default()) };
    files::save(&path, &adapter)?;
    let moved: Vec<&FeatureDrift> = drifts.iter().filter(|drift| drift.drifted).collect();
    if !moved.is_empty() {
        tracing::debug!(?moved, "the forecasts that calibration rests on have drifted");
    }
    Ok(Calibration { next: evidence.next.as_ref().map(|row| adapter.predict(row)), drifts })
}

/// What a model says of the next ROI, for those who look at a history without going on with it: the cycles
/// that compare with the last one. None where the model is about other sections or other features.
pub fn calibrated(
    model: &TruthAdapter,
    history: &History,
    forecast: Option<&Forecast>,
) -> Option<Calibrated> {
    let Evidence { names, next, .. } = Evidence::of(history, forecast, &history.predictions);
    let is_about = selection::is_same(history, &model.metadata().selection);
    let is_same = is_about && model.features().eq(names.iter().map(String::as_str));
    next.filter(|_| is_same).map(|row| model.predict(&row))
}

/// None where there are too few complete rows.
fn train(
    evidence: &Evidence,
    selection: &str,
    now: &str,
) -> Result<Option<TruthAdapter>, RunError> {
    let Evidence { names, rows, targets, .. } = evidence;
    match TruthAdapter::train(names, rows, targets, Limits::default(), now) {
        Ok(adapter) => Ok(Some(adapter.about(selection))),
        Err(TruthError::TooFew { .. } | TruthError::NoFeatures) => Ok(None),
        Err(error) => Err(RunError::Calibration(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::Seed;
    use menace_track::stats::forecast::{Outlook, forecast};

    fn history(cycles: u32) -> History {
        let value = |step: u32| f64::from(step * 7 % 11) / 11.0;
        let mut history = History {
            predicted_roi: (0..cycles).map(value).collect(),
            // Forecasts are always a tenth too low.
            actual_roi: (0..cycles).map(|step| value(step) + 0.1).collect(),
            ..History::default()
        };
        history
            .predicted_metrics
            .insert("resilience".to_owned(), (0..cycles).map(|step| value(step + 3)).collect());
        history.predicted_metrics.insert("late".to_owned(), vec![0.5; 3]);
        history
    }

    fn evidence(cycles: u32) -> Evidence {
        let ahead = forecast(&[0.5], Outlook::default());
        let next = [("pred_resilience", 0.4), ("pred_late", 0.5)].into_iter().collect();
        Evidence::of(&history(cycles), ahead.as_ref(), &next)
    }

    /// Features that have drifted, of those that were compared.
    fn drifted(made: &Calibration) -> (Vec<&str>, usize) {
        let moved = made.drifts.iter().filter(|drift| drift.drifted);
        (moved.map(|drift| drift.feature.as_str()).collect(), made.drifts.len())
    }

    fn told() -> Told {
        Told::new(Seed(0), std::iter::empty())
    }

    #[test]
    fn only_what_was_always_forecast_is_a_feature() {
        let evidence = evidence(20);
        assert_eq!(evidence.names, ["predicted_roi", "resilience"]);
        assert_eq!(evidence.next, Some(vec![0.5, 0.4]));
        assert!(evidence.rows.iter().all(|row| row.len() == 2));
    }

    #[test]
    fn forecasts_that_are_always_too_low_are_brought_up() {
        let directory = tempfile::tempdir().unwrap();
        let few = calibrate(directory.path(), &evidence(9), "", &mut told()).unwrap();
        assert_eq!(few, Calibration::default());
        assert!(!directory.path().join(FILE).exists());
        let made = calibrate(directory.path(), &evidence(20), "", &mut told()).unwrap();
        let made = made.next.unwrap();
        assert!((made.value - 0.6).abs() < 0.03, "{made:?}");
        let written = std::fs::read_to_string(directory.path().join(FILE)).unwrap();
        let written: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert_eq!(written["version"], 1);
        assert!(written["metadata"]["trained_at"].as_str().unwrap().ends_with('Z'));
    }

    #[test]
    fn a_model_is_kept_until_there_is_much_more_to_learn_from() {
        let directory = tempfile::tempdir().unwrap();
        let samples = || {
            let text = std::fs::read_to_string(directory.path().join(FILE)).unwrap();
            serde_json::from_str::<TruthAdapter>(&text).unwrap().metadata().samples
        };
        calibrate(directory.path(), &evidence(20), "", &mut told()).unwrap();
        calibrate(directory.path(), &evidence(24), "", &mut told()).unwrap();
        assert_eq!(samples(), 20);
        calibrate(directory.path(), &evidence(40), "", &mut told()).unwrap();
        assert_eq!(samples(), 40);
    }

    #[test]
    fn what_has_drifted_is_told_distrusted_and_then_learnt_anew() {
        let directory = tempfile::tempdir().unwrap();
        let metadata = || {
            let text = std::fs::read_to_string(directory.path().join(FILE)).unwrap();
            serde_json::from_str::<TruthAdapter>(&text).unwrap().metadata().clone()
        };
        let moved = |cycles: u32| {
            let mut evidence = evidence(cycles);
            for row in evidence.rows.iter_mut().skip(40) {
                row[1] += 2.0;
            }
            evidence
        };
        let made = calibrate(directory.path(), &evidence(40), "", &mut told()).unwrap();
        assert_eq!((made.next.unwrap().low_confidence, made.drifts.len()), (false, 0));
        let same = calibrate(directory.path(), &evidence(50), "", &mut told()).unwrap();
        assert!(!same.next.unwrap().low_confidence);
        assert_eq!(drifted(&same), (vec![], 2), "both were compared, and that is told, too");

        let seen = calibrate(directory.path(), &moved(50), "", &mut told()).unwrap();
        assert!(seen.next.unwrap().low_confidence);
        assert_eq!(drifted(&seen), (vec!["resilience"], 2), "{:?}", seen.drifts);
        let drift = &seen.drifts[1];
        assert_eq!((drift.feature.as_str(), drift.samples), ("resilience", 10));
        assert!(drift.ks > 0.2 && drift.ks_p_value < 1e-3, "{drift:?}");
        assert_eq!((metadata().samples, metadata().retrain), (40, true));
        assert_eq!(metadata().drifted, ["resilience"]);

        let after = calibrate(directory.path(), &moved(51), "", &mut told()).unwrap();
        assert_eq!((after.next.unwrap().low_confidence, after.drifts.len()), (false, 0));
        assert_eq!((metadata().samples, metadata().retrain), (51, false));
    }

    #[test]
    fn what_has_drifted_is_told_also_where_the_model_is_due_to_be_trained_anew() {
        let directory = tempfile::tempdir().unwrap();
        calibrate(directory.path(), &evidence(20), "", &mut told()).unwrap();
        let mut moved = evidence(40);
        for row in moved.rows.iter_mut().skip(20) {
            row[1] += 2.0;
        }
        let made = calibrate(directory.path(), &moved, "", &mut told()).unwrap();
        assert_eq!(drifted(&made), (vec!["resilience"], 2), "{:?}", made.drifts);
        let again = calibrate(directory.path(), &moved, "", &mut told()).unwrap();
        assert_eq!(again.drifts.len(), 0, "it was trained anew");
    }

    #[test]
    fn a_model_of_other_sections_is_not_asked() {
        let directory = tempfile::tempdir().unwrap();
        let about = || {
            let text = std::fs::read_to_string(directory.path().join(FILE)).unwrap();
            let metadata = serde_json::from_str::<TruthAdapter>(&text).unwrap().metadata().clone();
            (metadata.selection, metadata.samples)
        };
        calibrate(directory.path(), &evidence(20), "", &mut told()).unwrap();
        assert_eq!(about(), (String::new(), 20));
        let some = calibrate(directory.path(), &evidence(12), "module a.py", &mut told()).unwrap();
        assert!(some.next.is_some());
        assert_eq!(about(), ("module a.py".to_owned(), 12));
    }

    #[test]
    fn those_who_look_are_told_what_the_run_was_told_and_nothing_of_other_sections() {
        let directory = tempfile::tempdir().unwrap();
        let ahead = forecast(&[0.5], Outlook::default());
        let said = calibrate(directory.path(), &evidence(20), "", &mut told()).unwrap().next;
        let text = std::fs::read_to_string(directory.path().join(FILE)).unwrap();
        let model = TruthAdapter::from_json(&text).unwrap();
        let mut history = history(20);
        history.predictions = [("pred_resilience", 0.4), ("pred_late", 0.5)].into_iter().collect();
        assert!(said.is_some());
        assert_eq!(calibrated(&model, &history, ahead.as_ref()), said);
        let other = model.clone().about("module a.py");
        assert_eq!(calibrated(&other, &history, ahead.as_ref()), None);
        history.predictions = Metrics::default();
        assert_eq!(calibrated(&model, &history, ahead.as_ref()), None, "it has a feature less");
    }

    #[test]
    fn a_model_that_cannot_be_used_is_kept_aside_and_trained_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        calibrate(directory.path(), &evidence(20), "", &mut told()).unwrap();
        let good = std::fs::read_to_string(&path).unwrap();
        let old = good.replacen("\"version\":1", "\"version\":7", 1);
        let halves = good[..good.len() / 2].to_owned();
        for (number, bad) in [halves, old].into_iter().enumerate() {
            std::fs::write(&path, &bad).unwrap();
            let made = calibrate(directory.path(), &evidence(20), "", &mut told()).unwrap();
            assert!(made.next.is_some());
            let aside = directory.path().join(format!("{FILE}.corrupt-{}", number + 1));
            assert_eq!(std::fs::read_to_string(aside).unwrap(), bad);
            let again: TruthAdapter =
                serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            assert_eq!(again.metadata().samples, 20);
        }
    }
}

//! The forecast calibrator: corrects predictions by what actually happened, and reports when not to
//! trust them.
//!
//! `menace-store` reads and writes its file; callers pass the time. Invariant: every prediction
//! says whether the features still look like those of the training.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::calibration::{CalibrationModel, CalibrationSample, CalibrationScore, cross_validate};
use super::describe::is_usable;
use super::drift::{EcdfGaps, QuantileBins};
use super::evidence::{DecisionCheck, DecisionEvidence, StatisticalDecision};

/// The format of the file. With another version the model is trained again.
pub const TRUTH_MODEL_VERSION: u32 = 1;
/// The fewest rows for training a model.
pub const MIN_CALIBRATION_ROWS: usize = 10;
/// The allowed rate of false drift reports, for both measures together.
pub const MAX_FALSE_DRIFT_RATE: f64 = 0.05;

/// Why there is no usable adapter.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// Too few complete rows.
    #[error(
        "calibration needs {MIN_CALIBRATION_ROWS} complete rows, found {found}: run more cycles"
    )]
    TooFew {
        /// Number of complete rows found.
        found: usize,
    },
    /// The rows have no features.
    #[error("calibration rows have no features: record metrics beside the ROI")]
    NoFeatures,
    /// The text is not a model.
    #[error("the calibration model cannot be read: remove it, and it will be trained anew")]
    Corrupt(#[from] serde_json::Error),
    /// The model is of another version.
    #[error(
        "the calibration model has version {found}, expected {TRUTH_MODEL_VERSION}: it will be \
         trained anew"
    )]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// The parts of the model are inconsistent.
    #[error("the calibration model contradicts itself: remove it, and it will be trained anew")]
    Inconsistent,
}

/// The limits above which a feature may count as drifted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DriftLimits {
    /// The population stability index.
    pub psi: f64,
    /// The Kolmogorov–Smirnov distance.
    pub ks: f64,
}

impl Default for DriftLimits {
    fn default() -> Self {
        Self { psi: 0.25, ks: 0.2 }
    }
}

/// How much one feature has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureDrift {
    /// The name of the feature.
    pub feature: String,
    /// Its population stability index.
    pub psi: f64,
    /// The probability of such a difference of the bins by chance.
    pub psi_p_value: f64,
    /// Its Kolmogorov–Smirnov distance.
    pub ks: f64,
    /// The probability of such a distance by chance.
    pub ks_p_value: f64,
    /// The criteria that were applied; `None` in files of older programs.
    #[serde(alias = "against", default)]
    pub criteria: Option<DriftCriteria>,
    /// Whether one of the measures is above its limit and not explained by chance.
    pub drifted: bool,
    /// Number of values compared.
    pub samples: usize,
}

impl FeatureDrift {
    /// Whether the feature still looks as in the training, with the evidence: yes unless one
    /// measure is above its limit and not explained by chance.
    pub fn decision(&self) -> StatisticalDecision {
        if self.samples == 0 {
            return StatisticalDecision::too_few_samples(MIN_CALIBRATION_ROWS, 0);
        }
        let usual = DriftCriteria {
            limits: DriftLimits::default(),
            psi_chance: MAX_FALSE_DRIFT_RATE,
            ks_chance: MAX_FALSE_DRIFT_RATE,
        };
        let DriftCriteria { limits, psi_chance, ks_chance } = self.criteria.unwrap_or(usual);
        let measures = [
            (
                DecisionCheck::PopulationStability,
                self.psi,
                limits.psi,
                self.psi_p_value,
                psi_chance,
            ),
            (DecisionCheck::Distance, self.ks, limits.ks, self.ks_p_value, ks_chance),
        ];
        let evidence =
            measures.map(|(check, statistic, threshold, p_value, chance)| DecisionEvidence {
                check,
                statistic,
                threshold,
                p_value: Some(p_value),
                samples: self.samples,
                holds: statistic <= threshold || p_value > chance,
            });
        let least = self.psi_p_value.min(self.ks_p_value);
        let confidence = if self.drifted { 1.0 - least } else { least };
        StatisticalDecision::from_evidence(
            evidence.to_vec(),
            confidence,
            MIN_CALIBRATION_ROWS,
            self.samples,
        )
    }
}

/// When a feature counts as drifted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DriftCriteria {
    /// A feature may have drifted only above these limits.
    pub limits: DriftLimits,
    /// PSI is not explained by chance at or below this p-value; zero where too few values can show
    /// that.
    pub psi_chance: f64,
    /// The same threshold for the p-value of the distance.
    pub ks_chance: f64,
}

/// Information about a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibratorMetadata {
    /// When it was trained, as the caller stated.
    pub trained_at: String,
    /// The selection of sections that the rows belong to; empty for all.
    #[serde(default)]
    #[serde(rename = "selection")]
    pub comparison_key: String,
    /// When its features were last compared, as the caller stated.
    pub checked_at: Option<String>,
    /// Rows it was trained on.
    pub samples: usize,
    /// The errors on held-out rows, the chosen kind first.
    pub scores: Vec<CalibrationScore>,
    /// The share of the targets' variance that held-out predictions explain; at most 1.
    pub explained: f64,
    /// Features that had drifted at the last comparison.
    pub drifted: Vec<String>,
    /// The change of each feature at the last comparison.
    #[serde(default)]
    pub drifts: Vec<FeatureDrift>,
    /// Whether its predictions should not be trusted.
    pub low_confidence: bool,
    /// Whether it should be trained again.
    pub retrain: bool,
}

/// A prediction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CalibratedPrediction {
    /// The value.
    pub value: f64,
    /// Whether it should not be trusted.
    pub low_confidence: bool,
}

/// A trained model, with the features of its training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedForecastCalibrator")]
pub struct ForecastCalibrator {
    version: u32,
    limits: DriftLimits,
    model: CalibrationModel,
    features: Vec<FeatureReference>,
    metadata: CalibratorMetadata,
}

/// The content of a file before validation.
#[derive(Debug, Deserialize)]
struct UncheckedForecastCalibrator {
    version: u32,
    limits: DriftLimits,
    model: CalibrationModel,
    features: Vec<FeatureReference>,
    metadata: CalibratorMetadata,
}

impl TryFrom<UncheckedForecastCalibrator> for ForecastCalibrator {
    type Error = CalibrationError;

    fn try_from(unchecked: UncheckedForecastCalibrator) -> Result<Self, CalibrationError> {
        let UncheckedForecastCalibrator { version, limits, model, features, metadata } = unchecked;
        if version != TRUTH_MODEL_VERSION {
            return Err(CalibrationError::Version { found: version });
        }
        let width = match &model {
            CalibrationModel::Ridge { model, scales }
                if model.coefficients.len() == scales.len() =>
            {
                Some(scales.len())
            }
            CalibrationModel::Ridge { .. } => None,
            CalibrationModel::Boosted(_) => Some(features.len()),
        };
        if width != Some(features.len()) || features.is_empty() {
            return Err(CalibrationError::Inconsistent);
        }
        Ok(Self { version, limits, model, features, metadata })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FeatureReference {
    name: String,
    values: Vec<f64>,
    bins: QuantileBins,
}

impl ForecastCalibrator {
    /// Trains on rows of features and the actual values for them.
    pub fn train(
        names: &[String],
        rows: &[Vec<f64>],
        targets: &[f64],
        limits: DriftLimits,
        now: &str,
    ) -> Result<Self, CalibrationError> {
        if names.is_empty() {
            return Err(CalibrationError::NoFeatures);
        }
        let complete: Vec<(Vec<f64>, f64)> = rows
            .iter()
            .zip(targets)
            .filter(|(row, _)| row.len() == names.len())
            .map(|(row, target)| (row.clone(), *target))
            .collect();
        let (rows, targets): (Vec<Vec<f64>>, Vec<f64>) = complete.into_iter().unzip();
        let sample = CalibrationSample::from_complete_rows(&rows, &targets);
        let found = sample.rows.len();
        if found < MIN_CALIBRATION_ROWS {
            return Err(CalibrationError::TooFew { found });
        }
        let scores = cross_validate(&sample);
        let best = scores.first().copied().ok_or(CalibrationError::TooFew { found })?;
        let spread = super::describe::variance(&sample.targets) * (found - 1) as f64 / found as f64;
        let explained = if spread > 0.0 { 1.0 - best.error / spread } else { 0.0 };
        let features = names
            .iter()
            .enumerate()
            .map(|(place, name)| {
                let values: Vec<f64> = sample.rows.iter().map(|row| row[place]).collect();
                FeatureReference {
                    name: name.clone(),
                    bins: QuantileBins::from_reference(&values, 10),
                    values,
                }
            })
            .collect();
        Ok(Self {
            version: TRUTH_MODEL_VERSION,
            limits,
            model: CalibrationModel::train(best.kind, &sample),
            features,
            metadata: CalibratorMetadata {
                trained_at: now.to_owned(),
                comparison_key: String::new(),
                checked_at: None,
                samples: found,
                scores,
                explained: explained.max(-1.0),
                drifted: Vec::new(),
                drifts: Vec::new(),
                // A model that explains none of the variance is no better than the mean.
                low_confidence: explained <= 0.0,
                retrain: false,
            },
        })
    }

    /// Sets the selection of sections that the rows belong to.
    #[must_use]
    pub fn with_comparison_key(mut self, comparison_key: &str) -> Self {
        comparison_key.clone_into(&mut self.metadata.comparison_key);
        self
    }

    /// Compares new rows with those of the training, and stores the result.
    ///
    /// A feature has drifted when a measure is above its limit and chance does not explain that,
    /// since small samples of one distribution often differ. The rate of false reports is at most
    /// [`MAX_FALSE_DRIFT_RATE`] (Benjamini, Hochberg 1995), half of it for each measure. Where
    /// there are too few values for any PSI to differ from chance, only the distance is used, with
    /// the whole rate. Without new rows only the time is updated.
    pub fn check_drift(&mut self, rows: &[Vec<f64>], now: &str) -> Vec<FeatureDrift> {
        let mut drifts: Vec<FeatureDrift> = self
            .features
            .iter()
            .enumerate()
            .map(|(place, reference)| {
                let values: Vec<f64> = rows
                    .iter()
                    .filter_map(|row| row.get(place).copied())
                    .filter(|v| is_usable(*v))
                    .collect();
                let gaps = EcdfGaps::between(&reference.values, &values);
                let count = reference.values.len();
                FeatureDrift {
                    feature: reference.name.clone(),
                    psi: reference.bins.psi(&values),
                    psi_p_value: reference.bins.p_value(count, &values),
                    ks: gaps.distance(),
                    ks_p_value: gaps.p_value(count, values.len()),
                    criteria: None,
                    drifted: false,
                    samples: values.len(),
                }
            })
            .collect();
        let single = MAX_FALSE_DRIFT_RATE / 2.0 / drifts.len().max(1) as f64;
        let bins_tell = self.features.iter().zip(&drifts).any(|(reference, one)| {
            reference.bins.min_p_value(reference.values.len(), one.samples) <= single
        });
        let psi_share = if bins_tell { MAX_FALSE_DRIFT_RATE / 2.0 } else { 0.0 };
        let psi = drifts.iter().map(|one| one.psi_p_value);
        let ks = drifts.iter().map(|one| one.ks_p_value);
        let criteria = DriftCriteria {
            limits: self.limits,
            psi_chance: max_discovery_p_value(psi, psi_share),
            ks_chance: max_discovery_p_value(ks, MAX_FALSE_DRIFT_RATE - psi_share),
        };
        for one in &mut drifts {
            one.drifted = (one.psi > self.limits.psi && one.psi_p_value <= criteria.psi_chance)
                || (one.ks > self.limits.ks && one.ks_p_value <= criteria.ks_chance);
            one.criteria = Some(criteria);
        }
        self.metadata.checked_at = Some(now.to_owned());
        if drifts.iter().any(|drift| drift.samples > 0) {
            self.metadata.drifted = drifts
                .iter()
                .filter(|drift| drift.drifted)
                .map(|drift| drift.feature.clone())
                .collect();
            let drifted = !self.metadata.drifted.is_empty();
            self.metadata.low_confidence = drifted || self.metadata.explained <= 0.0;
            self.metadata.retrain = drifted;
            self.metadata.drifts.clone_from(&drifts);
        }
        drifts
    }

    /// The calibrated value for one row of features.
    ///
    /// A row that lacks a feature gets a prediction of low confidence.
    pub fn predict(&self, features: &[f64]) -> CalibratedPrediction {
        let complete =
            features.len() == self.features.len() && features.iter().all(|value| is_usable(*value));
        let value = self.model.predict(features);
        let value = if value.is_finite() { value } else { 0.0 };
        CalibratedPrediction { value, low_confidence: self.metadata.low_confidence || !complete }
    }

    /// The names of the features, in the order of a row.
    pub fn features(&self) -> impl Iterator<Item = &str> {
        self.features.iter().map(|feature| feature.name.as_str())
    }

    /// What is known about the model.
    pub fn metadata(&self) -> &CalibratorMetadata {
        &self.metadata
    }

    /// The model as JSON.
    pub fn to_json(&self) -> Result<String, CalibrationError> {
        Ok(serde_json::to_string(self)?)
    }

    /// Reads a model; an error when it is corrupt or of another version.
    pub fn from_json(text: &str) -> Result<Self, CalibrationError> {
        #[derive(Deserialize)]
        struct CalibratorVersionHeader {
            version: u32,
        }
        let CalibratorVersionHeader { version } = serde_json::from_str(text)?;
        if version != TRUTH_MODEL_VERSION {
            return Err(CalibrationError::Version { found: version });
        }
        Self::try_from(serde_json::from_str::<UncheckedForecastCalibrator>(text)?)
    }
}

/// The largest p-value at which all smaller ones count as discoveries with this false discovery
/// rate.
fn max_discovery_p_value(p_values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut sorted: Vec<f64> = p_values.collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len().max(1) as f64;
    let allowed = |rank: usize| share * (rank + 1) as f64 / count;
    let ranks = sorted.iter().enumerate().rev();
    let found = ranks.map(|(rank, p_value)| (allowed(rank), *p_value));
    found.into_iter().find(|(allowed, p_value)| p_value <= allowed).map_or(allowed(0), |it| it.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_p_values_are_discoveries_together_and_one_has_to_be_smaller() {
        let largest_discovery =
            |p_values: &[f64]| max_discovery_p_value(p_values.iter().copied(), 0.05);
        assert!((largest_discovery(&[0.9, 0.5, 0.2, 0.02]) - 0.0125).abs() < 1e-12);
        assert!((largest_discovery(&[0.03, 0.01, 0.02, 0.9]) - 0.0375).abs() < 1e-12);
        assert!((largest_discovery(&[]) - 0.05).abs() < 1e-12);
    }

    fn rows(shift: f64) -> Vec<Vec<f64>> {
        (0..50_u32)
            .map(|row| vec![f64::from(row * 37 % 50) / 10.0 + shift, f64::from(row * 7 % 50) / 5.0])
            .collect()
    }

    fn calibrator() -> ForecastCalibrator {
        let targets: Vec<f64> = rows(0.0).iter().map(|row| row[0] * 2.0 + row[1]).collect();
        let names = ["cpu".to_owned(), "memory".to_owned()];
        ForecastCalibrator::train(&names, &rows(0.0), &targets, DriftLimits::default(), "day 1")
            .unwrap()
    }

    #[test]
    fn a_moved_feature_lowers_confidence_and_asks_for_training() {
        let mut calibrator = calibrator();
        assert!(calibrator.check_drift(&rows(0.0), "day 2").iter().all(|drift| !drift.drifted));
        assert!(!calibrator.predict(&[1.0, 2.0]).low_confidence);
        let drifts = calibrator.check_drift(&rows(3.0), "day 3");
        assert!(drifts[0].drifted && !drifts[1].drifted);
        let against = drifts[0].criteria.unwrap();
        assert!(drifts[0].ks > against.limits.ks && drifts[0].ks_p_value <= against.ks_chance);
        assert!(calibrator.predict(&[1.0, 2.0]).low_confidence);
        let metadata = calibrator.metadata();
        assert_eq!(
            (metadata.drifted.as_slice(), metadata.retrain),
            (["cpu".to_owned()].as_slice(), true)
        );
        let [moved, still] = [drifts[0].decision(), drifts[1].decision()];
        assert!(!moved.is_yes() && still.is_yes());
        let distance = moved.evidence_for(DecisionCheck::Distance).unwrap();
        assert_eq!((distance.statistic, distance.threshold), (drifts[0].ks, 0.2));
        assert_eq!((distance.p_value, distance.samples), (Some(drifts[0].ks_p_value), 50));
        assert!(!distance.holds && still.evidence.iter().all(|piece| piece.holds));
        assert_eq!(metadata.trained_at, "day 1");
        assert_eq!(metadata.checked_at.as_deref(), Some("day 3"));
    }

    #[test]
    fn few_rows_of_the_same_have_not_drifted_and_few_of_another_have() {
        let mut chance = 0x2545_f491_4f6c_dd1d_u64;
        let mut draw = || {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            (chance >> 11) as f64 / (1_u64 << 53) as f64
        };
        let names: Vec<String> = (0..20).map(|number| format!("feature {number}")).collect();
        let (mut above, mut alarms, mut found) = (0, 0, 0);
        for _ in 0..50 {
            let mut rows = |count: usize| -> Vec<Vec<f64>> {
                (0..count).map(|_| names.iter().map(|_| draw()).collect()).collect()
            };
            let (before, after) = (rows(20), rows(10));
            let targets: Vec<f64> = before.iter().map(|row| row[0]).collect();
            let train =
                ForecastCalibrator::train(&names, &before, &targets, DriftLimits::default(), "");
            let mut calibrator = train.unwrap();
            let drifts = calibrator.check_drift(&after, "");
            for one in &drifts {
                assert_eq!(one.decision().is_yes(), !one.drifted, "{one:?}");
            }
            above += usize::from(drifts.iter().any(|drift| drift.ks > 0.2));
            alarms += usize::from(calibrator.metadata().retrain);
            let moved: Vec<Vec<f64>> =
                after.iter().map(|row| row.iter().map(|value| value + 1.0).collect()).collect();
            calibrator.check_drift(&moved, "");
            found += usize::from(calibrator.metadata().retrain);
        }
        assert_eq!((above, found), (50, 50));
        // A twentieth, with the variation of so few draws; `tests/simulated.rs` has more of them.
        assert!(alarms <= 4, "{alarms} of 50");
    }

    #[test]
    fn predictions_come_close_to_what_was_reached() {
        assert!((calibrator().predict(&[2.0, 4.0]).value - 8.0).abs() < 0.1);
        assert!(calibrator().predict(&[2.0]).low_confidence);
    }

    #[test]
    fn a_model_survives_being_written_and_a_corrupt_one_is_refused() {
        let calibrator = calibrator();
        let text = calibrator.to_json().unwrap();
        assert_eq!(ForecastCalibrator::from_json(&text).unwrap(), calibrator);
        assert!(matches!(
            ForecastCalibrator::from_json(&text[..text.len() / 2]),
            Err(CalibrationError::Corrupt(_))
        ));
        let old = text.replacen("\"version\":1", "\"version\":7", 1);
        assert!(matches!(
            ForecastCalibrator::from_json(&old),
            Err(CalibrationError::Version { found: 7 })
        ));
    }

    #[test]
    fn too_few_rows_are_refused() {
        let error = ForecastCalibrator::train(
            &["a".to_owned()],
            &[vec![1.0]],
            &[1.0],
            DriftLimits::default(),
            "",
        );
        assert!(matches!(error, Err(CalibrationError::TooFew { found: 1 })));
        let error = ForecastCalibrator::train(&[], &[], &[], DriftLimits::default(), "");
        assert!(matches!(error, Err(CalibrationError::NoFeatures)));
    }
}

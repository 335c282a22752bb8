//! Selects the regression model that predicts held-out rows best.
//!
//! Ridge regressions with several penalties and boosted trees are compared by cross-validation.
//! [`super::forecast_calibrator`] decides when to train again. Invariant: the choice depends on the
//! samples and their order only.

use serde::{Deserialize, Serialize};

use super::boosting::{BoostedTrees, BoostingParams};
use super::describe::is_usable;
use super::ridge::RidgeRegression;

/// The penalties of the ridge regressions.
pub const RIDGE_PENALTIES: [f64; 4] = [0.01, 0.1, 1.0, 10.0];
/// Parts that the samples are split into, each held out once.
pub const CROSS_VALIDATION_FOLDS: usize = 5;

/// Features, and the actual values for them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CalibrationSample {
    /// Equally long rows of usable features.
    pub rows: Vec<Vec<f64>>,
    /// One usable target per row.
    pub targets: Vec<f64>,
}

impl CalibrationSample {
    /// Keeps the rows with all features and a target; the first such row sets the number of
    /// features.
    pub fn from_complete_rows(rows: &[Vec<f64>], targets: &[f64]) -> Self {
        let mut sample = Self::default();
        for (row, target) in rows.iter().zip(targets) {
            let width = sample.rows.first().map_or(row.len(), Vec::len);
            if row.len() == width && is_usable(*target) && row.iter().all(|value| is_usable(*value))
            {
                sample.rows.push(row.clone());
                sample.targets.push(*target);
            }
        }
        sample
    }

    fn without_rows(&self, held: &std::ops::Range<usize>) -> Self {
        let kept = (0..self.rows.len()).filter(|row| !held.contains(row));
        let (rows, targets) = kept.map(|row| (self.rows[row].clone(), self.targets[row])).unzip();
        Self { rows, targets }
    }
}

/// A kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationKind {
    /// Ridge regression on standardised features, with this penalty.
    Ridge(f64),
    /// Boosted trees.
    Boosted,
}

/// The error of one kind on held-out rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CalibrationScore {
    /// The kind.
    pub kind: CalibrationKind,
    /// The mean squared error.
    pub error: f64,
}

/// A trained model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CalibrationModel {
    /// Ridge regression on standardised features.
    Ridge {
        /// The regression.
        model: RidgeRegression,
        /// The mean and the deviation of each feature.
        scales: Vec<(f64, f64)>,
    },
    /// Boosted trees.
    Boosted(BoostedTrees),
}

impl CalibrationModel {
    /// Trains one kind on a sample.
    pub fn train(kind: CalibrationKind, sample: &CalibrationSample) -> Self {
        match kind {
            CalibrationKind::Ridge(penalty) => {
                let width = sample.rows.first().map_or(0, Vec::len);
                let scales: Vec<(f64, f64)> = (0..width)
                    .map(|place| {
                        let column: Vec<f64> = sample.rows.iter().map(|row| row[place]).collect();
                        let deviation = super::describe::sample_deviation(&column);
                        (
                            super::describe::mean(&column),
                            if deviation > 0.0 { deviation } else { 1.0 },
                        )
                    })
                    .collect();
                let rows: Vec<Vec<f64>> =
                    sample.rows.iter().map(|row| standardise(row, &scales)).collect();
                Self::Ridge { model: RidgeRegression::fit(&rows, &sample.targets, penalty), scales }
            }
            CalibrationKind::Boosted => Self::Boosted(BoostedTrees::fit(
                &sample.rows,
                &sample.targets,
                BoostingParams::default(),
            )),
        }
    }

    /// The value for one row of features.
    pub fn predict(&self, features: &[f64]) -> f64 {
        match self {
            Self::Ridge { model, scales } => model.predict(&standardise(features, scales)),
            Self::Boosted(model) => model.predict(features),
        }
    }
}

/// Standardised features; a missing one becomes the mean.
fn standardise(features: &[f64], scales: &[(f64, f64)]) -> Vec<f64> {
    scales
        .iter()
        .enumerate()
        .map(|(place, (mean, deviation))| {
            features
                .get(place)
                .filter(|value| is_usable(**value))
                .map_or(0.0, |value| (value - mean) / deviation)
        })
        .collect()
}

/// The errors of every kind on held-out rows, best first; empty below two rows.
///
/// The rows are split, in their order, into [`CROSS_VALIDATION_FOLDS`] parts whose sizes differ by
/// at most one.
pub fn cross_validate(sample: &CalibrationSample) -> Vec<CalibrationScore> {
    let count = sample.rows.len();
    if count < 2 {
        return Vec::new();
    }
    let folds = CROSS_VALIDATION_FOLDS.min(count);
    let mut scores: Vec<CalibrationScore> = RIDGE_PENALTIES
        .iter()
        .map(|penalty| CalibrationKind::Ridge(*penalty))
        .chain([CalibrationKind::Boosted])
        .map(|kind| {
            let squares: f64 = (0..folds)
                .map(|fold| {
                    let held = fold * count / folds..(fold + 1) * count / folds;
                    let trained = CalibrationModel::train(kind, &sample.without_rows(&held));
                    held.map(|row| {
                        (trained.predict(&sample.rows[row]) - sample.targets[row]).powi(2)
                    })
                    .sum::<f64>()
                })
                .sum();
            CalibrationScore { kind, error: squares / count as f64 }
        })
        .collect();
    scores.sort_by(|left, right| left.error.total_cmp(&right.error));
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(target: impl Fn(f64, f64) -> f64) -> CalibrationSample {
        let rows: Vec<Vec<f64>> = (0..60_u32)
            .map(|row| vec![f64::from(row * 37 % 61) / 10.0, f64::from(row * 17 % 53) / 10.0])
            .collect();
        let targets: Vec<f64> = rows.iter().map(|row| target(row[0], row[1])).collect();
        CalibrationSample::from_complete_rows(&rows, &targets)
    }

    #[test]
    fn a_plane_asks_for_ridge_and_a_step_for_trees() {
        let plane = cross_validate(&sample(|x, y| 2.0 * x - y));
        assert!(matches!(plane[0].kind, CalibrationKind::Ridge(_)), "{plane:?}");
        let step = cross_validate(&sample(|x, y| if x > 3.0 && y < 2.0 { 5.0 } else { 0.0 }));
        assert_eq!(step[0].kind, CalibrationKind::Boosted, "{step:?}");
    }

    #[test]
    fn rows_that_lack_something_are_left_out() {
        let rows = [vec![1.0, 2.0], vec![1.0], vec![f64::NAN, 2.0], vec![3.0, 4.0]];
        assert_eq!(
            CalibrationSample::from_complete_rows(&rows, &[1.0, 1.0, 1.0, f64::NAN]).rows,
            [vec![1.0, 2.0]]
        );
        assert!(cross_validate(&CalibrationSample::default()).is_empty());
    }
}

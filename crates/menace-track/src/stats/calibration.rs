//! The model that predicts best what it has not seen.
//!
//! Ridge regressions of several penalties and boosted trees are compared on held-out parts. When to
//! train again belongs to [`super::truth`]. Invariant: the choice depends on the samples and their
//! order only.

use serde::{Deserialize, Serialize};

use super::boosting::{Boosted, Growth};
use super::describe::usable;
use super::ridge::Ridge;

/// The penalties that are tried.
pub const PENALTIES: [f64; 4] = [0.01, 0.1, 1.0, 10.0];
/// Parts that the samples are split into, each held out once.
pub const FOLDS: usize = 5;

/// Features and the value that was really reached with them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Equally long rows of usable features.
    pub rows: Vec<Vec<f64>>,
    /// One usable target per row.
    pub targets: Vec<f64>,
}

impl Sample {
    /// Keeps the rows that have all features and a target; the first such row sets the length.
    pub fn of(rows: &[Vec<f64>], targets: &[f64]) -> Self {
        let mut sample = Self::default();
        for (row, target) in rows.iter().zip(targets) {
            let width = sample.rows.first().map_or(row.len(), Vec::len);
            if row.len() == width && usable(*target) && row.iter().all(|value| usable(*value)) {
                sample.rows.push(row.clone());
                sample.targets.push(*target);
            }
        }
        sample
    }

    fn without(&self, held: &std::ops::Range<usize>) -> Self {
        let kept = (0..self.rows.len()).filter(|row| !held.contains(row));
        let (rows, targets) = kept.map(|row| (self.rows[row].clone(), self.targets[row])).unzip();
        Self { rows, targets }
    }
}

/// A kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Ridge regression on standardised features, with this penalty.
    Ridge(f64),
    /// Boosted trees.
    Boosted,
}

/// How far one kind was off on held-out rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The kind.
    pub kind: Kind,
    /// The mean squared error.
    pub error: f64,
}

/// A trained model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Trained {
    /// Ridge regression, with the means and deviations that its features are brought to.
    Ridge {
        /// The regression.
        model: Ridge,
        /// The mean and the deviation of each feature.
        scales: Vec<(f64, f64)>,
    },
    /// Boosted trees.
    Boosted(Boosted),
}

impl Trained {
    /// Trains one kind on a sample.
    pub fn on(kind: Kind, sample: &Sample) -> Self {
        match kind {
            Kind::Ridge(penalty) => {
                let width = sample.rows.first().map_or(0, Vec::len);
                let scales: Vec<(f64, f64)> = (0..width)
                    .map(|place| {
                        let column: Vec<f64> = sample.rows.iter().map(|row| row[place]).collect();
                        let deviation = super::describe::deviation(&column);
                        (
                            super::describe::mean(&column),
                            if deviation > 0.0 { deviation } else { 1.0 },
                        )
                    })
                    .collect();
                let rows: Vec<Vec<f64>> =
                    sample.rows.iter().map(|row| scaled(row, &scales)).collect();
                Self::Ridge { model: Ridge::fit(&rows, &sample.targets, penalty), scales }
            }
            Kind::Boosted => {
                Self::Boosted(Boosted::fit(&sample.rows, &sample.targets, Growth::default()))
            }
        }
    }

    /// The value for one row of features.
    pub fn predict(&self, features: &[f64]) -> f64 {
        match self {
            Self::Ridge { model, scales } => model.predict(&scaled(features, scales)),
            Self::Boosted(model) => model.predict(features),
        }
    }
}

/// Features in units of their deviation; what is missing counts as average.
fn scaled(features: &[f64], scales: &[(f64, f64)]) -> Vec<f64> {
    scales
        .iter()
        .enumerate()
        .map(|(place, (mean, deviation))| {
            features
                .get(place)
                .filter(|value| usable(**value))
                .map_or(0.0, |value| (value - mean) / deviation)
        })
        .collect()
}

/// The errors of every kind on held-out rows, best first; empty below two rows.
///
/// The rows are cut, in their order, into [`FOLDS`] parts whose sizes differ by one at most.
pub fn compare(sample: &Sample) -> Vec<Score> {
    let count = sample.rows.len();
    if count < 2 {
        return Vec::new();
    }
    let folds = FOLDS.min(count);
    let mut scores: Vec<Score> = PENALTIES
        .iter()
        .map(|penalty| Kind::Ridge(*penalty))
        .chain([Kind::Boosted])
        .map(|kind| {
            let squares: f64 = (0..folds)
                .map(|fold| {
                    let held = fold * count / folds..(fold + 1) * count / folds;
                    let trained = Trained::on(kind, &sample.without(&held));
                    held.map(|row| {
                        (trained.predict(&sample.rows[row]) - sample.targets[row]).powi(2)
                    })
                    .sum::<f64>()
                })
                .sum();
            Score { kind, error: squares / count as f64 }
        })
        .collect();
    scores.sort_by(|left, right| left.error.total_cmp(&right.error));
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(target: impl Fn(f64, f64) -> f64) -> Sample {
        let rows: Vec<Vec<f64>> = (0..60_u32)
            .map(|row| vec![f64::from(row * 37 % 61) / 10.0, f64::from(row * 17 % 53) / 10.0])
            .collect();
        let targets: Vec<f64> = rows.iter().map(|row| target(row[0], row[1])).collect();
        Sample::of(&rows, &targets)
    }

    #[test]
    fn a_plane_asks_for_ridge_and_a_step_for_trees() {
        let plane = compare(&sample(|x, y| 2.0 * x - y));
        assert!(matches!(plane[0].kind, Kind::Ridge(_)), "{plane:?}");
        let step = compare(&sample(|x, y| if x > 3.0 && y < 2.0 { 5.0 } else { 0.0 }));
        assert_eq!(step[0].kind, Kind::Boosted, "{step:?}");
    }

    #[test]
    fn rows_that_lack_something_are_left_out() {
        let rows = [vec![1.0, 2.0], vec![1.0], vec![f64::NAN, 2.0], vec![3.0, 4.0]];
        assert_eq!(Sample::of(&rows, &[1.0, 1.0, 1.0, f64::NAN]).rows, [vec![1.0, 2.0]]);
        assert!(compare(&Sample::default()).is_empty());
    }
}

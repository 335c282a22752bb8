//! Ridge regression in closed form, the intercept not penalised.
//!
//! [`super::calibration`] chooses the penalty. Invariant: predictions for usable features are
//! finite.

use serde::{Deserialize, Serialize};

use super::least_squares::solve_square;

/// A linear model with penalised coefficients (Hoerl and Kennard 1970).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RidgeRegression {
    /// The value when all features are zero.
    pub intercept: f64,
    /// The change per unit of each feature.
    pub coefficients: Vec<f64>,
}

impl RidgeRegression {
    /// Fits rows of features to targets, with the penalty `alpha` > 0.
    ///
    /// Where the system has no solution, the model predicts the mean of the targets; zero without
    /// rows. Rows must have the same length, which [`super::calibration::CalibrationSample`]
    /// ensures.
    pub fn fit(rows: &[Vec<f64>], targets: &[f64], alpha: f64) -> Self {
        let width = rows.first().map_or(0, Vec::len);
        let count = rows.len().max(1) as f64;
        let centre = targets.iter().sum::<f64>() / count;
        let means: Vec<f64> = (0..width)
            .map(|place| rows.iter().map(|row| row[place]).sum::<f64>() / count)
            .collect();
        let mut system = vec![vec![0.0; width]; width];
        let mut right = vec![0.0; width];
        for (row, target) in rows.iter().zip(targets) {
            for i in 0..width {
                let here = row[i] - means[i];
                right[i] += here * (target - centre);
                for j in 0..width {
                    system[i][j] += here * (row[j] - means[j]);
                }
            }
        }
        for (place, row) in system.iter_mut().enumerate() {
            row[place] += alpha.max(0.0);
        }
        let coefficients = solve_square(system, right).unwrap_or_else(|| vec![0.0; width]);
        let moved: f64 = coefficients.iter().zip(&means).map(|(slope, mean)| slope * mean).sum();
        Self { intercept: centre - moved, coefficients }
    }

    /// The value for one row of features.
    pub fn predict(&self, features: &[f64]) -> f64 {
        let slopes = self.coefficients.iter().zip(features).map(|(slope, value)| slope * value);
        self.intercept + slopes.sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_penalty_finds_the_line_and_a_large_one_the_mean() {
        let rows: Vec<Vec<f64>> = (0..5_u8).map(|x| vec![f64::from(x)]).collect();
        let targets = [1.0, 3.0, 5.0, 7.0, 9.0];
        let close = RidgeRegression::fit(&rows, &targets, 1e-9);
        assert!((close.predict(&[10.0]) - 21.0).abs() < 1e-6);
        let far = RidgeRegression::fit(&rows, &targets, 1e12);
        assert!((far.predict(&[10.0]) - 5.0).abs() < 1e-6);
    }

    #[test]
    fn nothing_predicts_zero() {
        assert_eq!(RidgeRegression::fit(&[], &[], 1.0).predict(&[3.0]), 0.0);
    }
}

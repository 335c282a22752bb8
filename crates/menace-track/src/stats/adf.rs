//! The augmented Dickey–Fuller test: does a series return to its mean?
//!
//! The regression has a constant; lags are chosen by AIC among those that Schwert (1989) allows;
//! the p-value is from MacKinnon's response surfaces (1994). Invariant: `None` for a series without
//! a regression (too short, constant, or fitted without residuals).

use serde::{Deserialize, Serialize};

use super::describe::{drop_missing, is_constant};
use super::distribution::normal_cdf;
use super::least_squares::{DesignMatrix, nested_residual_sums, solve};

/// The outcome of the test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DickeyFullerTest {
    /// The t statistic of the level's coefficient: the more negative, the stronger the return to
    /// the mean.
    pub statistic: f64,
    /// The probability of such a statistic for a series with a unit root.
    pub p_value: f64,
    /// Lagged differences in the regression.
    pub lags: usize,
    /// Observations in the regression.
    pub samples: usize,
}

/// Tests for a unit root; a small p-value speaks for a stationary series.
///
/// Missing values are left out; their neighbours become adjacent.
pub fn adf_test(series: &[f64]) -> Option<DickeyFullerTest> {
    let series = drop_missing(series);
    if is_constant(&series) {
        return None;
    }
    // As in statsmodels: half of the values, less one each for the constant and the difference.
    let allowed = (series.len() / 2).checked_sub(2)?;
    let schwert = (12.0 * (series.len() as f64 / 100.0).powf(0.25)).ceil();
    #[expect(clippy::cast_sign_loss, reason = "the root of a length is not negative")]
    let most = allowed.min(schwert as usize);
    let changes: Vec<f64> = series.windows(2).map(|pair| pair[1] - pair[0]).collect();

    // Where lagged differences are linearly dependent there is no regression: fewer lags are tried.
    let lags = (0..=most).rev().find_map(|most| select_lag(&series, &changes, most))?;
    let (matrix, target) = build_regression(&series, &changes, lags);
    let samples = target.len();
    let freedom = samples.checked_sub(lags + 2).filter(|freedom| *freedom > 0)?;
    let solution = solve(&matrix, &target)?;
    let scale: f64 = target.iter().map(|value| value * value).sum();
    if solution.residual_sum_of_squares <= 1e-24 * scale {
        return None;
    }
    let error = (solution.residual_sum_of_squares / freedom as f64
        * solution.inverse_gram_diagonal[1])
        .sqrt();
    let statistic = solution.coefficients[1] / error;
    statistic.is_finite().then(|| DickeyFullerTest {
        statistic,
        p_value: mackinnon_p_value(statistic),
        lags,
        samples,
    })
}

/// The constant, the level and then the lagged differences, over all rows that have them.
fn build_regression(series: &[f64], changes: &[f64], lags: usize) -> (DesignMatrix, Vec<f64>) {
    let rows = changes.len() - lags;
    let mut columns = vec![vec![1.0; rows], series[lags..lags + rows].to_vec()];
    for lag in 1..=lags {
        columns.push(changes[lags - lag..lags - lag + rows].to_vec());
    }
    (DesignMatrix { columns }, changes[lags..].to_vec())
}

/// The number of lags with the smallest AIC; all are compared on the rows of the longest.
fn select_lag(series: &[f64], changes: &[f64], most: usize) -> Option<usize> {
    let (matrix, target) = build_regression(series, changes, most);
    let rows = target.len() as f64;
    let rests = nested_residual_sums(&matrix, &target)?;
    let aic = |lag: usize| rows * (rests[lag + 1] / rows).ln() + 2.0 * lag as f64;
    (0..=most).min_by(|left, right| aic(*left).total_cmp(&aic(*right)))
}

/// MacKinnon's p-value for one series and a regression with a constant.
fn mackinnon_p_value(statistic: f64) -> f64 {
    const MAX_STATISTIC: f64 = 2.74;
    const MIN_STATISTIC: f64 = -18.83;
    const SURFACE_BOUNDARY: f64 = -1.61;
    if statistic > MAX_STATISTIC {
        return 1.0;
    }
    if statistic < MIN_STATISTIC {
        return 0.0;
    }
    let surface = if statistic <= SURFACE_BOUNDARY {
        2.1659 + statistic * (1.4412 + statistic * 0.038_269)
    } else {
        1.7339 + statistic * (0.932_02 + statistic * (-0.127_45 + statistic * -0.010_368))
    };
    normal_cdf(surface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_tested_has_no_answer() {
        assert_eq!(adf_test(&[]), None);
        assert_eq!(adf_test(&[1.0]), None);
        assert_eq!(adf_test(&[1.0, 2.0, 1.5]), None);
        assert_eq!(adf_test(&[0.1; 50]), None);
        let line: Vec<f64> = (0..50).map(f64::from).collect();
        assert_eq!(adf_test(&line), None);
    }

    #[test]
    fn p_values_grow_with_the_statistic_and_end_at_zero_and_one() {
        assert_eq!((mackinnon_p_value(-20.0), mackinnon_p_value(3.0)), (0.0, 1.0));
        let steps: Vec<f64> =
            (-100..10).map(|tenth| mackinnon_p_value(f64::from(tenth) / 10.0)).collect();
        assert!(steps.windows(2).all(|pair| pair[0] <= pair[1] + 1e-3));
    }
}

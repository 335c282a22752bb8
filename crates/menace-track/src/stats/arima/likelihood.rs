//! The exact Gaussian likelihood of a series with regressors under an ARIMA process.
//!
//! [`mod@super::fit`] searches for the best process. Invariant: the regression coefficients are
//! always the best ones for the given process (generalised least squares), so that the search does
//! not include them.

use super::filter::{ArimaProcess, KalmanFilter};
use crate::stats::describe::is_usable;
use crate::stats::least_squares::solve_square;

/// A series and its regressors, a column each; a missing value of the series is NaN.
#[derive(Debug, Clone)]
pub(super) struct ArimaData {
    pub(super) series: Vec<f64>,
    pub(super) regressors: Vec<Vec<f64>>,
}

/// Sums over the innovations of a whole series.
#[derive(Debug, Clone)]
pub(super) struct InnovationMoments {
    /// Number of observations included.
    pub(super) count: usize,
    /// Σ ln F, where F is the innovation variance.
    pub(super) log_spread: f64,
    /// Σ v·vᵀ / F over the columns, where v are the innovations; the series comes first.
    pub(super) cross: Vec<Vec<f64>>,
}

/// The filter's state after the last observation.
#[derive(Debug, Clone)]
pub(super) struct FinalFilterState {
    /// The state of each column, the series first.
    pub(super) states: Vec<Vec<f64>>,
    pub(super) covariance: Vec<Vec<f64>>,
}

/// Calls a function with the constants of an order's state size.
macro_rules! for_size {
    ($order:expr, $function:ident ( $($argument:expr),* )) => {
        match ($order.d, $order.span()) {
            (0, 1) => $function::<1, 0>($($argument),*),
            (0, 2) => $function::<2, 0>($($argument),*),
            (0, 3) => $function::<3, 0>($($argument),*),
            (0, _) => $function::<4, 0>($($argument),*),
            (1, 1) => $function::<2, 1>($($argument),*),
            (1, 2) => $function::<3, 1>($($argument),*),
            (1, 3) => $function::<4, 1>($($argument),*),
            (1, _) => $function::<5, 1>($($argument),*),
            (_, 1) => $function::<3, 2>($($argument),*),
            (_, 2) => $function::<4, 2>($($argument),*),
            (_, 3) => $function::<5, 2>($($argument),*),
            (_, _) => $function::<6, 2>($($argument),*),
        }
    };
}
pub(super) use for_size;

impl ArimaData {
    pub(super) fn column_count(&self) -> usize {
        self.regressors.len() + 1
    }
}

/// Filters all columns; the first `burn` rows update the state but are not included in the sums.
pub(super) fn run_filter(
    process: &ArimaProcess<'_>,
    diffuse: f64,
    data: &ArimaData,
    burn: usize,
) -> Option<(InnovationMoments, FinalFilterState)> {
    let order = process.order;
    for_size!(order, filtered_sized(process, diffuse, data, burn))
}

fn filtered_sized<const K: usize, const D: usize>(
    process: &ArimaProcess<'_>,
    diffuse: f64,
    data: &ArimaData,
    burn: usize,
) -> Option<(InnovationMoments, FinalFilterState)> {
    let mut filter = KalmanFilter::<K, D>::start(process, diffuse)?;
    let columns = data.column_count();
    let mut states = vec![[0.0; K]; columns];
    let mut innovations = vec![0.0; columns];
    let mut cross = vec![vec![0.0; columns]; columns];
    let mut count = 0;
    // Logarithms are slow: variances are multiplied as long as the product stays in range.
    let (mut log_spread, mut product) = (0.0, 1.0_f64);
    for (row, value) in data.series.iter().enumerate() {
        if value.is_nan() {
            for state in &mut states {
                filter.advance_state(state);
            }
            filter.skip_observation();
            continue;
        }
        let spread = filter.prepare_update();
        if spread.is_nan() || spread <= 0.0 {
            return None;
        }
        innovations[0] = value - KalmanFilter::<K, D>::expected_observation(&states[0]);
        for (place, regressor) in data.regressors.iter().enumerate() {
            innovations[place + 1] =
                regressor[row] - KalmanFilter::<K, D>::expected_observation(&states[place + 1]);
        }
        for (state, surprise) in states.iter_mut().zip(&innovations) {
            filter.update_state(state, *surprise);
        }
        let precision = filter.precision();
        filter.update_covariance();
        if row < burn {
            continue;
        }
        count += 1;
        product *= spread;
        if !(1e-200..1e200).contains(&product) {
            log_spread += product.ln();
            product = 1.0;
        }
        for left in 0..columns {
            let weighted = innovations[left] * precision;
            for right in 0..=left {
                cross[left][right] += weighted * innovations[right];
            }
        }
    }
    log_spread += product.ln();
    for left in 0..columns {
        for right in 0..left {
            cross[right][left] = cross[left][right];
        }
    }
    let moments = InnovationMoments { count, log_spread, cross };
    let states = states.iter().map(|state| state.to_vec()).collect();
    Some((moments, FinalFilterState { states, covariance: filter.covariance() }))
}

impl InnovationMoments {
    /// The best regression coefficients, and the remaining Σ v² / F.
    pub(super) fn solve_regression(&self) -> Option<(Vec<f64>, f64)> {
        let total = self.cross[0][0];
        if self.cross.len() == 1 {
            return Some((Vec::new(), total));
        }
        let rows: Vec<Vec<f64>> = self.cross[1..].iter().map(|row| row[1..].to_vec()).collect();
        let right: Vec<f64> = self.cross[1..].iter().map(|row| row[0]).collect();
        let coefficients = solve_square(rows, right.clone())?;
        let explained: f64 =
            coefficients.iter().zip(&right).map(|(left, right)| left * right).sum();
        Some((coefficients, (total - explained).max(0.0)))
    }
}

/// The logarithm of the likelihood of `count` observations.
pub(super) fn log_likelihood(count: usize, log_spread: f64, squares: f64) -> f64 {
    let constant = (2.0 * std::f64::consts::PI).ln();
    -0.5 * (count as f64 * constant + log_spread + squares)
}

/// The d-th differences; NaN wherever one of the values is missing.
pub(super) fn difference(series: &[f64], d: usize) -> Vec<f64> {
    let mut values = series.to_vec();
    for _ in 0..d {
        values = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    }
    values.into_iter().map(|value| if is_usable(value) { value } else { f64::NAN }).collect()
}

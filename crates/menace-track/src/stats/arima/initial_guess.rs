//! Computes the starting point of the search: conditional least squares.
//!
//! This is the method of Hannan and Rissanen (1982), as statsmodels has it: the residuals of a long
//! autoregression are used for the shocks. Invariant: the guess is stationary and invertible.

use super::likelihood::{ArimaData, difference};
use super::order::ArimaOrder;
use super::polynomial::to_unconstrained;
use crate::stats::least_squares::{DesignMatrix, solve};

/// The starting point.
#[derive(Debug, Clone)]
pub(super) struct ArimaInitialGuess {
    pub(super) ar: Vec<f64>,
    pub(super) ma: Vec<f64>,
    pub(super) variance: f64,
}

/// The guess for a series; zeros where least squares has no solution, or none that is stationary.
pub(super) fn guess_initial_values(order: ArimaOrder, data: &ArimaData) -> ArimaInitialGuess {
    let errors = regression_errors(order, data);
    let (ar, ma, variance) = conditional_least_squares(order, &errors).unwrap_or_else(|| {
        let centre = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        (vec![0.0; order.p], vec![0.0; order.q], mean_square(errors.iter().map(|e| e - centre)))
    });
    let variance = if variance > 0.0 { variance } else { mean_square(errors.iter().copied()) };
    let turned: Vec<f64> = ma.iter().map(|value| -value).collect();
    let (ar_fits, ma_fits) = (to_unconstrained(&ar).is_some(), to_unconstrained(&turned).is_some());
    let ar = if ar_fits { ar } else { vec![0.0; order.p] };
    let ma = if ma_fits { ma } else { vec![0.0; order.q] };
    ArimaInitialGuess { ar, ma, variance: variance.max(1e-10) }
}

/// The residuals of the differenced series against the regressors, without missing values.
fn regression_errors(order: ArimaOrder, data: &ArimaData) -> Vec<f64> {
    let series = difference(&data.series, order.d);
    let kept: Vec<usize> = (0..series.len()).filter(|row| !series[*row].is_nan()).collect();
    let target: Vec<f64> = kept.iter().map(|row| series[*row]).collect();
    if data.regressors.is_empty() {
        return target;
    }
    let columns: Vec<Vec<f64>> = data
        .regressors
        .iter()
        .map(|column| {
            let column = difference(column, order.d);
            kept.iter().map(|row| column[*row]).collect()
        })
        .collect();
    let matrix = DesignMatrix { columns };
    let Some(solution) = solve(&matrix, &target) else { return target };
    residuals(&matrix, &target, &solution.coefficients)
}

fn residuals(matrix: &DesignMatrix, target: &[f64], coefficients: &[f64]) -> Vec<f64> {
    target
        .iter()
        .enumerate()
        .map(|(row, value)| {
            let explained: f64 =
                matrix.columns.iter().zip(coefficients).map(|(column, c)| column[row] * c).sum();
            value - explained
        })
        .collect()
}

fn mean_square(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.map(|value| value * value).sum::<f64>() / count
}

fn conditional_least_squares(
    order: ArimaOrder,
    errors: &[f64],
) -> Option<(Vec<f64>, Vec<f64>, f64)> {
    if order.p + order.q == 0 {
        return Some((Vec::new(), Vec::new(), mean_square(errors.iter().copied())));
    }
    let long = 2 * order.q;
    let first = (long + order.q).max(order.p);
    if errors.len() <= first {
        return None;
    }
    // Shocks have the index of their observation; the first ones are unknown and not used.
    let mut shocks = vec![0.0; long];
    if order.q > 0 {
        let matrix =
            DesignMatrix { columns: (1..=long).map(|lag| lagged(errors, lag, long)).collect() };
        let target = &errors[long..];
        shocks.extend(residuals(&matrix, target, &solve(&matrix, target)?.coefficients));
    }
    let mut columns: Vec<Vec<f64>> = (1..=order.p).map(|lag| lagged(errors, lag, first)).collect();
    columns.extend((1..=order.q).map(|lag| lagged(&shocks, lag, first)));
    let matrix = DesignMatrix { columns };
    let target = &errors[first..];
    let solution = solve(&matrix, target)?;
    let rest = residuals(&matrix, target, &solution.coefficients);
    let counted = rest.get(order.q..).unwrap_or(&rest);
    let (ar, ma) = solution.coefficients.split_at(order.p);
    Some((ar.to_vec(), ma.to_vec(), mean_square(counted.iter().copied())))
}

fn lagged(values: &[f64], lag: usize, first: usize) -> Vec<f64> {
    values[first - lag..values.len() - lag].to_vec()
}

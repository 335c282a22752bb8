//! Fits the model of highest likelihood for one order, and forecasts with it.
//!
//! [`super::select`] chooses the order. Invariant: all numbers of a fit are finite.

use serde::{Deserialize, Serialize};

use super::filter::{ArimaProcess, KalmanFilter};
use super::initial_guess::guess_initial_values;
use super::likelihood::{
    ArimaData, FinalFilterState, InnovationMoments, for_size, log_likelihood, run_filter,
};
use super::multi_start::minimise_from_many_starts;
use super::order::ArimaOrder;
use super::polynomial::{to_stationary, to_unconstrained};
use crate::stats::describe::is_usable;

/// The variance of the unknown level before the first observation of a differenced series.
pub const DIFFUSE_VARIANCE: f64 = 1e6;

/// A fitted model, and the filter's state after the last observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArimaFit {
    /// Numbers of lags, differences and shocks.
    pub order: ArimaOrder,
    /// Autoregressive coefficients.
    pub ar: Vec<f64>,
    /// Moving-average coefficients.
    pub ma: Vec<f64>,
    /// The variance of the shocks.
    pub variance: f64,
    /// The constant (when nothing is differenced), then one coefficient per regressor.
    pub coefficients: Vec<f64>,
    /// The log-likelihood, without the first `d` observations.
    pub log_likelihood: f64,
    /// Number of observations in the likelihood.
    pub samples: usize,
    state: Vec<f64>,
    covariance: Vec<Vec<f64>>,
}

/// Fits a model of this order. NaN and other unusable values count as missing.
///
/// Regressors are columns as long as the series; the constant is added here. `None` when there are
/// not more observations than parameters, when the regressors are linearly dependent, or when the
/// likelihood has no maximum, as for a series that the model fits without residuals.
pub fn fit(series: &[f64], regressors: &[Vec<f64>], order: ArimaOrder) -> Option<ArimaFit> {
    let order = ArimaOrder::new(order.p, order.d, order.q);
    let prepared = CentredArimaData::new(series, regressors, order)?;
    let data = &prepared.data;
    let first = guess_initial_values(order, data);

    let mut begin = to_unconstrained(&first.ar)?;
    let turned: Vec<f64> = first.ma.iter().map(|value| -value).collect();
    begin.extend(to_unconstrained(&turned)?);
    if order.d > 0 {
        begin.push(first.variance.ln() / 2.0);
    }
    let count = prepared.count as f64;
    let (best, lowest) = minimise_from_many_starts(order, &begin, data.series.len(), &mut |free| {
        ArimaTrial::from_unconstrained(order, free)
            .evaluate(data)
            .map_or(f64::INFINITY, |judged| -judged.log_likelihood / count)
    });
    if !lowest.is_finite() {
        return None;
    }
    let candidate = ArimaTrial::from_unconstrained(order, &best);
    let judged = candidate.evaluate(data)?;
    prepared.to_fit(order, candidate, judged)
}

/// Parameters of a model that was fitted by other software.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArimaParams<'a> {
    /// The constant (when nothing is differenced), then one coefficient per regressor.
    pub coefficients: &'a [f64],
    /// Autoregressive coefficients.
    pub ar: &'a [f64],
    /// Moving-average coefficients.
    pub ma: &'a [f64],
    /// The variance of the shocks.
    pub variance: f64,
}

/// The log-likelihood of a series for given parameters, with the definition of [`fit`].
///
/// `None` where the parameters do not describe a stationary process of that order.
pub fn log_likelihood_at(
    series: &[f64],
    regressors: &[Vec<f64>],
    d: usize,
    params: ArimaParams<'_>,
) -> Option<f64> {
    let order = ArimaOrder::new(params.ar.len(), d, params.ma.len());
    let wanted = regressors.len() + usize::from(order.has_constant());
    if order.p != params.ar.len()
        || order.q != params.ma.len()
        || params.coefficients.len() != wanted
    {
        return None;
    }
    let fit = ArimaFit {
        order,
        ar: params.ar.to_vec(),
        ma: params.ma.to_vec(),
        variance: params.variance,
        coefficients: params.coefficients.to_vec(),
        log_likelihood: 0.0,
        samples: 0,
        state: Vec::new(),
        covariance: Vec::new(),
    };
    fit.log_likelihood_after(series, regressors, order.d).map(|(value, _)| value)
}

/// The data for the filter: centred when there is a constant, which absorbs the centre.
struct CentredArimaData {
    data: ArimaData,
    centre: f64,
    centres: Vec<f64>,
    count: usize,
}

impl CentredArimaData {
    fn new(series: &[f64], regressors: &[Vec<f64>], order: ArimaOrder) -> Option<Self> {
        let mut series: Vec<f64> =
            series.iter().map(|value| if is_usable(*value) { *value } else { f64::NAN }).collect();
        if regressors.iter().any(|column| {
            column.len() != series.len() || !column.iter().all(|value| is_usable(*value))
        }) {
            return None;
        }
        let present = series.iter().filter(|value| !value.is_nan()).count();
        let count = series.iter().skip(order.d).filter(|value| !value.is_nan()).count();
        if count <= order.parameter_count() + regressors.len() {
            return None;
        }
        let mut regressors = regressors.to_vec();
        let mut centre = 0.0;
        let mut centres = vec![0.0; regressors.len()];
        if order.has_constant() {
            centre = series.iter().filter(|value| !value.is_nan()).sum::<f64>() / present as f64;
            for value in &mut series {
                *value -= centre;
            }
            for (column, centre) in regressors.iter_mut().zip(&mut centres) {
                *centre = column.iter().sum::<f64>() / column.len() as f64;
                for value in column {
                    *value -= *centre;
                }
            }
            regressors.insert(0, vec![1.0; series.len()]);
        }
        Some(Self { data: ArimaData { series, regressors }, centre, centres, count })
    }

    fn to_fit(
        &self,
        order: ArimaOrder,
        candidate: ArimaTrial,
        evaluation: ArimaEvaluation,
    ) -> Option<ArimaFit> {
        let mut coefficients = evaluation.coefficients;
        let mut state = evaluation.end.states[0].clone();
        for (column, coefficient) in evaluation.end.states[1..].iter().zip(&coefficients) {
            for (value, other) in state.iter_mut().zip(column) {
                *value -= coefficient * other;
            }
        }
        if order.has_constant() {
            let moved: f64 = coefficients[1..]
                .iter()
                .zip(&self.centres)
                .map(|(slope, centre)| slope * centre)
                .sum();
            coefficients[0] += self.centre - moved;
        }
        let fit = ArimaFit {
            order,
            ar: candidate.ar,
            ma: candidate.ma,
            variance: evaluation.variance,
            coefficients,
            log_likelihood: evaluation.log_likelihood,
            samples: self.count,
            state,
            covariance: evaluation.covariance,
        };
        fit.is_finite().then_some(fit)
    }
}

/// One process that the search evaluates; without differences its variance follows from the data.
struct ArimaTrial {
    order: ArimaOrder,
    ar: Vec<f64>,
    ma: Vec<f64>,
    variance: Option<f64>,
}

struct ArimaEvaluation {
    log_likelihood: f64,
    variance: f64,
    coefficients: Vec<f64>,
    end: FinalFilterState,
    covariance: Vec<Vec<f64>>,
}

impl ArimaTrial {
    fn from_unconstrained(order: ArimaOrder, numbers: &[f64]) -> Self {
        let ar = to_stationary(&numbers[..order.p]);
        let ma = to_stationary(&numbers[order.p..order.p + order.q]);
        let variance = numbers.get(order.p + order.q).map(|log| (2.0 * log).exp());
        Self { order, ar, ma: ma.into_iter().map(|value| -value).collect(), variance }
    }

    fn process(&self, variance: f64) -> ArimaProcess<'_> {
        ArimaProcess { order: self.order, ar: &self.ar, ma: &self.ma, variance }
    }

    fn evaluate(&self, data: &ArimaData) -> Option<ArimaEvaluation> {
        let unit = self.variance.unwrap_or(1.0);
        if !(1e-200..1e200).contains(&unit) {
            return None;
        }
        let (moments, end) = run_filter(&self.process(unit), DIFFUSE_VARIANCE, data, self.order.d)?;
        let InnovationMoments { count, log_spread, .. } = moments;
        let (coefficients, squares) = moments.solve_regression()?;
        let mut covariance = end.covariance.clone();
        let (variance, log_likelihood) = if let Some(variance) = self.variance {
            (variance, log_likelihood(count, log_spread, squares))
        } else {
            // The start is in units of the variance, too, so the best variance is the mean square.
            let variance = squares / count as f64;
            if variance < 1e-200 {
                return None;
            }
            for value in covariance.iter_mut().flatten() {
                *value *= variance;
            }
            let log_spread = log_spread + count as f64 * variance.ln();
            (variance, log_likelihood(count, log_spread, count as f64))
        };
        log_likelihood.is_finite().then_some(ArimaEvaluation {
            log_likelihood,
            variance,
            coefficients,
            end,
            covariance,
        })
    }
}

impl ArimaFit {
    /// Akaike's criterion: 2k − 2·ln L.
    pub fn aic(&self) -> f64 {
        2.0 * self.parameter_count() as f64 - 2.0 * self.log_likelihood
    }

    /// Schwarz's criterion: k·ln n − 2·ln L.
    pub fn bic(&self) -> f64 {
        self.parameter_count() as f64 * (self.samples as f64).ln() - 2.0 * self.log_likelihood
    }

    /// Number of estimated parameters.
    pub fn parameter_count(&self) -> usize {
        self.order.p + self.order.q + self.coefficients.len() + 1
    }

    /// The log-likelihood without the first `burn` observations, and the number of observations.
    pub(super) fn log_likelihood_after(
        &self,
        series: &[f64],
        regressors: &[Vec<f64>],
        burn: usize,
    ) -> Option<(f64, usize)> {
        let left: Vec<f64> = series
            .iter()
            .enumerate()
            .map(|(row, value)| {
                let known = self.regression_part(regressors.iter().map(|column| column[row]));
                if is_usable(*value) { value - known } else { f64::NAN }
            })
            .collect();
        let data = ArimaData { series: left, regressors: Vec::new() };
        let (moments, _) = run_filter(&self.process(), DIFFUSE_VARIANCE, &data, burn)?;
        let value = log_likelihood(moments.count, moments.log_spread, moments.cross[0][0]);
        value.is_finite().then_some((value, moments.count))
    }

    /// Means and standard errors of the next `horizon` values.
    ///
    /// `future` has one column per regressor; its last value is repeated.
    pub fn forecast(&self, horizon: usize, future: &[Vec<f64>]) -> Vec<(f64, f64)> {
        let order = self.order;
        for_size!(order, forecast_sized(self, horizon, future))
    }

    fn process(&self) -> ArimaProcess<'_> {
        ArimaProcess { order: self.order, ar: &self.ar, ma: &self.ma, variance: self.variance }
    }

    /// The part of one observation that the constant and the regressors explain.
    fn regression_part(&self, regressors: impl Iterator<Item = f64>) -> f64 {
        let (constant, slopes) = if self.order.has_constant() {
            (self.coefficients[0], &self.coefficients[1..])
        } else {
            (0.0, &self.coefficients[..])
        };
        constant + slopes.iter().zip(regressors).map(|(slope, value)| slope * value).sum::<f64>()
    }

    fn is_finite(&self) -> bool {
        let numbers = [self.variance, self.log_likelihood];
        self.ar
            .iter()
            .chain(&self.ma)
            .chain(&self.coefficients)
            .chain(&self.state)
            .chain(self.covariance.iter().flatten())
            .chain(&numbers)
            .all(|value| value.is_finite())
    }
}

fn to_state_array<const K: usize>(values: &[f64]) -> [f64; K] {
    let mut state = [0.0; K];
    state.copy_from_slice(&values[..K]);
    state
}

fn forecast_sized<const K: usize, const D: usize>(
    fit: &ArimaFit,
    horizon: usize,
    future: &[Vec<f64>],
) -> Vec<(f64, f64)> {
    let mut filter = KalmanFilter::<K, D>::resume(&fit.process(), &fit.covariance);
    let mut state = to_state_array::<K>(&fit.state);
    (0..horizon)
        .map(|step| {
            let known = fit.regression_part(
                future
                    .iter()
                    .map(|column| column.get(step).or(column.last()).copied().unwrap_or(0.0)),
            );
            let answer = (
                KalmanFilter::<K, D>::expected_observation(&state) + known,
                filter.observation_variance().max(0.0).sqrt(),
            );
            filter.advance_state(&mut state);
            filter.skip_observation();
            answer
        })
        .collect()
}

//! The Kalman filter of an ARIMA process, in Harvey's form.
//!
//! The state holds the differenced levels first, then the ARMA part. [`super::likelihood`] computes
//! the likelihood from the innovations. Invariant: the covariance depends on the model and on which
//! values are missing, never on the values, so one filter serves the series and its regressors at
//! once.

use super::order::ArimaOrder;
use crate::stats::least_squares::solve_square;

/// The change of the gain, relative to the innovation variance, below which the filter counts as
/// converged.
const CONVERGED_GAIN_CHANGE: f64 = 1e-14;

/// A process: its coefficients and the variance of its shocks.
#[derive(Debug, Clone)]
pub(super) struct ArimaProcess<'a> {
    pub(super) order: ArimaOrder,
    pub(super) ar: &'a [f64],
    pub(super) ma: &'a [f64],
    pub(super) variance: f64,
}

/// The Kalman filter, for a state of `K` numbers of which `D` are differenced levels.
///
/// Both are constants so that the compiler unrolls all loops over them: a filter runs millions of
/// steps.
#[derive(Debug, Clone)]
pub(super) struct KalmanFilter<const K: usize, const D: usize> {
    ar: [f64; K],
    noise: [[f64; K]; K],
    covariance: [[f64; K]; K],
    gain: [f64; K],
    innovation_variance: f64,
    /// The gain divided by the innovation variance. Dividing here keeps divisions out of the loop
    /// over a converged series.
    gain_share: [f64; K],
    precision: f64,
    /// Whether `gain` was computed from the present covariance.
    gain_is_current: bool,
    converged: bool,
}

impl<const K: usize, const D: usize> KalmanFilter<K, D> {
    /// The filter before the first observation; `None` if the process has no stationary start.
    pub(super) fn start(process: &ArimaProcess<'_>, diffuse: f64) -> Option<Self> {
        let mut filter = Self::new(process);
        let span = K - D;
        let block = stationary_covariance(&filter.ar[..span], &shock_loadings(process, span))?;
        for row in 0..D {
            filter.covariance[row][row] = diffuse;
        }
        for row in 0..span {
            for column in 0..span {
                filter.covariance[D + row][D + column] = block[row][column] * process.variance;
            }
        }
        Some(filter)
    }

    /// The filter with the covariance of an earlier fit.
    pub(super) fn resume(process: &ArimaProcess<'_>, covariance: &[Vec<f64>]) -> Self {
        let mut filter = Self::new(process);
        for (row, known) in filter.covariance.iter_mut().zip(covariance) {
            row.copy_from_slice(&known[..K]);
        }
        filter
    }

    fn new(process: &ArimaProcess<'_>) -> Self {
        let mut ar = [0.0; K];
        ar[..process.ar.len()].copy_from_slice(process.ar);
        let shocks = shock_loadings(process, K - D);
        let mut noise = [[0.0; K]; K];
        for (row, left) in shocks.iter().enumerate() {
            for (column, right) in shocks.iter().enumerate() {
                noise[D + row][D + column] = left * right * process.variance;
            }
        }
        Self {
            ar,
            noise,
            covariance: [[0.0; K]; K],
            gain: [0.0; K],
            innovation_variance: 0.0,
            gain_share: [0.0; K],
            precision: 0.0,
            gain_is_current: false,
            converged: false,
        }
    }

    /// The expected observation of a state.
    pub(super) fn expected_observation(state: &[f64; K]) -> f64 {
        state[..=D].iter().sum()
    }

    /// The variance of the next observation.
    pub(super) fn observation_variance(&self) -> f64 {
        (0..=D).map(|row| self.covariance[row][..=D].iter().sum::<f64>()).sum()
    }

    pub(super) fn covariance(&self) -> Vec<Vec<f64>> {
        self.covariance.iter().map(|row| row.to_vec()).collect()
    }

    /// Computes the gain and the innovation variance, which it returns, for the next observation.
    #[inline]
    pub(super) fn prepare_update(&mut self) -> f64 {
        if !self.gain_is_current {
            self.gain_is_current = true;
            self.innovation_variance = 0.0;
            for row in 0..K {
                self.gain[row] = self.covariance[row][..=D].iter().sum();
                if row <= D {
                    self.innovation_variance += self.gain[row];
                }
            }
            self.precision = 1.0 / self.innovation_variance;
            for row in 0..K {
                self.gain_share[row] = self.gain[row] * self.precision;
            }
        }
        self.innovation_variance
    }

    /// One over the innovation variance; call after [`Self::prepare_update`].
    #[inline]
    pub(super) fn precision(&self) -> f64 {
        self.precision
    }

    /// Updates a state with the innovation of an observation.
    #[inline]
    pub(super) fn update_state(&self, state: &mut [f64; K], innovation: f64) {
        for row in 0..K {
            state[row] += self.gain_share[row] * innovation;
        }
        self.advance_state(state);
    }

    /// Updates the covariance with an observation; call after [`Self::prepare_update`].
    #[inline]
    pub(super) fn update_covariance(&mut self) {
        if self.converged {
            return;
        }
        for row in 0..K {
            for column in 0..K {
                self.covariance[row][column] -= self.gain_share[row] * self.gain[column];
            }
        }
        self.advance_covariance();
        // Converged once neither the gain nor the innovation variance changes noticeably.
        let (before, spread) = (self.gain, self.innovation_variance);
        self.prepare_update();
        let moved = |old: f64, new: f64| {
            (old - new).abs() > CONVERGED_GAIN_CHANGE * self.innovation_variance
        };
        self.converged = !moved(spread, self.innovation_variance)
            && !(0..K).any(|row| moved(before[row], self.gain[row]));
    }

    /// Advances the covariance over a missing observation.
    pub(super) fn skip_observation(&mut self) {
        self.converged = false;
        self.advance_covariance();
    }

    /// Advances a state by one step.
    #[inline]
    pub(super) fn advance_state(&self, state: &mut [f64; K]) {
        let first = state[D];
        if D == 2 {
            state[0] += state[1];
        }
        for value in &mut state[..D] {
            *value += first;
        }
        for place in D..K - 1 {
            state[place] = self.ar[place - D] * first + state[place + 1];
        }
        state[K - 1] = self.ar[K - 1 - D] * first;
    }

    /// P ← T·P·Tᵀ + Q, using the few non-zero entries of T.
    #[inline]
    fn advance_covariance(&mut self) {
        self.gain_is_current = false;
        let first = self.covariance[D];
        if D == 2 {
            for column in 0..K {
                self.covariance[0][column] += self.covariance[1][column];
            }
        }
        for row in 0..D {
            for column in 0..K {
                self.covariance[row][column] += first[column];
            }
        }
        for row in D..K {
            let factor = self.ar[row - D];
            let next = if row + 1 < K { self.covariance[row + 1] } else { [0.0; K] };
            for column in 0..K {
                self.covariance[row][column] = factor * first[column] + next[column];
            }
        }
        for row in 0..K {
            let mut line = self.covariance[row];
            self.advance_state(&mut line);
            for column in 0..K {
                self.covariance[row][column] = line[column] + self.noise[row][column];
            }
        }
    }
}

/// The loadings of one shock on the ARMA part: on the present value, and through the moving
/// average.
fn shock_loadings(process: &ArimaProcess<'_>, span: usize) -> Vec<f64> {
    let mut shocks = vec![0.0; span];
    shocks[0] = 1.0;
    shocks[1..=process.ma.len()].copy_from_slice(process.ma);
    shocks
}

/// The covariance P = T·P·Tᵀ + R·Rᵀ of the ARMA part, by solving the linear system of its upper
/// half.
fn stationary_covariance(ar: &[f64], shocks: &[f64]) -> Option<Vec<Vec<f64>>> {
    let span = ar.len();
    let place = |row: usize, column: usize| {
        let (low, high) = (row.min(column), row.max(column));
        low * span - low * (low + 1) / 2 + high
    };
    let unknowns = span * (span + 1) / 2;
    let mut rows = vec![vec![0.0; unknowns]; unknowns];
    let mut right = vec![0.0; unknowns];
    for i in 0..span {
        for j in i..span {
            let equation = place(i, j);
            rows[equation][equation] += 1.0;
            rows[equation][place(0, 0)] -= ar[i] * ar[j];
            if j + 1 < span {
                rows[equation][place(0, j + 1)] -= ar[i];
                rows[equation][place(i + 1, j + 1)] -= 1.0;
            }
            if i + 1 < span {
                rows[equation][place(i + 1, 0)] -= ar[j];
            }
            right[equation] = shocks[i] * shocks[j];
        }
    }
    let solved = solve_square(rows, right)?;
    Some((0..span).map(|i| (0..span).map(|j| solved[place(i, j)]).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stationary_variance_of_a_first_order_process_is_known() {
        let block = stationary_covariance(&[0.8], &[1.0]).unwrap();
        assert!((block[0][0] - 1.0 / (1.0 - 0.64)).abs() < 1e-12);
        // ARMA(1, 1): (1 + 2φθ + θ²) / (1 − φ²).
        let block = stationary_covariance(&[0.5, 0.0], &[1.0, 0.4]).unwrap();
        assert!((block[0][0] - (1.0 + 0.4 + 0.16) / 0.75).abs() < 1e-12);
    }

    #[test]
    fn the_filter_of_an_autoregression_settles_at_the_variance_of_its_shocks() {
        let order = ArimaOrder::new(1, 0, 0);
        let process = ArimaProcess { order, ar: &[0.8], ma: &[], variance: 2.0 };
        let mut filter = KalmanFilter::<1, 0>::start(&process, 1e6).unwrap();
        for _ in 0..3 {
            filter.prepare_update();
            filter.update_covariance();
        }
        assert!(filter.converged);
        assert!((filter.observation_variance() - 2.0).abs() < 1e-12);
        filter.skip_observation();
        assert!((filter.observation_variance() - (2.0 * 0.64 + 2.0)).abs() < 1e-12);
    }
}

//! Selects the ARIMA order that fits a series best.
//!
//! Akaike's criterion decides, Schwarz's breaks ties. Invariant: all orders are compared on the
//! same observations, those after the most differences of the grid; otherwise the criterion would
//! depend on the unit of the series.

use serde::{Deserialize, Serialize};

use super::fit::{ArimaFit, fit};
use super::order::{ArimaOrder, ArimaOrderGrid};

/// Criteria that differ by no more than this are tied.
pub const AIC_TIE_TOLERANCE: f64 = 1e-3;

/// One order that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ArimaCandidate {
    /// The order.
    pub order: ArimaOrder,
    /// Akaike's criterion on the common observations.
    pub aic: f64,
    /// Schwarz's criterion on the common observations.
    pub bic: f64,
}

/// The chosen model, and all candidates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArimaSelection {
    /// The model of the best order.
    pub fit: ArimaFit,
    /// All orders that could be fitted.
    pub candidates: Vec<ArimaCandidate>,
}

/// Fits every order of the grid and keeps the best; `None` if none can be fitted.
pub fn select_order(
    series: &[f64],
    regressors: &[Vec<f64>],
    grid: ArimaOrderGrid,
) -> Option<ArimaSelection> {
    let orders = grid.orders();
    let burn = orders.iter().map(|order| order.d).max()?;
    let mut fits = Vec::new();
    for order in orders {
        let Some(fitted) = fit(series, regressors, order) else { continue };
        let Some((likelihood, count)) = fitted.log_likelihood_after(series, regressors, burn)
        else {
            continue;
        };
        let parameters = fitted.parameter_count() as f64;
        let candidate = ArimaCandidate {
            order,
            aic: 2.0 * parameters - 2.0 * likelihood,
            bic: parameters * (count as f64).ln() - 2.0 * likelihood,
        };
        fits.push((candidate, fitted));
    }
    let candidates: Vec<ArimaCandidate> = fits.iter().map(|(candidate, _)| *candidate).collect();
    let (_, fit) = fits.swap_remove(best_candidate(&candidates)?);
    Some(ArimaSelection { fit, candidates })
}

/// The index of the best candidate: Schwarz's criterion decides among those that are tied in
/// Akaike's.
fn best_candidate(candidates: &[ArimaCandidate]) -> Option<usize> {
    let lowest = candidates.iter().map(|candidate| candidate.aic).min_by(f64::total_cmp)?;
    let tied =
        candidates.iter().enumerate().filter(|(_, one)| one.aic <= lowest + AIC_TIE_TOLERANCE);
    tied.min_by(|(_, left), (_, right)| left.bic.total_cmp(&right.bic)).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(p: usize, aic: f64, bic: f64) -> ArimaCandidate {
        ArimaCandidate { order: ArimaOrder::new(p, 0, 0), aic, bic }
    }

    #[test]
    fn of_equal_akaikes_schwarzs_criterion_decides() {
        let (large, small) = (candidate(2, 10.0, 16.0), candidate(1, 10.0, 14.0));
        assert_eq!(best_candidate(&[large, small]), Some(1));
        assert_eq!(best_candidate(&[small, large]), Some(0));
        // A tied candidate is chosen even if its AIC is slightly higher.
        let near = candidate(1, 10.0 + 0.9 * AIC_TIE_TOLERANCE, 14.0);
        assert_eq!(best_candidate(&[large, near]), Some(1));
    }

    #[test]
    fn schwarzs_criterion_has_no_say_beyond_a_tie() {
        let (large, small) =
            (candidate(2, 10.0, 16.0), candidate(0, 10.0 + 2.0 * AIC_TIE_TOLERANCE, 11.0));
        assert_eq!(best_candidate(&[large, small]), Some(0));
        assert_eq!(best_candidate(&[]), None);
    }
}

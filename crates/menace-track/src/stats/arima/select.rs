//! Which order suits a series best.
//!
//! Akaike's criterion decides, Schwarz's breaks ties. Invariant: all orders are judged on the same
//! observations, those after the most differences of the grid; else the criterion would depend on
//! the unit of the series.

use serde::{Deserialize, Serialize};

use super::fit::{Fit, fit};
use super::order::{Grid, Order};

/// Criteria no further apart than this are a tie.
pub const TIE: f64 = 1e-3;

/// One order that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The order.
    pub order: Order,
    /// Akaike's criterion on the common observations.
    pub aic: f64,
    /// Schwarz's criterion on them.
    pub bic: f64,
}

/// The chosen model, and what it was chosen from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// The model of the best order.
    pub fit: Fit,
    /// All orders that could be fitted.
    pub candidates: Vec<Candidate>,
}

/// Fits every order of the grid and keeps the best; `None` if none can be fitted.
pub fn select(series: &[f64], regressors: &[Vec<f64>], grid: Grid) -> Option<Selection> {
    let orders = grid.orders();
    let burn = orders.iter().map(|order| order.d).max()?;
    let mut fits = Vec::new();
    for order in orders {
        let Some(fitted) = fit(series, regressors, order) else { continue };
        let Some((likelihood, count)) = fitted.log_likelihood_after(series, regressors, burn)
        else {
            continue;
        };
        let parameters = fitted.parameters() as f64;
        let candidate = Candidate {
            order,
            aic: 2.0 * parameters - 2.0 * likelihood,
            bic: parameters * (count as f64).ln() - 2.0 * likelihood,
        };
        fits.push((candidate, fitted));
    }
    let lowest = fits.iter().map(|(candidate, _)| candidate.aic).min_by(f64::total_cmp)?;
    let candidates: Vec<Candidate> = fits.iter().map(|(candidate, _)| *candidate).collect();
    let (_, fit) = fits
        .into_iter()
        .filter(|(candidate, _)| candidate.aic <= lowest + TIE)
        .min_by(|(left, _), (right, _)| left.bic.total_cmp(&right.bic))?;
    Some(Selection { fit, candidates })
}

//! ARIMA by exact maximum likelihood, with or without regressors.
//!
//! The model is statsmodels' `ARIMA`: a regression (with a constant when nothing is differenced)
//! whose errors follow an ARIMA process in Harvey's state space form, started from its stationary
//! distribution, with an approximately diffuse start for the differenced part. [`super::forecast`]
//! decides when a series is long enough for a model. Invariant: an [`ArimaFit`] holds finite
//! numbers only.

mod filter;
mod fit;
mod initial_guess;
mod likelihood;
mod minimise;
mod multi_start;
mod order;
mod polynomial;
mod select;

pub use fit::{ArimaFit, ArimaParams, DIFFUSE_VARIANCE, fit, log_likelihood_at};
pub use order::{ArimaOrder, ArimaOrderGrid};
pub use select::{AIC_TIE_TOLERANCE, ArimaCandidate, ArimaSelection, select_order};

//! ARIMA by exact maximum likelihood, with or without regressors.
//!
//! The model is statsmodels' `ARIMA`: a regression (with a constant when nothing is differenced)
//! whose errors follow an ARIMA process in Harvey's state space form, started from its stationary
//! distribution, with an approximately diffuse start for the differenced part. Deciding when a series is
//! worth a model belongs to [`super::forecast`]. Invariant: a [`Fit`] holds finite numbers only.

mod around;
mod filter;
mod fit;
mod likelihood;
mod minimise;
mod order;
mod polynomial;
mod select;
mod start;

pub use fit::{DIFFUSE_VARIANCE, Fit, Given, fit, log_likelihood_at};
pub use order::{Grid, Order};
pub use select::{Candidate, Selection, TIE, select};

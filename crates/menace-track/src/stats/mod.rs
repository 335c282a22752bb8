//! The statistics that decisions are based on.
//!
//! Each method equals that of statsmodels, scipy, scikit-learn or numpy, which the fixtures in
//! `tests/reference` show; `docs/statistics.md` names sources and limits. Other modules of this
//! crate collect the series. Invariant: no panic and no NaN, whatever the input; a question that
//! the data cannot answer has the result `None`, or says that there are too few samples.

// Formulas index rows and columns, and name their terms by the letters of the literature.
#![allow(clippy::needless_range_loop, clippy::many_single_char_names)]
// Comparisons with zero are exact: a variance that was never changed, a share of nothing.
#![allow(clippy::float_cmp)]

pub mod adf;
pub mod arima;
pub mod boosting;
pub mod calibration;
pub mod cold_start;
pub mod convergence;
pub mod correlation;
pub mod describe;
pub mod distribution;
pub mod drift;
pub mod entropy;
pub mod evidence;
pub mod forecast;
pub mod forecast_calibrator;
pub mod foresight;
mod least_squares;
pub mod levene;
pub mod ridge;
pub mod smoothing;
pub mod synergy;
pub mod trend;

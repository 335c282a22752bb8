//! The statistics that decisions rest on.
//!
//! Each method equals what statsmodels, scipy, scikit-learn or numpy compute, which the fixtures in
//! `tests/reference` show; `docs/statistics.md` names sources and limits. Collecting the series
//! belongs to the rest of this crate. Invariant: no panic and no NaN, whatever goes in; a question
//! that the data cannot answer has the answer `None` or says that there are too few samples.

// Formulas index rows and columns and call their terms by the letters of the literature.
#![allow(clippy::needless_range_loop, clippy::many_single_char_names)]
// Zero here means zero: a variance that was never touched, a share of nothing.
#![allow(clippy::float_cmp)]

pub mod adf;
pub mod arima;
pub mod boosting;
pub mod calibration;
pub mod convergence;
pub mod correlation;
pub mod describe;
pub mod distribution;
pub mod drift;
pub mod entropy;
pub mod evidence;
pub mod forecast;
pub mod foresight;
mod least_squares;
pub mod levene;
pub mod ridge;
pub mod smoothing;
pub mod synergy;
pub mod templates;
pub mod trend;
pub mod truth;

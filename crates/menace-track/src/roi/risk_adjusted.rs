//! RAROI: ROI less what is at risk.

use crate::series::{deviation, last};

/// Deltas that stability is measured on.
const RECENT: usize = 10;

/// What stands between ROI and RAROI; each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Risk {
    /// How likely it is that it has to be taken back.
    pub rollback_probability: f64,
    /// How bad that would be.
    pub impact_severity: f64,
    /// How steady it has been.
    pub stability: f64,
    /// Its `safety_rating`.
    pub safety: f64,
}

impl Default for Risk {
    /// Nothing is known against it.
    fn default() -> Self {
        Self { rollback_probability: 0.0, impact_severity: 0.0, stability: 1.0, safety: 1.0 }
    }
}

impl Risk {
    /// 1 − the standard deviation of the last ten deltas; 1 for fewer than two.
    pub fn stability_of(deltas: &[f64]) -> f64 {
        let spread = deviation(last(deltas, RECENT)).unwrap_or_default();
        if spread.is_finite() { (1.0 - spread).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// `roi · (1 − rollback_probability · impact_severity) · stability · safety`.
pub fn raroi(roi: f64, risk: &Risk) -> f64 {
    let Risk { rollback_probability, impact_severity, stability, safety } = *risk;
    let part = |value: f64| value.clamp(0.0, 1.0);
    let kept = 1.0 - part(rollback_probability) * part(impact_severity);
    roi * kept * part(stability) * part(safety) + 0.0
}

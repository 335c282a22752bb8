//! RAROI: ROI adjusted for risk, and the confidence in forecasts of it.

use crate::series::{last_values, population_deviation};

/// How many of the last deltas stability is computed from.
const STABILITY_CYCLES: usize = 10;

/// The factors between ROI and RAROI; each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoiRisk {
    /// Probability that the change has to be rolled back.
    pub rollback_probability: f64,
    /// How severe that would be.
    pub impact_severity: f64,
    /// 1 for an ROI that does not vary.
    pub stability: f64,
    /// The metric `safety_rating`.
    pub safety: f64,
}

impl Default for RoiRisk {
    /// The factors when no risk is known.
    fn default() -> Self {
        Self { rollback_probability: 0.0, impact_severity: 0.0, stability: 1.0, safety: 1.0 }
    }
}

impl RoiRisk {
    /// 1 − the standard deviation of the last ten deltas; 1 for fewer than two.
    pub fn compute_stability(deltas: &[f64]) -> f64 {
        let spread =
            population_deviation(last_values(deltas, STABILITY_CYCLES)).unwrap_or_default();
        if spread.is_finite() { (1.0 - spread).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// `roi · (1 − rollback_probability · impact_severity) · stability · safety`.
pub fn compute_raroi(roi: f64, risk: &RoiRisk) -> f64 {
    let RoiRisk { rollback_probability, impact_severity, stability, safety } = *risk;
    let part = |value: f64| value.clamp(0.0, 1.0);
    let kept = 1.0 - part(rollback_probability) * part(impact_severity);
    roi * kept * part(stability) * part(safety) + 0.0
}

/// `1 / (1 + mae + variance)`, in (0, 1]; 0 where either is no finite number.
pub fn compute_confidence(mae: f64, variance: f64) -> f64 {
    let doubt = mae.abs() + variance.abs();
    if doubt.is_finite() { 1.0 / (1.0 + doubt) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::compute_confidence;
    use crate::series::assert_close;

    #[test]
    fn doubt_lowers_confidence() {
        assert_eq!((compute_confidence(0.0, 0.0), compute_confidence(0.5, 0.5)), (1.0, 0.5));
        assert_close(compute_confidence(f64::NAN, 0.0), 0.0);
    }
}

//! Oracle for the growth of CPU time with the size of the input.

use serde::{Deserialize, Serialize};

/// Shorter measurements are noise.
pub(crate) const MIN_MEASURABLE_CPU_MS: f64 = 4.0;
/// Linear growth has exponent 1, n log n at most 1.2, quadratic growth 2.
const MIN_STEEP_EXPONENT: f64 = 1.6;
/// Threshold from the first size to the last, with one of three measurements disturbed.
const MIN_REMEASURED_EXPONENT: f64 = 1.35;

/// CPU time of one input size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GrowthSample {
    pub size: u64,
    pub cpu_ms: f64,
}

impl GrowthSample {
    pub fn is_measurable(&self) -> bool {
        self.cpu_ms >= MIN_MEASURABLE_CPU_MS
    }
}

/// The exponent of the growth, if it is steep.
///
/// Uses the last three measurable sizes: both steps between them must be steep.
pub fn steep_growth_exponent(samples: &[GrowthSample]) -> Option<f64> {
    let [first, second, third] = last_measurable(samples)?;
    let steps = [growth_exponent(first, second), growth_exponent(second, third)];
    let all_steep = steps.iter().all(|step| step.is_finite() && *step > MIN_STEEP_EXPONENT);
    all_steep.then(|| growth_exponent(first, third))
}

/// May the growth be steep? On a busy machine one step may look flat.
pub(crate) fn may_be_steep(samples: &[GrowthSample]) -> bool {
    let ends = last_measurable(samples).map(|[first, _, third]| growth_exponent(first, third));
    ends.is_some_and(|ends| ends > MIN_REMEASURED_EXPONENT)
}

fn last_measurable(samples: &[GrowthSample]) -> Option<[GrowthSample; 3]> {
    let measured: Vec<GrowthSample> =
        samples.iter().copied().filter(GrowthSample::is_measurable).collect();
    measured.last_chunk().copied()
}

fn growth_exponent(from: GrowthSample, to: GrowthSample) -> f64 {
    (to.cpu_ms / from.cpu_ms).ln() / (to.size as f64 / from.size as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(time: impl Fn(f64) -> f64) -> Vec<GrowthSample> {
        (8..16)
            .map(|power| {
                let size = 1_u64 << power;
                GrowthSample { size, cpu_ms: time(size as f64) }
            })
            .collect()
    }

    #[test]
    fn quadratic_time_is_too_steep_and_linear_is_not() {
        let quadratic = steep_growth_exponent(&samples(|n| n * n / 1e5)).unwrap();
        assert!((quadratic - 2.0).abs() < 0.01);
        assert_eq!(steep_growth_exponent(&samples(|n| n / 100.0)), None);
        assert_eq!(steep_growth_exponent(&samples(|n| n * n.ln() / 500.0)), None);
    }

    #[test]
    fn times_too_short_to_measure_are_not_judged() {
        assert_eq!(steep_growth_exponent(&samples(|n| n * n / 1e12)), None);
        assert_eq!(steep_growth_exponent(&[]), None);
    }

    #[test]
    fn one_steep_step_is_not_enough() {
        let sample = |size, cpu_ms| GrowthSample { size, cpu_ms };
        assert_eq!(
            steep_growth_exponent(&[sample(1, 10.0), sample(2, 50.0), sample(4, 100.0)]),
            None
        );
    }
}

//! How time grows with the input.

use serde::{Deserialize, Serialize};

/// Below this, a measurement is noise.
pub(crate) const MEASURABLE_MS: f64 = 4.0;
/// Linear is 1, with a logarithm 1.2 at most; quadratic is 2.
const TOO_STEEP: f64 = 1.6;

/// Processor time of calls with ever larger inputs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    pub size: u64,
    pub cpu_ms: f64,
}

/// The exponent of the growth, if it is too steep: time goes with the size to that power.
///
/// Takes the last sizes that could be measured: at least two doublings, and each of them steep.
pub fn growth(samples: &[Growth]) -> Option<f64> {
    let measured: Vec<&Growth> =
        samples.iter().filter(|sample| sample.cpu_ms >= MEASURABLE_MS).collect();
    let [.., first, second, third] = measured.as_slice() else { return None };
    let steepness = |from: &Growth, to: &Growth| {
        (to.cpu_ms / from.cpu_ms).ln() / (to.size as f64 / from.size as f64).ln()
    };
    let steps = [steepness(first, second), steepness(second, third)];
    let all_steep = steps.iter().all(|step| step.is_finite() && *step > TOO_STEEP);
    all_steep.then(|| steepness(first, third))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(time: impl Fn(f64) -> f64) -> Vec<Growth> {
        (8..16)
            .map(|power| {
                let size = 1_u64 << power;
                Growth { size, cpu_ms: time(size as f64) }
            })
            .collect()
    }

    #[test]
    fn quadratic_time_is_too_steep_and_linear_is_not() {
        let quadratic = growth(&samples(|n| n * n / 1e5)).unwrap();
        assert!((quadratic - 2.0).abs() < 0.01);
        assert_eq!(growth(&samples(|n| n / 100.0)), None);
        assert_eq!(growth(&samples(|n| n * n.ln() / 500.0)), None);
    }

    #[test]
    fn what_is_too_short_to_measure_is_not_judged() {
        assert_eq!(growth(&samples(|n| n * n / 1e12)), None);
        assert_eq!(growth(&[]), None);
    }

    #[test]
    fn one_steep_step_may_be_bad_luck() {
        let sample = |size, cpu_ms| Growth { size, cpu_ms };
        assert_eq!(growth(&[sample(1, 10.0), sample(2, 50.0), sample(4, 100.0)]), None);
    }
}

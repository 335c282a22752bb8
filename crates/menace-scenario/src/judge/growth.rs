//! How time grows with the input.

use serde::{Deserialize, Serialize};

/// Below this, a measurement is noise.
pub(crate) const MEASURABLE_MS: f64 = 4.0;
/// Linear is 1, with a logarithm 1.2 at most; quadratic is 2.
const TOO_STEEP: f64 = 1.6;
/// From the first size to the last, with one measurement of three disturbed.
const WORTH_ANOTHER_LOOK: f64 = 1.35;

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
    let [first, second, third] = last_measured(samples)?;
    let steps = [steepness(first, second), steepness(second, third)];
    let all_steep = steps.iter().all(|step| step.is_finite() && *step > TOO_STEEP);
    all_steep.then(|| steepness(first, third))
}

/// Whether it may be too steep: where the machine had other things to do, one step looks flat.
pub(crate) fn may_be_steep(samples: &[Growth]) -> bool {
    let ends = last_measured(samples).map(|[first, _, third]| steepness(first, third));
    ends.is_some_and(|ends| ends > WORTH_ANOTHER_LOOK)
}

fn last_measured(samples: &[Growth]) -> Option<[Growth; 3]> {
    let measured: Vec<Growth> =
        samples.iter().copied().filter(|sample| sample.cpu_ms >= MEASURABLE_MS).collect();
    measured.last_chunk().copied()
}

fn steepness(from: Growth, to: Growth) -> f64 {
    (to.cpu_ms / from.cpu_ms).ln() / (to.size as f64 / from.size as f64).ln()
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

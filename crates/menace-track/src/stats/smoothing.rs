//! Simple exponential smoothing.
//!
//! The level starts at the first value and moves by the share α towards each new one; a search
//! finds the α with the smallest squared one-step errors (Gardner 1985). Invariant: α is in [0, 1].

use serde::{Deserialize, Serialize};

use super::describe::is_usable;

/// A smoothed series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExponentialSmoothing {
    /// The share by which the level moves towards each new value.
    pub alpha: f64,
    /// The level after the last value, which is the forecast of all later ones.
    pub level: f64,
    /// The standard deviation of the one-step errors.
    pub deviation: f64,
    /// Values that went in.
    pub samples: usize,
}

impl ExponentialSmoothing {
    /// Smooths with a given share; `None` without values. A missing value leaves the level
    /// unchanged.
    pub fn with_alpha(series: &[f64], alpha: f64) -> Option<Self> {
        let alpha = if alpha.is_finite() { alpha.clamp(0.0, 1.0) } else { 1.0 };
        let mut level = None;
        let (mut squares, mut samples) = (0.0, 0);
        for value in series.iter().copied().filter(|value| is_usable(*value)) {
            samples += 1;
            level = Some(match level {
                None => value,
                Some(before) => {
                    let error = value - before;
                    squares += error * error;
                    before + alpha * error
                }
            });
        }
        let deviation = if samples > 1 { (squares / (samples - 1) as f64).sqrt() } else { 0.0 };
        level.map(|level| Self { alpha, level, deviation, samples })
    }

    /// Smooths with the share that gives the smallest errors.
    pub fn fit(series: &[f64]) -> Option<Self> {
        let errors =
            |alpha: f64| Self::with_alpha(series, alpha).map_or(0.0, |smoothed| smoothed.deviation);
        let coarse = (0..=100_u32)
            .map(|percent| f64::from(percent) / 100.0)
            .min_by(|left, right| errors(*left).total_cmp(&errors(*right)))?;
        let (mut low, mut high) = ((coarse - 0.01).max(0.0), (coarse + 0.01).min(1.0));
        for _ in 0..60 {
            let third = (high - low) / 3.0;
            if errors(low + third) <= errors(high - third) {
                high -= third;
            } else {
                low += third;
            }
        }
        Self::with_alpha(series, f64::midpoint(low, high))
    }

    /// The standard error of the forecast `step` steps ahead (0 is the next value).
    pub fn standard_error(&self, step: usize) -> f64 {
        self.deviation * (1.0 + step as f64 * self.alpha * self.alpha).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_followed_and_noise_is_not() {
        let jump: Vec<f64> = (0..40).map(|place| if place < 20 { 0.0 } else { 1.0 }).collect();
        assert!(ExponentialSmoothing::fit(&jump).unwrap().alpha > 0.9);
        let noise: Vec<f64> = (0..41).map(|place| f64::from(place % 2)).collect();
        assert!(ExponentialSmoothing::fit(&noise).unwrap().alpha < 0.2);
    }

    #[test]
    fn empty_and_single_series_have_answers() {
        assert_eq!(ExponentialSmoothing::fit(&[]), None);
        let single = ExponentialSmoothing::fit(&[2.0]).unwrap();
        assert_eq!((single.level, single.standard_error(5)), (2.0, 0.0));
    }
}

//! A straight line through a series.
//!
//! For series too short for an ARIMA model. Invariant: missing values keep their position in time,
//! and the band around the line is Student's.

use serde::{Deserialize, Serialize};

use super::describe::is_usable;
use super::distribution::t_quantile;

/// The line of least squares over the index 0, 1, 2 …
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrendLine {
    /// The value at index zero.
    pub intercept: f64,
    /// The change per step.
    pub slope: f64,
    /// The standard deviation around the line; zero below three values.
    pub deviation: f64,
    /// Number of values used.
    pub samples: usize,
    length: usize,
    centre: f64,
    width: f64,
}

impl TrendLine {
    /// Fits the line; `None` without values. For one value the slope is zero.
    pub fn fit(series: &[f64]) -> Option<Self> {
        let points: Vec<(f64, f64)> = series
            .iter()
            .enumerate()
            .filter(|(_, value)| is_usable(**value))
            .map(|(place, value)| (place as f64, *value))
            .collect();
        if points.is_empty() {
            return None;
        }
        let count = points.len() as f64;
        let centre = points.iter().map(|(x, _)| x).sum::<f64>() / count;
        let level = points.iter().map(|(_, y)| y).sum::<f64>() / count;
        let width: f64 = points.iter().map(|(x, _)| (x - centre).powi(2)).sum();
        let joint: f64 = points.iter().map(|(x, y)| (x - centre) * (y - level)).sum();
        let slope = if width > 0.0 { joint / width } else { 0.0 };
        let intercept = level - slope * centre;
        let rest: f64 =
            points.iter().map(|(x, y)| (y - level - slope * (x - centre)).powi(2)).sum();
        let deviation = if points.len() > 2 { (rest / (count - 2.0)).sqrt() } else { 0.0 };
        Some(Self {
            intercept,
            slope,
            deviation,
            samples: points.len(),
            length: series.len(),
            centre,
            width,
        })
    }

    /// The value `step` steps after the series (0 is the next one).
    pub fn predict(&self, step: usize) -> f64 {
        self.intercept + self.slope * (self.length + step) as f64
    }

    /// Half the width of the band that contains the actual value with the given confidence.
    ///
    /// `None` below three values, which are too few for a band.
    pub fn interval_half_width(&self, step: usize, confidence: f64) -> Option<f64> {
        let freedom = self.samples.checked_sub(2).filter(|freedom| *freedom > 0)? as f64;
        let distance = (self.length + step) as f64 - self.centre;
        let error = (1.0 + 1.0 / self.samples as f64 + distance * distance / self.width).sqrt();
        let bound = t_quantile(f64::midpoint(1.0, confidence), freedom);
        let margin = bound * self.deviation * error;
        margin.is_finite().then_some(margin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on() {
        let line = TrendLine::fit(&[1.0, f64::NAN, 5.0, 7.0]).unwrap();
        assert!((line.slope - 2.0).abs() < 1e-12);
        assert!((line.predict(0) - 9.0).abs() < 1e-12);
        assert!(line.interval_half_width(0, 0.95).unwrap() < 1e-9);
    }

    #[test]
    fn few_values_have_a_line_without_a_band() {
        assert_eq!(TrendLine::fit(&[]), None);
        let level = TrendLine::fit(&[4.0]).unwrap();
        assert_eq!((level.predict(3), level.interval_half_width(0, 0.95)), (4.0, None));
        assert_eq!(TrendLine::fit(&[4.0, 5.0]).unwrap().interval_half_width(0, 0.95), None);
    }
}

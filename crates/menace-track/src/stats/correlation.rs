//! Correlations between two series, and between a series and time.
//!
//! Callers decide what follows from them. Invariant: every result is in [-1, 1]; a series without
//! variation correlates with nothing.

use super::describe::is_usable;
use super::distribution;

/// Pearson's correlation over the positions where both series have a value.
///
/// Zero for fewer than two such positions and when one side does not vary.
pub fn pearson_correlation(left: &[f64], right: &[f64]) -> f64 {
    let pairs: Vec<(f64, f64)> = left
        .iter()
        .zip(right)
        .filter(|(x, y)| is_usable(**x) && is_usable(**y))
        .map(|(x, y)| (*x, *y))
        .collect();
    if pairs.len() < 2 {
        return 0.0;
    }
    let count = pairs.len() as f64;
    let mean_x = pairs.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = pairs.iter().map(|(_, y)| y).sum::<f64>() / count;
    let (mut joint, mut width, mut height) = (0.0, 0.0, 0.0);
    for (x, y) in &pairs {
        let (dx, dy) = (x - mean_x, y - mean_y);
        joint += dx * dy;
        width += dx * dx;
        height += dy * dy;
    }
    // Rounding of the mean leaves tiny deviations in a constant series, which are no variation.
    if is_rounding_noise(width, mean_x, count) || is_rounding_noise(height, mean_y, count) {
        return 0.0;
    }
    (joint / width.sqrt() / height.sqrt()).clamp(-1.0, 1.0)
}

fn is_rounding_noise(sum_of_squares: f64, mean: f64, count: f64) -> bool {
    (sum_of_squares / count).sqrt() <= 1e-13 * mean.abs() || sum_of_squares < 1e-290
}

/// Pearson's correlation of a series with its own index: the direction and strength of its trend.
pub fn correlation_with_index(series: &[f64]) -> f64 {
    let index: Vec<f64> = (0..series.len()).map(|place| place as f64).collect();
    pearson_correlation(&index, series)
}

/// The correlation with the index inside each window of `window` values, oldest window first.
///
/// Empty when the series is shorter than the window or the window is smaller than two.
pub fn rolling_correlation_with_index(series: &[f64], window: usize) -> Vec<f64> {
    if window < 2 {
        return Vec::new();
    }
    series.windows(window).map(correlation_with_index).collect()
}

/// The largest autocorrelation that is used; the error would grow without limit towards 1.
const MAX_AUTOCORRELATION: f64 = 0.8;

/// The factor by which the standard error of a mean grows because values depend on their
/// neighbours, and count as fewer independent ones (Bartlett 1935). At least 1.
pub fn autocorrelation_inflation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 1.0;
    }
    let shared = pearson_correlation(&values[1..], &values[..values.len() - 1])
        .clamp(0.0, MAX_AUTOCORRELATION);
    ((1.0 + shared) / (1.0 - shared)).sqrt()
}

/// The two-sided p-value of a correlation over `samples` pairs, by Student's t.
///
/// 1 below three samples, since any two points lie on a line.
pub fn correlation_p_value(correlation: f64, samples: usize) -> f64 {
    if samples < 3 {
        return 1.0;
    }
    let freedom = (samples - 2) as f64;
    let rest = 1.0 - correlation * correlation;
    if rest <= 0.0 {
        return 0.0;
    }
    distribution::t_two_sided(correlation * (freedom / rest).sqrt(), freedom)
}

/// The correlation that `samples` unrelated pairs exceed with probability 1 − `confidence`.
///
/// 1 below three samples, which prove nothing.
pub fn critical_correlation(samples: usize, confidence: f64) -> f64 {
    if samples < 3 {
        return 1.0;
    }
    let freedom = (samples - 2) as f64;
    let bound = distribution::t_quantile(f64::midpoint(1.0, confidence), freedom);
    if bound.is_finite() { bound / (freedom + bound * bound).sqrt() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_correlates_fully_and_a_constant_not_at_all() {
        assert!((correlation_with_index(&[1.0, 2.0, 3.0]) - 1.0).abs() < 1e-15);
        assert!((correlation_with_index(&[3.0, 2.0, f64::NAN, 0.0]) + 1.0).abs() < 1e-15);
        assert_eq!(correlation_with_index(&[0.1; 9]), 0.0);
        assert_eq!(correlation_with_index(&[]), 0.0);
        assert_eq!(correlation_with_index(&[1.0]), 0.0);
    }

    #[test]
    fn a_correlation_at_the_critical_value_has_the_p_value_of_the_confidence() {
        let bound = critical_correlation(12, 0.95);
        assert!((correlation_p_value(bound, 12) - 0.05).abs() < 1e-9);
    }

    #[test]
    fn windows_slide_by_one() {
        assert_eq!(rolling_correlation_with_index(&[1.0, 2.0, 1.0, 2.0], 2).len(), 3);
        assert!(rolling_correlation_with_index(&[1.0], 2).is_empty());
        assert!(rolling_correlation_with_index(&[1.0, 2.0], 1).is_empty());
    }
}

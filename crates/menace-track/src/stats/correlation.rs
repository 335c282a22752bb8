//! How two series move together, and whether a series moves with time.
//!
//! What follows from a correlation belongs to the decisions. Invariant: every answer is in
//! [-1, 1]; a series without variation correlates with nothing.

use super::describe::usable;
use super::distribution;

/// Pearson's correlation over the positions where both series have a value.
///
/// Zero for fewer than two such positions and when one side does not vary.
pub fn pearson(left: &[f64], right: &[f64]) -> f64 {
    let pairs: Vec<(f64, f64)> = left
        .iter()
        .zip(right)
        .filter(|(x, y)| usable(**x) && usable(**y))
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
    // Rounding of the mean leaves crumbs in a constant series: they are no variation.
    if noise(width, mean_x, count) || noise(height, mean_y, count) {
        return 0.0;
    }
    (joint / width.sqrt() / height.sqrt()).clamp(-1.0, 1.0)
}

fn noise(sum_of_squares: f64, mean: f64, count: f64) -> bool {
    (sum_of_squares / count).sqrt() <= 1e-13 * mean.abs() || sum_of_squares < 1e-290
}

/// Pearson's correlation of a series with its own index: the direction and strength of its trend.
pub fn with_index(series: &[f64]) -> f64 {
    let index: Vec<f64> = (0..series.len()).map(|place| place as f64).collect();
    pearson(&index, series)
}

/// The correlation with the index inside each window of `window` values, oldest window first.
///
/// Empty when the series is shorter than the window or the window is smaller than two.
pub fn rolling_with_index(series: &[f64], window: usize) -> Vec<f64> {
    if window < 2 {
        return Vec::new();
    }
    series.windows(window).map(with_index).collect()
}

/// The most that is made of neighbours that follow each other: above, errors would have no end.
const MOST_DEPENDENCE: f64 = 0.8;

/// How much larger the error of a mean is because values follow their neighbours: they are as good as
/// fewer independent ones (Bartlett 1935). At least 1.
pub fn dependence(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 1.0;
    }
    let shared = pearson(&values[1..], &values[..values.len() - 1]).clamp(0.0, MOST_DEPENDENCE);
    ((1.0 + shared) / (1.0 - shared)).sqrt()
}

/// The correlation of two series inside each window of `window` values, oldest window first.
pub fn rolling(left: &[f64], right: &[f64], window: usize) -> Vec<f64> {
    if window < 2 {
        return Vec::new();
    }
    left.windows(window).zip(right.windows(window)).map(|(x, y)| pearson(x, y)).collect()
}

/// The two-sided p-value of a correlation over `samples` pairs, by Student's t.
///
/// One below three samples, where any two points lie on a line.
pub fn p_value(correlation: f64, samples: usize) -> f64 {
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

/// The correlation that `samples` unrelated pairs exceed only with probability 1 − `confidence`.
///
/// One below three samples: nothing can be told from them.
pub fn critical(samples: usize, confidence: f64) -> f64 {
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
        assert!((with_index(&[1.0, 2.0, 3.0]) - 1.0).abs() < 1e-15);
        assert!((with_index(&[3.0, 2.0, f64::NAN, 0.0]) + 1.0).abs() < 1e-15);
        assert_eq!(with_index(&[0.1; 9]), 0.0);
        assert_eq!(with_index(&[]), 0.0);
        assert_eq!(with_index(&[1.0]), 0.0);
    }

    #[test]
    fn a_correlation_at_the_critical_value_has_the_p_value_of_the_confidence() {
        let bound = critical(12, 0.95);
        assert!((p_value(bound, 12) - 0.05).abs() < 1e-9);
    }

    #[test]
    fn windows_slide_by_one() {
        assert_eq!(rolling_with_index(&[1.0, 2.0, 1.0, 2.0], 2).len(), 3);
        assert!(rolling_with_index(&[1.0], 2).is_empty());
        assert!(rolling_with_index(&[1.0, 2.0], 1).is_empty());
    }
}

//! Means, deviations and moving averages of a series.
//!
//! Callers choose windows and thresholds. Invariant: a value that is not [`is_usable`] counts as
//! missing, so that no result is NaN and no square overflows.

/// The largest magnitude that counts as a measurement.
///
/// Squares of it and sums of many such squares stay finite.
pub const MAX_MAGNITUDE: f64 = 1e100;

/// Whether a value is a measurement: finite, and not beyond [`MAX_MAGNITUDE`].
pub fn is_usable(value: f64) -> bool {
    value.is_finite() && value.abs() <= MAX_MAGNITUDE
}

/// The measurements of a series, without what is missing.
pub fn drop_missing(series: &[f64]) -> Vec<f64> {
    series.iter().copied().filter(|value| is_usable(*value)).collect()
}

/// The arithmetic mean; zero for an empty series.
pub fn mean(series: &[f64]) -> f64 {
    let values = drop_missing(series);
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The middle value, or the mean of the two in the middle; zero for an empty series.
pub fn median(series: &[f64]) -> f64 {
    let mut values = drop_missing(series);
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => 0.0,
        length if length % 2 == 1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}

/// The variance of a sample (divided by n − 1); zero below two values.
pub fn variance(series: &[f64]) -> f64 {
    let values = drop_missing(series);
    if values.len() < 2 {
        return 0.0;
    }
    let centre = mean(&values);
    values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The standard deviation of a sample (divided by n − 1); zero below two values.
pub fn sample_deviation(series: &[f64]) -> f64 {
    variance(series).sqrt()
}

/// Whether all measurements are the same number up to rounding.
pub fn is_constant(series: &[f64]) -> bool {
    let values = drop_missing(series);
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    values.len() < 2 || high - low <= 1e-12 * low.abs().max(high.abs())
}

/// A quantile of a sample, interpolated linearly (type 7 of Hyndman and Fan, as numpy does); zero
/// for an empty series.
pub fn quantile(series: &[f64], share: f64) -> f64 {
    let mut values = drop_missing(series);
    values.sort_by(f64::total_cmp);
    quantile_of_sorted(&values, share)
}

pub(crate) fn quantile_of_sorted(values: &[f64], share: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let place = share.clamp(0.0, 1.0) * last as f64;
    #[expect(clippy::cast_sign_loss, reason = "a share of a length is not negative")]
    let below = (place.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let part = place - below as f64;
    // The form that numpy uses, which is exact at both ends.
    let step = values[above] - values[below];
    if part >= 0.5 { values[above] - step * (1.0 - part) } else { values[below] + step * part }
}

/// An exponentially weighted mean and deviation, one value at a time and in constant time.
///
/// `mean ← mean + α·(x − mean)` and `variance ← (1 − α)·(variance + α·(x − mean)²)`, started with
/// the first value and zero: pandas' `ewm(alpha, adjust=False, ignore_na=True)` with `mean()` and
/// `std(bias=True)`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ExponentialAverage {
    alpha: f64,
    mean: f64,
    variance: f64,
    samples: usize,
}

impl ExponentialAverage {
    /// An average in which the newest value has the weight `alpha`, in (0, 1].
    pub fn new(alpha: f64) -> Self {
        let alpha = if alpha.is_finite() { alpha.clamp(f64::EPSILON, 1.0) } else { 1.0 };
        Self { alpha, mean: 0.0, variance: 0.0, samples: 0 }
    }

    /// An average over about `span` values: α = 2 / (span + 1).
    pub fn with_span(span: usize) -> Self {
        Self::new(2.0 / (span.max(1) as f64 + 1.0))
    }

    /// Adds a value; an unusable one changes nothing.
    pub fn push(&mut self, value: f64) {
        if !is_usable(value) {
            return;
        }
        self.samples += 1;
        if self.samples == 1 {
            self.mean = value;
            return;
        }
        let surprise = value - self.mean;
        self.mean += self.alpha * surprise;
        self.variance = (1.0 - self.alpha) * (self.variance + self.alpha * surprise * surprise);
    }

    /// Adds all values of a series.
    pub fn extend(&mut self, series: &[f64]) {
        for value in series {
            self.push(*value);
        }
    }

    /// The weighted mean; zero before the first value.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The weighted standard deviation; zero before the second value.
    pub fn deviation(&self) -> f64 {
        self.variance.max(0.0).sqrt()
    }

    /// Number of values added.
    pub fn samples(&self) -> usize {
        self.samples
    }
}

/// The exponential moving average of a series after each of its values.
///
/// A missing value repeats the average before it; before the first measurement it is zero.
pub fn ema_series(series: &[f64], span: usize) -> Vec<f64> {
    let mut average = ExponentialAverage::with_span(span);
    series
        .iter()
        .map(|value| {
            average.push(*value);
            average.mean()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_single_series_have_answers() {
        assert_eq!(
            (mean(&[]), median(&[]), sample_deviation(&[]), quantile(&[], 0.5)),
            (0.0, 0.0, 0.0, 0.0)
        );
        assert_eq!(
            (mean(&[3.0]), median(&[3.0]), sample_deviation(&[3.0]), quantile(&[3.0], 0.9)),
            (3.0, 3.0, 0.0, 3.0)
        );
        assert!(is_constant(&[]) && is_constant(&[3.0]) && is_constant(&[3.0, f64::NAN, 3.0]));
        assert!(!is_constant(&[3.0, 3.1]));
    }

    #[test]
    fn what_is_missing_changes_no_average() {
        assert_eq!(ema_series(&[1.0, f64::NAN, 3.0], 3), [1.0, 1.0, 2.0]);
        assert!((mean(&[1.0, f64::INFINITY, 3.0]) - 2.0).abs() < 1e-15);
        assert_eq!(median(&[f64::NAN, 1.0, 9.0, 2.0]), 2.0);
    }
}

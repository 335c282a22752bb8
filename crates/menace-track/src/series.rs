//! Mean, deviation and trend of a short series.
//!
//! `stats` has everything else.

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The population standard deviation (divided by n).
pub(crate) fn population_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / values.len() as f64).sqrt())
}

/// The last `count` values, or all when there are fewer.
pub(crate) fn last_values<T>(values: &[T], count: usize) -> &[T] {
    &values[values.len().saturating_sub(count)..]
}

/// The next value of a straight line through the values; `None` for fewer than three.
pub(crate) fn extrapolate_line(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let level = mean(values)?;
    let offsets = || (0..values.len()).map(|index| index as f64 - middle);
    let slope = offsets().zip(values).map(|(x, y)| x * (y - level)).sum::<f64>()
        / offsets().map(|x| x * x).sum::<f64>();
    Some(level + slope * (middle + 1.0))
}

#[cfg(test)]
#[track_caller]
pub(crate) fn assert_close(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-9, "{left} is not {right}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_is_that_of_the_values() {
        assert_close(population_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap(), 2.0);
        assert_eq!(population_deviation(&[]), None);
    }

    #[test]
    fn a_line_goes_on() {
        assert_close(extrapolate_line(&[1.0, 2.0, 3.0, 4.0]).unwrap(), 5.0);
        assert_eq!(extrapolate_line(&[1.0, 2.0]), None);
    }
}

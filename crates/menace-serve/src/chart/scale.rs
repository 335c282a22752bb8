//! Maps values to coordinates, with ticks at round numbers.

/// A span of values on a span of space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AxisScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl AxisScale {
    /// Holds all values with some air; a single value gets some around it.
    pub(super) fn covering(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.into_iter().filter(|value| value.is_finite()) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let span = high - low;
        // Smaller differences are rounding errors.
        let least = 1e-9 * low.abs().max(high.abs()).max(1e-3);
        let air = if span > least { span * 0.08 } else { (high.abs() * 0.1).max(0.05) };
        Self { low: low - air, high: high + air, from, to }
    }

    pub(super) fn exact(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high, from, to }
    }

    pub(super) fn position(self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    /// About `wanted` round numbers.
    pub(super) fn ticks(self, wanted: usize) -> Vec<f64> {
        let span = self.high - self.low;
        let rough = span / wanted.max(1) as f64;
        let magnitude = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * magnitude)
            .find(|step| span / step <= wanted as f64)
            .unwrap_or(10.0 * magnitude);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        // Never more than fit, even after rounding errors.
        (first..=last).take(4 * wanted + 4).map(|number| number as f64 * step).collect()
    }
}

/// A number as short as an axis likes it.
pub(super) fn format_tick(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 {
        return format!("{:.1}m", value / 1e6);
    }
    if size >= 1e4 {
        return format!("{:.0}k", value / 1e3);
    }
    let digits = if size >= 100.0 { 0 } else { 4 };
    let text = format!("{value:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let scale = AxisScale::exact(0.0, 1.0, 0.0, 100.0);
        assert_eq!(
            scale.ticks(5).iter().map(|tick| format_tick(*tick)).collect::<Vec<_>>(),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
        assert!((scale.position(0.25) - 25.0).abs() < 1e-9);
    }

    #[test]
    fn any_values_have_a_scale() {
        for values in [&[][..], &[0.5], &[f64::NAN, 3.0], &[-1e300, 1e300], &[1e-320, 0.0]] {
            let scale = AxisScale::covering(values.iter().copied(), 0.0, 10.0);
            assert!(scale.ticks(4).len() < 25, "{values:?}");
            assert!(scale.position(0.1).is_finite() || values.len() == 2, "{values:?}");
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.25, "0.25"),
            (12345.0, "12k"),
            (2.5e6, "2.5m"),
            (200.0, "200"),
        ] {
            assert_eq!(format_tick(value), text);
        }
    }
}

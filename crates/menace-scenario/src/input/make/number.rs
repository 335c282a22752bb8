//! Numbers that somebody would pass, by what they count.

use menace_model::{Random, Value};

use super::Style;
use crate::input::shape::Bounds;
use crate::input::topic::Topic;

/// Whole numbers about a name.
fn examples(name: &str) -> Vec<i64> {
    let number = |value: &Value| match value {
        Value::Int(number) => Some(*number),
        _ => None,
    };
    Topic::of(name).map_or(Vec::new(), |topic| topic.values.iter().filter_map(number).collect())
}

pub(crate) fn int(name: &str, style: Style, turn: usize, random: &mut Random) -> i64 {
    let examples = examples(name);
    match style {
        Style::Typical if examples.is_empty() => i64::try_from(turn).unwrap_or(0) + 1,
        Style::Typical => examples[turn % examples.len()],
        Style::Smart if !examples.is_empty() && random.chance(0.7) => {
            random.pick(&examples).copied().unwrap_or(1)
        }
        Style::Smart => match random.below(10) {
            0..=6 => random.between(0, 20),
            7 | 8 => random.between(0, 1000),
            _ => random.between(-20, -1),
        },
        Style::Random => {
            let bits = random.below(64);
            let magnitude = random.next_u64() >> (63 - bits) >> 1;
            let number = magnitude.cast_signed();
            if random.chance(0.3) { -number } else { number }
        }
    }
}

pub(crate) fn float(name: &str, style: Style, turn: usize, random: &mut Random) -> f64 {
    let number = |value: &Value| match value {
        Value::Float(number) => Some(*number),
        Value::Int(number) => Some(*number as f64),
        _ => None,
    };
    let examples: Vec<f64> = Topic::of(name)
        .map_or(Vec::new(), |topic| topic.values.iter().filter_map(number).collect());
    match style {
        Style::Typical if examples.is_empty() => turn as f64 + 1.5,
        Style::Typical => examples[turn % examples.len()],
        Style::Smart if !examples.is_empty() && random.chance(0.7) => {
            random.pick(&examples).copied().unwrap_or(1.5)
        }
        Style::Smart => (random.unit() * 200.0 * 100.0).round() / 100.0,
        Style::Random => {
            let exponent = random.between(-30, 30) as i32;
            let sign = if random.chance(0.3) { -1.0 } else { 1.0 };
            sign * random.unit() * 10_f64.powi(exponent)
        }
    }
}

/// Brought within bounds.
pub(crate) fn within(value: Value, bounds: &Bounds) -> Value {
    let (low, high) = (bounds.low, bounds.high);
    let fits =
        |number: f64| low.is_none_or(|low| number >= low) && high.is_none_or(|high| number <= high);
    let inside = |number: f64| {
        if fits(number) {
            return number;
        }
        match (low, high) {
            (Some(low), Some(high)) if low <= high => {
                let span = high - low + 1.0;
                low + (number - low).rem_euclid(span).min(high - low)
            }
            (Some(low), _) => low + number.abs().min(100.0),
            (None, Some(high)) => high - number.abs().min(100.0),
            (None, None) => number,
        }
    };
    match value {
        Value::Int(number) => Value::Int(inside(number as f64).round() as i64),
        Value::Float(number) => Value::Float(inside(number)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::Seed;

    #[test]
    fn numbers_are_about_their_name() {
        let mut random = Seed(1).random();
        assert_eq!(int("port", Style::Typical, 0, &mut random), 8080);
        assert_eq!(int("wombats", Style::Typical, 0, &mut random), 1);
        assert!((float("ratio", Style::Typical, 0, &mut random) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn bounds_are_kept() {
        let bounds = Bounds { low: Some(10.0), high: Some(20.0), ..Bounds::default() };
        let mut random = Seed(2).random();
        for _ in 0..200 {
            let number = int("", Style::Random, 0, &mut random);
            let Value::Int(number) = within(Value::Int(number), &bounds) else { panic!("an int") };
            assert!((10..=20).contains(&number), "{number}");
        }
    }
}

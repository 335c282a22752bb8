//! Numbers and texts that a caller would pass, by the name of the parameter.

use menace_model::{SeededRng, Value};

use super::ValueStyle;
use crate::input::name_topics::{NameTopic, TextRole, split_words};
use crate::input::shape::ValueBounds;

/// Integers of the topic of a name.
fn example_ints(name: &str) -> Vec<i64> {
    let number = |value: &Value| match value {
        Value::Int(number) => Some(*number),
        _ => None,
    };
    NameTopic::find_for_name(name)
        .map_or(Vec::new(), |topic| topic.values.iter().filter_map(number).collect())
}

pub(crate) fn make_int(name: &str, style: ValueStyle, turn: usize, random: &mut SeededRng) -> i64 {
    let examples = example_ints(name);
    match style {
        ValueStyle::Typical if examples.is_empty() => i64::try_from(turn).unwrap_or(0) + 1,
        ValueStyle::Typical => examples[turn % examples.len()],
        ValueStyle::Smart if !examples.is_empty() && random.chance(0.7) => {
            random.pick(&examples).copied().unwrap_or(1)
        }
        ValueStyle::Smart => match random.next_below(10) {
            0..=6 => random.next_between(0, 20),
            7 | 8 => random.next_between(0, 1000),
            _ => random.next_between(-20, -1),
        },
        ValueStyle::Random => {
            let bits = random.next_below(64);
            let magnitude = random.next_u64() >> (63 - bits) >> 1;
            let number = magnitude.cast_signed();
            if random.chance(0.3) { -number } else { number }
        }
    }
}

pub(crate) fn make_float(
    name: &str,
    style: ValueStyle,
    turn: usize,
    random: &mut SeededRng,
) -> f64 {
    let number = |value: &Value| match value {
        Value::Float(number) => Some(*number),
        Value::Int(number) => Some(*number as f64),
        _ => None,
    };
    let examples: Vec<f64> = NameTopic::find_for_name(name)
        .map_or(Vec::new(), |topic| topic.values.iter().filter_map(number).collect());
    match style {
        ValueStyle::Typical if examples.is_empty() => turn as f64 + 1.5,
        ValueStyle::Typical => examples[turn % examples.len()],
        ValueStyle::Smart if !examples.is_empty() && random.chance(0.7) => {
            random.pick(&examples).copied().unwrap_or(1.5)
        }
        ValueStyle::Smart => (random.next_unit() * 200.0 * 100.0).round() / 100.0,
        ValueStyle::Random => {
            let exponent = random.next_between(-30, 30) as i32;
            let sign = if random.chance(0.3) { -1.0 } else { 1.0 };
            sign * random.next_unit() * 10_f64.powi(exponent)
        }
    }
}

/// Moves a number within the bounds.
pub(crate) fn clamp_to_bounds(value: Value, bounds: &ValueBounds) -> Value {
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

/// The topic that has examples of a role.
pub(crate) fn topic_for_role(role: TextRole) -> &'static str {
    match role {
        TextRole::Plain | TextRole::Path => "text",
        TextRole::Sql => "sql",
        TextRole::Html => "html",
        TextRole::Url => "url",
        TextRole::Code => "expression",
        TextRole::Command => "command",
        TextRole::Regex => "pattern",
        TextRole::Json => "json",
        TextRole::Xml => "xml",
        TextRole::Yaml => "yaml",
        TextRole::Csv => "csv",
        TextRole::Format => "format",
        TextRole::Email => "email",
        TextRole::Number => "number_str",
        TextRole::Date => "date_str",
    }
}

/// Example texts for a name, the likeliest first.
fn example_texts(role: Option<TextRole>, name: &str) -> Vec<&'static str> {
    let texts = |topic: &'static NameTopic| -> Vec<&'static str> {
        let text = |value: &'static Value| match value {
            Value::Str(text) => text.as_str(),
            _ => None,
        };
        topic.values.iter().filter_map(text).collect()
    };
    let own =
        NameTopic::find_for_name(name).filter(|topic| role.is_none_or(|role| topic.role == role));
    let own = own.map(texts).unwrap_or_default();
    if !own.is_empty() {
        return own;
    }
    let role = role
        .or_else(|| NameTopic::find_for_name(name).map(|topic| topic.role))
        .unwrap_or(TextRole::Plain);
    if role == TextRole::Plain {
        Vec::new()
    } else {
        NameTopic::find_exact(topic_for_role(role)).map_or(Vec::new(), texts)
    }
}

/// A text for a parameter of that name; `turn` is its position among neighbouring values.
pub(crate) fn make_text(
    role: Option<TextRole>,
    name: &str,
    style: ValueStyle,
    turn: usize,
    random: &mut SeededRng,
) -> String {
    if style == ValueStyle::Random && role.is_none() {
        return random_text(random);
    }
    let examples = example_texts(role, name);
    match (style, examples.is_empty()) {
        (ValueStyle::Typical, false) => examples[turn % examples.len()].to_owned(),
        (_, false) if random.chance(0.8) => {
            random.pick(&examples).copied().unwrap_or_default().to_owned()
        }
        (ValueStyle::Typical, true) => numbered_text(&plain_text(name), turn),
        _ => random_words(random),
    }
}

/// The last word of the name.
fn plain_text(name: &str) -> String {
    let is_word = name.len() > 2 && name.is_ascii();
    if is_word { split_words(name).pop().unwrap_or_default() } else { "text".to_owned() }
}

fn numbered_text(text: &str, turn: usize) -> String {
    if turn == 0 { text.to_owned() } else { format!("{text}{}", turn + 1) }
}

const SAMPLE_WORDS: [&str; 24] = [
    "alpha", "beta", "river", "stone", "quick", "brown", "fox", "lazy", "dog", "naïve", "café",
    "Straße", "東京", "2024", "42", "don't", "e-mail", "x=1", "/usr/bin", "OK", "nil", "a.b",
    "100%", "end",
];

fn random_words(random: &mut SeededRng) -> String {
    let count = 1 + random.next_below(5);
    let words = (0..count).filter_map(|_| random.pick(&SAMPLE_WORDS).copied());
    words.collect::<Vec<_>>().join(if random.chance(0.8) { " " } else { "\n" })
}

/// Random text: letters, punctuation and sometimes any code point.
pub(crate) fn random_text(random: &mut SeededRng) -> String {
    let longest = if random.chance(0.1) { 200 } else { 16 };
    let length = random.next_below(longest);
    let mut text = String::new();
    for _ in 0..length {
        let point = match random.next_below(10) {
            0..=5 => random.next_between(0x61, 0x7a),
            6 => random.next_between(0x30, 0x39),
            7 => random.next_between(0x20, 0x7e),
            8 => random.next_between(0, 0x2ff),
            _ => random.next_between(0, 0x1_ffff),
        };
        text.extend(u32::try_from(point).ok().and_then(char::from_u32));
    }
    text
}

#[cfg(test)]
mod tests {
    use menace_model::Seed;

    use super::*;

    #[test]
    fn numbers_fit_their_name() {
        let mut random = Seed(1).rng();
        assert_eq!(make_int("port", ValueStyle::Typical, 0, &mut random), 8080);
        assert_eq!(make_int("wombats", ValueStyle::Typical, 0, &mut random), 1);
        assert!((make_float("ratio", ValueStyle::Typical, 0, &mut random) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn bounds_are_kept() {
        let bounds = ValueBounds { low: Some(10.0), high: Some(20.0), ..ValueBounds::default() };
        let mut random = Seed(2).rng();
        for _ in 0..200 {
            let number = make_int("", ValueStyle::Random, 0, &mut random);
            let Value::Int(number) = clamp_to_bounds(Value::Int(number), &bounds) else {
                panic!("an int")
            };
            assert!((10..=20).contains(&number), "{number}");
        }
    }

    #[test]
    fn text_fits_its_name() {
        let mut random = Seed(1).rng();
        let mut typical =
            |role, name: &str| make_text(role, name, ValueStyle::Typical, 0, &mut random);
        assert_eq!(typical(None, "user_email"), "ada@example.com");
        assert_eq!(typical(Some(TextRole::Regex), "x"), "[a-z]+");
        assert_eq!(typical(Some(TextRole::Url), "website"), "https://example.com/");
        assert_eq!(typical(None, "wombat_tail"), "tail");
    }

    #[test]
    fn every_role_but_the_plain_one_has_examples() {
        for role in TextRole::ALL {
            let expected = role != TextRole::Plain;
            assert_eq!(!example_texts(Some(role), "").is_empty(), expected, "{role:?}");
        }
    }
}

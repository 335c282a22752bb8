//! What messages say in words of their own: choices, ranges, beginnings.

use menace_model::Value;

use crate::input::facts::Facts;
use crate::input::infer::documented;
use crate::input::shape::Shape;

/// The most values that a message may name as a choice.
const MAX_CHOICES: usize = 12;

/// `mode must be 'r', 'w' or 'a'`, `expected one of ("x", "y")`.
pub(super) fn choices(message: &str) -> Option<Shape> {
    let says = ["must be", "one of", "expected", "choose from", "either", "should be", "require"];
    let start = says.iter().filter_map(|words| message.find(words)).min()?;
    let rest = &message[start..];
    let mut found: Vec<Value> = Vec::new();
    for quote in ['\'', '"'] {
        let quoted = rest.split(quote).skip(1).step_by(2);
        for text in quoted.filter(|text| !text.is_empty() && text.len() <= 24) {
            let value = Value::from(text);
            if !found.contains(&value) {
                found.push(value);
            }
        }
        if found.len() >= 2 {
            break;
        }
        found.clear();
    }
    found.truncate(MAX_CHOICES);
    (!found.is_empty()).then_some(Shape::OneOf(found))
}

/// `an option must start with --`, `the name has to end with ".py"`.
pub(super) fn affix(message: &str) -> Option<Shape> {
    let after = |words: &str| message.find(words).map(|at| &message[at + words.len()..]);
    let first = |rest: &str| {
        let word = rest.split_whitespace().next()?;
        let word = word.trim_end_matches(',').trim_matches(['\'', '"', '`', ';', ')']);
        // A word of prose is no literal.
        let is_literal = !word.is_empty() && !word.chars().all(char::is_alphabetic);
        is_literal.then(|| word.to_owned())
    };
    let starts = ["start with ", "begin with "].iter().find_map(|words| first(after(words)?));
    let text = match starts {
        Some(literal) => format!("{literal}alpha"),
        None => format!("alpha{}", first(after("end with ")?)?),
    };
    Some(Shape::OneOf(vec![Value::from(text)]))
}

/// `p must be in the range 0.0 < p < 1.0`, `expected a number between 1 and 12`.
pub(super) fn range(message: &str) -> Option<Shape> {
    let says = [" range", "between ", "in [", "in (", "from "];
    let start = says.iter().filter_map(|words| message.find(words)).min()?;
    let is_part = |char: char| char.is_ascii_digit() || char == '.' || char == '-';
    let numbers: Vec<&str> = message[start..]
        .split(|char| !is_part(char))
        .map(|text| text.trim_end_matches(['.', '-']))
        .filter(|text| text.parse::<f64>().is_ok())
        .collect();
    let [low, high] = numbers[..] else { return None };
    let (from, to) = (low.parse::<f64>().ok()?, high.parse::<f64>().ok()?);
    // `0..12` is one number less than it looks.
    if from >= to {
        return None;
    }
    let middle = f64::midpoint(from, to);
    let value = match (low.parse::<i64>(), high.parse::<i64>()) {
        (Ok(low), Ok(high)) => Value::Int(low.midpoint(high)),
        _ => Value::Float(middle),
    };
    Some(Shape::OneOf(vec![value, Value::Float(middle)]))
}

/// `the argument must be a string`.
pub(super) fn in_prose(facts: &Facts<'_>, message: &str) -> Option<Shape> {
    let says =
        ["must be ", "should be ", "expected ", "requires ", "expecting ", "must implement "];
    let start = says.iter().find_map(|words| Some(message.find(words)? + words.len()))?;
    let rest = &message[start..];
    let end = rest.find([',', ';', '.', ':', '(']).unwrap_or(rest.len());
    let words: Vec<&str> = rest[..end].split_whitespace().collect();
    (1..=words.len().min(5))
        .rev()
        .find_map(|count| documented::shape(facts, &words[..count].join(" ")))
        .filter(|shape| *shape != Shape::Any)
}

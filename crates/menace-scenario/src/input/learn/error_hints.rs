//! Hints about a value from the message of an exception, by `data/error_hints.txt` and by its
//! words.

use std::sync::OnceLock;

use menace_model::{RaisedException, Value};

use crate::input::infer::{annotation, docstring_types};
use crate::input::repository_facts::RepositoryFacts;
use crate::input::shape::ValueShape;

/// A hint about a wrong value from a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ErrorHint {
    /// Class of the wrong value, as messages show it: without its module.
    pub found_class: Option<String>,
    /// The wrong value is an item of a container.
    pub is_item: bool,
    /// The attribute or method that it does not have.
    pub missing_member: Option<String>,
    /// Shapes that would fit, the likeliest first.
    pub shapes: Vec<ValueShape>,
    /// There were too few arguments.
    pub needs_more_arguments: bool,
    /// Expected number of items, and the actual one.
    pub count: Option<(usize, Option<usize>)>,
}

struct ErrorPattern {
    message: Vec<ErrorPatternPiece>,
    found_class: Option<&'static str>,
    is_item: bool,
    needs_more_arguments: bool,
    kinds: Vec<&'static str>,
}

enum ErrorPatternPiece {
    Text(&'static str),
    Placeholder(&'static str),
}

fn error_patterns() -> &'static [ErrorPattern] {
    static ERROR_PATTERNS: OnceLock<Vec<ErrorPattern>> = OnceLock::new();
    ERROR_PATTERNS.get_or_init(|| {
        let lines = include_str!("../data/error_hints.txt").lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines
            .filter_map(|line| {
                let mut parts = line.splitn(3, '|').map(str::trim);
                let (message, about, kinds) = (parts.next()?, parts.next()?, parts.next()?);
                let kinds = kinds.split(';').map(str::trim).filter(|kind| !kind.is_empty());
                Some(ErrorPattern {
                    message: split_pieces(message),
                    found_class: Some(about).filter(|about| !matches!(*about, "" | "items" | "*")),
                    is_item: about == "items",
                    needs_more_arguments: about == "*",
                    kinds: kinds.collect(),
                })
            })
            .collect()
    })
}

fn split_pieces(message: &'static str) -> Vec<ErrorPatternPiece> {
    let mut pieces = Vec::new();
    let mut rest = message;
    while let Some((text, more)) = rest.split_once('{') {
        let (name, more) = more.split_once('}').unwrap_or((more, ""));
        if !text.is_empty() {
            pieces.push(ErrorPatternPiece::Text(text));
        }
        pieces.push(ErrorPatternPiece::Placeholder(name));
        rest = more;
    }
    if !rest.is_empty() {
        pieces.push(ErrorPatternPiece::Text(rest));
    }
    pieces
}

impl ErrorPattern {
    /// The texts of the placeholders; none when the message does not match.
    fn captures<'m>(&self, message: &'m str) -> Option<Vec<(&'static str, &'m str)>> {
        let mut rest = message;
        let mut captured = Vec::new();
        let mut open: Option<&'static str> = None;
        let mut is_first = true;
        for piece in &self.message {
            match piece {
                ErrorPatternPiece::Placeholder(name) => open = Some(name),
                ErrorPatternPiece::Text(text) => {
                    // The first piece may be anywhere, the others end the placeholder before them.
                    let at = match (open, is_first) {
                        (None, false) => rest.starts_with(text).then_some(0)?,
                        _ => rest.find(text)?,
                    };
                    if let Some(name) = open.take() {
                        captured.push((name, &rest[..at]));
                    }
                    rest = &rest[at + text.len()..];
                }
            }
            is_first = false;
        }
        if let Some(name) = open {
            let end = rest.find([' ', ',', ';', ':', ')', '\n']).unwrap_or(rest.len());
            captured.push((name, &rest[..end]));
        }
        Some(captured)
    }

    fn parse_hint(&self, facts: &RepositoryFacts<'_>, message: &str) -> Option<ErrorHint> {
        let captured = self.captures(message)?;
        let mut hint = ErrorHint {
            found_class: self.found_class.map(str::to_owned),
            is_item: self.is_item,
            needs_more_arguments: self.needs_more_arguments,
            ..ErrorHint::default()
        };
        let kinds = self.kinds.iter().map(|kind| annotation::shape_of_kind(facts, kind));
        hint.shapes = kinds.filter(|shape| *shape != ValueShape::Any).collect();
        for (name, text) in captured {
            match name {
                "found" => hint.found_class = Some(class_name(text)),
                "member" => hint.missing_member = Some(text.to_owned()),
                "wanted" => hint.shapes.extend(expected_shape(facts, text)),
                "count" => hint.count = Some((text.parse().ok()?, None)),
                "got" => {
                    let expected = hint.count?.0;
                    hint.count = Some((expected, text.parse().ok()));
                }
                "size" => {
                    let times = text.parse().ok().filter(|size| *size <= 1 << 20)?;
                    let value = Box::new(Value::Bytes(vec![0]));
                    hint.shapes.push(ValueShape::OneOf(vec![Value::Repeat { value, times }]));
                }
                _ => {}
            }
        }
        let says_something = hint.missing_member.is_some()
            || hint.count.is_some()
            || hint.needs_more_arguments
            || !hint.shapes.is_empty();
        says_something.then_some(hint)
    }
}

/// `_io.StringIO` is a `StringIO`.
fn class_name(text: &str) -> String {
    let text = text.trim_matches(['\'', '"', '.']);
    text.rsplit('.').next().unwrap_or_default().to_owned()
}

/// The shape of a class name or of type words.
fn expected_shape(facts: &RepositoryFacts<'_>, text: &str) -> Option<ValueShape> {
    let text = text.trim_matches(['\'', '"']);
    let is_meant = |class: &&&str| class.rsplit('.').next() == Some(text);
    let own = || {
        let found = facts.classes_named_like(text).iter().find(is_meant);
        found.map(|class| ValueShape::Instance((*class).to_owned()))
    };
    own()
        .or_else(|| docstring_types::docstring_shape(facts, text))
        .filter(|shape| *shape != ValueShape::Any)
}

/// All hints of an exception.
pub(crate) fn parse_hints(facts: &RepositoryFacts<'_>, raised: &RaisedException) -> Vec<ErrorHint> {
    let message: String = raised.message.chars().take(400).collect();
    let mut hints: Vec<ErrorHint> = Vec::new();
    let mut add = |hint: ErrorHint| {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    };
    for pattern in error_patterns() {
        if let Some(hint) = pattern.parse_hint(facts, &message) {
            add(hint);
            // Either operand may be the wrong one.
            if let Some(other) = parse_swapped_operands(facts, pattern, &message) {
                add(other);
            }
        }
    }
    if let Some(shape) = parse_affix(&message) {
        add(ErrorHint { shapes: vec![shape], ..ErrorHint::default() });
    }
    let is_key = raised.kind.ends_with("KeyError") && message.parse::<i64>().is_ok();
    if is_key {
        // A number was used as a key of a dict: probably a list or a text was expected.
        let shapes = vec![ValueShape::any_text(), ValueShape::list_of(ValueShape::any_text())];
        add(ErrorHint { found_class: Some("dict".to_owned()), shapes, ..ErrorHint::default() });
    }
    if let Some(shape) = parse_range(&message) {
        add(ErrorHint { shapes: vec![shape], ..ErrorHint::default() });
    } else if let Some(shape) = parse_choices(&message) {
        add(ErrorHint { shapes: vec![shape], ..ErrorHint::default() });
    } else if let Some(shape) = parse_type_words(facts, &message) {
        add(ErrorHint { shapes: vec![shape], ..ErrorHint::default() });
    }
    hints
}

fn parse_swapped_operands(
    facts: &RepositoryFacts<'_>,
    pattern: &ErrorPattern,
    message: &str,
) -> Option<ErrorHint> {
    const OPERATOR_MESSAGES: [&str; 3] =
        ["unsupported operand", "not supported between", "can only conc"];
    let Some(ErrorPatternPiece::Text(first)) = pattern.message.first() else { return None };
    OPERATOR_MESSAGES.iter().find(|operator| first.contains(*operator))?;
    let captured = pattern.captures(message)?;
    let capture_named =
        |wanted: &str| captured.iter().find(|(name, _)| *name == wanted).map(|(_, it)| *it);
    let shape = expected_shape(facts, capture_named("found")?)?;
    Some(ErrorHint {
        found_class: Some(class_name(capture_named("wanted")?)),
        shapes: vec![shape],
        ..ErrorHint::default()
    })
}

const MAX_CHOICES: usize = 12;

/// `mode must be 'r', 'w' or 'a'`, `expected one of ("x", "y")`.
pub(super) fn parse_choices(message: &str) -> Option<ValueShape> {
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
    (!found.is_empty()).then_some(ValueShape::OneOf(found))
}

/// `an option must start with --`, `the name has to end with ".py"`.
pub(super) fn parse_affix(message: &str) -> Option<ValueShape> {
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
    Some(ValueShape::OneOf(vec![Value::from(text)]))
}

/// `p must be in the range 0.0 < p < 1.0`, `expected a number between 1 and 12`.
pub(super) fn parse_range(message: &str) -> Option<ValueShape> {
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
    // `0..12` contains one number only.
    if from >= to {
        return None;
    }
    let middle = f64::midpoint(from, to);
    let value = match (low.parse::<i64>(), high.parse::<i64>()) {
        (Ok(low), Ok(high)) => Value::Int(low.midpoint(high)),
        _ => Value::Float(middle),
    };
    Some(ValueShape::OneOf(vec![value, Value::Float(middle)]))
}

/// `the argument must be a string`.
pub(super) fn parse_type_words(facts: &RepositoryFacts<'_>, message: &str) -> Option<ValueShape> {
    let says =
        ["must be ", "should be ", "expected ", "requires ", "expecting ", "must implement "];
    let start = says.iter().find_map(|words| Some(message.find(words)? + words.len()))?;
    let rest = &message[start..];
    let end = rest.find([',', ';', '.', ':', '(']).unwrap_or(rest.len());
    let words: Vec<&str> = rest[..end].split_whitespace().collect();
    (1..=words.len().min(5))
        .rev()
        .find_map(|count| docstring_types::docstring_shape(facts, &words[..count].join(" ")))
        .filter(|shape| *shape != ValueShape::Any)
}

#[cfg(test)]
mod tests {
    use menace_model::{ClassIndex, NamedTypeIndex};

    use super::*;

    fn hints_from_message(message: &str) -> Vec<ErrorHint> {
        let (classes, types) = (ClassIndex::default(), NamedTypeIndex::default());
        let facts = RepositoryFacts::new(&classes, &types);
        let raised = RaisedException {
            kind: "builtins.TypeError".to_owned(),
            message: message.to_owned(),
            bases: Vec::new(),
            explicit: false,
            frames: Vec::new(),
            errno: None,
            cause: None,
            group: Vec::new(),
            notes: Vec::new(),
        };
        parse_hints(&facts, &raised)
    }

    #[test]
    fn every_line_of_the_table_gives_a_hint() {
        let (classes, types) = (ClassIndex::default(), NamedTypeIndex::default());
        let facts = RepositoryFacts::new(&classes, &types);
        for pattern in error_patterns() {
            let example: String = pattern
                .message
                .iter()
                .map(|piece| match piece {
                    ErrorPatternPiece::Text(text) => text,
                    ErrorPatternPiece::Placeholder("count" | "got" | "size") => "2",
                    ErrorPatternPiece::Placeholder("wanted") => "str",
                    ErrorPatternPiece::Placeholder(_) => "int",
                })
                .collect();
            assert!(pattern.parse_hint(&facts, &example).is_some(), "{example}");
        }
    }

    #[test]
    fn class_and_missing_member_are_read() {
        let missing = &hints_from_message("'_io.StringIO' object has no attribute 'frob'")[0];
        assert_eq!(missing.found_class.as_deref(), Some("StringIO"));
        assert_eq!(missing.missing_member.as_deref(), Some("frob"));
        let sides = hints_from_message("'<' not supported between instances of 'str' and 'int'");
        let of = |found: &str, shape: ValueShape| {
            sides
                .iter()
                .any(|it| it.found_class.as_deref() == Some(found) && it.shapes == [shape.clone()])
        };
        assert!(of("str", ValueShape::Int) && of("int", ValueShape::any_text()), "{sides:?}");
    }

    #[test]
    fn choices_and_prose_are_read() {
        let shapes = |message: &str| hints_from_message(message).remove(0).shapes;
        let modes = ["r", "w", "x"].map(Value::from).to_vec();
        assert_eq!(shapes("mode must be 'r', 'w', or 'x'"), [ValueShape::OneOf(modes)]);
        assert_eq!(shapes("the first argument must be a string"), [ValueShape::any_text()]);
        let values = vec![Value::Float(0.5), Value::Float(0.5)];
        assert_eq!(shapes("p must be in the range 0.0 < p < 1.0"), [ValueShape::OneOf(values)]);
        assert_eq!(
            hints_from_message("not enough values to unpack (expected 3, got 2)")[0].count,
            Some((3, Some(2)))
        );
        let option = ValueShape::OneOf(vec![Value::from("--alpha")]);
        assert_eq!(shapes("invalid option 'x': must start with --, then a letter"), [option]);
        assert_eq!(hints_from_message("something went wrong"), []);
    }
}

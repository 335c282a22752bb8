//! Inputs that somebody wrote down: `SANDBOX_INPUT_STUBS`, templates, and what a language model
//! answers. All are objects of arguments by parameter name, in the notation of docs/values.md.

use serde_json::{Map, Value as Json};

use menace_model::{Section, Value};

use super::infer::Guess;
use super::make::Slots;

/// Arguments by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The section that it is for, as `package.module:function` or as an id; any when it has none.
    pub section: Option<String>,
    /// Variables for the call, from keys in capitals.
    pub environment: Vec<(String, String)>,
    /// The instance that a method is called on.
    pub receiver: Option<Value>,
    pub arguments: Vec<(String, Value)>,
}

/// Where, and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct RecordError {
    pub place: String,
    pub reason: String,
}

/// Reads a list of records, or one. `place` begins the messages.
pub fn read(json: &Json, place: &str) -> Result<Vec<Record>, RecordError> {
    match json {
        Json::Object(map) => Ok(vec![record(map, place)?]),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                let place = format!("{place}[{index}]");
                match item {
                    Json::Object(map) => record(map, &place),
                    other => Err(unexpected(&place, "an object of arguments", other)),
                }
            })
            .collect(),
        other => Err(unexpected(place, "a list of objects of arguments", other)),
    }
}

fn record(map: &Map<String, Json>, place: &str) -> Result<Record, RecordError> {
    let mut record =
        Record { section: None, environment: Vec::new(), receiver: None, arguments: Vec::new() };
    for (key, json) in map {
        let place = format!("{place}.{key}");
        let is_variable =
            key.chars().any(char::is_uppercase) && !key.chars().any(char::is_lowercase);
        match key.as_str() {
            "$section" => match json {
                Json::String(section) => record.section = Some(section.clone()),
                other => return Err(unexpected(&place, "the name of a section", other)),
            },
            "$receiver" => record.receiver = Some(value(json, &place)?),
            key if key.starts_with('$') => {
                let reason = format!(
                    "unknown key; expected a parameter, $section or $receiver, found {key}"
                );
                return Err(RecordError { place, reason });
            }
            key if is_variable => {
                let text = match json {
                    Json::String(text) => text.clone(),
                    other => other.to_string(),
                };
                record.environment.push((key.to_owned(), text));
            }
            key => record.arguments.push((key.to_owned(), value(json, &place)?)),
        }
    }
    Ok(record)
}

pub(crate) fn value(json: &Json, place: &str) -> Result<Value, RecordError> {
    // By way of text: a tree of JSON forgets the order of keys.
    Value::from_json(&json.to_string()).map_err(|error| RecordError {
        place: if error.place.is_empty() {
            place.to_owned()
        } else {
            format!("{place}.{}", error.place)
        },
        reason: error.reason,
    })
}

fn unexpected(place: &str, expected: &str, found: &Json) -> RecordError {
    let found = found.to_string();
    let found: String = found.chars().take(40).collect();
    RecordError { place: place.to_owned(), reason: format!("expected {expected}, found {found}") }
}

impl Record {
    /// Is it for this section?
    pub(crate) fn is_for(&self, section: &Section, module: Option<&str>) -> bool {
        self.section.as_ref().is_none_or(|wanted| names(section, module, wanted))
    }

    /// The arguments in the place of their parameters. An error names what the section does not
    /// take, or what it cannot do without.
    pub(crate) fn slots(&self, guesses: &[Guess]) -> Result<Slots, String> {
        let mut slots: Slots = vec![None; guesses.len()];
        let more =
            guesses.iter().position(|guess| guess.kind == menace_model::ParamKind::VarKeyword);
        let mut named = Vec::new();
        for (name, value) in &self.arguments {
            match guesses.iter().position(|guess| guess.name == *name) {
                Some(index) => slots[index] = Some(value.clone()),
                None if more.is_some() => named.push((Value::from(name.as_str()), value.clone())),
                None => return Err(format!("it has no parameter `{name}`")),
            }
        }
        if let Some(more) = more.filter(|_| !named.is_empty()) {
            slots[more] = Some(Value::Dict(named));
        }
        let missing = guesses
            .iter()
            .zip(&slots)
            .find(|(guess, slot)| slot.is_none() && !guess.has_default && !guess.is_variable());
        match missing {
            Some((guess, _)) => Err(format!("nothing is given for `{}`", guess.name)),
            None => Ok(slots),
        }
    }
}

/// Does the text mean this section? `shop.models:Order.total`, `shop/models.py::Order.total`, with
/// `*` for anything.
pub(crate) fn names(section: &Section, module: Option<&str>, wanted: &str) -> bool {
    let id = section.id.as_str();
    let colon = module.map(|module| format!("{module}:{}", section.id.qualname()));
    let dotted = module.map(|module| format!("{module}.{}", section.id.qualname()));
    matches(wanted, id)
        || colon.is_some_and(|name| matches(wanted, &name))
        || dotted.is_some_and(|name| matches(wanted, &name))
}

/// `*` stands for any text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_by_the_documented_shape() {
        let json = serde_json::json!([
            {"price": 1.5, "day": {"$call": "datetime:date", "args": [2024, 1, 1]}, "API_KEY": "x"},
            {"$section": "shop.models:f", "$receiver": {"$call": "shop.models:C"}}
        ]);
        let records = read(&json, "SANDBOX_INPUT_STUBS").expect("records");
        assert_eq!(records[0].environment, [("API_KEY".to_owned(), "x".to_owned())]);
        assert_eq!(records[0].arguments.len(), 2);
        assert_eq!(records[1].section.as_deref(), Some("shop.models:f"));
        assert!(records[1].receiver.is_some());
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        for (json, message) in [
            (
                r#"[{"a": {"$int": 1.5}}]"#,
                "stubs[0].a.$int: expected an integer as text, like \"-12\" or \"0xff\", found 1.5",
            ),
            (r"[1]", "stubs[0]: expected an object of arguments, found 1"),
            (
                r#"[{"$sektion": 1}]"#,
                "stubs[0].$sektion: unknown key; expected a parameter, $section or $receiver, found $sektion",
            ),
        ] {
            let json: Json = serde_json::from_str(json).expect("JSON");
            assert_eq!(read(&json, "stubs").expect_err("a mistake").to_string(), message);
        }
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, expected) in [
            ("shop.*:f", "shop.models:f", true),
            ("*", "x", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c", false),
            ("ab", "abc", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}

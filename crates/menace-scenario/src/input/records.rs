//! Written inputs: records of arguments, template files, inputs of plugins.

use menace_model::{Section, Value};
use serde_json::{Map, Value as Json};

use super::infer::ParamGuess;
use super::make::ArgumentSlots;

/// Arguments by name.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRecord {
    /// The section that it is for, as `package.module:function` or as an id; without one it is for
    /// any.
    pub section: Option<String>,
    /// Variables for the call, from keys in capitals.
    pub environment: Vec<(String, String)>,
    /// The instance that a method is called on.
    pub receiver: Option<Value>,
    pub arguments: Vec<(String, Value)>,
}

/// An error in a record, and its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct InputRecordError {
    pub place: String,
    pub reason: String,
}

/// Reads a list of records, or one. `place` begins the messages.
pub fn read_records(json: &Json, place: &str) -> Result<Vec<InputRecord>, InputRecordError> {
    match json {
        Json::Object(map) => Ok(vec![read_record(map, place)?]),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                let place = format!("{place}[{index}]");
                match item {
                    Json::Object(map) => read_record(map, &place),
                    other => Err(unexpected_value_error(&place, "an object of arguments", other)),
                }
            })
            .collect(),
        other => Err(unexpected_value_error(place, "a list of objects of arguments", other)),
    }
}

fn read_record(map: &Map<String, Json>, place: &str) -> Result<InputRecord, InputRecordError> {
    let mut record = InputRecord {
        section: None,
        environment: Vec::new(),
        receiver: None,
        arguments: Vec::new(),
    };
    for (key, json) in map {
        let place = format!("{place}.{key}");
        let is_variable =
            key.chars().any(char::is_uppercase) && !key.chars().any(char::is_lowercase);
        match key.as_str() {
            "$section" => match json {
                Json::String(section) => record.section = Some(section.clone()),
                other => {
                    return Err(unexpected_value_error(&place, "the name of a section", other));
                }
            },
            "$receiver" => record.receiver = Some(read_value(json, &place)?),
            key if key.starts_with('$') => {
                let reason = format!(
                    "unknown key; expected a parameter, $section or $receiver, found {key}"
                );
                return Err(InputRecordError { place, reason });
            }
            key if is_variable => {
                let text = match json {
                    Json::String(text) => text.clone(),
                    other => other.to_string(),
                };
                record.environment.push((key.to_owned(), text));
            }
            key => record.arguments.push((key.to_owned(), read_value(json, &place)?)),
        }
    }
    Ok(record)
}

pub(crate) fn read_value(json: &Json, place: &str) -> Result<Value, InputRecordError> {
    // Through text, because a JSON tree does not keep the order of keys.
    Value::from_json(&json.to_string()).map_err(|error| InputRecordError {
        place: if error.place.is_empty() {
            place.to_owned()
        } else {
            format!("{place}.{}", error.place)
        },
        reason: error.reason,
    })
}

fn unexpected_value_error(place: &str, expected: &str, found: &Json) -> InputRecordError {
    let found = found.to_string();
    let found: String = found.chars().take(40).collect();
    InputRecordError {
        place: place.to_owned(),
        reason: format!("expected {expected}, found {found}"),
    }
}

impl InputRecord {
    /// Is the record meant for this section?
    pub(crate) fn is_for(&self, section: &Section, module: Option<&str>) -> bool {
        self.section.as_ref().is_none_or(|wanted| names_section(section, module, wanted))
    }

    /// The arguments in the slots of their parameters. The error names an unknown parameter or a
    /// missing argument.
    pub(crate) fn to_slots(&self, guesses: &[ParamGuess]) -> Result<ArgumentSlots, String> {
        let mut slots: ArgumentSlots = vec![None; guesses.len()];
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

/// Does the pattern match this section? `shop.models:Order.total`, `shop/models.py::Order.total`,
/// with `*` for any text.
pub(crate) fn names_section(section: &Section, module: Option<&str>, wanted: &str) -> bool {
    let id = section.id.as_str();
    let colon = module.map(|module| format!("{module}:{}", section.id.qualname()));
    let dotted = module.map(|module| format!("{module}.{}", section.id.qualname()));
    matches_wildcard(wanted, id)
        || colon.is_some_and(|name| matches_wildcard(wanted, &name))
        || dotted.is_some_and(|name| matches_wildcard(wanted, &name))
}

/// `*` stands for any text.
pub(crate) fn matches_wildcard(pattern: &str, text: &str) -> bool {
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

#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputTemplates {
    by_section: Vec<(String, Vec<InputRecord>)>,
    by_parameter: Vec<(String, Vec<Value>)>,
}

impl InputTemplates {
    pub fn read(text: &str, file: &str) -> Result<Self, InputRecordError> {
        let problem = |place: String, reason: String| InputRecordError { place, reason };
        let json: Json = serde_json::from_str(text)
            .map_err(|error| problem(file.to_owned(), format!("expected JSON: {error}")))?;
        let Json::Object(entries) = json else {
            return Err(problem(file.to_owned(), "expected an object of lists".to_owned()));
        };
        let mut templates = Self::default();
        for (key, list) in entries {
            let place = format!("{file}.{key}");
            let Json::Array(items) = &list else {
                return Err(problem(place, "expected a list of values".to_owned()));
            };
            if key.contains([':', '/', '*']) {
                templates.by_section.push((key, read_records(&list, &place)?));
            } else {
                let values = items.iter().enumerate();
                let values = values
                    .map(|(index, item)| read_value(item, &format!("{place}[{index}]")))
                    .collect::<Result<_, _>>()?;
                templates.by_parameter.push((key, values));
            }
        }
        Ok(templates)
    }

    /// Inputs for a section.
    pub(crate) fn records<'a>(
        &'a self,
        section: &Section,
        module: Option<&str>,
    ) -> impl Iterator<Item = &'a InputRecord> {
        let fitting =
            self.by_section.iter().filter(|(pattern, _)| names_section(section, module, pattern));
        fitting.flat_map(|(_, records)| records).collect::<Vec<_>>().into_iter()
    }

    pub(crate) fn parameter_values(&self, parameter: &str) -> &[Value] {
        let found = self.by_parameter.iter().find(|(name, _)| name == parameter);
        found.map_or(&[], |(_, values)| values)
    }
}

/// Arguments by parameter name: an input as a plugin sees it.
pub type NamedArguments = Vec<(String, Value)>;

/// The difference between the inputs that a plugin received and those that it returned.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PluginInputs {
    /// Inputs that the plugin made.
    pub added: Vec<InputRecord>,
    /// Inputs that the plugin received and did not return.
    pub dropped: Vec<NamedArguments>,
}

impl PluginInputs {
    pub fn from_difference(shown: &[NamedArguments], returned: &[NamedArguments]) -> Self {
        let dropped = shown.iter().filter(|input| !returned.contains(input)).cloned().collect();
        let times = |all: &[NamedArguments], input: &NamedArguments| {
            all.iter().filter(|one| *one == input).count()
        };
        let mut added: Vec<NamedArguments> = Vec::new();
        for input in returned {
            // A plugin that adds an existing input wants it before the others.
            if times(returned, input) > times(shown, input) && !added.contains(input) {
                added.push(input.clone());
            }
        }
        let added = added.into_iter().map(|arguments| InputRecord {
            section: None,
            environment: Vec::new(),
            receiver: None,
            arguments,
        });
        Self { added: added.collect(), dropped }
    }

    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.dropped.is_empty()
    }
}

/// Is the value data that means the same in every interpreter?
pub(crate) fn is_plain_data(value: &Value) -> bool {
    let plain = matches!(
        value,
        Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::BigInt(_)
            | Value::Float(_)
            | Value::Complex { .. }
            | Value::Str(_)
            | Value::Bytes(_)
            | Value::List(_)
            | Value::Tuple(_)
            | Value::Set(_)
            | Value::FrozenSet(_)
            | Value::Dict(_)
    );
    let mut all = plain;
    if plain {
        value.each_child(&mut |child| all &= is_plain_data(child));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_in_the_documented_format() {
        let json = serde_json::json!([
            {"price": 1.5, "day": {"$call": "datetime:date", "args": [2024, 1, 1]}, "API_KEY": "x"},
            {"$section": "shop.models:f", "$receiver": {"$call": "shop.models:C"}}
        ]);
        let records = read_records(&json, "SANDBOX_INPUT_STUBS").expect("records");
        assert_eq!(records[0].environment, [("API_KEY".to_owned(), "x".to_owned())]);
        assert_eq!(records[0].arguments.len(), 2);
        assert_eq!(records[1].section.as_deref(), Some("shop.models:f"));
        assert!(records[1].receiver.is_some());
    }

    #[test]
    fn a_record_error_names_its_place() {
        for (json, message) in [
            (
                r#"[{"a": {"$int": 1.5}}]"#,
                "stubs[0].a.$int: expected an integer as text, like \"-12\" or \"0xff\", found 1.5",
            ),
            (r"[1]", "stubs[0]: expected an object of arguments, found 1"),
            (
                r#"[{"$sektion": 1}]"#,
                "stubs[0].$sektion: unknown key; expected a parameter, $section or $receiver, \
                 found $sektion",
            ),
        ] {
            let json: Json = serde_json::from_str(json).expect("JSON");
            assert_eq!(read_records(&json, "stubs").expect_err("a mistake").to_string(), message);
        }
    }

    #[test]
    fn a_star_matches_any_text() {
        for (pattern, text, expected) in [
            ("shop.*:f", "shop.models:f", true),
            ("*", "x", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c", false),
            ("ab", "abc", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches_wildcard(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn keys_are_parameters_or_sections() {
        let text = r#"{"isbn": ["978-3"], "shop.models:*": [{"a": 1}]}"#;
        let templates = InputTemplates::read(text, "t.json").expect("templates");
        assert_eq!(templates.parameter_values("isbn"), [Value::from("978-3")]);
        assert_eq!(templates.parameter_values("other"), []);
        assert_eq!(templates.by_section[0].1.len(), 1);
    }

    #[test]
    fn a_template_error_names_its_place() {
        let error = InputTemplates::read(r#"{"isbn": 1}"#, "t.json").expect_err("no list");
        assert_eq!(error.to_string(), "t.json.isbn: expected a list of values");
        let error =
            InputTemplates::read(r#"{"isbn": [{"$int": 1.5}]}"#, "t.json").expect_err("no int");
        assert!(error.to_string().starts_with("t.json.isbn[0].$int: "), "{error}");
    }

    fn named_argument(value: i64) -> NamedArguments {
        vec![("a".to_owned(), Value::Int(value))]
    }

    #[test]
    fn returned_inputs_replace_the_shown_ones() {
        let plugged = PluginInputs::from_difference(
            &[named_argument(1), named_argument(2)],
            &[named_argument(2), named_argument(3)],
        );
        assert_eq!(plugged.dropped, [named_argument(1)]);
        let [added] = plugged.added.as_slice() else { panic!("one") };
        assert_eq!(added.arguments, named_argument(3));
        assert!(
            PluginInputs::from_difference(&[named_argument(1)], &[named_argument(1)]).is_empty()
        );
        // An existing input that is added again comes first.
        let plugged = PluginInputs::from_difference(
            &[named_argument(1), named_argument(2)],
            &[named_argument(2), named_argument(1), named_argument(2)],
        );
        assert_eq!((plugged.added.len(), plugged.dropped.len()), (1, 0));
        assert_eq!(plugged.added[0].arguments, named_argument(2));
    }

    #[test]
    fn nested_objects_are_not_plain_data() {
        let object = Value::New {
            class: "m:C".parse().expect("a reference"),
            args: Vec::new(),
            kwargs: Vec::new(),
        };
        assert!(is_plain_data(&Value::List(vec![Value::Int(1)])));
        assert!(!is_plain_data(&Value::List(vec![Value::Tuple(vec![object])])));
    }
}

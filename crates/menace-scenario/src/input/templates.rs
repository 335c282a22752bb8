//! Values that a file gives: `{"<parameter>": [values…], "<section>": [{arguments}…]}`.
//!
//! A key with a `:`, a `/` or a `*` means sections (`shop.models:Order.*`), and its values are
//! objects of arguments; any other key is the name of a parameter.

use serde_json::Value as Json;

use menace_model::{Section, Value};

use super::records::{self, Record, RecordError};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Templates {
    by_section: Vec<(String, Vec<Record>)>,
    by_parameter: Vec<(String, Vec<Value>)>,
}

impl Templates {
    pub fn read(text: &str, file: &str) -> Result<Self, RecordError> {
        let problem = |place: String, reason: String| RecordError { place, reason };
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
                templates.by_section.push((key, records::read(&list, &place)?));
            } else {
                let values = items.iter().enumerate();
                let values = values
                    .map(|(index, item)| records::value(item, &format!("{place}[{index}]")))
                    .collect::<Result<_, _>>()?;
                templates.by_parameter.push((key, values));
            }
        }
        Ok(templates)
    }

    /// Whole inputs for a section.
    pub(crate) fn records<'a>(
        &'a self,
        section: &Section,
        module: Option<&str>,
    ) -> impl Iterator<Item = &'a Record> {
        let fitting =
            self.by_section.iter().filter(|(pattern, _)| records::names(section, module, pattern));
        fitting.flat_map(|(_, records)| records).collect::<Vec<_>>().into_iter()
    }

    pub(crate) fn values(&self, parameter: &str) -> &[Value] {
        let found = self.by_parameter.iter().find(|(name, _)| name == parameter);
        found.map_or(&[], |(_, values)| values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_parameters_or_sections() {
        let text = r#"{"isbn": ["978-3"], "shop.models:*": [{"a": 1}]}"#;
        let templates = Templates::read(text, "t.json").expect("templates");
        assert_eq!(templates.values("isbn"), [Value::from("978-3")]);
        assert_eq!(templates.values("other"), []);
        assert_eq!(templates.by_section[0].1.len(), 1);
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let error = Templates::read(r#"{"isbn": 1}"#, "t.json").expect_err("no list");
        assert_eq!(error.to_string(), "t.json.isbn: expected a list of values");
        let error = Templates::read(r#"{"isbn": [{"$int": 1.5}]}"#, "t.json").expect_err("no int");
        assert!(error.to_string().starts_with("t.json.isbn[0].$int: "), "{error}");
    }
}

//! Inputs that were worth keeping, one per line:
//! `{"section": "shop/models.py::f", "input": {"args": [], "kwargs": {}, "receiver": null},
//! "verdict": "returned", "new_lines": 3}`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use menace_model::{FixtureFile, Fixtures, SectionId, Value, Verdict};

use super::Input;
use super::records::RecordError;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    section: SectionId,
    input: Kept,
    verdict: Verdict,
    #[serde(default)]
    new_lines: u64,
}

/// An input, without what it was made for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Value>,
    #[serde(default)]
    pub args: Vec<Value>,
    #[serde(default, with = "named")]
    pub kwargs: Vec<(String, Value)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FixtureFile>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<(String, String)>,
}

/// What earlier runs kept, by section; the newest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History(BTreeMap<SectionId, Vec<Kept>>);

impl History {
    /// Reads the lines of a file. Lines that cannot be read are told and left out.
    pub fn read(text: &str, file: &str) -> (Self, Vec<RecordError>) {
        let (mut history, mut problems) = (Self::default(), Vec::new());
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<Line>(line) {
                Ok(line) => history.0.entry(line.section).or_default().insert(0, line.input),
                Err(error) => problems.push(RecordError {
                    place: format!("{file}:{}", number + 1),
                    reason: error.to_string(),
                }),
            }
        }
        (history, problems)
    }

    pub(crate) fn of(&self, section: &SectionId) -> &[Kept] {
        self.0.get(section).map_or(&[], Vec::as_slice)
    }
}

/// The line that keeps an input; none when it has no notation.
pub fn line(
    section: &SectionId,
    input: &Input,
    verdict: Verdict,
    new_lines: u64,
) -> Option<String> {
    let input = Kept {
        receiver: input.receiver.clone(),
        args: input.args.clone(),
        kwargs: input.kwargs.clone(),
        files: input.fixtures.files.clone(),
        environment: input.fixtures.environment.clone(),
    };
    serde_json::to_string(&Line { section: section.clone(), input, verdict, new_lines }).ok()
}

impl Kept {
    pub(crate) fn fixtures(&self) -> Fixtures {
        Fixtures { files: self.files.clone(), environment: self.environment.clone() }
    }
}

/// Keyword arguments as an object that keeps its order.
mod named {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use menace_model::Value;

    pub(super) fn serialize<S: Serializer>(
        kwargs: &[(String, Value)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(kwargs.iter().map(|(name, value)| (name, value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, Value)>, D::Error> {
        let json = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        Value::kwargs_from_json(json.get()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Strategy;
    use menace_model::Intent;

    #[test]
    fn what_is_written_is_read_back() {
        let section = SectionId::new("shop/models.py", "f");
        let input = Input {
            receiver: Some(Value::from("r")),
            args: vec![Value::Tuple(vec![Value::Int(1)])],
            kwargs: vec![("b".to_owned(), Value::None), ("a".to_owned(), Value::Float(f64::NAN))],
            fixtures: Fixtures {
                files: vec![FixtureFile { path: "x.txt".to_owned(), content: vec![1, 2] }],
                environment: vec![("A".to_owned(), "b".to_owned())],
            },
            intent: Intent::Valid,
            strategy: Strategy::Smart,
        };
        let line = line(&section, &input, Verdict::Returned, 3).expect("a line");
        let (history, problems) = History::read(&format!("{line}\n\n"), "history.jsonl");
        assert_eq!(problems, []);
        let [kept] = history.of(&section) else { panic!("one input") };
        assert_eq!(
            (&kept.receiver, &kept.args, &kept.kwargs),
            (&input.receiver, &input.args, &input.kwargs)
        );
        assert_eq!(kept.fixtures(), input.fixtures);
    }

    #[test]
    fn lines_that_cannot_be_read_are_told() {
        let (history, problems) = History::read("{}\nnonsense\n", "h.jsonl");
        assert_eq!(history, History::default());
        assert_eq!(problems.len(), 2);
        assert!(problems[1].to_string().starts_with("h.jsonl:2: "), "{}", problems[1]);
    }
}

//! Inputs that a later run tries again, one per line: `{"section": "shop/models.py::f", "input":
//! {"args": [], "kwargs": {}, "receiver": null}, "verdict": "returned", "new_lines": 3}`.
//!
//! Reading and writing the file belongs to `menace-loop`.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use menace_model::{CallFixtures, FixtureFile, InputIntent, SectionId, Value, Verdict};

use super::CallInput;
use super::records::InputRecordError;

const MAX_LINES_PER_SECTION: usize = 16;
const MAX_HISTORY_LINES: usize = 20_000;
/// Longer lines are not stored.
const MAX_LINE_BYTES: usize = 4096;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct InputHistoryLine {
    section: SectionId,
    input: StoredInput,
    verdict: Verdict,
    #[serde(default)]
    new_lines: u64,
}

/// An input as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredInput {
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
    #[serde(default = "default_intent", skip_serializing_if = "is_default_intent")]
    pub intent: InputIntent,
}

fn default_intent() -> InputIntent {
    InputIntent::Valid
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_default_intent(intent: &InputIntent) -> bool {
    *intent == default_intent()
}

/// Stored inputs of earlier runs, by section; the newest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputHistory(BTreeMap<SectionId, Vec<StoredInput>>);

impl InputHistory {
    /// Reads the lines of a file. Malformed lines are reported and left out.
    pub fn read(text: &str, file: &str) -> (Self, Vec<InputRecordError>) {
        let mut history = Self::default();
        let mut problems = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<InputHistoryLine>(line) {
                Ok(line) => history.0.entry(line.section).or_default().insert(0, line.input),
                Err(error) => problems.push(InputRecordError {
                    place: format!("{file}:{}", number + 1),
                    reason: error.to_string(),
                }),
            }
        }
        (history, problems)
    }

    pub(crate) fn inputs_of(&self, section: &SectionId) -> &[StoredInput] {
        self.0.get(section).map_or(&[], Vec::as_slice)
    }
}

/// The text of a history file with lines added: no line twice, and the newest lines up to the
/// limits per section and file. Malformed lines stay as they are.
pub fn append_lines(text: &str, new: &[String]) -> String {
    let mut seen: HashSet<(SectionId, String)> = HashSet::new();
    let mut of_section: HashMap<SectionId, usize> = HashMap::new();
    let mut all: Vec<&str> = Vec::new();
    // Of equal lines the newest stays: later lines are read first.
    let lines = text.lines().chain(new.iter().map(String::as_str));
    for line in lines.rev().filter(|line| !line.trim().is_empty()) {
        if let Ok(InputHistoryLine { section, input, .. }) = serde_json::from_str(line) {
            let is_new = seen.insert((section.clone(), format!("{input:?}")));
            let count = of_section.entry(section).or_default();
            if !is_new || *count == MAX_LINES_PER_SECTION {
                continue;
            }
            *count += 1;
        }
        if all.len() < MAX_HISTORY_LINES {
            all.push(line);
        }
    }
    all.iter().rev().flat_map(|line| [line, "\n"]).collect()
}

/// The line of an input; none when it cannot be written as JSON or is too long.
pub fn format_line(
    section: &SectionId,
    input: &CallInput,
    verdict: Verdict,
    new_lines: u64,
) -> Option<String> {
    let input = StoredInput {
        receiver: input.receiver.clone(),
        args: input.args.clone(),
        kwargs: input.kwargs.clone(),
        files: input.fixtures.files.clone(),
        environment: input.fixtures.environment.clone(),
        intent: input.intent,
    };
    let line = InputHistoryLine { section: section.clone(), input, verdict, new_lines };
    serde_json::to_string(&line).ok().filter(|line| line.len() <= MAX_LINE_BYTES)
}

impl StoredInput {
    pub(crate) fn fixtures(&self) -> CallFixtures {
        CallFixtures { files: self.files.clone(), environment: self.environment.clone() }
    }
}

/// Keyword arguments as a JSON object in their order.
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
    use crate::input::InputStrategy;

    #[test]
    fn a_formatted_line_is_read_back() {
        let section = SectionId::new("shop/models.py", "f");
        let input = CallInput {
            receiver: Some(Value::from("r")),
            args: vec![Value::Tuple(vec![Value::Int(1)])],
            kwargs: vec![("b".to_owned(), Value::None), ("a".to_owned(), Value::Float(f64::NAN))],
            fixtures: CallFixtures {
                files: vec![FixtureFile { path: "x.txt".to_owned(), content: vec![1, 2] }],
                environment: vec![("A".to_owned(), "b".to_owned())],
            },
            intent: InputIntent::Boundary,
            strategy: InputStrategy::Smart,
        };
        let line = format_line(&section, &input, Verdict::Returned, 3).expect("a line");
        let (history, problems) = InputHistory::read(&format!("{line}\n\n"), "history.jsonl");
        assert_eq!(problems, []);
        let [kept] = history.inputs_of(&section) else { panic!("one input") };
        assert_eq!(
            (&kept.receiver, &kept.args, &kept.kwargs),
            (&input.receiver, &input.args, &input.kwargs)
        );
        assert_eq!((kept.fixtures(), kept.intent), (input.fixtures, input.intent));
    }

    fn numbered(name: &str, number: i64) -> String {
        let input = CallInput {
            receiver: None,
            args: vec![Value::Int(number)],
            kwargs: Vec::new(),
            fixtures: CallFixtures::default(),
            intent: InputIntent::Valid,
            strategy: InputStrategy::Smart,
        };
        let section = SectionId::new("shop/models.py", name);
        format_line(&section, &input, Verdict::Returned, number.unsigned_abs()).expect("a line")
    }

    #[test]
    fn an_added_line_is_there_once_and_the_oldest_is_dropped() {
        let old: String = (0..20).map(|number| numbered("f", number) + "\n").collect();
        let old = format!("mine\n{}\n{old}", numbered("g", 7));
        let text = append_lines(&old, &[numbered("f", 100), numbered("f", 18)]);
        let (history, problems) = InputHistory::read(&text, "history.jsonl");
        assert_eq!(problems.len(), 1, "a malformed line stays: {text}");
        let of = |name| history.inputs_of(&SectionId::new("shop/models.py", name)).iter();
        let numbers: Vec<&Value> = of("f").map(|kept| &kept.args[0]).collect();
        assert_eq!(numbers.len(), MAX_LINES_PER_SECTION);
        assert_eq!(numbers[..3], [&Value::Int(18), &Value::Int(100), &Value::Int(19)]);
        assert_eq!(of("g").count(), 1);
        assert_eq!(append_lines(&text, &[numbered("f", 18)]), text);
    }

    #[test]
    fn malformed_lines_are_reported() {
        let (history, problems) = InputHistory::read("{}\nnonsense\n", "h.jsonl");
        assert_eq!(history, InputHistory::default());
        assert_eq!(problems.len(), 2);
        assert!(problems[1].to_string().starts_with("h.jsonl:2: "), "{}", problems[1]);
    }
}

//! Inputs that were worth keeping, one per line:
//! `{"section": "shop/models.py::f", "input": {"args": [], "kwargs": {}, "receiver": null},
//! "verdict": "returned", "new_lines": 3}`.
//!
//! Reading and writing the file belongs to `menace-loop`.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use menace_model::{FixtureFile, Fixtures, Intent, SectionId, Value, Verdict};

use super::Input;
use super::records::RecordError;

/// The most lines of a section, and of all of them.
const MOST_OF_SECTION: usize = 16;
const MOST: usize = 20_000;
/// The longest line that is worth its place.
const LONGEST: usize = 4096;

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
    #[serde(default = "usual", skip_serializing_if = "is_usual")]
    pub intent: Intent,
}

fn usual() -> Intent {
    Intent::Valid
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_usual(intent: &Intent) -> bool {
    *intent == usual()
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

/// The text of a history file with lines added: none twice, of each section and of all the newest.
/// What cannot be read stays as it is.
pub fn with_lines(text: &str, new: &[String]) -> String {
    let mut seen: HashSet<(SectionId, String)> = HashSet::new();
    let mut of_section: HashMap<SectionId, usize> = HashMap::new();
    let mut all: Vec<&str> = Vec::new();
    // The newest of equal ones stays where it is: what is worth most is read first.
    let lines = text.lines().chain(new.iter().map(String::as_str));
    for line in lines.rev().filter(|line| !line.trim().is_empty()) {
        if let Ok(Line { section, input, .. }) = serde_json::from_str(line) {
            let is_new = seen.insert((section.clone(), format!("{input:?}")));
            let count = of_section.entry(section).or_default();
            if !is_new || *count == MOST_OF_SECTION {
                continue;
            }
            *count += 1;
        }
        if all.len() < MOST {
            all.push(line);
        }
    }
    all.iter().rev().flat_map(|line| [line, "\n"]).collect()
}

/// The line that keeps an input; none when it has no notation, or is too long for its worth.
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
        intent: input.intent,
    };
    let line = Line { section: section.clone(), input, verdict, new_lines };
    serde_json::to_string(&line).ok().filter(|line| line.len() <= LONGEST)
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
            intent: Intent::Boundary,
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
        assert_eq!((kept.fixtures(), kept.intent), (input.fixtures, input.intent));
    }

    fn numbered(name: &str, number: i64) -> String {
        let input = Input {
            receiver: None,
            args: vec![Value::Int(number)],
            kwargs: Vec::new(),
            fixtures: Fixtures::default(),
            intent: Intent::Valid,
            strategy: Strategy::Smart,
        };
        let section = SectionId::new("shop/models.py", name);
        line(&section, &input, Verdict::Returned, number.unsigned_abs()).expect("a line")
    }

    #[test]
    fn what_is_added_is_there_once_and_the_oldest_goes() {
        let old: String = (0..20).map(|number| numbered("f", number) + "\n").collect();
        let old = format!("mine\n{}\n{old}", numbered("g", 7));
        let text = with_lines(&old, &[numbered("f", 100), numbered("f", 18)]);
        let (history, problems) = History::read(&text, "history.jsonl");
        assert_eq!(problems.len(), 1, "what somebody else wrote stays: {text}");
        let of = |name| history.of(&SectionId::new("shop/models.py", name)).iter();
        let numbers: Vec<&Value> = of("f").map(|kept| &kept.args[0]).collect();
        assert_eq!(numbers.len(), MOST_OF_SECTION);
        assert_eq!(numbers[..3], [&Value::Int(18), &Value::Int(100), &Value::Int(19)]);
        assert_eq!(of("g").count(), 1);
        assert_eq!(with_lines(&text, &[numbered("f", 18)]), text);
    }

    #[test]
    fn lines_that_cannot_be_read_are_told() {
        let (history, problems) = History::read("{}\nnonsense\n", "h.jsonl");
        assert_eq!(history, History::default());
        assert_eq!(problems.len(), 2);
        assert!(problems[1].to_string().starts_with("h.jsonl:2: "), "{}", problems[1]);
    }
}

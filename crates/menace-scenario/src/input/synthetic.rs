//! Inputs from what was written about a section: examples in its docstring, calls in the
//! repository and, where there is one, a language model that has read the source.

use serde_json::Value as Json;

use menace_model::{Hints, Reference, Section, Seed, Value};

use super::python;
use super::records::{self, Record, RecordError};

/// Increased whenever the prompt changes, so that old answers are not taken for new ones.
const PROMPT_VERSION: u32 = 1;

/// Something that writes inputs when it is shown a section. Asking belongs to the caller, and so
/// does keeping the answers.
pub trait StubModel {
    /// What it is called, as part of the key under which answers are kept.
    fn name(&self) -> &str;

    /// The answer to a prompt; an error in words.
    fn complete(&self, prompt: &str) -> Result<String, String>;
}

/// What a model is asked for one section, whose source it is shown.
pub fn prompt(section: &Section, source: &str) -> String {
    let names =
        section.params.iter().map(|param| param.name.as_str()).collect::<Vec<_>>().join(", ");
    format!(
        "{}\n\nParameters: {names}\n\nSource of `{}`:\n\n{source}\n",
        include_str!("data/prompt.txt").trim(),
        section.id,
    )
}

/// Where the answer to a prompt is kept: equal for equal questions to the same model.
pub fn cache_key(model: &str, prompt: &str) -> String {
    let seed = Seed(u64::from(PROMPT_VERSION)).of(model);
    format!("{:016x}{:016x}", seed.of(prompt).0, seed.nth(1).of(prompt).0)
}

/// Reads what a model answered: a JSON list of arguments by name, alone or in a fenced block.
pub fn answer(text: &str) -> Result<Vec<Record>, RecordError> {
    let start = text.find('[').unwrap_or(0);
    let end = text.rfind(']').map_or(text.len(), |end| end + 1);
    let json = text.get(start..end).unwrap_or_default();
    let json: Json = serde_json::from_str(json).map_err(|error| RecordError {
        place: "answer".to_owned(),
        reason: format!("expected a JSON list of objects: {error}"),
    })?;
    records::read(&json, "answer")
}

/// Asks and reads.
pub fn ask(
    model: &dyn StubModel,
    section: &Section,
    source: &str,
) -> Result<Vec<Record>, RecordError> {
    let text = model
        .complete(&prompt(section, source))
        .map_err(|reason| RecordError { place: model.name().to_owned(), reason })?;
    answer(&text)
}

/// A call of the section that somebody wrote down.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Example {
    pub receiver: Option<Value>,
    pub args: Vec<Value>,
    pub kwargs: Vec<(String, Value)>,
}

/// Examples in the docstring (`>>> f(1)`), then calls in the repository.
pub(crate) fn examples(
    section: &Section,
    hints: &Hints,
    resolve: &dyn Fn(&str) -> Option<Reference>,
) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut add = |example: Example| {
        if !examples.contains(&example) {
            examples.push(example);
        }
    };
    for site in &hints.sites {
        let read = |source: &String| python::value(source, resolve);
        let args: Option<Vec<Value>> = site.args.iter().map(read).collect();
        let kwargs: Option<Vec<_>> =
            site.kwargs.iter().map(|(name, source)| Some((name.clone(), read(source)?))).collect();
        let receiver = site.receiver.as_ref().map(read);
        if let (Some(args), Some(kwargs)) = (args, kwargs) {
            add(Example { receiver: receiver.flatten(), args, kwargs });
        }
    }
    let name = section.id.qualname().rsplit('.').next().unwrap_or_default();
    let name = name.split('#').next().unwrap_or_default();
    for source in section.docstring.iter().flat_map(|text| in_docstring(text)) {
        let Some(call) = python::call(&source, resolve) else { continue };
        if call.function.rsplit('.').next() == Some(name) {
            add(Example { receiver: call.on, args: call.args, kwargs: call.kwargs });
        }
    }
    examples
}

/// Expressions behind `>>>`, with what follows on lines with `...`.
fn in_docstring(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines().map(str::trim) {
        if let Some(source) = line.strip_prefix(">>>") {
            found.push(source.trim().to_owned());
            open = true;
        } else if let (true, Some(more)) = (open, line.strip_prefix("...")) {
            if let Some(last) = found.last_mut() {
                last.push(' ');
                last.push_str(more.trim());
            }
        } else {
            open = false;
        }
    }
    // `x = f(1)`, `print(f(1))`.
    let inner = |source: String| {
        let source = match source.split_once(" = ") {
            Some((name, rest))
                if name.chars().all(|char| char.is_alphanumeric() || char == '_') =>
            {
                rest.to_owned()
            }
            _ => source,
        };
        ["print(", "list(", "sorted(", "str(", "pprint("]
            .iter()
            .find_map(|around| source.strip_prefix(around)?.strip_suffix(')').map(str::to_owned))
            .filter(|inside| inside.contains('('))
            .unwrap_or(source)
    };
    found.into_iter().map(inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Parrot(&'static str);

    impl StubModel for Parrot {
        fn name(&self) -> &'static str {
            "parrot"
        }

        fn complete(&self, prompt: &str) -> Result<String, String> {
            if prompt.contains("def f") {
                Ok(self.0.to_owned())
            } else {
                Err("no source".to_owned())
            }
        }
    }

    #[test]
    fn examples_of_docstrings_are_found() {
        let text =
            "Adds.\n\n>>> f(1,\n...   b='x')\n3\n>>> x = f([1])\n>>> print(f(2))\n2\n>>> g(1)\n";
        assert_eq!(in_docstring(text), ["f(1, b='x')", "f([1])", "f(2)", "g(1)"]);
    }

    #[test]
    fn a_model_is_asked_and_its_answer_checked() {
        let section: Section = serde_json::from_str(
            r#"{"id": "m.py::f", "kind": "function", "is_async": false, "is_generator": false,
                "line": 1, "start_line": 1, "end_line": 2, "decorators": [], "docstring": null,
                "params": [], "returns": null, "complexity": 1, "calls": [], "construction": null}"#,
        )
        .expect("a section");
        let source = "def f(a): ...";
        let fine = Parrot("Sure!\n```json\n[{\"a\": 1}, {\"a\": {\"$tuple\": []}}]\n```");
        assert_eq!(ask(&fine, &section, source).expect("records").len(), 2);
        for (model, source, message) in [
            (Parrot("I cannot do that"), source, "answer: expected a JSON list of objects"),
            (Parrot("[{\"a\": {\"$eval\": 1}}]"), source, "answer[0].a: unknown tag `$eval`"),
            (Parrot(""), "", "parrot: no source"),
        ] {
            let error = ask(&model, &section, source).expect_err("a problem").to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn answers_are_kept_by_question_and_model() {
        let key = cache_key("a", "question");
        assert_eq!(key.len(), 32);
        assert_eq!(key, cache_key("a", "question"));
        assert_ne!(key, cache_key("b", "question"));
        assert_ne!(key, cache_key("a", "questions"));
    }
}

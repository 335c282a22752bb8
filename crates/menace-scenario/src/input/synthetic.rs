//! Inputs from documentation: examples in the docstring, call sites in the repository, and inputs
//! that a language model writes.

use serde_json::Value as Json;

use menace_model::{PyReference, Section, SectionHints, Seed, Value};

use super::python;
use super::records::{self, InputRecord, InputRecordError};

/// Increased whenever the prompt changes, so that stored answers to the former prompt are not used.
const PROMPT_VERSION: u32 = 1;

/// A language model that writes inputs for a section. Sending the prompt and storing the answer
/// belong to the caller.
pub trait InputModel {
    /// Name of the model, part of the cache key.
    fn name(&self) -> &str;

    /// The answer to a prompt; an error message.
    fn complete(&self, prompt: &str) -> Result<String, String>;
}

/// The prompt for one section and its source.
pub fn build_prompt(section: &Section, source: &str) -> String {
    let names =
        section.params.iter().map(|param| param.name.as_str()).collect::<Vec<_>>().join(", ");
    format!(
        "{}\n\nParameters: {names}\n\nSource of `{}`:\n\n{source}\n",
        include_str!("data/prompt.txt").trim(),
        section.id,
    )
}

/// The cache key of an answer: equal for equal prompts to the same model.
pub fn cache_key(model: &str, prompt: &str) -> String {
    let seed = Seed(u64::from(PROMPT_VERSION)).derive(model);
    format!("{:016x}{:016x}", seed.derive(prompt).0, seed.derive_nth(1).derive(prompt).0)
}

/// Parses an answer: a JSON list of arguments by name, alone or in a fenced block.
pub fn parse_answer(text: &str) -> Result<Vec<InputRecord>, InputRecordError> {
    let start = text.find('[').unwrap_or(0);
    let end = text.rfind(']').map_or(text.len(), |end| end + 1);
    let json = text.get(start..end).unwrap_or_default();
    let json: Json = serde_json::from_str(json).map_err(|error| InputRecordError {
        place: "answer".to_owned(),
        reason: format!("expected a JSON list of objects: {error}"),
    })?;
    records::read_records(&json, "answer")
}

/// Sends the prompt and parses the answer.
pub fn ask_model(
    model: &dyn InputModel,
    section: &Section,
    source: &str,
) -> Result<Vec<InputRecord>, InputRecordError> {
    let text = model
        .complete(&build_prompt(section, source))
        .map_err(|reason| InputRecordError { place: model.name().to_owned(), reason })?;
    parse_answer(&text)
}

/// A call of the section in a docstring or at a call site.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DocumentedCall {
    pub receiver: Option<Value>,
    pub args: Vec<Value>,
    pub kwargs: Vec<(String, Value)>,
}

/// Call sites in the repository, then examples in the docstring (`>>> f(1)`).
pub(crate) fn documented_calls(
    section: &Section,
    hints: &SectionHints,
    resolve: &dyn Fn(&str) -> Option<PyReference>,
) -> Vec<DocumentedCall> {
    let mut examples = Vec::new();
    let mut add = |example: DocumentedCall| {
        if !examples.contains(&example) {
            examples.push(example);
        }
    };
    for site in &hints.call_sites {
        let read = |source: &String| python::parse_value(source, resolve);
        let args: Option<Vec<Value>> = site.args.iter().map(read).collect();
        let kwargs: Option<Vec<_>> =
            site.kwargs.iter().map(|(name, source)| Some((name.clone(), read(source)?))).collect();
        let receiver = site.receiver.as_ref().map(read);
        if let (Some(args), Some(kwargs)) = (args, kwargs) {
            add(DocumentedCall { receiver: receiver.flatten(), args, kwargs });
        }
    }
    let name = section.id.qualname().rsplit('.').next().unwrap_or_default();
    let name = name.split('#').next().unwrap_or_default();
    for source in section.docstring.iter().flat_map(|text| docstring_expressions(text)) {
        let Some(call) = python::parse_call(&source, resolve) else { continue };
        if call.function.rsplit('.').next() == Some(name) {
            add(DocumentedCall { receiver: call.receiver, args: call.args, kwargs: call.kwargs });
        }
    }
    examples
}

/// Expressions after `>>>`, with their continuation lines (`...`).
fn docstring_expressions(text: &str) -> Vec<String> {
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

    struct FixedReplyModel(&'static str);

    impl InputModel for FixedReplyModel {
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
        assert_eq!(docstring_expressions(text), ["f(1, b='x')", "f([1])", "f(2)", "g(1)"]);
    }

    #[test]
    fn the_answer_of_a_model_is_validated() {
        let section: Section = serde_json::from_str(
            r#"{"id": "m.py::f", "kind": "function", "is_async": false, "is_generator": false,
                "line": 1, "start_line": 1, "end_line": 2, "decorators": [], "docstring": null,
                "params": [], "returns": null, "complexity": 1, "calls": [],
                "construction": null}"#,
        )
        .expect("a section");
        let source = "def f(a): ...";
        let fine = FixedReplyModel("Sure!\n```json\n[{\"a\": 1}, {\"a\": {\"$tuple\": []}}]\n```");
        assert_eq!(ask_model(&fine, &section, source).expect("records").len(), 2);
        for (model, source, message) in [
            (
                FixedReplyModel("I cannot do that"),
                source,
                "answer: expected a JSON list of objects",
            ),
            (
                FixedReplyModel("[{\"a\": {\"$eval\": 1}}]"),
                source,
                "answer[0].a: unknown tag `$eval`",
            ),
            (FixedReplyModel(""), "", "parrot: no source"),
        ] {
            let error = ask_model(&model, &section, source).expect_err("a problem").to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn answers_are_stored_by_prompt_and_model() {
        let key = cache_key("a", "question");
        assert_eq!(key.len(), 32);
        assert_eq!(key, cache_key("a", "question"));
        assert_ne!(key, cache_key("b", "question"));
        assert_ne!(key, cache_key("a", "questions"));
    }
}

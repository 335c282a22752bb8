use std::sync::Arc;

use menace_model::{
    CallStage, ClassIndex, InputIntent, NamedTypeIndex, Outcome, RaisedException, ReturnedValue,
    Section, SectionHints, Seed, Value, Verdict,
};

use super::LearnedHints;
use crate::input::{InputGenerator, InputSettings, RepositoryFacts};

fn section(name: &str, params: &[&str]) -> Section {
    let params: Vec<_> = params
        .iter()
        .map(|name| {
            serde_json::json!({"name": name, "kind": "positional_or_keyword", "annotation": null,
                "resolved": null, "default": null})
        })
        .collect();
    serde_json::from_value(serde_json::json!({
        "id": format!("m.py::{name}"), "kind": "function", "is_async": false,
        "is_generator": false, "line": 1, "start_line": 1, "end_line": 2, "decorators": [],
        "docstring": null, "params": params, "returns": null, "complexity": 1, "calls": [],
        "construction": null
    }))
    .expect("a section")
}

fn raised(message: &str) -> Outcome {
    let mut outcome = Outcome::new(Verdict::Raised, CallStage::Call);
    outcome.exception = Some(RaisedException {
        kind: "builtins.TypeError".to_owned(),
        message: message.to_owned(),
        bases: Vec::new(),
        explicit: false,
        frames: Vec::new(),
        errno: None,
        cause: None,
        group: Vec::new(),
        notes: Vec::new(),
    });
    outcome
}

/// The first arguments after an exception about the first ones was recorded.
fn arguments_after(params: &[&str], message: impl Fn(&[Value]) -> String) -> Vec<Value> {
    let classes = ClassIndex::default();
    let types = NamedTypeIndex::default();
    let (section, hints) = (section("f", params), SectionHints::default());
    let mut facts = RepositoryFacts::new(&classes, &types);
    facts.add_section("m", &section, &hints);
    let settings = InputSettings::default();
    let mut inputs = InputGenerator::new(&section, &hints, &facts, &settings);
    let first = inputs.take(1, Seed(1)).remove(0);
    assert_eq!(first.intent, InputIntent::Valid);
    let mut learned_hints = LearnedHints::default();
    inputs.record_hints(&mut learned_hints, &first, &raised(&message(&first.args)));
    assert!(!learned_hints.is_empty(), "no hint was recorded");
    inputs.apply_hints(&Arc::new(learned_hints));
    inputs.take(1, Seed(1)).remove(0).args
}

#[test]
fn the_attributed_parameter_changes() {
    // A `count` is an integer at first.
    let args = arguments_after(&["count", "text"], |_| {
        "'int' object has no attribute 'symmetric_difference'".to_owned()
    });
    assert!(matches!(args[0], Value::Set(_)), "{args:?}");
    assert!(matches!(args[1], Value::Str(_)), "{args:?}");
}

#[test]
fn a_name_in_the_message_decides_between_two() {
    let args = arguments_after(&["count", "size"], |_| "size must be a string".to_owned());
    assert!(matches!(args[..], [Value::Int(_), Value::Str(_)]), "{args:?}");
}

#[test]
fn a_value_in_the_message_decides_between_two() {
    let args = arguments_after(&["title", "url"], |arguments| {
        let Value::Str(url) = &arguments[1] else { panic!("a url is text") };
        format!("cannot convert {} to bytes", url.as_str().expect("plain text"))
    });
    assert!(matches!(args[..], [Value::Str(_), Value::Bytes(_)]), "{args:?}");
}

#[test]
fn hostile_inputs_give_no_hints() {
    let classes = ClassIndex::default();
    let types = NamedTypeIndex::default();
    let (section, hints) = (section("f", &["count"]), SectionHints::default());
    let facts = RepositoryFacts::new(&classes, &types);
    let settings = InputSettings::default();
    let inputs = InputGenerator::new(&section, &hints, &facts, &settings);
    let mut input = inputs.take(1, Seed(1)).remove(0);
    input.intent = InputIntent::Hostile;
    let mut learned_hints = LearnedHints::default();
    inputs.record_hints(&mut learned_hints, &input, &raised("'int' object is not iterable"));
    assert!(learned_hints.is_empty());
}

#[test]
fn a_returned_call_is_stored() {
    let classes = ClassIndex::default();
    let types = NamedTypeIndex::default();
    let (section, hints) = (section("f", &["count"]), SectionHints::default());
    let facts = RepositoryFacts::new(&classes, &types);
    let settings = InputSettings::default();
    let inputs = InputGenerator::new(&section, &hints, &facts, &settings);
    let input = inputs.take(1, Seed(1)).remove(0);
    let mut outcome = Outcome::new(Verdict::Returned, CallStage::Call);
    outcome.value = Some(ReturnedValue {
        kind: "builtins.list".to_owned(),
        repr: "[1]".to_owned(),
        truncated: false,
        length: Some(1),
        hash: None,
        value: None,
        items: None,
        more: false,
    });
    let mut learned_hints = LearnedHints::default();
    inputs.record_hints(&mut learned_hints, &input, &outcome);
    let mut random = Seed(1).rng();
    let (arguments, _) =
        learned_hints.returned_arguments(&section.id, &mut random).expect("a call");
    assert_eq!(arguments, (input.args, input.kwargs));
}

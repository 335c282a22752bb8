use std::sync::Arc;

use menace_model::{
    Classes, Hints, Intent, Outcome, Raised, Returned, Section, Seed, Stage, TypeNames, Value,
    Verdict,
};

use super::Lessons;
use crate::input::{Facts, InputSettings, Inputs};

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
    let mut outcome = Outcome::of(Verdict::Raised, Stage::Call);
    outcome.exception = Some(Raised {
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

/// The first arguments after an exception has said something about the first ones.
fn after(params: &[&str], message: impl Fn(&[Value]) -> String) -> Vec<Value> {
    let (classes, types) = (Classes::default(), TypeNames::default());
    let (section, hints) = (section("f", params), Hints::default());
    let mut facts = Facts::new(&classes, &types);
    facts.add("m", &section, &hints);
    let settings = InputSettings::default();
    let mut inputs = Inputs::new(&section, &hints, &facts, &settings);
    let first = inputs.take(1, Seed(1)).remove(0);
    assert_eq!(first.intent, Intent::Valid);
    let mut lessons = Lessons::default();
    inputs.teach(&mut lessons, &first, &raised(&message(&first.args)));
    assert!(!lessons.is_empty(), "nothing was learnt");
    inputs.hear(&Arc::new(lessons));
    inputs.take(1, Seed(1)).remove(0).args
}

#[test]
fn the_parameter_that_is_at_fault_changes() {
    // A count is a number at first.
    let args = after(&["count", "text"], |_| {
        "'int' object has no attribute 'symmetric_difference'".to_owned()
    });
    assert!(matches!(args[0], Value::Set(_)), "{args:?}");
    assert!(matches!(args[1], Value::Str(_)), "{args:?}");
}

#[test]
fn a_name_in_the_message_decides_between_two() {
    let args = after(&["count", "size"], |_| "size must be a string".to_owned());
    assert!(matches!(args[..], [Value::Int(_), Value::Str(_)]), "{args:?}");
}

#[test]
fn a_value_in_the_message_decides_between_two() {
    let args = after(&["title", "url"], |given| {
        let Value::Str(url) = &given[1] else { panic!("a url is text") };
        format!("cannot convert {} to bytes", url.as_str().expect("plain text"))
    });
    assert!(matches!(args[..], [Value::Str(_), Value::Bytes(_)]), "{args:?}");
}

#[test]
fn what_is_hostile_teaches_nothing() {
    let (classes, types) = (Classes::default(), TypeNames::default());
    let (section, hints) = (section("f", &["count"]), Hints::default());
    let facts = Facts::new(&classes, &types);
    let settings = InputSettings::default();
    let inputs = Inputs::new(&section, &hints, &facts, &settings);
    let mut input = inputs.take(1, Seed(1)).remove(0);
    input.intent = Intent::Hostile;
    let mut lessons = Lessons::default();
    inputs.teach(&mut lessons, &input, &raised("'int' object is not iterable"));
    assert!(lessons.is_empty());
}

#[test]
fn a_call_that_returned_is_remembered() {
    let (classes, types) = (Classes::default(), TypeNames::default());
    let (section, hints) = (section("f", &["count"]), Hints::default());
    let facts = Facts::new(&classes, &types);
    let settings = InputSettings::default();
    let inputs = Inputs::new(&section, &hints, &facts, &settings);
    let input = inputs.take(1, Seed(1)).remove(0);
    let mut outcome = Outcome::of(Verdict::Returned, Stage::Call);
    outcome.value = Some(Returned {
        kind: "builtins.list".to_owned(),
        repr: "[1]".to_owned(),
        truncated: false,
        length: Some(1),
        hash: None,
        value: None,
        items: None,
        more: false,
    });
    let mut lessons = Lessons::default();
    inputs.teach(&mut lessons, &input, &outcome);
    let mut random = Seed(1).random();
    let (given, _) = lessons.call(&section.id, &mut random).expect("a call");
    assert_eq!(given, (input.args, input.kwargs));
}

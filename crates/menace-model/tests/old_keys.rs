//! Calls and outcomes that databases hold under the keys of the version before the renames.

use menace_model::{Call, CallStage, CallStepReport, Outcome, UpstreamFailure, Verdict};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn parse<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// The value as JSON, with each of these keys replaced by its old name.
fn with_old_keys(value: impl serde::Serialize, old_keys: &[(&str, &str)]) -> Value {
    let mut replaced = Vec::new();
    let renamed = rename(serde_json::to_value(value).unwrap(), old_keys, &mut replaced);
    for (today, _) in old_keys {
        assert!(replaced.contains(&(*today).to_owned()), "the sample has no `{today}`");
    }
    renamed
}

fn rename(value: Value, old_keys: &[(&str, &str)], replaced: &mut Vec<String>) -> Value {
    match value {
        Value::Object(entries) => entries
            .into_iter()
            .map(|(key, inner)| {
                let inner = rename(inner, old_keys, replaced);
                let Some((today, old)) = old_keys.iter().find(|(today, _)| *today == key) else {
                    return (key, inner);
                };
                replaced.push((*today).to_owned());
                ((*old).to_owned(), inner)
            })
            .collect(),
        Value::Array(items) => {
            items.into_iter().map(|item| rename(item, old_keys, replaced)).collect()
        }
        other => other,
    }
}

#[test]
fn an_outcome_is_read_under_its_old_keys() {
    let mut outcome = Outcome::new(Verdict::TimedOut, CallStage::Call);
    outcome.leaked.threads.push("worker".to_owned());
    outcome.state_changes.modules_loaded = 3;
    let frame = json!({"file": "a.py", "line": 3, "function": "f", "in_repository": true});
    outcome.hang_location = Some(parse(json!({"frames": [&frame], "loop_frames": [&frame]})));
    outcome.fault_stats.push(parse(json!({
        "mode": "disk", "opportunities": 5, "injected": 2, "first_injected": "write",
        "last_injected_ms": 1.5,
    })));
    outcome.upstream = Some(parse(json!({
        "requests": [{"request": "GET /", "answer": "200"}], "without_timeout": 0,
    })));
    outcome.violations.push(parse(json!({"kind": "file", "detail": "/etc/passwd"})));
    outcome.files.touched.push(parse(json!({
        "path": "a", "change": "created", "bytes": 1, "hash": null,
    })));
    let old_keys = [
        ("leaked", "left"),
        ("state_changes", "changed"),
        ("fault_stats", "felt"),
        ("hang_location", "stood"),
        ("opportunities", "offered"),
        ("injected", "struck"),
        ("first_injected", "first"),
        ("last_injected_ms", "last_ms"),
        ("loop_frames", "among"),
        ("in_repository", "own"),
        ("request", "what"),
        ("change", "what"),
        ("kind", "what"),
    ];
    assert_eq!(parse::<Outcome>(with_old_keys(&outcome, &old_keys)), outcome);
}

#[test]
fn a_call_is_read_under_its_old_keys() {
    let target = json!({
        "module": {"name": "a", "path": "a.py"}, "qualname": "f", "kind": "function",
    });
    let mut call = Call::new(parse(target.clone()));
    call.repeats = 2;
    call.shared_steps.push(parse(json!({
        "target": target, "receiver": null, "args": [], "kwargs": [], "intent": "valid",
    })));
    call.conditions.faults.push(parse(json!({"mode": "disk", "trigger": {"nth": 3}})));
    let old_keys =
        [("kind", "how"), ("shared_steps", "together"), ("repeats", "again"), ("trigger", "when")];
    assert_eq!(parse::<Call>(with_old_keys(&call, &old_keys)), call);
    assert_eq!(parse::<UpstreamFailure>(json!("silence")), UpstreamFailure::NoResponse);
}

/// Results and steps are structs of their own in Rust, and flat in the JSON of every version.
#[test]
fn a_call_and_an_outcome_are_flat_and_keep_large_numbers() {
    let text = r#"{"target": {"module": {"name": "a", "path": null}, "qualname": "f",
        "kind": "function"}, "receiver": null, "args": [{"$int": "18446744073709551615"}, -0.0,
        {"$int": "-123456789012345678901234567890"}, {"$float": "nan"}, {"b": 1, "a": [2]}],
        "kwargs": [["x", {"$dict": [[1, 2], [1, 3]]}]], "seed": 18446744073709551615,
        "intent": "boundary"}"#;
    let mut stored: Value = serde_json::from_str(text).unwrap();
    let rest = serde_json::to_value(Call::new(parse(stored["target"].clone()))).unwrap();
    for (key, value) in rest.as_object().unwrap() {
        stored.as_object_mut().unwrap().entry(key).or_insert_with(|| value.clone());
    }
    let call: Call = serde_json::from_str(&stored.to_string()).unwrap();
    assert_eq!(call.seed, u64::MAX);
    assert_eq!(serde_json::to_value(&call).unwrap(), stored);
    let plain = r#"{"$int":"18446744073709551615"}"#;
    let plain = stored.to_string().replace(plain, "18446744073709551615");
    assert_eq!(serde_json::from_str::<Call>(&plain).unwrap(), call);

    let mut outcome = Outcome::new(Verdict::Raised, CallStage::Construct);
    outcome.steps.push(CallStepReport::new(Verdict::Returned, CallStage::Call));
    outcome.runtime_metrics.wall_ms = 0.1;
    let stored = serde_json::to_value(&outcome).unwrap();
    assert_eq!((&stored["verdict"], &stored["stage"]), (&json!("raised"), &json!("construct")));
    assert_eq!(stored["steps"][0]["verdict"], json!("returned"));
    assert_eq!(stored.get("result"), None);
    assert_eq!(serde_json::from_str::<Outcome>(&stored.to_string()).unwrap(), outcome);
}

//! `menace doctor` as its users meet it.

use serde_json::{Value, json};

use crate::program::{CommandOutput, SANDBOX_VARIABLES, TestDirectory};

#[test]
fn the_tier_is_proved_and_every_mechanism_has_a_reason() {
    let place = TestDirectory::with_fixture("bookshop");
    let arguments = ["doctor", "--repo", "bookshop", "--format", "json"];
    let found = place.run_with(&SANDBOX_VARIABLES, &arguments).json();
    assert_eq!((&found["version"], &found["sandbox"]["state"]), (&json!(1), &json!("proved")));
    assert!(found["tier"].is_string(), "{found}");
    for mechanism in found["mechanisms"].as_array().unwrap() {
        assert!(mechanism["available"].is_boolean(), "{mechanism}");
        assert_ne!(mechanism["detail"], "", "{mechanism}");
    }
    let is_network = |mechanism: &&Value| mechanism["name"] == "nfqueue";
    let network = found["mechanisms"].as_array().unwrap().iter().find(is_network);
    assert_eq!(network.map(|network| &network["available"]), Some(&json!(true)), "{network:?}");
    assert_eq!(found["python"]["origin"], "path");
    assert_eq!(found["limits"]["timeout"], json!(["monitor"]));
    let held = found["limits"].as_object().unwrap().len();
    assert_eq!(held + found["unenforced"].as_array().unwrap().len(), 8, "{found}");
}

#[test]
fn it_leaves_no_trace() {
    let place = TestDirectory::with_fixture("bookshop");
    let before = place.files(".");
    place.run_with(&SANDBOX_VARIABLES, &["doctor", "--repo", "bookshop"]);
    assert_eq!(place.files("."), before);
}

#[test]
fn the_table_answers_the_same_questions() {
    let place = TestDirectory::with_fixture("bookshop");
    let ran = place.run_with(&SANDBOX_VARIABLES, &["doctor", "--repo", "bookshop"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let labels = ["tier ", "sandbox     proved", "machine ", "python ", "Mechanism", "Enforced by"];
    for label in labels {
        assert!(ran.out.contains(label), "{label} in\n{}", ran.out);
    }
    // What a limit is called is what it can be set by.
    let found = place.run(&["settings", "--format", "json"]).json();
    for key in ["TIMEOUT", "MEMORY_LIMIT", "PROCESS_LIMIT", "OPEN_FILES_LIMIT", "OUTPUT_LIMIT"] {
        assert!(ran.out.contains(key), "{key} in\n{}", ran.out);
        let settings = found["settings"].as_array().unwrap();
        assert!(settings.iter().any(|setting| setting["name"] == key), "{key}");
    }
}

#[test]
fn a_missing_interpreter_is_reported_and_is_no_failure() {
    let place = TestDirectory::with_fixture("bookshop");
    let ran = place.run(&["doctor", "--repo", "bookshop"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("found no Python"), "{}", ran.out);
    assert!(ran.out.contains("--python PATH"), "{}", ran.out);
    let found = place.run(&["doctor", "--repo", "bookshop", "--format", "json"]).json();
    let state = json!({"state": "not_tried", "why": "there is no Python to try it with"});
    assert_eq!((&found["sandbox"], &found["limits"]), (&state, &Value::Null));
}

#[test]
fn what_is_no_repository_is_an_error() {
    let ran = TestDirectory::new().run(&["doctor", "--repo", "nowhere"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("`nowhere` is not a directory"), "{}", ran.err);
}

#[test]
fn without_root_it_says_why_there_is_no_stronger_tier() {
    let place = TestDirectory::new();
    let mut command = place.unprivileged_command(&["doctor", "--format", "json"]);
    command.envs(SANDBOX_VARIABLES);
    let found = CommandOutput::from(command.output().unwrap()).json();
    assert_eq!((&found["root"], &found["sandbox"]["state"]), (&json!(false), &json!("proved")));
    let why = found["why"].as_array().unwrap();
    assert!(why.iter().any(|why| why.as_str().unwrap().contains("it needs root")), "{found}");
}

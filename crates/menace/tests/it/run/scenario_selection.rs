//! Which scenarios and inputs a run takes.

use std::collections::BTreeSet;
use std::fs;

use crate::program::SANDBOX_VARIABLES;
use crate::store_contents::{StoredCallCounts, read_call_counts};

use super::{BREADTH_ARGS, SEED_ARGS, make_repo};

/// `given` and `plugged` return for one value each, which a given input or a plugin provides.
const DESK_MODULE: &str = "\
def given(number: int) -> bool:
    if number != 41:
        raise SystemError
    return True

def plugged(number: int) -> bool:
    if number != 42:
        raise SystemError
    return True

class Drawer:
    def __init__(self, label: str):
        self.label = label

    def put(self, number: int, times: int) -> int:
        return number * times

    def find(self, number: int) -> str:
        return self.label + str(number)
";

const STUB_PLUGIN: &str = "\
def generate_stubs(stubs, context):
    return [{'number': 42}] + stubs if context['target'] == 'db_client:plugged' else None
";

fn scenario_names(calls: &[StoredCallCounts], cycle: u32) -> BTreeSet<&str> {
    calls.iter().filter(|one| one.cycle == cycle).map(|one| one.scenario.as_str()).collect()
}

const CANONICAL_SCENARIOS: [&str; 8] = [
    "concurrency_spike:high",
    "concurrency_spike:low",
    "high_latency_api:high",
    "high_latency_api:low",
    "hostile_input:high",
    "hostile_input:low",
    "user_misuse:high",
    "user_misuse:low",
];

#[test]
fn preset_files_take_turns_and_are_completed() {
    let place = make_repo(&[("db_client.py", DESK_MODULE)]);
    place.write("first.json", r#"[{"SCENARIO_NAME": "first", "MEMORY_LIMIT": "64Mi"}]"#);
    place.write("second.json", r#"[{"SCENARIO_NAME": "second", "MEMORY_LIMIT": "65Mi"}]"#);
    let files = ["--preset-file", "first.json", "--preset-file", "second.json", "--runs", "2"];
    let more = ["--repo", "repo", "--debug-log-file", "presets.log"];
    let command = [&["run"], &SEED_ARGS[..], &BREADTH_ARGS, &files, &more].concat();
    // These come on top of what canonical scenarios are about, and leave the control alone.
    let variables = [
        ("SANDBOX_STUB_STRATEGY", "hostile"),
        ("FAILURE_MODES", "schema_drift"),
        ("SANDBOX_FAIL_ON_MISSING_SCENARIOS", "1"),
    ];
    let ran = place.run_with(&[&SANDBOX_VARIABLES[..], &variables].concat(), &command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = read_call_counts(&place.path().join("sandbox_data/menace.db"));
    for (cycle, name) in [(0, "first"), (1, "second")] {
        let found = scenario_names(&calls, cycle);
        let mut expected: BTreeSet<&str> = CANONICAL_SCENARIOS.into();
        expected.extend(["normal", name]);
        assert!(found.is_superset(&expected), "{found:?}");
        // The words in its path call for one more.
        let more: Vec<&&str> =
            found.difference(&expected).filter(|name| name.contains('+')).collect();
        assert_eq!(more.len(), 1, "{found:?}");
        let other = if cycle == 0 { "second" } else { "first" };
        assert!(!found.contains(other), "{found:?}");
    }
    let is_bad = |one: &StoredCallCounts| matches!(one.intent.as_str(), "hostile" | "misuse");
    for (name, is_expected) in [("normal", false), ("first", true), ("user_misuse:low", true)] {
        let found = calls.iter().any(|one| one.scenario == name && is_bad(one));
        assert_eq!(found, is_expected, "{name}: {calls:?}");
    }
    let log = fs::read_to_string(place.path().join("presets.log")).unwrap();
    for (name, origin) in [("first", "static file"), ("second", "static file")] {
        let names_origin = |line: &str| line.contains(name) && line.contains(origin);
        assert!(log.lines().any(names_origin), "{name}: {log}");
    }
    for origin in ["added", "keyword"] {
        assert!(log.contains(&format!("origin=\"{origin}\"")), "{origin}: {log}");
    }
}

#[test]
fn inputs_that_users_and_plugins_give_are_called_with() {
    let place = make_repo(&[("db_client.py", DESK_MODULE)]);
    place.write("plugin.py", STUB_PLUGIN);
    let stubs = r#"[{"$section": "db_client:given", "number": 41}]"#;
    let variables = [
        ("SANDBOX_PRESET_MODE", "canonical"),
        ("SANDBOX_INPUT_STUBS", stubs),
        ("SANDBOX_STUB_PLUGINS", "plugin.py"),
    ];
    let command = [&["run"], &SEED_ARGS[..], &BREADTH_ARGS, &["--repo", "repo"]].concat();
    let ran = place.run_with(&[&SANDBOX_VARIABLES[..], &variables].concat(), &command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = read_call_counts(&place.path().join("sandbox_data/menace.db"));
    let found = scenario_names(&calls, 0);
    assert!(
        found.is_superset(&CANONICAL_SCENARIOS.into()) && !found.contains("unnamed"),
        "{found:?}"
    );
    let under = |section: &str| {
        let section = format!("db_client.py::{section}");
        let calls = calls.iter().filter(move |one| one.section == section);
        calls.filter(|one| one.scenario == "normal").map(|one| one.verdict.as_str())
    };
    assert_eq!(under("given").collect::<Vec<_>>(), ["returned"]);
    assert!(under("plugged").any(|verdict| verdict == "returned"), "{calls:?}");
    // Misuse of a method has an instance to call it on.
    let misused =
        |one: &&StoredCallCounts| one.intent == "misuse" && one.section.contains("Drawer.");
    let misused: Vec<&StoredCallCounts> = calls.iter().filter(misused).collect();
    assert!(misused.len() >= 2, "{calls:?}");
    assert!(misused.iter().all(|one| one.verdict != "unreachable"), "{misused:?}");
}

#[test]
fn a_skipped_scenario_is_an_error_when_that_is_requested() {
    let place = make_repo(&[("db_client.py", DESK_MODULE)]);
    let strict = ("SANDBOX_FAIL_ON_MISSING_SCENARIOS", "1");
    let command = ["run", "--repo", "repo", "--no-depth", "--budget", "1ms"];
    let ran = place.run_with(&[&SANDBOX_VARIABLES[..], &[strict]].concat(), &command);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("db_client.py: concurrency_spike"), "{}", ran.err);
    let ran = place.run_with(&SANDBOX_VARIABLES, &command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

//! Which scenarios and inputs a run takes.

use std::collections::BTreeSet;
use std::fs;

use crate::program::SANDBOXES;
use crate::stored::{Calls, calls};

use super::{BROAD, SEED, repository};

/// Returns only for what somebody gave.
const DESK: &str = "\
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

const PLUGIN: &str = "\
def generate_stubs(stubs, context):
    return [{'number': 42}] + stubs if context['target'] == 'db_client:plugged' else None
";

fn names(calls: &[Calls], cycle: u32) -> BTreeSet<&str> {
    calls.iter().filter(|one| one.cycle == cycle).map(|one| one.scenario.as_str()).collect()
}

const CANONICAL: [&str; 8] = [
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
    let place = repository(&[("db_client.py", DESK)]);
    place.write("first.json", r#"[{"SCENARIO_NAME": "first", "MEMORY_LIMIT": "64Mi"}]"#);
    place.write("second.json", r#"[{"SCENARIO_NAME": "second", "MEMORY_LIMIT": "65Mi"}]"#);
    let files = ["--preset-file", "first.json", "--preset-file", "second.json", "--runs", "2"];
    let more = ["--repo", "repo", "--debug-log-file", "presets.log"];
    let command = [&["run"], &SEED[..], &BROAD, &files, &more].concat();
    // These come on top of what canonical scenarios are about, and leave the control alone.
    let variables = [
        ("SANDBOX_STUB_STRATEGY", "hostile"),
        ("FAILURE_MODES", "schema_drift"),
        ("SANDBOX_FAIL_ON_MISSING_SCENARIOS", "1"),
    ];
    let ran = place.run_with(&[&SANDBOXES[..], &variables].concat(), &command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = calls(&place.path().join("sandbox_data/menace.db"));
    for (cycle, name) in [(0, "first"), (1, "second")] {
        let found = names(&calls, cycle);
        let mut expected: BTreeSet<&str> = CANONICAL.into();
        expected.extend(["normal", name]);
        assert!(found.is_superset(&expected), "{found:?}");
        // The words in its path call for one more.
        let more: Vec<&&str> =
            found.difference(&expected).filter(|name| name.contains('+')).collect();
        assert_eq!(more.len(), 1, "{found:?}");
        let other = if cycle == 0 { "second" } else { "first" };
        assert!(!found.contains(other), "{found:?}");
    }
    let is_bad = |one: &Calls| matches!(one.intent.as_str(), "hostile" | "misuse");
    for (name, is_expected) in [("normal", false), ("first", true), ("user_misuse:low", true)] {
        let found = calls.iter().any(|one| one.scenario == name && is_bad(one));
        assert_eq!(found, is_expected, "{name}: {calls:?}");
    }
    let log = fs::read_to_string(place.path().join("presets.log")).unwrap();
    for (name, origin) in [("first", "static file"), ("second", "static file")] {
        let is_told = |line: &str| line.contains(name) && line.contains(origin);
        assert!(log.lines().any(is_told), "{name}: {log}");
    }
    for origin in ["injected", "keyword"] {
        assert!(log.contains(origin), "{origin}: {log}");
    }
}

#[test]
fn inputs_that_users_and_plugins_give_are_called_with() {
    let place = repository(&[("db_client.py", DESK)]);
    place.write("plugin.py", PLUGIN);
    let stubs = r#"[{"$section": "db_client:given", "number": 41}]"#;
    let variables = [
        ("SANDBOX_PRESET_MODE", "canonical"),
        ("SANDBOX_INPUT_STUBS", stubs),
        ("SANDBOX_STUB_PLUGINS", "plugin.py"),
    ];
    let command = [&["run"], &SEED[..], &BROAD, &["--repo", "repo"]].concat();
    let ran = place.run_with(&[&SANDBOXES[..], &variables].concat(), &command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = calls(&place.path().join("sandbox_data/menace.db"));
    let found = names(&calls, 0);
    assert!(found.is_superset(&CANONICAL.into()) && !found.contains("unnamed"), "{found:?}");
    let under = |section: &str| {
        let section = format!("db_client.py::{section}");
        let calls = calls.iter().filter(move |one| one.section == section);
        calls.filter(|one| one.scenario == "normal").map(|one| one.verdict.as_str())
    };
    assert_eq!(under("given").collect::<Vec<_>>(), ["returned"]);
    assert!(under("plugged").any(|verdict| verdict == "returned"), "{calls:?}");
    // Who makes mistakes has an instance to make them with.
    let misused = |one: &&Calls| one.intent == "misuse" && one.section.contains("Drawer.");
    let misused: Vec<&Calls> = calls.iter().filter(misused).collect();
    assert!(misused.len() >= 2, "{calls:?}");
    assert!(misused.iter().all(|one| one.verdict != "unreachable"), "{misused:?}");
}

#[test]
fn a_scenario_that_was_skipped_is_an_error_for_those_who_ask() {
    let place = repository(&[("db_client.py", DESK)]);
    let strict = ("SANDBOX_FAIL_ON_MISSING_SCENARIOS", "1");
    let command = ["run", "--repo", "repo", "--no-depth", "--budget", "1ms"];
    let ran = place.run_with(&[&SANDBOXES[..], &[strict]].concat(), &command);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("db_client.py: concurrency_spike"), "{}", ran.err);
    let ran = place.run_with(&SANDBOXES, &command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

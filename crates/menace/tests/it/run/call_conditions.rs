//! What users say about calls holds for all of them, in breadth and in depth.

use std::collections::BTreeSet;

use crate::program::SANDBOX_VARIABLES;
use crate::store_contents::{StoredCallCounts, read_call_counts};

use super::{SEED_ARGS, make_repo};

const DESK_MODULE: &str = r#"
import json
import subprocess
import urllib.request


def rate(currency: str) -> int:
    with urllib.request.urlopen("http://rates.example/now", timeout=1) as answer:
        return json.load(answer)["rate"]


def hoard() -> int:
    return len(bytearray(100 << 20))


def start() -> int:
    return subprocess.run(["/bin/true"]).returncode
"#;

const RATES_MOCKS: &str = r#"[{"url": "http://rates.example/*", "json": {"rate": 3}}]"#;

fn returned_sections<'c>(calls: &'c [StoredCallCounts], scenario: &str) -> BTreeSet<&'c str> {
    let returned = |one: &&StoredCallCounts| one.scenario == scenario && one.verdict == "returned";
    calls.iter().filter(returned).map(|one| one.section.as_str()).collect()
}

#[test]
fn recorded_answers_limits_and_levels_hold_in_breadth_and_in_depth() {
    let place = make_repo(&[("desk.py", DESK_MODULE)]);
    place.write("rates.json", RATES_MOCKS);
    let strict = [
        ("SANDBOX_GENERATE_PRESETS", "0"),
        ("SANDBOX_NETWORK_RECORDINGS", "rates.json"),
        ("MEMORY_LIMIT", "32Mi"),
        ("SECURITY_LEVEL", "4"),
        ("THREAT_INTENSITY", "0"),
    ];
    let arguments = ["--repo", "repo", "--calls-per-cell", "1"];
    let command = [&["run"], &SEED_ARGS[..], &arguments].concat();
    let ran = place.run_with(&[&SANDBOX_VARIABLES[..], &strict].concat(), &command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = read_call_counts(&place.path().join("sandbox_data/menace.db"));
    assert_eq!(returned_sections(&calls, "normal"), ["desk.py::<module>", "desk.py::rate"].into());
    assert_eq!(returned_sections(&calls, "depth"), ["desk.py::rate"].into());
    let is_hostile = |one: &&StoredCallCounts| one.scenario == "depth" && one.intent == "hostile";
    assert_eq!(calls.iter().find(is_hostile), None);

    // Without presets there is an empty one, and what every module is put through.
    let canonical = ["high_latency_api", "hostile_input", "user_misuse", "concurrency_spike"];
    let levels = |name: &&str| [format!("{name}:low"), format!("{name}:high")];
    let mut expected: BTreeSet<String> = canonical.iter().flat_map(levels).collect();
    expected.extend(["normal", "unnamed", "depth", "auxiliary"].map(str::to_owned));
    assert_eq!(calls.iter().map(|one| one.scenario.clone()).collect::<BTreeSet<_>>(), expected);

    // What reached something is begun with the next time.
    let history = place.path().join("sandbox_data/input_history.jsonl");
    let kept = std::fs::read_to_string(&history).unwrap();
    assert!(kept.lines().count() > 0 && kept.lines().all(|line| line.contains("desk.py::rate")));
    let inputs = ["inputs", "--repo", "repo", "desk:rate", "--count", "1", "--format", "json"];
    let shown = place.run_with(&SANDBOX_VARIABLES, &inputs).json();
    assert_eq!(shown["inputs"][0]["strategy"], "history", "{shown}");
}

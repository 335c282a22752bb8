//! Sections together in one interpreter, and what they are worth there.

use std::fs;

use serde_json::{Value, json};

use super::{breadth_report, make_repo};

const SHARED_MODULE: &str = "LIMITS = {'most': 3}\n";
const CLEARING_MODULE: &str = "\
from shared import LIMITS


def clear(n: int) -> int:
    LIMITS.clear()
    return n
";
const READING_MODULE: &str = "\
from shared import LIMITS


def most(n: int) -> int:
    return min(n, LIMITS['most'])
";

#[test]
fn sections_that_disturb_each_other_are_reported_and_cost_roi_under_every_scenario() {
    let place = make_repo(&[
        ("shared.py", SHARED_MODULE),
        ("desk.py", CLEARING_MODULE),
        ("shelf.py", READING_MODULE),
    ]);
    let report = breadth_report(&place, &["--repo", "repo"]);
    let discrepancies = report["discrepancies"].to_string();
    let disturbed = "shelf.py::most returns in an isolated run, \
                     and raised in a shared process: KeyError: 'most'";
    assert!(discrepancies.contains(disturbed), "{discrepancies}");
    let synergy = &report["synergy"];
    assert!(synergy["synergy_roi"].as_f64() < Some(0.0), "{synergy}");
    assert!(synergy["synergy_reliability"].as_f64() < Some(0.0), "{synergy}");
    // Both reach all of their lines, together as alone.
    assert_eq!(synergy["synergy_adaptability"], json!(0.0), "{synergy}");
    let names =
        ["resilience", "shannon_entropy", "maintainability", "code_quality", "security_score"];
    for name in names {
        assert!(synergy[format!("synergy_{name}")].is_number(), "{name}: {synergy}");
    }
    // More text has more kinds of tokens.
    assert!(synergy["synergy_shannon_entropy"].as_f64() > Some(0.0), "{synergy}");

    let text = fs::read_to_string(place.path().join("sandbox_data/roi_history.json")).unwrap();
    let history: Value = serde_json::from_str(&text).unwrap();
    let count = report["discrepancies"].as_array().unwrap().len() as f64;
    assert_eq!(history["metrics_history"]["discrepancy_count"], json!([count]), "{discrepancies}");
    let scenarios = history["scenario_synergy"].as_object().unwrap();
    assert!(scenarios.contains_key("normal") && scenarios.len() > 2, "{scenarios:?}");
    let hostile = &scenarios["hostile_input"][0];
    assert!(hostile["synergy_resilience"].is_number(), "{hostile}");
    assert_eq!(history["module_synergy"].as_object().unwrap().len(), 2, "{history}");
    let ranked = place.run(&["rank", "scenario-synergy", "sandbox_data"]);
    assert!(ranked.out.contains("hostile_input"), "{ranked:?}");
}

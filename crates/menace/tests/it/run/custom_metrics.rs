//! What users add to a run: metrics of their own, other weights, another database.

use std::fs;

use serde_json::{Value, json};

use super::{BREADTH_ARGS, SEED_ARGS, WEAK_MODULE, make_repo};
use crate::program::{CommandOutput, SANDBOX_VARIABLES};

const METRIC_PLUGIN: &str = "\
def register(manager, tracker):
    tracker.record_metric_prediction('synergy_roi', 0.25, 0.5)


def collect_metrics(prev_roi, roi, resources):
    return {'calls_made': resources['calls']}
";
const BROKEN_METRIC_PLUGIN: &str =
    "def collect_metrics(prev_roi, roi, resources):\n    return 1 / 0\n";
const ROI_PROFILES_YAML: &str = "profiles:\n  mine:\n    weights:\n      reliability: 1.0\n";

/// As on a machine without isolation, where nothing runs unless it is insisted on: also no plugin.
#[test]
fn plugins_profiles_severities_and_the_database_are_those_of_the_settings() {
    let place = make_repo(&[("desk.py", WEAK_MODULE), ("shelf.py", WEAK_MODULE)]);
    fs::create_dir(place.path().join("plugins")).unwrap();
    place.write("plugins/made.py", METRIC_PLUGIN);
    place.write("plugins/broken.py", BROKEN_METRIC_PLUGIN);
    place.write("profiles.yaml", ROI_PROFILES_YAML);
    place.write("impact.yaml", "desk.py: 0.125\n");
    let arguments = ["run", "--repo", "repo", "--unsafe-no-isolation", "--format", "json"];
    let mut command =
        place.command_without_isolation(&[&arguments[..], &SEED_ARGS, &BREADTH_ARGS].concat());
    command.envs(SANDBOX_VARIABLES).envs([
        ("SANDBOX_METRICS_PLUGIN_DIR", "plugins"),
        ("ROI_PROFILES", "profiles.yaml"),
        ("ROI_PROFILE", "mine"),
        ("IMPACT_SEVERITY_CONFIG", "impact.yaml"),
        ("DATABASE_URL", "sqlite:///other.db"),
    ]);
    let ran = CommandOutput::from(command.output().unwrap());
    let report = ran.json();
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("broken.py was left out: ZeroDivisionError"), "{warnings}");

    let data = place.path().join("sandbox_data");
    let text = fs::read_to_string(data.join("roi_history.json")).unwrap();
    let history: Value = serde_json::from_str(&text).unwrap();
    assert!(history["metrics_history"]["calls_made"][0].as_f64() > Some(0.0), "{history}");
    // The panel's own forecasts are not mixed with those of others.
    assert_eq!(history["predicted_metrics"], json!({"plugin:synergy_roi": [0.25]}));
    assert_eq!(history["actual_metrics"], json!({"plugin:synergy_roi": [0.5]}));

    let module = |path: &str| {
        let modules = report["modules"].as_array().unwrap();
        modules.iter().find(|module| module["path"] == path).unwrap().clone()
    };
    for path in ["desk.py", "shelf.py"] {
        let module = module(path);
        assert_eq!(module["roi"], module["metrics"]["reliability"], "{module}");
    }
    let risk = |path: &str| module(path)["metrics"]["risk_index"].as_f64().unwrap();
    assert!(risk("desk.py") <= 0.125 && risk("desk.py") < risk("shelf.py"), "{report}");
    assert!(!data.join("menace.db").exists());
    let database = [("DATABASE_URL", "sqlite:///other.db")];
    let listed = place.run_with(&database, &["failures"]);
    assert!(listed.out.contains("desk.py:2"), "{listed:?}");

    // The run is explained by the weights of its own profile, not by those set now.
    let explained = place.run_with(&database, &["explain", "desk.py", "--format", "json"]).json();
    assert_eq!(explained["profile"], "mine");
    assert_eq!(explained["roi"]["value"], module("desk.py")["roi"]);
}

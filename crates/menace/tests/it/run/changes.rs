//! Changes since the last cycle are reported as discrepancies.

use std::fs;

use serde_json::Value;

use super::{breadth_report, make_repo};

const DESK_MODULE: &str = "def half(n: int) -> int:\n    return n // 2\n\n\n\
                    def gone(n: int) -> int:\n    return n\n";
const CHANGED_DESK_MODULE: &str =
    "def half(n: int, of: int = 2) -> int:\n    return n // of if of > 0 else n\n";

/// The discrepancies of the sections of a file.
fn reported_changes(report: &Value, file: &str) -> Vec<String> {
    let all = report["discrepancies"].as_array().unwrap().iter().filter_map(Value::as_str);
    let own = all.filter_map(|one| one.strip_prefix(&format!("{file}::")));
    own.map(str::to_owned).collect()
}

fn source_change_size(report: &Value, file: &str) -> Option<f64> {
    let modules = report["modules"].as_array().unwrap();
    let module = modules.iter().find(|module| module["path"] == file).unwrap();
    module["metrics"]["patch_complexity"].as_f64()
}

#[test]
fn new_gone_and_changed_sections_and_calls_that_differ_are_reported_once() {
    let clock = "import time\ndef now() -> int:\n    return time.perf_counter_ns()\n";
    let half = "def half(n: int) -> int:\n    return n // 2\n";
    let place = make_repo(&[("desk.py", DESK_MODULE), ("old.py", half), ("clock.py", clock)]);
    let first = breadth_report(&place, &["--repo", "repo"]);
    let differs = ["now: one input had different results with the same seed"];
    assert_eq!(reported_changes(&first, "clock.py"), differs);
    assert_eq!(
        reported_changes(&first, "desk.py"),
        [""; 0],
        "everything is new in the first cycle"
    );
    assert_eq!(source_change_size(&first, "desk.py"), None);

    place.write("repo/desk.py", CHANGED_DESK_MODULE);
    place.write("repo/new.py", half);
    fs::remove_file(place.path().join("repo/old.py")).unwrap();
    // A cycle about other modules says nothing of these, and does not forget them.
    let other = breadth_report(&place, &["--repo", "repo", "--module", "clock.py"]);
    assert_eq!(other["discrepancies"].as_array().unwrap().len(), 1, "{other}");

    let second = breadth_report(&place, &["--repo", "repo"]);
    assert_eq!(
        reported_changes(&second, "desk.py"),
        [
            "gone: the section was there before and is not any more",
            "half: the section takes other parameters, or returns something else, than before",
        ]
    );
    let appeared = "the section was not there before";
    assert!(reported_changes(&second, "new.py").contains(&format!("half: {appeared}")), "{second}");
    let vanished = "half: the section was there before and is not any more".to_owned();
    assert!(reported_changes(&second, "old.py").contains(&vanished), "{second}");
    let points = source_change_size(&second, "desk.py");
    assert!(points.is_some_and(|points| points > 0.0), "{points:?}");
    assert_eq!(source_change_size(&second, "clock.py"), None);

    let third = breadth_report(&place, &["--repo", "repo"]);
    for file in ["desk.py", "old.py", "new.py"] {
        assert_eq!(reported_changes(&third, file), [""; 0], "{file}");
    }
    assert_eq!(source_change_size(&third, "desk.py"), points, "it is still the last one");
}

//! Profiles, severities, templates, calibrations and histories that came with a checkout: reading
//! them ends, without a panic.

use menace_track::stats::cold_start::ColdStartCurves;
use menace_track::stats::forecast_calibrator::ForecastCalibrator;
use menace_track::{ImpactTable, RoiHistory, RoiProfiles};
use proptest::prelude::*;

fn read_all(text: &str) {
    let _ = RoiProfiles::parse(text, &[]);
    let _ = ImpactTable::parse(text);
    let _ = ColdStartCurves::parse(text);
    let _ = ForecastCalibrator::from_json(text);
    if let Ok(history) = serde_json::from_str::<RoiHistory>(text) {
        // What was read can be written.
        let _ = serde_json::to_string(&history);
    }
}

const NAMES: [&str; 12] = [
    "roi_history",
    "others",
    "weights",
    "veto",
    "min",
    "max",
    "default",
    "profiles",
    "templates",
    "predicted_roi",
    "module_deltas",
    "severity",
];

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec!["null", "1e999", "-1e999", "1e-999", ".nan", ".inf", "{}"])
            .prop_map(str::to_owned),
        any::<f64>().prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
    ]
}

proptest! {
    #[test]
    fn no_text_breaks_a_reader(text in any::<String>()) {
        read_all(&text);
    }

    #[test]
    fn no_yaml_like_text_breaks_a_reader(
        text in "([a-c]{1,2}: ?[&*a-c0-9\\[\\]\\{\\},'\"~.-]{0,8}\n {0,4}){0,10}"
    ) {
        read_all(&text);
    }

    #[test]
    fn no_numbers_break_a_reader(
        pairs in proptest::collection::vec(
            (proptest::sample::select(NAMES.to_vec()), proptest::collection::vec(number(), 0..5)),
            0..6,
        )
    ) {
        let list = |values: &Vec<String>| format!("[{}]", values.join(", "));
        let json: Vec<String> =
            pairs.iter().map(|(name, values)| format!("\"{name}\": {}", list(values))).collect();
        read_all(&format!("{{{}}}", json.join(", ")));
        let yaml: Vec<String> =
            pairs.iter().map(|(name, values)| format!("{name}: {}", list(values))).collect();
        read_all(&yaml.join("\n"));
    }
}

#[test]
fn nesting_without_end_is_an_error() {
    for open in ["[", "{\"a\":", "- "] {
        read_all(&open.repeat(100_000));
    }
}

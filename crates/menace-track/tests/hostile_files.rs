//! Profiles, severities, templates, calibrations and histories that came with a checkout: reading
//! them ends, without a panic.

#[allow(unreachable_pub, reason = "shared with the targets of `cargo xtask fuzz`")]
#[path = "../../../fuzz/src/history.rs"]
mod history;

use history::read_all;
use proptest::prelude::*;

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

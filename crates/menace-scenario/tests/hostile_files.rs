//! Profiles, presets, templates and histories of inputs that came with a checkout: reading them
//! ends, without a panic.

#[allow(unreachable_pub, reason = "shared with the targets of `cargo xtask fuzz`")]
#[path = "../../../fuzz/src/presets.rs"]
mod presets;

use presets::read_all;
use proptest::prelude::*;

/// Texts that look like JSON, with names that mean something in one of the files.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("1e999".to_owned()),
        Just("-99999999999999999999999".to_owned()),
        Just("\"\\ud800\"".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<String>().prop_map(|text| serde_text(&text)),
    ];
    let keys = [
        "CPU_LIMIT",
        "MEMORY_LIMIT",
        "FAILURE_MODES",
        "SECURITY_LEVEL",
        "name",
        "levels",
        "low",
        "presets",
        "section",
        "args",
        "kwargs",
        "inputs",
        "value",
        "__class__",
        "\\u001b[2J",
        "",
        "url",
        "status",
        "body",
        "headers",
        "method",
        "parameters",
        "sections",
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6)
                .prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec((proptest::sample::select(keys.to_vec()), inner), 0..6)
                .prop_map(|pairs| {
                    let pairs = pairs.into_iter().map(|(key, value)| format!("\"{key}\":{value}"));
                    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
                }),
        ]
    })
}

fn serde_text(text: &str) -> String {
    serde_json::to_string(text).expect("a text")
}

proptest! {
    #[test]
    fn no_json_breaks_a_reader(text in json()) {
        read_all(&text);
    }

    #[test]
    fn no_cut_off_json_breaks_a_reader(text in json(), at in any::<prop::sample::Index>()) {
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        read_all(&text[..*at.get(&ends)]);
    }

    #[test]
    fn no_text_breaks_a_reader(text in any::<String>()) {
        read_all(&text);
    }
}

#[test]
fn nesting_without_end_is_an_error() {
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        read_all(&open.repeat(100_000));
    }
}

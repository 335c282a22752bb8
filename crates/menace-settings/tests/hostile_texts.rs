//! Settings files that came with a checkout, whatever is in them.

#[allow(unreachable_pub, reason = "shared with the targets of `cargo xtask fuzz`")]
#[path = "../../../fuzz/src/settings.rs"]
mod settings;

use menace_settings::declarations;
use proptest::prelude::*;

/// Names of settings in either spelling, and others.
fn name() -> impl Strategy<Value = String> {
    let names: Vec<&str> = declarations().map(|declared| declared.name).collect();
    prop_oneof![
        4 => proptest::sample::select(names.clone()).prop_map(str::to_owned),
        2 => proptest::sample::select(names).prop_map(str::to_ascii_lowercase),
        1 => "[A-Za-z_][A-Za-z0-9_]{0,8}",
    ]
}

/// Values that parsers trip over, that loosen, or that reach outside.
fn value() -> impl Strategy<Value = String> {
    let known = [
        "0",
        "1",
        "-1",
        "5",
        "99999999999999999999",
        "1e400",
        "nan",
        "inf",
        "0.0.0.0",
        "64Gi",
        "9999h",
        "/etc/passwd",
        "../x",
        "~/x",
        ".git/x",
        "a/../../b",
        "http://x/${KEY}",
        "${KEY}",
        "$KEY",
        "${A}",
        "\"",
        "'",
        "[",
        "{\"SECURITY_LEVEL\": 1}",
        "[[[[",
        "\\",
        "",
        " ",
        "#",
        "\u{1b}[2J\u{202e}",
        "off",
        "true",
        "null",
        "~",
        "!!binary x",
        "&a *a",
        "|",
        ">-",
        "\r",
    ];
    prop_oneof![
        3 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

proptest! {
    #[test]
    fn no_settings_file_breaks_its_parser(
        pairs in proptest::collection::vec((name(), value()), 0..8),
        separator in proptest::sample::select(vec!["=", " = ", "='", "=\"", ": "]),
    ) {
        let line = |(name, value): &(String, String)| format!("{name}{separator}{value}");
        let text = pairs.iter().map(line).collect::<Vec<_>>().join("\n");
        settings::read_dotenv(&text);
        let lines: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        settings::read_yaml(&lines.join("\n"));
    }

    #[test]
    fn no_yaml_file_of_references_and_nesting_breaks_its_parser(
        text in "([a-c]: )?([&*!][a-c] ?|[\\[\\]{},:?|>'\"-] ?|\n {0,4}|[a-c0-9]){0,60}"
    ) {
        settings::read_yaml(&text);
    }
}

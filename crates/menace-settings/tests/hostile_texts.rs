//! Settings files that came with a checkout, whatever is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use menace_settings::{
    DotEnvFile, FileTrust, SettingAuthority, SettingOrigin, Settings, SettingsSources, YamlFile,
    declarations,
};
use proptest::prelude::*;

const SECRET: &str = "s3cret-of-the-environment";

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

fn check(sources: &SettingsSources) -> Result<(), TestCaseError> {
    let Ok(settings) = Settings::resolve(sources) else { return Ok(()) };
    for (entry, declared) in settings.entries().zip(declarations()) {
        prop_assert_eq!(entry.name, declared.name);
        let is_of_file =
            matches!(entry.origin, SettingOrigin::DotEnv { .. } | SettingOrigin::Yaml { .. });
        let is_users = declared.authority == SettingAuthority::User;
        prop_assert!(!(is_of_file && is_users), "{} was set by a file", entry.name);
        let shown = entry.value.unwrap_or_default();
        prop_assert!(!shown.contains(SECRET), "{} has the secret", entry.name);
    }
    for warning in &settings.warnings {
        prop_assert!(!warning.to_string().contains(SECRET), "{}", warning);
    }
    Ok(())
}

fn environment() -> BTreeMap<String, String> {
    BTreeMap::from([("KEY".to_owned(), SECRET.to_owned())])
}

fn sources(dotenv: Option<DotEnvFile>, yaml: Option<YamlFile>) -> SettingsSources {
    SettingsSources {
        environment: environment(),
        non_unicode_variables: BTreeSet::new(),
        dotenv,
        yaml,
        ..SettingsSources::default()
    }
}

proptest! {
    #[test]
    fn no_settings_file_breaks_its_parser(
        pairs in proptest::collection::vec((name(), value()), 0..8),
        separator in proptest::sample::select(vec!["=", " = ", "='", "=\"", ": "]),
    ) {
        let line = |(name, value): &(String, String)| format!("{name}{separator}{value}");
        let text = pairs.iter().map(line).collect::<Vec<_>>().join("\n");
        let path = PathBuf::from(".env");
        if let Ok(file) = DotEnvFile::parse(path, &text, &environment(), FileTrust::Untrusted) {
            check(&sources(Some(file), None))?;
        }
        let lines: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let text = lines.join("\n");
        if let Ok(file) = YamlFile::parse("s.yaml", &text, FileTrust::Untrusted) {
            check(&sources(None, Some(file)))?;
        }
    }

    #[test]
    fn no_yaml_file_of_references_and_nesting_breaks_its_parser(
        text in "([a-c]: )?([&*!][a-c] ?|[\\[\\]{},:?|>'\"-] ?|\n {0,4}|[a-c0-9]){0,60}"
    ) {
        if let Ok(file) = YamlFile::parse("s.yaml", &text, FileTrust::Untrusted) {
            check(&sources(None, Some(file)))?;
        }
    }
}

//! Facts about the declarations as a whole.

use std::collections::BTreeSet;

use menace_settings::{
    ParseContext, SettingDeclaration, SettingsSources, declarations, flags, reference_markdown,
};

#[test]
fn every_documented_variable_is_declared() {
    let declared: BTreeSet<&str> = declarations().flat_map(SettingDeclaration::names).collect();
    let missing: Vec<&str> = include_str!("fixtures/documented-names.txt")
        .lines()
        .filter(|name| !declared.contains(name))
        .collect();
    assert_eq!(missing, [] as [&str; 0]);
}

#[test]
fn every_documented_default_is_the_default() {
    for line in include_str!("fixtures/documented-defaults.txt").lines() {
        let (name, default) = line.split_once('=').expect("a line is NAME=default");
        let declared = declarations().find(|it| it.name == name).expect(name);
        assert_eq!(declared.default, Some(default), "{name}");
    }
}

#[test]
fn every_documented_flag_sets_what_it_should() {
    for (flag, name) in [
        ("--auto-include-isolated", "SANDBOX_AUTO_INCLUDE_ISOLATED"),
        ("--clean-orphans", "SANDBOX_CLEAN_ORPHANS"),
        ("--consecutive", "ENTROPY_PLATEAU_CONSECUTIVE"),
        ("--dashboard-port", "AUTO_DASHBOARD_PORT"),
        ("--discover-isolated", "SANDBOX_DISCOVER_ISOLATED"),
        ("--discover-orphans", "SELF_TEST_DISCOVER_ORPHANS"),
        ("--entropy-plateau-consecutive", "ENTROPY_PLATEAU_CONSECUTIVE"),
        ("--entropy-threshold", "ENTROPY_THRESHOLD"),
        ("--include-orphans", "SELF_TEST_INCLUDE_ORPHANS"),
        ("--include-redundant", "SANDBOX_TEST_REDUNDANT"),
        ("--log-level", "SANDBOX_LOG_LEVEL"),
        ("--max-recursion-depth", "SANDBOX_MAX_RECURSION_DEPTH"),
        ("--metrics-port", "METRICS_PORT"),
        ("--no-auto-recover", "VISUAL_AGENT_AUTO_RECOVER"),
        ("--no-discover-isolated", "SANDBOX_DISCOVER_ISOLATED"),
        ("--no-recursive-include", "SANDBOX_RECURSIVE_ORPHANS"),
        ("--no-recursive-isolated", "SANDBOX_RECURSIVE_ISOLATED"),
        ("--no-recursive-orphans", "SANDBOX_RECURSIVE_ORPHANS"),
        ("--preset-debug", "PRESET_DEBUG"),
        ("--recursive-include", "SANDBOX_RECURSIVE_ORPHANS"),
        ("--recursive-isolated", "SANDBOX_RECURSIVE_ISOLATED"),
        ("--recursive-orphans", "SANDBOX_RECURSIVE_ORPHANS"),
        ("--refresh-module-map", "SANDBOX_REFRESH_MODULE_MAP"),
        ("--roi-cycles", "ROI_CYCLES"),
        ("--sandbox-data-dir", "SANDBOX_DATA_DIR"),
        ("--synergy-cycles", "SYNERGY_CYCLES"),
        ("--synergy-threshold", "SYNERGY_THRESHOLD"),
        ("--synergy-threshold-weight", "SYNERGY_THRESHOLD_WEIGHT"),
        ("--synergy-threshold-window", "SYNERGY_THRESHOLD_WINDOW"),
        ("--test-redundant", "SANDBOX_TEST_REDUNDANT"),
        ("--verbose", "SANDBOX_DEBUG"),
    ] {
        let found = flags().find(|it| it.name == flag).expect(flag);
        assert_eq!(found.setting.name, name, "{flag}");
        assert_eq!(found.inverse, flag.starts_with("--no-"), "{flag}");
    }
}

#[test]
fn no_name_or_flag_is_declared_twice() {
    let mut seen = BTreeSet::new();
    for name in
        declarations().flat_map(SettingDeclaration::names).chain(flags().map(|flag| flag.name))
    {
        assert!(seen.insert(name), "{name}");
    }
}

#[test]
fn inverse_flags_belong_to_switches() {
    for flag in flags().filter(|flag| flag.inverse) {
        assert!(!flag.takes_value(), "{}", flag.name);
    }
}

#[test]
fn every_default_and_recommendation_is_well_formed() {
    let around = ParseContext::default();
    for declared in declarations() {
        for text in declared.default.iter().chain(&declared.recommended) {
            assert!(declared.check(text, &around).is_ok(), "{}={text}", declared.name);
        }
    }
}

#[test]
fn defaults_in_the_data_directory_are_written_with_its_usual_name() {
    for declared in declarations().filter(|it| it.in_data_dir) {
        assert!(declared.default.unwrap().starts_with("sandbox_data/"), "{}", declared.name);
    }
}

#[test]
fn every_implication_starts_at_a_setting_that_is_not_implied_by_it() {
    for declared in declarations() {
        let mut seen = BTreeSet::from([declared.name]);
        let mut implied = declared.implied;
        while let Some(by) = implied {
            assert!(seen.insert(by.source_name()), "{} goes in circles", declared.name);
            implied = declarations().find(|it| it.name == by.source_name()).unwrap().implied;
        }
    }
}

#[test]
fn every_meaning_is_a_sentence() {
    for declared in declarations() {
        let help = declared.help();
        assert!(help.ends_with('.') && help.len() > 10, "{}: {help}", declared.name);
    }
}

#[test]
fn the_reference_page_is_current() {
    let page = include_str!("../../../docs/reference/settings.md");
    assert!(
        page == reference_markdown(),
        "out of date: run `menace settings --markdown > docs/reference/settings.md`"
    );
}

#[test]
fn the_sources_of_this_very_process_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let sources = SettingsSources::load(std::collections::BTreeMap::new(), dir.path()).unwrap();
    assert!(sources.environment.contains_key("PATH"));
}

//! `menace settings`, `menace env` and the logs as their users meet them.

use std::fs;
use std::path::Path;

use crate::program::{CommandOutput, TestDirectory};
use serde_json::Value;

fn find_setting(ran: &CommandOutput, name: &str) -> Value {
    let all = ran.json();
    let settings = all["settings"].as_array().unwrap();
    settings.iter().find(|setting| setting["name"] == name).unwrap().clone()
}

#[test]
fn every_source_beats_the_ones_below_it() {
    let place = TestDirectory::new();
    let value = |variables: &[(&str, &str)], flags: &[&str]| {
        let arguments = [&["settings", "--format", "json"], flags].concat();
        let found = find_setting(&place.run_with(variables, &arguments), "ROI_CYCLES");
        let value = found["value"].as_str().map(str::to_owned);
        (value, found["origin"].as_object().unwrap()["from"].as_str().unwrap().to_owned())
    };
    let expect = |value: &str, origin: &str| (Some(value.to_owned()), origin.to_owned());
    let default = value(&[], &[]);
    assert_eq!(default.1, "default");
    place.write("sandbox_settings.yaml", "roi_cycles: 11\n");
    assert_eq!(value(&[], &[]), expect("11", "yaml"));
    place.write(".env", "ROI_CYCLES=12\n");
    assert_eq!(value(&[], &[]), expect("12", "dotenv"));
    assert_eq!(value(&[("ROI_CYCLES", "13")], &[]), expect("13", "environment"));
    assert_eq!(value(&[("ROI_CYCLES", "13")], &["--roi-cycles", "14"]), expect("14", "flag"));
}

#[test]
fn the_table_shows_what_was_set() {
    let place = TestDirectory::new();
    place.write(".env", "MEMORY_LIMIT=512Mi\n");
    let own = [("TIMEOUT", "30"), ("OPENAI_API_KEY", "sk-secret")];
    let ran = place.run_with(&own, &["settings", "--set"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!ran.out.contains("sk-secret"));
    insta::assert_snapshot!(ran.out);
}

#[test]
fn all_malformed_values_are_reported_at_once() {
    let place = TestDirectory::new();
    place.write(".env", "MEMORY_LIMIT=many\n");
    let ran = place.run_with(&[("METRICS_PORT", "99999")], &["settings"]);
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.err);
}

#[test]
fn an_unknown_key_comes_with_a_suggestion() {
    let place = TestDirectory::new();
    place.write("sandbox_settings.yaml", "roi_threshold: 0.1\nroi_cycels: 3\n");
    let ran = place.run(&["analyze", "--repo", "."]);
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.err);
}

#[test]
fn planned_settings_are_shown_as_not_implemented_and_warned_of_once() {
    let place = TestDirectory::new();
    place.write(".env", "SELF_TEST_INTERVAL=3\nSANDBOX_CLEAN_ORPHANS=1\n");
    let ran = place.run(&["settings", "--set", "--recursive-orphans"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(
        ran.err,
        " WARN not implemented yet, so without effect: SANDBOX_RECURSIVE_ORPHANS (flag \
         --recursive-orphans), SANDBOX_CLEAN_ORPHANS (.env line 2), SELF_TEST_INTERVAL (.env line \
         1)\n"
    );
    assert_eq!(ran.out.matches("not implemented yet").count(), 3, "{}", ran.out);

    let json = place.run(&["settings", "--format", "json"]);
    assert_eq!(find_setting(&json, "SELF_TEST_INTERVAL")["implemented"], false);
    assert_eq!(find_setting(&json, "ROI_CYCLES")["implemented"], true);
    assert_eq!(json.json()["warnings"][0]["warning"], "not_implemented");
    assert_eq!(json.json()["warnings"][0]["settings"][0]["name"], "SANDBOX_CLEAN_ORPHANS");
}

#[test]
fn the_reference_page_is_current() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/settings.md");
    let ran = TestDirectory::new().run(&["settings", "--markdown"]);
    let written = fs::read_to_string(page).unwrap();
    assert!(written == ran.out, "docs/reference/settings.md is stale: run `cargo xtask docs`");
}

#[test]
fn env_init_writes_a_file_that_works_and_never_overwrites_one() {
    let place = TestDirectory::new();
    let first = place.run(&["env", "init"]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    let written = fs::read_to_string(place.path().join(".env")).unwrap();
    assert!(written.contains("\nSANDBOX_CYCLES=5\n"), "{written}");
    assert_eq!(
        find_setting(&place.run(&["settings", "--format", "json"]), "SANDBOX_CYCLES")["value"],
        "5"
    );

    place.write(".env", "SANDBOX_CYCLES=7\n");
    let second = place.run(&["env", "init"]);
    assert_eq!(second.code, Some(2));
    assert_eq!(fs::read_to_string(place.path().join(".env")).unwrap(), "SANDBOX_CYCLES=7\n");
    insta::assert_snapshot!(first.out + &second.err);
}

/// A name that is nearly ours makes a warning, which is a log line to look at.
const MISSPELT_VARIABLE: (&str, &str) = ("SANDBOX_ROI_TOLERANC", "1");

#[test]
fn logs_are_for_people_unless_json_is_asked_for() {
    let place = TestDirectory::new();
    let human = place.run_with(&[MISSPELT_VARIABLE], &["settings", "--set"]);
    assert!(human.err.contains("did you mean `SANDBOX_ROI_TOLERANCE`?"), "{}", human.err);
    assert!(!human.err.contains('\u{1b}'), "no colours without a terminal");

    let json =
        place.run_with(&[MISSPELT_VARIABLE, ("SANDBOX_JSON_LOGS", "1")], &["settings", "--set"]);
    for line in json.err.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["level"], "WARN");
        assert!(event["message"].as_str().unwrap().contains("SANDBOX_ROI_TOLERANC"));
    }
    assert_eq!(json.err.lines().count(), 1);
}

#[test]
fn the_level_decides_what_is_logged() {
    let place = TestDirectory::with_fixture("bookshop");
    let lines = |variables: &[(&str, &str)], flags: &[&str]| {
        let arguments = [&["analyze", "--repo", "bookshop", "--no-cache"], flags].concat();
        let ran = place.run_with(variables, &arguments);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        (ran.err.contains("WARN"), ran.err.contains("DEBUG"))
    };
    assert_eq!(lines(&[MISSPELT_VARIABLE], &[]), (true, false));
    assert_eq!(lines(&[MISSPELT_VARIABLE], &["--log-level", "error"]), (false, false));
    assert_eq!(lines(&[MISSPELT_VARIABLE, ("SANDBOX_LOG_LEVEL", "error")], &[]), (false, false));
    assert_eq!(lines(&[MISSPELT_VARIABLE, ("SANDBOX_DEBUG", "1")], &[]), (true, true));
    assert_eq!(
        lines(&[MISSPELT_VARIABLE, ("SANDBOX_LOG_LEVEL", "error")], &["--verbose"]),
        (true, true)
    );
}

#[test]
fn a_log_file_gets_every_message_too() {
    let place = TestDirectory::new();
    place.run_with(&[MISSPELT_VARIABLE], &["settings", "--log-file", "logs/menace.log"]);
    place.run_with(&[MISSPELT_VARIABLE, ("SANDBOX_LOG_FILE", "logs/menace.log")], &["settings"]);
    let log = fs::read_to_string(place.path().join("logs/menace.log")).unwrap();
    assert_eq!(log.matches("did you mean `SANDBOX_ROI_TOLERANCE`?").count(), 2, "{log}");
}

#[test]
fn the_help_names_commands_and_exit_codes() {
    let place = TestDirectory::new();
    insta::assert_snapshot!(place.run(&["--help"]).out);
    insta::assert_snapshot!(place.run(&["analyze", "--help"]).out);
    insta::assert_snapshot!(place.run(&["exec", "--help"]).out);
    insta::assert_snapshot!(place.run(&["doctor", "--help"]).out);
    insta::assert_snapshot!(place.run(&["presets", "--help"]).out);
    insta::assert_snapshot!(place.run(&["presets", "generate", "--help"]).out);
    assert_eq!(place.run(&["analyse"]).code, Some(2));
}

//! `menace presets` as its users meet it.

use std::fs;

use serde_json::{Value, json};

use crate::program::{CommandOutput, TestDirectory};

fn run_presets(place: &TestDirectory, arguments: &[&str]) -> CommandOutput {
    place.run(&[&["presets"], arguments].concat())
}

fn read_json(place: &TestDirectory, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(place.path().join(name)).unwrap()).unwrap()
}

const USER_PROFILES: &str = r#"{
  "tight": {"CPU_LIMIT": "0.5"},
  "user_misuse": {"about": "Ours.", "low": {"THREAT_INTENSITY": 1}, "high": {"THREAT_INTENSITY": 2}}
}"#;

#[test]
fn the_list_names_profiles_and_words() {
    let ran = run_presets(&TestDirectory::new(), &["list"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(ran.out);
}

#[test]
fn the_list_for_machines_has_every_preset() {
    let found = run_presets(&TestDirectory::new(), &["list", "--format", "json"]).json();
    assert_eq!(found["version"], 1);
    let profiles = found["profiles"].as_array().unwrap();
    let spike = profiles.iter().find(|one| one["name"] == "concurrency_spike").unwrap();
    insta::assert_json_snapshot!(spike);
    assert_eq!(found["keywords"]["client"], json!(["high_latency_api"]));
}

#[test]
fn a_profile_is_shown_with_what_its_keys_mean() {
    let place = TestDirectory::new();
    insta::assert_snapshot!(run_presets(&place, &["show", "resource_strain"]).out);
    assert_eq!(
        run_presets(&place, &["show", "io_cpu_strain"]).out,
        run_presets(&place, &["show", "resource_strain"]).out
    );
    let normal = run_presets(&place, &["show", "normal"]);
    assert!(normal.out.ends_with("It sets nothing.\n"), "{}", normal.out);
    let found = run_presets(&place, &["show", "flaky_upstream", "--format", "json"]).json();
    assert_eq!(found["keys"][0]["name"], "FAILURE_MODES");
    assert_eq!(found["failure_modes"][0]["low"], "20 % of calls out");
    let joined = run_presets(&place, &["show", "flaky_upstream+hostile_input:low"]);
    assert_eq!((joined.code, joined.err.as_str()), (Some(0), ""));
    assert!(joined.out.contains("flaky_upstream+hostile_input"), "{}", joined.out);
    let low = run_presets(&place, &["show", "hostile_input:low", "--format", "json"]).json();
    assert_eq!(low["profile"]["levels"].as_array().unwrap().len(), 1, "{low}");
}

#[test]
fn an_unknown_profile_comes_with_a_suggestion() {
    let ran = run_presets(&TestDirectory::new(), &["show", "hostile_inptu"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    insta::assert_snapshot!(ran.err, @"error: presets show: hostile_inptu: \
    unknown profile; did you mean `hostile_input`?");
}

#[test]
fn profiles_are_merged_over_chance() {
    let arguments =
        ["generate", "--profiles", "hostile_input", "concurrency_spike", "--count", "1"];
    let ran = run_presets(&TestDirectory::new(), &arguments);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(ran.out);
}

#[test]
fn the_table_of_what_was_made() {
    let place = TestDirectory::new();
    let random = run_presets(&place, &["generate", "--seed", "7", "--format", "table"]);
    insta::assert_snapshot!(random.out);
}

#[test]
fn the_same_seed_makes_the_same_presets() {
    let place = TestDirectory::new();
    let made = |seed: &str| run_presets(&place, &["generate", "--count", "4", "--seed", seed]).out;
    assert_eq!(made("5"), made("5"));
    assert_ne!(made("5"), made("6"));
}

#[test]
fn profiles_alone_are_taken_as_they_are() {
    let place = TestDirectory::new();
    let names = |arguments: &[&str], variables: &[(&str, &str)]| -> Vec<String> {
        let arguments = [&["presets", "generate"], arguments].concat();
        let made = place.run_with(variables, &arguments).json();
        let name = |one: &Value| {
            format!("{}:{}", one["SCENARIO_NAME"], one["SCENARIO_SEVERITY"]).replace('"', "")
        };
        made.as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(
        names(&["--profiles", "schema_drift,normal"], &[]),
        ["schema_drift:low", "schema_drift:high", "normal:null"]
    );
    let canonical = names(&[], &[("SANDBOX_PRESET_MODE", "canonical")]);
    assert_eq!(canonical.len(), 8, "{canonical:?}");
    let low = names(&["--profiles", "schema_drift"], &[("SCENARIO_SEVERITY", "low")]);
    assert_eq!(low, ["schema_drift:low"]);
    assert_eq!(names(&[], &[]).len(), 3);
}

#[test]
fn a_setting_beats_profile_and_chance() {
    let place = TestDirectory::new();
    let arguments = ["presets", "generate", "--profiles", "hostile_input", "--count", "2"];
    let variables = [("CPU_LIMIT", "2"), ("THREAT_INTENSITY", "11")];
    let made = place.run_with(&variables, &arguments).json();
    for preset in made.as_array().unwrap() {
        assert_eq!(
            (&preset["CPU_LIMIT"], &preset["THREAT_INTENSITY"]),
            (&json!("2"), &json!("11"))
        );
    }
}

#[test]
fn a_file_is_written_and_is_valid_and_can_be_a_setting() {
    let place = TestDirectory::new();
    let ran = run_presets(&place, &["generate", "--count", "2", "--out", "presets.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "wrote 2 presets to presets.json\n"));
    let text = fs::read_to_string(place.path().join("presets.json")).unwrap();
    assert_eq!(text, run_presets(&place, &["generate", "--count", "2"]).out);
    let checked = run_presets(&place, &["validate", "presets.json"]);
    assert_eq!((checked.code, checked.err.as_str()), (Some(0), ""));
    assert!(checked.out.ends_with("presets.json: 2 presets, nothing odd\n"), "{}", checked.out);
    let set = place.run_with(&[("SANDBOX_ENV_PRESETS", &text)], &["settings", "--set"]);
    assert_eq!(set.code, Some(0), "{}", set.err);

    let nowhere = run_presets(&place, &["generate", "--out", "no/such/presets.json"]);
    assert_eq!(nowhere.code, Some(2));
    assert!(nowhere.err.contains("cannot write `no/such/presets.json`"), "{}", nowhere.err);
}

#[test]
fn profiles_of_the_user_come_from_a_flag_or_a_setting() {
    let place = TestDirectory::new();
    place.write("mine.json", USER_PROFILES);
    let flag =
        ["generate", "--profile-file", "mine.json", "--profiles", "tight", "--out", "a.json"];
    assert_eq!(run_presets(&place, &flag).code, Some(0));
    assert_eq!(
        read_json(&place, "a.json"),
        json!([{"SCENARIO_NAME": "tight", "CPU_LIMIT": "0.5"}])
    );
    let ran = place
        .run_with(&[("SANDBOX_PRESET_PROFILES", "mine.json")], &["presets", "show", "user_misuse"]);
    assert!(ran.out.contains("from        mine.json"), "{}", ran.out);
    let warning =
        " WARN mine.json: `user_misuse` takes the place of another profile of that name\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), warning));
}

#[test]
fn a_broken_file_of_profiles_is_refused() {
    let place = TestDirectory::new();
    place.write("mine.json", r#"{"tight": {"CPU_LIMTI": 1, "high": {"MEMORY_LIMIT": "many"}}}"#);
    let ran = run_presets(&place, &["list", "--profile-file", "mine.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    insta::assert_snapshot!(ran.err);
}

#[test]
fn words_must_call_for_profiles_that_exist() {
    let place = TestDirectory::new();
    place.write("sandbox_settings.yaml", "keyword_profiles:\n  ledger: [user_misus]\n  db: []\n");
    let ran = run_presets(&place, &["list"]);
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.err, @"error: keyword_profiles: ledger: user_misus: \
    unknown profile; did you mean `user_misuse`?");
    place.write("sandbox_settings.yaml", "keyword_profiles:\n  ledger: [user_misuse]\n  db: []\n");
    let found = run_presets(&place, &["list", "--format", "json"]).json();
    assert_eq!(found["keywords"]["ledger"], json!(["user_misuse"]));
    assert!(found["keywords"]["db"].is_null());
}

const ODD_PRESETS: &str = r#"[
  {"SCENARIO_NAME": "odd", "THREAD_BURST": 4, "THREAT_INTENSITY": 20, "GPU_LIMIT": 1},
  {"SCENARIO_NAME": "idle"},
  {"SCENARIO_NAME": "fine", "CPU_LIMIT": 1}
]"#;

#[test]
fn keys_without_effect_are_warnings() {
    let place = TestDirectory::new();
    place.write("odd.json", ODD_PRESETS);
    let ran = run_presets(&place, &["validate", "odd.json"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(ran.out);
    let found = run_presets(&place, &["validate", "odd.json", "--format", "json"]).json();
    assert_eq!((&found["presets"], &found["errors"]), (&json!(3), &json!([])));
    assert_eq!(found["warnings"][0]["at"], "odd.json[0]");
    assert_eq!(found["warnings"].as_array().unwrap().len(), 4);
    place.write("mapping.json", r#"{"idle": {"low": {"CPU_LIMIT": 1}, "high": {}}}"#);
    let found = run_presets(&place, &["validate", "mapping.json", "--format", "json"]).json();
    assert_eq!(found["warnings"][0]["at"], "mapping.json[idle][high]", "{found}");
}

#[test]
fn all_errors_of_a_preset_file_are_reported_at_once() {
    let place = TestDirectory::new();
    place.write(
        "bad.json",
        r#"[{"CPU_LIMTI": 1, "MEMORY_LIMIT": "many"}, {}, {"SECURITY_LEVEL": 9, "\u001b[31m": 1}]"#,
    );
    let ran = run_presets(&place, &["validate", "bad.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(!ran.err.contains('\u{1b}'));
    insta::assert_snapshot!(ran.err);
    let ran = run_presets(&place, &["validate", "bad.json", "--format", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), "error: 4 problems in `bad.json`\n"));
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        found["errors"][0],
        json!({
            "at": "bad.json[0]",
            "key": "CPU_LIMTI",
            "reason": "unknown key; did you mean `CPU_LIMIT`?",
        })
    );
}

#[test]
fn a_byte_order_mark_is_no_mistake() {
    let place = TestDirectory::new();
    place.write("marked.json", "\u{feff}[{\"CPU_LIMIT\": 1}]");
    let ran = run_presets(&place, &["validate", "marked.json"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn presets_of_the_environment_are_checked_wherever_settings_are_read() {
    let place = TestDirectory::new();
    for arguments in [&["settings"][..], &["presets", "list"]] {
        let ran = place.run_with(&[("SANDBOX_ENV_PRESETS", r#"[{"CPU_LIMIT": "x"}]"#)], arguments);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
        assert!(ran.err.contains("SANDBOX_ENV_PRESETS[0]: CPU_LIMIT: expected"), "{}", ran.err);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_refused() {
    let place = TestDirectory::new();
    place.write("broken.json", "[{");
    for (file, says) in [
        ("nowhere.json", "cannot read `nowhere.json`"),
        ("broken.json", "broken.json: this is no such JSON: EOF"),
    ] {
        let ran = run_presets(&place, &["validate", file]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

#[test]
fn how_presets_come_about_is_logged_when_asked_for() {
    let place = TestDirectory::new();
    let generate = ["generate", "--count", "1", "--out", "p.json"];
    let quiet = run_presets(&place, &generate);
    assert_eq!(quiet.err, "");
    let loud = run_presets(&place, &[&generate[..], &["--preset-debug"]].concat());
    assert!(loud.err.contains("made a preset") && loud.err.contains("random_1"), "{}", loud.err);

    let canonical = [("SANDBOX_PRESET_MODE", "canonical")];
    let loud = place.run_with(&canonical, &["presets", "generate", "--preset-debug"]);
    assert!(loud.err.contains("origin=\"canonical\""), "{}", loud.err);
    assert!(!loud.err.contains("origin=\"profile\""), "{}", loud.err);

    let to_file = [&generate[..], &["--debug-log-file", "logs/presets.log"]].concat();
    let quiet = run_presets(&place, &to_file);
    assert_eq!(quiet.err, "");
    run_presets(&place, &to_file);
    let log = fs::read_to_string(place.path().join("logs/presets.log")).unwrap();
    assert_eq!(log.matches("made a preset").count(), 2, "{log}");
}

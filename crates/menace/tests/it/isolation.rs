//! Where there is no isolation, nothing runs, unless somebody insists.

use serde_json::json;

use crate::exec::{outcome, repo};
use crate::program::{Ran, SANDBOXES};

const CALL: [&str; 4] = ["exec", "--repo", "repo", "mod:f"];
const INSIST: &str = "--unsafe-no-isolation";
const TELLING: &str = "import os\ndef f(): return os.getcwd()\n";

#[test]
fn without_isolation_nothing_runs() {
    let place = repo("open('trace', 'w')\ndef f(): return 1\n");
    let mut command = place.without_isolation(&CALL);
    let ran = Ran::from(command.envs(SANDBOXES).output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    for part in ["gives no isolation", "/proc/sys/kernel/seccomp", "menace doctor", INSIST] {
        assert!(ran.err.contains(part), "{part} in {}", ran.err);
    }
    assert!(!place.path().join("repo/trace").exists() && !place.path().join("trace").exists());
}

#[test]
fn who_insists_is_warned_and_served() {
    let place = repo(TELLING);
    let before = place.files("repo");
    let mut command = place.without_isolation(&[&CALL[..], &[INSIST, "--format", "json"]].concat());
    let ran = Ran::from(command.envs(SANDBOXES).output().unwrap());
    let found = ran.json();
    assert_eq!((&found["verdict"], &found["tier"]), (&json!("returned"), &json!("unsafe")));
    let warning = " WARN no isolation: the code runs as you, with all your rights\n";
    assert!(ran.err.contains(warning), "{}", ran.err);
    // Even so the call works on a copy.
    let directory = found["value"]["value"].as_str().unwrap();
    assert!(directory.starts_with(place.temporary().to_str().unwrap()), "{found}");
    assert_eq!(place.files("repo"), before);
}

#[test]
fn where_there_is_isolation_insisting_changes_nothing() {
    let place = repo(TELLING);
    let found = outcome(&place, &["--repo", "repo", "mod:f", INSIST]);
    assert_eq!(found["value"]["value"], "/sandbox/repo", "{found}");
    assert_ne!(found["tier"], "unsafe");
}

#[test]
fn the_doctor_tells_what_is_missing() {
    let place = repo(TELLING);
    let mut command = place.without_isolation(&["doctor", "--repo", "repo", "--format", "json"]);
    let found = Ran::from(command.envs(SANDBOXES).output().unwrap()).json();
    assert_eq!(found["tier"], json!(null), "{found}");
    let state = json!({"state": "not_tried", "why": "this machine gives no isolation"});
    assert_eq!(found["sandbox"], state);
    let mechanisms = found["mechanisms"].as_array().unwrap();
    let seccomp = mechanisms.iter().find(|it| it["name"] == "seccomp").unwrap();
    assert_eq!(seccomp["available"], json!(false));
    assert_ne!(seccomp["advice"], json!(null));
}

//! The same facts for a user who is not root, each in a process of that user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use crate::process::{TEST_ALONE_VAR, TEST_DIR_VAR, init};

/// The first user that runs facts: one that does not exist and owns only what it gets here. Without
/// namespaces the kernel counts processes per user, so that each user runs other facts.
const UID_WITH_NAMESPACES: u32 = 12345;
const UID_WITHOUT_NAMESPACES: u32 = 22345;
const USERS_PER_TIER: u32 = 2;
/// Fewer would mean that the list was lost, not that all is well.
const MIN_FACTS: usize = 80;

#[test]
fn every_fact_holds_with_user_namespaces() {
    every_fact_holds("user_namespaces", UID_WITH_NAMESPACES);
}

#[test]
fn every_fact_holds_with_landlock_alone() {
    every_fact_holds("landlock", UID_WITHOUT_NAMESPACES);
}

/// Programs and directories that the other user can get at.
fn room(user: u32) -> TempDir {
    let room = TempDir::with_prefix("without-root-").expect("writable");
    let open = |path: &Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
    };
    open(room.path());
    let this = std::env::current_exe().expect("this test has a program");
    for (program, name) in [(this, "contract"), (init(), "init")] {
        let copy = room.path().join(name);
        fs::copy(program, &copy).expect("readable");
        open(&copy);
    }
    for directory in ["tmp", "interpreters"] {
        let path = room.path().join(directory);
        fs::create_dir(&path).expect("writable");
        chown(&path, Some(user), Some(user)).expect("only root can change its user");
    }
    room
}

fn run(user: u32, room: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(room.join("contract"))
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("RUST_BACKTRACE", "0")
        .env("TMPDIR", room.join("tmp"))
        .env(TEST_DIR_VAR, room)
        .env(TEST_ALONE_VAR, "1")
        .current_dir("/")
        .uid(user)
        .gid(user)
        .output()
        .expect("only root can change its user: run this test as root");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

fn every_fact_holds(tier: &str, first: u32) {
    let test_dirs: Vec<(u32, TempDir)> =
        (first..first + USERS_PER_TIER).map(|user| (user, room(user))).collect();
    let (listed, list) = run(first, test_dirs[0].1.path(), &["--list", "--format", "terse"]);
    assert!(listed, "{list}");
    let part = format!("::{tier}::");
    let facts: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .filter(|name| name.contains(&part))
        .collect();
    assert!(facts.len() >= MIN_FACTS, "only {} facts: {list}", facts.len());
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for (user, room) in &test_dirs {
            let (facts, next, failed) = (&facts, &next, &failed);
            scope.spawn(move || {
                while let Some(fact) = facts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (passed, said) = run(*user, room.path(), &["--exact", fact, "--nocapture"]);
                    if !passed || !said.contains("1 passed") {
                        failed.lock().expect("no panic").push(format!("{fact}\n{said}"));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no panic");
    assert!(
        failed.is_empty(),
        "{} of {} facts failed without root:\n{}",
        failed.len(),
        facts.len(),
        failed.join("\n")
    );
}

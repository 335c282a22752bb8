//! The same facts for a user who is not root, each in a process of that user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use crate::process::{ALONE, ROOM, init};

/// Nobody that exists; they own nothing but what they are given here. Without namespaces the
/// kernel counts processes per user, so that each test has one for itself.
const WITH_NAMESPACES: User = User { id: 12345, at_once: 2 };
const WITHOUT_NAMESPACES: User = User { id: 12346, at_once: 1 };

#[derive(Clone, Copy)]
struct User {
    id: u32,
    /// How many facts are tried at once.
    at_once: usize,
}

/// Fewer would mean that the list was lost, not that all is well.
const FEWEST: usize = 80;

#[test]
fn every_fact_holds_with_user_namespaces() {
    every_fact_holds("user_namespaces", WITH_NAMESPACES);
}

#[test]
fn every_fact_holds_with_landlock_alone() {
    every_fact_holds("landlock", WITHOUT_NAMESPACES);
}

/// Programs and directories that the other user can get at.
fn room(user: User) -> TempDir {
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
        chown(&path, Some(user.id), Some(user.id)).expect("only root can become somebody else");
    }
    room
}

fn run(user: User, room: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(room.join("contract"))
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("RUST_BACKTRACE", "0")
        .env("TMPDIR", room.join("tmp"))
        .env(ROOM, room)
        .env(ALONE, "1")
        .current_dir("/")
        .uid(user.id)
        .gid(user.id)
        .output()
        .expect("only root can become somebody else: run this test as root");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

fn every_fact_holds(tier: &str, user: User) {
    let room = room(user);
    let (listed, list) = run(user, room.path(), &["--list", "--format", "terse"]);
    assert!(listed, "{list}");
    let part = format!("::{tier}::");
    let facts: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .filter(|name| name.contains(&part))
        .collect();
    assert!(facts.len() >= FEWEST, "only {} facts: {list}", facts.len());
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..user.at_once {
            scope.spawn(|| {
                while let Some(fact) = facts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (passed, said) = run(user, room.path(), &["--exact", fact, "--nocapture"]);
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

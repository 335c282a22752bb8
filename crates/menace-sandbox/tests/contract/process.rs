//! One process for each fact, so that what a fact leaves behind can be told from what others do.

use std::path::PathBuf;
use std::process::Command;

/// Set in processes that run a single fact.
pub(crate) const ALONE: &str = "MENACE_TEST_ALONE";
/// A directory with everything that a fact needs, for users who cannot read the build directory.
pub(crate) const ROOM: &str = "MENACE_TEST_ROOM";

#[expect(clippy::disallowed_methods, reason = "how tests find each other is no setting of Menace")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs a fact here when nothing else runs here, else in a process that it has for itself.
pub(crate) fn of_its_own(path: &str, fact: impl FnOnce()) {
    // nextest starts a process for each test anyway.
    if variable("NEXTEST").is_some() || variable(ALONE).is_some() {
        fact();
        return;
    }
    // Without the name of the crate.
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    let this = std::env::current_exe().expect("this test has a program");
    let output = Command::new(this)
        .args(["--exact", name, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("this test can be started once more");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{complaint}");
    for line in complaint.lines().filter(|line| line.starts_with(NOT_TESTED)) {
        say(line);
    }
}

const NOT_TESTED: &str = "NOT TESTED: ";

/// To be said by a fact that cannot be tried here. Where everything has to be, it fails.
pub(crate) fn not_tested(why: &str) {
    say(&format!("{NOT_TESTED}{why}"));
    assert!(variable("MENACE_CI").is_none_or(|ci| ci.is_empty()), "{why}");
}

#[expect(clippy::print_stderr, reason = "a test that proves nothing must say so")]
fn say(line: &str) {
    eprintln!("{line}");
}

/// Where answers of interpreters are kept between tests.
pub(crate) fn cache() -> PathBuf {
    let below = variable(ROOM).unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").to_owned());
    PathBuf::from(below).join("interpreters")
}

/// The program that becomes the init of a sandbox.
pub(crate) fn init() -> PathBuf {
    match variable(ROOM) {
        Some(room) => PathBuf::from(room).join("init"),
        None => PathBuf::from(env!("CARGO_BIN_EXE_menace-sandbox-init")),
    }
}

//! One process for each fact, so that what a fact leaves behind can be distinguished from what
//! others do.

use std::path::PathBuf;
use std::process::Command;

/// Set in processes that run a single fact.
pub(crate) const TEST_ALONE_VAR: &str = "MENACE_TEST_ALONE";
/// A directory with everything that a fact needs, for users who cannot read the build directory.
pub(crate) const TEST_DIR_VAR: &str = "MENACE_TEST_ROOM";

#[expect(clippy::disallowed_methods, reason = "how tests find each other is no setting of Menace")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs a fact here when nothing else runs here, else in a process that it has for itself.
pub(crate) fn in_own_process(path: &str, fact: impl FnOnce()) {
    // nextest starts a process for each test anyway.
    if variable("NEXTEST").is_some() || variable(TEST_ALONE_VAR).is_some() {
        fact();
        return;
    }
    // Without the name of the crate.
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    let this = std::env::current_exe().expect("this test has a program");
    let output = Command::new(this)
        .args(["--exact", name, "--nocapture"])
        .env(TEST_ALONE_VAR, "1")
        .output()
        .expect("this test can be started once more");
    let said = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{stderr}");
    for line in stderr.lines().filter(|line| line.starts_with(NOT_TESTED_PREFIX)) {
        say(line);
    }
}

const NOT_TESTED_PREFIX: &str = "NOT TESTED: ";

/// To be said by a fact that cannot be tried here. Where everything has to be, it fails.
pub(crate) fn not_tested(why: &str) {
    say(&format!("{NOT_TESTED_PREFIX}{why}"));
    assert!(variable("MENACE_CI").is_none_or(|ci| ci.is_empty()), "{why}");
}

#[expect(clippy::print_stderr, reason = "a test that proves nothing must say so")]
fn say(line: &str) {
    eprintln!("{line}");
}

/// Where answers of interpreters are kept between tests.
pub(crate) fn cache() -> PathBuf {
    let below = variable(TEST_DIR_VAR).unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").to_owned());
    PathBuf::from(below).join("interpreters")
}

/// The program that becomes the init of a sandbox.
pub(crate) fn init() -> PathBuf {
    match variable(TEST_DIR_VAR) {
        Some(room) => PathBuf::from(room).join("init"),
        None => PathBuf::from(env!("CARGO_BIN_EXE_menace-sandbox-init")),
    }
}

//! What the sandbox's test bench needs of the process that it runs in.

use std::path::{Path, PathBuf};

/// A directory with copies of the programs, for users who cannot read the build directory.
pub(crate) const PROGRAMS_VAR: &str = "MENACE_HOSTILE_PROGRAMS";

#[expect(clippy::disallowed_methods, reason = "how tests find each other is no setting of Menace")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Where answers of interpreters are kept between tests.
pub(crate) fn cache() -> PathBuf {
    let below = variable(PROGRAMS_VAR).unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").to_owned());
    Path::new(&below).join("interpreters")
}

/// The program that becomes the init of a sandbox: Menace itself.
pub(crate) fn init() -> PathBuf {
    let copied = variable(PROGRAMS_VAR).map(|programs| Path::new(&programs).join("menace"));
    copied.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_menace")))
}

#[expect(clippy::print_stdout, reason = "what the suite says is its result")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

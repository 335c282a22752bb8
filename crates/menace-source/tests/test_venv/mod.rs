//! The virtual environment with the packages that Menace is compared with.

use std::path::{Path, PathBuf};

/// The directory that `cargo xtask test` has filled.
#[expect(clippy::disallowed_methods, reason = "only tests ask where the environment is")]
pub(crate) fn venv_directory() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-venv");
    let venv = std::env::var_os("MENACE_TEST_VENV").map_or_else(usual, PathBuf::from);
    for tool in ["python", "bandit", "radon", "ruff"] {
        assert!(
            venv.join("bin").join(tool).exists(),
            "no {tool} in `{}`: run the tests with `cargo xtask test`, which installs it",
            venv.display()
        );
    }
    venv
}

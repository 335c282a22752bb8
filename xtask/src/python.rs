//! The virtual environments with the packages that tests and benchmarks compare Menace with.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::run::{program, root, target_dir};
use crate::tools;

/// Creates the environment of the tests, or brings it up to date, and returns its directory.
pub(crate) fn test_venv() -> Result<PathBuf> {
    venv("test-venv", "test-requirements.txt", "import radon")
}

/// The environment with the packages that statistics are compared with.
pub(crate) fn reference_venv() -> Result<PathBuf> {
    let requirements = "crates/menace-track/tests/reference/requirements.txt";
    venv("reference-venv", requirements, "import statsmodels")
}

fn venv(name: &str, requirements: &str, probe: &str) -> Result<PathBuf> {
    let venv = target_dir().join(name);
    let wanted = fs::read_to_string(root().join(requirements))?;
    let stamp = venv.join("requirements.installed");
    let python = venv.join("bin/python");
    let current = fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted);
    if current && program(&python, ["-c", probe]).succeeds() {
        return Ok(venv);
    }
    if !create(&venv) {
        // Debian keeps the module that makes environments in a package of its own.
        tools::apt_install("python3-venv").context("`python3 -m venv` does not work")?;
        program("python3", ["-m", "venv", "--clear"]).arg(&venv).run()?;
    }
    program(&python, ["-m", "pip", "install", "--quiet", "--requirement", requirements]).run()?;
    fs::write(stamp, wanted)?;
    Ok(venv)
}

fn create(venv: &PathBuf) -> bool {
    program("python3", ["-m", "venv", "--clear"]).arg(venv).succeeds()
}

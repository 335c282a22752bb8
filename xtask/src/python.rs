//! The virtual environments with the packages that tests and benchmarks compare Menace with.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::run::{ProgramCommand, program, target_dir, workspace_root};
use crate::tools;

/// Creates the environment of the tests, or brings it up to date, and returns its directory.
pub(crate) fn ensure_test_venv() -> Result<PathBuf> {
    ensure_venv("test-venv", "test-requirements.txt", "import radon")
}

/// Directories whose type hints mypy checks, each a program with module names of its own.
const TYPED_PROGRAMS: [&str; 2] =
    ["crates/menace-sandbox/guest", "crates/menace-sandbox/tests/guest_driver"];

/// Programs of one file each.
const TYPED_FILES: [&str; 15] = [
    "crates/menace-loop/src/assess/run_exported.py",
    "crates/menace-loop/src/cycle/round_trip.py",
    "crates/menace-loop/src/metrics/collecting.py",
    "crates/menace-model/src/value/tests/rebuild.py",
    "crates/menace-sandbox/src/confine/tests/smoke.py",
    "crates/menace-sandbox/src/interpreter/probe.py",
    "crates/menace-sandbox/tests/contract/programs/init_without_close_range.py",
    "crates/menace-scenario/src/input/data/members.py",
    "crates/menace-scenario/src/input/data/modules.py",
    "crates/menace-source/tests/qualified_names.py",
    "crates/menace-source/tests/radon_reference.py",
    "crates/menace-source/tests/standard_library.py",
    "crates/menace-track/benches/forecast.py",
    "crates/menace-track/tests/reference/make.py",
    "xtask/src/bench/snippet.py",
];

/// Lints all Python of the repository, checks its format and its type hints; settings are in
/// `ruff.toml` and `mypy.ini`.
pub(crate) fn check_python(venv: &Path) -> Result<()> {
    run_ruff(venv)?;
    run_mypy(venv, "", &TYPED_FILES)?;
    TYPED_PROGRAMS.iter().try_for_each(|directory| run_mypy(venv, directory, &["."]))
}

fn run_ruff(venv: &Path) -> Result<()> {
    let ruff = venv.join("bin/ruff");
    program(&ruff, ["check", "--quiet", "."]).run()?;
    program(&ruff, ["format", "--check", "--quiet", "."]).run()
}

fn run_mypy(venv: &Path, directory: &str, paths: &[&str]) -> Result<()> {
    let mypy = program(venv.join("bin/mypy"), ["--no-error-summary", "--config-file"])
        .arg(workspace_root().join("mypy.ini"))
        .arg("--cache-dir")
        .arg(target_dir().join("mypy").join(directory))
        .in_directory(&workspace_root().join(directory));
    paths.iter().fold(mypy, ProgramCommand::arg).run()
}

/// Checks the Python with what the environment of the tests has. Installs nothing: that needs a
/// network.
#[expect(clippy::print_stderr, reason = "this is the user interface of xtask")]
pub(crate) fn check_python_if_installed() -> Result<()> {
    let venv = target_dir().join("test-venv");
    if ["bin/ruff", "bin/mypy"].iter().all(|tool| venv.join(tool).exists()) {
        return check_python(&venv);
    }
    eprintln!(
        "WARNING: the Python of the repository was NOT checked: ruff or mypy is not installed in \
         {}; `cargo xtask test` installs them",
        venv.display()
    );
    Ok(())
}

/// The environment with the packages that statistics are compared with.
pub(crate) fn ensure_reference_venv() -> Result<PathBuf> {
    let requirements = "crates/menace-track/tests/reference/requirements.txt";
    ensure_venv("reference-venv", requirements, "import statsmodels")
}

fn ensure_venv(name: &str, requirements: &str, probe: &str) -> Result<PathBuf> {
    let venv = target_dir().join(name);
    let wanted = fs::read_to_string(workspace_root().join(requirements))?;
    let stamp = venv.join("requirements.installed");
    let python = venv.join("bin/python");
    let current = fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted);
    if current && program(&python, ["-c", probe]).succeeds() {
        return Ok(venv);
    }
    if !create_venv(&venv) {
        // Debian keeps the module that makes environments in a package of its own.
        tools::apt_install("python3-venv").context("`python3 -m venv` does not work")?;
        program("python3", ["-m", "venv", "--clear"]).arg(&venv).run()?;
    }
    program(&python, ["-m", "pip", "install", "--quiet", "--requirement", requirements]).run()?;
    fs::write(stamp, wanted)?;
    Ok(venv)
}

fn create_venv(venv: &PathBuf) -> bool {
    program("python3", ["-m", "venv", "--clear"]).arg(venv).succeeds()
}

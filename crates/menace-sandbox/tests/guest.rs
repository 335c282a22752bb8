//! The guest harness on every CPython from 3.8 to 3.13 that this machine has: alone, through the
//! driver beside this file, and inside of the sandbox.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use menace_model::{Call, CallStep, CallTarget, ModuleRef, TargetKind, Value, Verdict};
use menace_sandbox::interpreter::{HarnessSource, InterpreterSearch, PythonInterpreter};
use menace_sandbox::{BackendOptions, LocalBackend, SandboxBackend, SandboxSpec};

const PYTHON_VERSIONS: [&str; 6] = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"];
const GUEST_MODULE: &str = "\
def add(a, b):
    return a + b

def fail():
    raise ValueError('on purpose')
";

#[expect(clippy::disallowed_methods, reason = "where programs are is no setting of Menace")]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// One interpreter of each version: on the PATH, or installed by pyenv.
fn interpreters() -> BTreeMap<String, PathBuf> {
    let mut directories: Vec<PathBuf> = std::env::split_paths(&variable("PATH")).collect();
    // Shims are scripts: what they lead to is found below.
    directories.retain(|directory| !directory.ends_with("shims"));
    let versions = Path::new(&variable("HOME")).join(".pyenv/versions");
    let installed = fs::read_dir(versions).into_iter().flatten().flatten();
    directories.extend(installed.map(|version| version.path().join("bin")));
    let mut found = BTreeMap::new();
    for version in PYTHON_VERSIONS {
        let name = format!("python{version}");
        let program = directories.iter().map(|directory| directory.join(&name));
        if let Some(program) = program.into_iter().find(|program| program.is_file()) {
            found.insert(version.to_owned(), program);
        }
    }
    let missing = PYTHON_VERSIONS.iter().filter(|version| !found.contains_key(**version));
    let missing: Vec<&str> = missing.copied().collect();
    for version in &missing {
        println!(
            "NOT TESTED: there is no CPython {version} on the PATH or below ~/.pyenv/versions"
        );
    }
    let is_complete = missing.is_empty() || variable("MENACE_CI").is_empty();
    assert!(is_complete, "every version has to be tested here: {missing:?} are missing");
    assert!(!found.is_empty(), "this test needs a CPython of {PYTHON_VERSIONS:?}");
    found
}

#[test]
fn the_harness_keeps_its_protocol_with_every_python() {
    let waiting = Mutex::new(interpreters());
    let failed = Mutex::new(String::new());
    let workers = std::thread::available_parallelism().map_or(1, Into::into);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no panic").pop_first();
                    let Some((version, python)) = next else { return };
                    if let Err(why) = drive(&version, &python, None) {
                        failed.lock().expect("no panic").push_str(&why);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no panic");
    assert!(failed.is_empty(), "{failed}");
}

/// What code calls out with, in the environment that `cargo xtask test` makes: its Python.
fn with_libraries() -> Option<PathBuf> {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-venv");
    let named = variable("MENACE_TEST_VENV");
    let venv = if named.is_empty() { usual() } else { PathBuf::from(named) };
    let python = venv.join("bin/python");
    let script = "import aiohttp, httpx, requests";
    let imported = Command::new(&python).args(["-I", "-B", "-c", script]).output();
    if imported.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    let why = format!(
        "no aiohttp, httpx and requests in `{}`: `cargo xtask test` installs them",
        venv.display()
    );
    println!("NOT TESTED: {why}");
    assert!(variable("MENACE_CI").is_empty(), "{why}");
    None
}

#[test]
fn libraries_that_call_out_are_answered_and_feel_what_goes_wrong() {
    let Some(python) = with_libraries() else { return };
    drive("with libraries", &python, Some("--libraries")).unwrap_or_else(|why| panic!("{why}"));
}

/// Runs the driver and passes its summary on.
fn drive(version: &str, python: &Path, cases: Option<&str>) -> Result<(), String> {
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guest_driver");
    let output = Command::new(python)
        .arg("-B")
        .args([driver.as_path(), python])
        .args(cases)
        .output()
        .expect("the driver can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("Python {version}: {}", said.lines().last().unwrap_or_default());
    if output.status.success() {
        return Ok(());
    }
    Err(format!("Python {version}:\n{said}\n{}\n", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn the_sandbox_calls_functions_with_every_python() {
    for (version, python) in interpreters() {
        let repo = tempfile::tempdir().expect("writable");
        fs::write(repo.path().join("sums.py"), GUEST_MODULE).expect("writable");
        let mut options =
            BackendOptions::new(repo.path().to_owned(), described(&python, repo.path()));
        options.init = PathBuf::from(env!("CARGO_BIN_EXE_menace-sandbox-init"));
        let backend = LocalBackend::new(options).expect("this machine can isolate");
        let module = ModuleRef { name: "sums".to_owned(), path: None };
        let mut warm =
            backend.open_session(&SandboxSpec::new(Some(module.clone()))).expect("it is cheap");
        let call = |qualname: &str, args: &[i64]| {
            Call::of_step(CallStep {
                args: args.iter().copied().map(Value::Int).collect(),
                ..CallStep::new(CallTarget {
                    module: module.clone(),
                    qualname: qualname.to_owned(),
                    kind: TargetKind::Function,
                })
            })
        };
        for _ in 0..2 {
            let outcome = warm.run(&call("add", &[2, 3])).expect("no error of ours");
            assert_eq!(outcome.verdict, Verdict::Returned, "Python {version}: {outcome:#?}");
            assert_eq!(outcome.result.value.and_then(|value| value.value), Some(Value::Int(5)));
            let outcome = warm.run(&call("fail", &[])).expect("no error of ours");
            assert_eq!(outcome.verdict, Verdict::Raised, "Python {version}: {outcome:#?}");
            let exception = outcome.result.exception.expect("it raised");
            assert_eq!(
                (exception.kind.as_str(), exception.message.as_str()),
                ("ValueError", "on purpose")
            );
            let last = exception.frames.last().expect("a frame");
            assert_eq!((last.file.as_str(), last.line), ("sums.py", 5), "Python {version}");
        }
    }
}

fn described(python: &Path, repository: &Path) -> PythonInterpreter {
    let source = |(name, text): &(&str, &str)| HarnessSource {
        name: (*name).to_owned(),
        text: (*text).to_owned(),
    };
    let sources: Vec<HarnessSource> =
        menace_sandbox::harness_sources().iter().map(source).collect();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interpreters");
    let search = InterpreterSearch {
        python: Some(python),
        repository,
        path: OsStr::new("/usr/bin:/bin"),
        home: None,
        sources: &sources,
        cache: Some(&cache),
    };
    PythonInterpreter::find(&search).expect("it is a Python")
}

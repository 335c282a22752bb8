//! Every file of the standard library that CPython compiles is understood.
//!
//! Walks the library of every Python 3.8 to 3.13 on this machine, the one of the test
//! environment at the least.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

mod test_venv;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use menace_source::{Analysis, AnalysisOptions, ScannerChoice, analyze};

const LIBRARY_SCRIPT: &str = include_str!("standard_library.py");

/// What one interpreter says: its version, its library, and the files that it cannot compile.
struct InterpreterReference {
    version: String,
    library: PathBuf,
    rejected: BTreeSet<String>,
}

fn query_interpreter(python: &Path) -> Option<InterpreterReference> {
    let output = Command::new(python).args(["-I", "-B", "-c", LIBRARY_SCRIPT]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    let mut lines = text.lines();
    let version = lines.next()?.to_owned();
    let library = PathBuf::from(lines.next()?);
    Some(InterpreterReference { version, library, rejected: lines.map(str::to_owned).collect() })
}

/// The interpreter of the test environment and those that lie beside the one it was made from.
fn find_interpreters() -> Vec<PathBuf> {
    let own = test_venv::venv_directory().join("bin/python");
    let real = own.canonicalize().unwrap();
    // …/versions/3.11.7/bin/python3.11 → …/versions/*/bin/python3
    let siblings = real.ancestors().nth(3).and_then(|versions| versions.read_dir().ok());
    let siblings = siblings.into_iter().flatten().flatten();
    let mut all = vec![own];
    all.extend(siblings.map(|entry| entry.path().join("bin/python3")).filter(|path| path.exists()));
    all.extend((8..=13).map(|minor| PathBuf::from(format!("/usr/bin/python3.{minor}"))));
    all
}

fn analyze_library(library: &Path) -> Analysis {
    let options = AnalysisOptions { scanner: ScannerChoice::Builtin, ..AnalysisOptions::default() };
    analyze(library, &options, &|_, _| {}).unwrap()
}

#[test]
fn every_file_that_cpython_compiles_is_understood() {
    let mut seen = BTreeSet::new();
    for python in find_interpreters() {
        let Some(reference) = query_interpreter(&python) else { continue };
        if !seen.insert(reference.version.clone()) {
            continue;
        }
        let analysis = analyze_library(&reference.library);
        assert!(analysis.modules.len() > 500, "{}", analysis.modules.len());
        let failed: Vec<_> = analysis
            .modules
            .iter()
            .filter_map(|module| module.error.as_ref())
            .filter(|error| !reference.rejected.contains(&error.file))
            .collect();
        assert!(failed.is_empty(), "Python {}: {failed:#?}", reference.version);
    }
    assert!(!seen.is_empty(), "no interpreter answered; run `cargo xtask test`");
}

/// The names of all functions as Python's own compiler finds them, for one real package.
#[test]
fn sections_are_the_functions_that_cpython_finds() {
    let python = test_venv::venv_directory().join("bin/python");
    let reference = query_interpreter(&python).expect("the test environment answers");
    let script = include_str!("qualified_names.py");
    let output = Command::new(&python).args(["-I", "-B", "-c", script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let expected: BTreeSet<&str> = text.lines().collect();

    let analysis = analyze_library(&reference.library);
    let files: BTreeSet<&str> =
        expected.iter().map(|line| line.split_once("::").unwrap().0).collect();
    let found: BTreeSet<String> = analysis
        .modules
        .iter()
        .filter(|module| files.contains(module.path.as_str()))
        .flat_map(|module| &module.sections)
        .filter(|section| section.kind != menace_model::SectionKind::Module)
        .map(|section| {
            // Python has no names for accessors and repeated definitions: compare by line.
            let qualname = section.id.qualname().split('#').next().unwrap();
            let plain = ["setter", "deleter", "getter"]
                .iter()
                .find_map(|accessor| qualname.strip_suffix(&format!(".{accessor}")))
                .filter(|_| section.kind == menace_model::SectionKind::Property)
                .unwrap_or(qualname);
            let path = section.id.as_str().split_once("::").unwrap().0;
            format!("{path}::{plain} {} {}", section.start_line, section.is_generator)
        })
        .collect();
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    let missing: Vec<_> = expected.difference(&found).collect();
    let extra: Vec<_> = found.difference(&expected).collect();
    assert!(expected.len() > 2_000, "{}", expected.len());
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:#?}\nextra {extra:#?}");
}

//! The virtual environment with the real tools, and the Python files to compare on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use menace_source::check::external::{ScanResults, ScannerSearch, ScannerTool, scan};
use menace_source::check::{CheckResults, CheckSelection, ParsedModule, check_module};
use ruff_python_parser::parse_module;
use ruff_source_file::LineIndex;

use crate::test_venv;

/// Packages and modules of the standard library: old and new code, by many hands.
const LIBRARY_PATHS: [&str; 24] = [
    "asyncio",
    "concurrent",
    "ctypes",
    "distutils",
    "email",
    "ensurepip",
    "http",
    "idlelib",
    "importlib",
    "json",
    "lib2to3",
    "logging",
    "multiprocessing",
    "sqlite3",
    "unittest",
    "urllib",
    "venv",
    "wsgiref",
    "xml",
    "xmlrpc",
    "ssl.py",
    "subprocess.py",
    "tarfile.py",
    "smtplib.py",
];

pub(crate) fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Scans with one tool of the venv and nothing else on the search path.
pub(crate) fn scan_with(tool: &str, root: &Path, files: &[PathBuf]) -> ScanResults {
    let alone = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(
        test_venv::venv_directory().join("bin").join(tool),
        alone.path().join(tool),
    )
    .unwrap();
    let search = ScannerSearch {
        path: alone.path().as_os_str(),
        timeout: Duration::from_mins(5),
        tools: ScannerTool::ALL,
    };
    scan(&search, root, files)
}

/// Our own checks; `None` when the file cannot be read or parsed.
pub(crate) fn check_file(path: &Path, selection: CheckSelection) -> Option<CheckResults> {
    let source = std::fs::read_to_string(path).ok()?;
    let parsed = parse_module(&source).ok()?;
    let module = ParsedModule {
        tree: parsed.syntax(),
        tokens: parsed.tokens(),
        source: &source,
        lines: &LineIndex::from_source_text(&source),
        is_package_init: path.ends_with("__init__.py"),
    };
    Some(check_module(&module, selection))
}

/// The fixture project and its files, relative to it.
pub(crate) fn fixture_files() -> (PathBuf, Vec<PathBuf>) {
    let root = workspace_root().join("fixtures/insecure");
    let files = python_files(&root, &root);
    (root, files)
}

/// The standard library and the chosen files, relative to it.
pub(crate) fn library_files() -> (PathBuf, Vec<PathBuf>) {
    let code = "import sysconfig; print(sysconfig.get_path('stdlib'))";
    let output = Command::new(test_venv::venv_directory().join("bin/python"))
        .args(["-I", "-c", code])
        .output()
        .unwrap();
    let root = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let root = root.canonicalize().unwrap();
    let files: Vec<PathBuf> =
        LIBRARY_PATHS.iter().flat_map(|name| python_files(&root, &root.join(name))).collect();
    assert!(files.len() > 200, "only {} files in {}", files.len(), root.display());
    (root, files)
}

fn python_files(root: &Path, below: &Path) -> Vec<PathBuf> {
    // Some of the packages are gone in newer versions of Python.
    if !below.exists() {
        return Vec::new();
    }
    let mut files: Vec<PathBuf> = ignore::WalkBuilder::new(below)
        .standard_filters(false)
        .build()
        .map(|entry| entry.unwrap().into_path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "py"))
        .map(|file| file.strip_prefix(root).unwrap().to_owned())
        .collect();
    files.sort();
    files
}

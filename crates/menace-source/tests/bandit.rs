//! The built-in checks against Bandit itself: same file, line, rule, severity and confidence.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use menace_model::Finding;
use menace_source::check::external::{Scanner, Search, scan};
use menace_source::check::{Checked, Module, Wanted, check};
use ruff_python_parser::parse_module;

/// How many of one side's findings the other side must have.
const AGREEMENT: f64 = 0.98;

/// Packages and modules of the standard library: old and new code, by many hands.
const LIBRARY: [&str; 24] = [
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

/// A finding as both sides name it.
type Key = (PathBuf, u32, String, String);

#[test]
fn every_rule_has_an_example_on_which_both_agree_completely() {
    let root = workspace().join("fixtures/insecure");
    let files = python_files(&root);
    let (ours, theirs) = (builtin(&root, &files), bandit(&root, &files));
    assert_eq!(differences(&ours, &theirs), "");

    let numbers: Vec<&str> = ours.keys().map(|(_, _, rule, _)| rule.as_str()).collect();
    for rule in all_rules() {
        assert!(numbers.contains(&rule.as_str()), "no example of {rule} in {}", root.display());
    }
}

#[test]
fn the_standard_library_gives_the_same_findings() {
    let root = standard_library();
    let files: Vec<PathBuf> =
        LIBRARY.iter().flat_map(|name| python_files(&root.join(name))).collect();
    assert!(files.len() > 200, "only {} files in {}", files.len(), root.display());
    let files: Vec<PathBuf> =
        files.iter().map(|file| file.strip_prefix(&root).unwrap().to_owned()).collect();
    let (ours, theirs) = (builtin(&root, &files), bandit(&root, &files));

    let shared: usize = ours.iter().map(|(key, n)| *n.min(theirs.get(key).unwrap_or(&0))).sum();
    let precision = shared as f64 / ours.values().sum::<usize>() as f64;
    let recall = shared as f64 / theirs.values().sum::<usize>() as f64;
    let report = differences(&ours, &theirs);
    assert!(shared > 1000, "only {shared} findings to compare");
    assert!(
        precision >= AGREEMENT && recall >= AGREEMENT,
        "precision {precision:.4}, recall {recall:.4}\n{report}"
    );
    println!("{shared} shared, precision {precision:.4}, recall {recall:.4}\n{report}");
}

/// Runs our checks; findings of Menace's own rules have no counterpart.
fn builtin(root: &Path, files: &[PathBuf]) -> BTreeMap<Key, usize> {
    let wanted = Wanted { bandit_class: true, own: false, lint: false };
    count(files.iter().flat_map(|file| {
        let findings = check_file(&root.join(file), wanted).map_or(Vec::new(), |c| c.findings);
        findings.into_iter().map(|finding| key(file, &finding))
    }))
}

fn check_file(path: &Path, wanted: Wanted) -> Option<Checked> {
    let source = std::fs::read_to_string(path).ok()?;
    let parsed = parse_module(&source).ok()?;
    let module = Module {
        tree: parsed.syntax(),
        tokens: parsed.tokens(),
        source: &source,
        is_package_init: path.ends_with("__init__.py"),
    };
    Some(check(&module, wanted))
}

/// Runs Bandit through our adapter, with nothing else on the search path.
fn bandit(root: &Path, files: &[PathBuf]) -> BTreeMap<Key, usize> {
    let alone = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(venv().join("bin/bandit"), alone.path().join("bandit")).unwrap();
    let search =
        Search { path: alone.path().as_os_str(), timeout: std::time::Duration::from_secs(300) };
    let scan = scan(&search, root, files);
    assert!(matches!(scan.scanner, Scanner::Bandit { .. }), "{:?}", scan.warning);
    count(scan.findings.iter().flat_map(|(file, list)| list.iter().map(|one| key(file, one))))
}

fn key(file: &Path, finding: &Finding) -> Key {
    let ranks = format!("{:?}/{:?}", finding.severity, finding.confidence);
    (file.to_owned(), finding.line, finding.rule.clone(), ranks)
}

fn count(keys: impl Iterator<Item = Key>) -> BTreeMap<Key, usize> {
    let mut counts = BTreeMap::new();
    keys.for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}

fn differences(ours: &BTreeMap<Key, usize>, theirs: &BTreeMap<Key, usize>) -> String {
    let mut text = String::new();
    for (who, one, other) in [("only ours", ours, theirs), ("only Bandit", theirs, ours)] {
        for (key, n) in one {
            if n > other.get(key).unwrap_or(&0) {
                let (file, line, rule, ranks) = key;
                writeln!(text, "{who}: {}:{line} {rule} {ranks}", file.display()).unwrap();
            }
        }
    }
    text
}

/// The numbers Bandit itself lists.
fn all_rules() -> Vec<String> {
    let help = Command::new(venv().join("bin/bandit")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let is_rule = |word: &&str| {
        word.len() == 4 && word.starts_with('B') && word[1..].bytes().all(|b| b.is_ascii_digit())
    };
    let rules: Vec<String> = help
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(is_rule)
        .map(str::to_owned)
        .collect();
    assert!(rules.len() > 60, "{help}");
    rules
}

fn python_files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let mut files: Vec<PathBuf> = ignore::WalkBuilder::new(path)
        .standard_filters(false)
        .build()
        .map(|entry| entry.unwrap().into_path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "py"))
        .collect();
    files.sort();
    files
}

fn standard_library() -> PathBuf {
    let code = "import sysconfig; print(sysconfig.get_path('stdlib'))";
    let output = Command::new(venv().join("bin/python")).args(["-I", "-c", code]).output().unwrap();
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "only tests ask where the test venv is")]
fn venv() -> PathBuf {
    let venv = std::env::var_os("MENACE_TEST_VENV")
        .map_or_else(|| workspace().join("target/test-venv"), PathBuf::from);
    assert!(
        venv.join("bin/bandit").exists(),
        "no Bandit in `{}`: run the tests with `cargo xtask test`, which installs it",
        venv.display()
    );
    venv
}

//! `menace analyze` with the tools that people have installed.

use std::path::{Path, PathBuf};

use crate::program::TestDirectory;
use serde_json::Value;

/// The `bin` of the environment that `cargo xtask test` has filled.
#[expect(clippy::disallowed_methods, reason = "only tests ask where the environment is")]
fn tools_bin_dir() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-venv");
    let tools = std::env::var_os("MENACE_TEST_VENV").map_or_else(usual, PathBuf::from).join("bin");
    assert!(tools.join("ruff").exists(), "no ruff in {}: run `cargo xtask test`", tools.display());
    tools
}

/// A directory with one of the tools in it and nothing else.
fn directory_with_tool(place: &TestDirectory, tool: &str) -> String {
    let directory = place.path().join(format!("only-{tool}"));
    std::fs::create_dir(&directory).unwrap();
    std::os::unix::fs::symlink(tools_bin_dir().join(tool), directory.join(tool)).unwrap();
    directory.display().to_string()
}

fn run_analyze(place: &TestDirectory, path: &str, more: &[&str]) -> Value {
    let arguments = [&["analyze", "--repo", "bookshop", "--format", "json"], more].concat();
    place.run_with(&[("PATH", path)], &arguments).json()
}

fn finding_rules(analysis: &Value, path: &str) -> Vec<String> {
    let modules = analysis["modules"].as_array().unwrap();
    let module = modules.iter().find(|module| module["path"] == path).unwrap();
    let findings = module["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_installed_ruff_takes_precedence() {
    let place = TestDirectory::with_fixture("bookshop");
    let analysis = run_analyze(&place, &tools_bin_dir().display().to_string(), &[]);
    assert_eq!(analysis["scanner"]["name"], "ruff");
    assert!(analysis["scanner"]["version"].as_str().unwrap().contains('.'));
    assert_eq!(analysis["warnings"], serde_json::json!([]));
    assert!(finding_rules(&analysis, "bookshop/web/export.py").contains(&"B602".to_owned()));
}

#[test]
fn bandit_is_used_when_there_is_no_ruff() {
    let place = TestDirectory::with_fixture("bookshop");
    let path = directory_with_tool(&place, "bandit");
    let analysis = run_analyze(&place, &path, &[]);
    assert_eq!(analysis["scanner"]["name"], "bandit", "{}", analysis["warnings"]);
    assert_eq!(
        finding_rules(&analysis, "bookshop/storage/database.py"),
        finding_rules(&run_analyze(&place, "", &[]), "bookshop/storage/database.py")
    );
}

#[test]
fn the_tools_leave_nothing_in_the_repository() {
    let place = TestDirectory::with_fixture("bookshop");
    let before = place.files("bookshop");
    for tool in ["ruff", "bandit"] {
        let path = directory_with_tool(&place, tool);
        run_analyze(&place, &path, &[]);
    }
    assert_eq!(place.files("bookshop"), before);
}

#[test]
fn without_tools_the_built_in_check_stands_and_says_so() {
    let place = TestDirectory::with_fixture("bookshop");
    let builtin = run_analyze(&place, "", &[]);
    assert_eq!(builtin["scanner"]["name"], "builtin");
    let asked =
        run_analyze(&place, &tools_bin_dir().display().to_string(), &["--scanner", "builtin"]);
    assert_eq!(asked["modules"], builtin["modules"]);
}

#[test]
fn a_tool_that_is_asked_for_and_missing_is_an_error() {
    let place = TestDirectory::with_fixture("bookshop");
    let ran = place.run(&["analyze", "--repo", "bookshop", "--scanner", "ruff"]);
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.err);
}

#[test]
fn a_broken_tool_is_reported_and_not_used() {
    let place = TestDirectory::with_fixture("bookshop");
    let directory = place.path().join("broken-tools");
    std::fs::create_dir(&directory).unwrap();
    let tool = directory.join("ruff");
    std::fs::write(&tool, "#!/bin/sh\necho nonsense\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&tool, executable).unwrap();
    let analysis = run_analyze(&place, &directory.display().to_string(), &[]);
    assert_eq!(analysis["scanner"]["name"], "builtin");
    let warning = analysis["warnings"][0].as_str().unwrap();
    assert!(warning.contains("was not used"), "{warning}");
}

#[test]
fn a_tool_that_the_repository_brings_along_is_not_run() {
    let place = TestDirectory::with_fixture("bookshop");
    let directory = place.path().join("bookshop/.venv/bin");
    std::fs::create_dir_all(&directory).unwrap();
    let tool = directory.join("ruff");
    std::fs::write(&tool, "#!/bin/sh\ntouch \"$(dirname \"$0\")/was-run\"\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&tool, executable).unwrap();
    let analysis = run_analyze(&place, &directory.display().to_string(), &[]);
    assert_eq!(analysis["scanner"]["name"], "builtin");
    assert!(!directory.join("was-run").exists());
}

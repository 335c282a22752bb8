//! Tools that misbehave are played by small shell scripts.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::*;

/// A directory with a tool that answers `--version` well and then runs `script`.
fn install_fake_tool(name: &str, script: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    write_executable(directory.path(), name, script);
    directory
}

/// Another process makes the executable: were it open for writing here while a test on another
/// thread starts a program, the system would refuse to run it.
fn write_executable(directory: &Path, name: &str, script: &str) {
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo {name} 1.2.3; exit 0; fi\n{script}\n"
    );
    let draft = directory.join(format!("{name}.sh"));
    fs::write(&draft, text).unwrap();
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).unwrap();
    let copied = Command::new("cp").arg(&draft).arg(directory.join(name)).status().unwrap();
    assert!(copied.success());
}

fn scan_with(tool: &tempfile::TempDir, files: &[&str]) -> ScanResults {
    let search = ScannerSearch {
        path: tool.path().as_os_str(),
        timeout: Duration::from_secs(10),
        tools: ScannerTool::ALL,
    };
    let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let repository = tempfile::tempdir().unwrap();
    scan(&search, repository.path(), &files)
}

#[test]
fn without_a_tool_the_built_in_checks_are_asked_for() {
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(scan_with(&empty, &["a.py"]), ScanResults::builtin());
}

#[test]
fn a_tool_that_fails_leaves_a_warning_with_its_last_words() {
    let tool = install_fake_tool("ruff", "echo 'unknown option' >&2; exit 2");
    let scan = scan_with(&tool, &["a.py"]);
    assert_eq!(scan.scanner, ScannerInfo::Builtin);
    let warning = scan.warning.unwrap();
    assert!(warning.contains("ruff` was not used"), "{warning}");
    assert!(warning.ends_with("unknown option"), "{warning}");
}

#[test]
fn an_answer_that_is_not_json_leaves_a_warning() {
    let tool = install_fake_tool("bandit", "echo '{\"results\": 3}'; exit 1");
    let warning = scan_with(&tool, &["a.py"]).warning.unwrap();
    assert!(warning.contains("not what was expected"), "{warning}");
}

#[test]
fn a_tool_that_hangs_is_ended() {
    let tool = install_fake_tool("ruff", "exec sleep 600");
    let search = ScannerSearch {
        path: tool.path().as_os_str(),
        timeout: Duration::from_millis(300),
        tools: ScannerTool::ALL,
    };
    let repository = tempfile::tempdir().unwrap();
    let scan = scan(&search, repository.path(), &[PathBuf::from("a.py")]);
    assert_eq!(scan.scanner, ScannerInfo::Builtin);
    assert!(scan.warning.unwrap().contains("took longer"));
}

#[test]
fn a_broken_ruff_gives_way_to_bandit() {
    let tool = install_fake_tool("ruff", "exit 2");
    write_executable(tool.path(), "bandit", r#"echo '{"errors": [], "results": []}'"#);
    let scan = scan_with(&tool, &["a.py"]);
    assert_eq!(scan.scanner, ScannerInfo::Bandit { version: "1.2.3".into() });
    assert!(scan.warning.unwrap().contains("ruff"));
}

#[test]
fn a_file_name_is_never_an_option_and_comes_back_as_given() {
    // Answers with the last argument as the name of the file.
    let script = r#"for last; do :; done
printf '[{"code":"S102","filename":"%s","location":{"row":3,"column":1},"message":"m"}]' "$last"
case "$*" in *"-- /"*) ;; *) exit 9 ;; esac"#;
    let tool = install_fake_tool("ruff", script);
    let scan = scan_with(&tool, &["--fix"]);
    assert_eq!(scan.warning, None);
    let finding = &scan.findings[Path::new("--fix")][0];
    assert_eq!((finding.rule.as_str(), finding.line), ("B102", 3));
}

#[test]
fn relative_directories_and_the_repositorys_own_are_passed_over() {
    let own = install_fake_tool("ruff", "exit 0");
    let inside = own.path().canonicalize().unwrap();
    assert_eq!(tool::find_executable(own.path().as_os_str(), "ruff", &inside), None);
    assert_eq!(tool::find_executable(OsStr::new("bin:."), "sh", Path::new("/nowhere")), None);
    assert!(
        tool::find_executable(OsStr::new("/bin:/usr/bin"), "sh", Path::new("/nowhere")).is_some()
    );
}

//! The built-in checks against Bandit itself: same file, line, rule, severity and confidence.
//!
//! Known differences, none of which the compared files show:
//! - `# noqa: S…` takes a finding back here, while Bandit knows `# nosec` only.
//! - Constant pieces of an f-string that spans lines are reported where the f-string starts. Bandit
//!   does so before Python 3.12 and names the line of the piece from then on.
//! - A line ends here as in Python. For B613 Bandit also counts form feeds as line ends.
//! - Of the chain of operators around a string, B608 reads the first few hundred parts only.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

mod compared;
mod test_venv;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use menace_model::StaticFinding;
use menace_source::check::CheckSelection;
use menace_source::check::external::ScannerInfo;

/// How many of one side's findings the other side must have.
const MIN_AGREEMENT: f64 = 0.98;

/// A finding as both sides name it.
type FindingKey = (PathBuf, u32, String, String);

#[test]
fn every_rule_has_an_example_on_which_both_agree_completely() {
    let (root, files) = compared::fixture_files();
    let (ours, theirs) =
        (count_builtin_findings(&root, &files), count_bandit_findings(&root, &files));
    assert_eq!(format_differences(&ours, &theirs), "");

    let numbers: Vec<&str> = ours.keys().map(|(_, _, rule, _)| rule.as_str()).collect();
    for rule in list_bandit_rules() {
        assert!(numbers.contains(&rule.as_str()), "no example of {rule} in {}", root.display());
    }
}

#[test]
fn the_standard_library_gives_the_same_findings() {
    let (root, files) = compared::library_files();
    let (ours, theirs) =
        (count_builtin_findings(&root, &files), count_bandit_findings(&root, &files));

    let shared: usize = ours.iter().map(|(key, n)| *n.min(theirs.get(key).unwrap_or(&0))).sum();
    let precision = shared as f64 / ours.values().sum::<usize>() as f64;
    let recall = shared as f64 / theirs.values().sum::<usize>() as f64;
    let report = format_differences(&ours, &theirs);
    println!("{shared} shared, precision {precision:.4}, recall {recall:.4}\n{report}");
    assert!(shared > 500, "only {shared} findings to compare");
    assert!(precision >= MIN_AGREEMENT && recall >= MIN_AGREEMENT, "{report}");
}

/// Runs our checks; findings of Menace's own rules have no counterpart.
fn count_builtin_findings(root: &Path, files: &[PathBuf]) -> BTreeMap<FindingKey, usize> {
    let selection = CheckSelection { bandit_rules: true, menace_rules: false, lint: false };
    count_keys(files.iter().flat_map(|file| {
        let checked = compared::check_file(&root.join(file), selection).unwrap_or_default();
        checked.findings.into_iter().map(|finding| finding_key(file, &finding))
    }))
}

fn count_bandit_findings(root: &Path, files: &[PathBuf]) -> BTreeMap<FindingKey, usize> {
    let scan = compared::scan_with("bandit", root, files);
    assert!(matches!(scan.scanner, ScannerInfo::Bandit { .. }), "{:?}", scan.warning);
    count_keys(
        scan.findings.iter().flat_map(|(file, list)| list.iter().map(|one| finding_key(file, one))),
    )
}

fn finding_key(file: &Path, finding: &StaticFinding) -> FindingKey {
    let ranks = format!("{:?}/{:?}", finding.severity, finding.confidence);
    (file.to_owned(), finding.line, finding.rule.clone(), ranks)
}

fn count_keys(keys: impl Iterator<Item = FindingKey>) -> BTreeMap<FindingKey, usize> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

fn format_differences(
    ours: &BTreeMap<FindingKey, usize>,
    theirs: &BTreeMap<FindingKey, usize>,
) -> String {
    let mut text = String::new();
    for (label, one, other) in [("only ours", ours, theirs), ("only Bandit", theirs, ours)] {
        for (key, n) in one {
            if n > other.get(key).unwrap_or(&0) {
                let (file, line, rule, ranks) = key;
                writeln!(text, "{label}: {}:{line} {rule} {ranks}", file.display()).unwrap();
            }
        }
    }
    text
}

/// The numbers Bandit itself lists.
fn list_bandit_rules() -> Vec<String> {
    let help = Command::new(test_venv::venv_directory().join("bin/bandit"))
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let is_rule = |word: &&str| {
        word.len() == 4 && word.starts_with('B') && word[1..].bytes().all(|b| b.is_ascii_digit())
    };
    let first_words = help.lines().filter_map(|line| line.split_whitespace().next());
    let rules: Vec<String> = first_words.filter(is_rule).map(str::to_owned).collect();
    assert!(rules.len() > 60, "{help}");
    rules
}

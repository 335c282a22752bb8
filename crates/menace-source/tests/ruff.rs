//! The built-in lint against Ruff itself: what we report, Ruff reports on the same line.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

mod compared;
mod test_venv;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use menace_model::StaticFinding;
use menace_source::check::CheckSelection;
use menace_source::check::external::{ScanResults, ScannerInfo};

/// The codes that the built-in lint knows.
const LINT_CODES: [&str; 12] = [
    "E711", "E712", "E713", "E714", "E722", "E731", "F401", "F403", "F541", "F601", "F631", "F632",
];
/// The lint is meant to be certain: nearly all it reports must be in Ruff's answer.
const MIN_PRECISION: f64 = 0.98;
/// It may miss some, mostly unused imports whose name occurs elsewhere in the file.
const MIN_RECALL: f64 = 0.8;

/// A lint as both sides name it.
type LintKey = (String, PathBuf, u32);

fn scan_with_ruff(root: &std::path::Path, files: &[PathBuf]) -> ScanResults {
    let scan = compared::scan_with("ruff", root, files);
    assert!(matches!(scan.scanner, ScannerInfo::Ruff { .. }), "{:?}", scan.warning);
    scan
}

#[test]
fn what_the_built_in_lint_reports_ruff_reports_too() {
    let (root, files) = compared::library_files();
    let selection = CheckSelection { bandit_rules: false, menace_rules: false, lint: true };
    let ours: BTreeSet<LintKey> = files
        .iter()
        .flat_map(|file| {
            let checked = compared::check_file(&root.join(file), selection).unwrap_or_default();
            checked.lints.into_iter().map(move |lint| (lint.code, file.clone(), lint.line))
        })
        .collect();
    let theirs: BTreeSet<LintKey> = scan_with_ruff(&root, &files)
        .lints
        .unwrap()
        .into_iter()
        // Ruff also reports unused imports of a package, as something to make explicit.
        .filter(|(file, _)| !file.ends_with("__init__.py"))
        .flat_map(|(file, lints)| {
            lints.into_iter().map(move |lint| (lint.code, file.clone(), lint.line))
        })
        .filter(|(code, ..)| LINT_CODES.contains(&code.as_str()))
        .collect();
    let ours: BTreeSet<LintKey> =
        ours.into_iter().filter(|(_, file, _)| !file.ends_with("__init__.py")).collect();

    let shared = ours.intersection(&theirs).count() as f64;
    let (precision, recall) = (shared / ours.len() as f64, shared / theirs.len() as f64);
    let mut missed: BTreeMap<&str, usize> = BTreeMap::new();
    for (code, ..) in theirs.difference(&ours) {
        *missed.entry(code).or_default() += 1;
    }
    let extra: Vec<&LintKey> = ours.difference(&theirs).collect();
    println!("{shared} shared, precision {precision:.4}, recall {recall:.4}, missed {missed:?}");
    println!("only ours: {extra:#?}");
    assert!(shared > 100.0);
    assert!(precision >= MIN_PRECISION && recall >= MIN_RECALL);
}

#[test]
fn ruff_is_read_with_bandits_numbers_and_ranks() {
    let (root, files) = compared::fixture_files();
    let scan = scan_with_ruff(&root, &files);
    let shells = &scan.findings[std::path::Path::new("portal/shells.py")];
    let ranked: Vec<String> = shells
        .iter()
        .filter(|finding| finding.rule == "B602")
        .take(2)
        .map(|finding| format!("{} {:?} {:?}", finding.line, finding.severity, finding.confidence))
        .collect();
    assert_eq!(ranked, ["13 Low High", "14 High High"]);
    assert!(scan.findings.values().flatten().all(StaticFinding::is_bandit_rule));
}

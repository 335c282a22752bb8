//! `menace run --assess`: findings are proved, lifted and rated, and their snippets can be pasted.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::program::{CommandOutput, SANDBOX_VARIABLES, TestDirectory};

const SHELF_MODULE: &str = include_str!("assess/shelf.py");

fn run(place: &TestDirectory, more: &[&str]) -> CommandOutput {
    let common = ["run", "--repo", "repo", "--sandbox-data-dir", "data", "--seed", "1"];
    let short = ["--budget", "none", "--calls-per-cell", "4", "--assess"];
    place.run_with(&SANDBOX_VARIABLES, &[&common[..], &short, more].concat())
}

fn make_repo() -> TestDirectory {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    place.write("repo/shelf.py", SHELF_MODULE);
    place
}

fn finding<'r>(report: &'r Value, section: &str, kind: &str) -> &'r Value {
    let failures = report["failures"].as_array().unwrap();
    let id = format!("shelf.py::{section}");
    let found = failures.iter().find(|one| one["section"] == id && one["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} of {section}: {failures:#?}"))
}

fn confidence(finding: &Value) -> f64 {
    finding["confidence"].as_f64().unwrap()
}

#[test]
fn what_a_maintainer_would_fix_is_shown_and_what_python_promises_is_not() {
    let place = make_repo();
    let ran = run(&place, &["--format", "json"]);
    let report = ran.json();
    let mean = finding(&report, "mean", "unhandled");
    assert!(confidence(mean) > 0.6, "{mean:#}");
    assert_eq!(mean["exposure"]["level"], "public");
    assert_eq!(mean["duplicate_of"], Value::Null);
    // An end is what the protocol of `x[position]` promises.
    let item = finding(&report, "Shelf.__getitem__", "unhandled");
    assert!(confidence(item) < 0.1, "{item:#}");
    // The internal function is reached through the public one, which is shown for both.
    let public = finding(&report, "initial", "unhandled");
    let internal = finding(&report, "_first_letter", "unhandled");
    assert!(confidence(public) > confidence(internal), "{public:#} {internal:#}");
    assert_eq!(internal["duplicate_of"], public["id"]);
    assert_eq!(public["ways_in"][0], "shelf.py::_first_letter");

    let table = run(&place, &[]);
    assert!(table.out.contains("mean("), "{}", table.out);
    assert!(!table.out.contains("__getitem__"), "{}", table.out);
    assert!(table.out.contains("not shown (unlikely, or the same root): --all"), "{}", table.out);
    let all = run(&place, &["--all"]);
    assert!(all.out.contains("__getitem__"), "{}", all.out);
    let failures = place.run(&["failures", "--sandbox-data-dir", "data"]);
    assert!(!failures.out.contains("list index"), "{}", failures.out);
    let failures = place.run(&["failures", "--all", "--sandbox-data-dir", "data"]);
    assert!(failures.out.contains("list index"), "{}", failures.out);
}

#[test]
fn flags_that_would_have_no_effect_are_refused() {
    let place = make_repo();
    for flags in [&["--all"][..], &["--min-confidence", "0.5"]] {
        let ran = place.run(&[&["run", "--repo", "repo"], flags].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("--assess"), "{}", ran.err);
    }
}

#[test]
fn a_snippet_shows_its_finding_in_a_plain_interpreter() {
    let place = make_repo();
    let report = run(&place, &["--format", "json"]).json();
    for (section, kind) in [("mean", "unhandled"), ("Shelf.__getitem__", "unhandled")] {
        let finding = finding(&report, section, kind);
        let snippet = finding["snippet"].as_str().unwrap();
        let python = Command::new("python3")
            .args(["-c", snippet])
            .current_dir(place.path().join("repo"))
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&python.stderr).into_owned();
        let exception = finding["exception"].as_str().unwrap();
        assert!(printed.contains(exception), "{snippet}\n{printed}");
    }
}

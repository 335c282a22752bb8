//! Repositories and machines on which `menace run` can do little: it says so, and does the rest.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::{BREADTH_ARGS, breadth_report, make_repo, reported_failures, run_seeded};
use crate::program::{CommandOutput, SANDBOX_VARIABLES, TestDirectory};

#[test]
fn a_repository_without_anything_to_call_is_reported_at_once() {
    let empty = make_repo(&[]);
    insta::assert_snapshot!("an_empty_repository", run_seeded(&empty, &["--repo", "repo"]).err);
    let other = make_repo(&[("README.md", "# Nothing\n"), ("main.c", "int main;\n")]);
    insta::assert_snapshot!("no_python_files", run_seeded(&other, &["--repo", "repo"]).err);
    let nowhere = run_seeded(&empty, &["--repo", "nowhere"]);
    assert_eq!(nowhere.code, Some(2));
    assert!(nowhere.err.contains("nowhere"), "{}", nowhere.err);
}

#[test]
fn a_module_or_a_section_that_does_not_exist_is_reported() {
    let place = make_repo(&[("desk.py", "def half(n: int) -> int:\n    return n // 2\n")]);
    for (flag, name) in [("--module", "dsk.py"), ("--section", "desk.py::hlf")] {
        let ran = run_seeded(&place, &["--repo", "repo", flag, name]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(name), "{}", ran.err);
    }
}

fn not_importable(report: &Value) -> Vec<(&str, &Value)> {
    let modules = report["not_importable"].as_array().unwrap().iter();
    modules.map(|module| (module["module"].as_str().unwrap(), &module["missing"])).collect()
}

#[test]
fn a_repository_that_does_not_import_is_reported_once_per_module() {
    let place = make_repo(&[
        ("desk.py", "LIMIT = {}['limit']\ndef half(n: int) -> int:\n    return n // 2\n"),
        ("shelf.py", "import desk\ndef third(n: int) -> int:\n    return n // 3\n"),
    ]);
    let report = breadth_report(&place, &["--repo", "repo"]);
    assert_eq!(not_importable(&report), [("desk.py", &Value::Null), ("shelf.py", &Value::Null)]);
    let at: Vec<&Value> =
        reported_failures(&report).iter().map(|failure| &failure["location"]).collect();
    assert!(at.contains(&&json!("desk.py:1")), "{at:?}");
    let kinds: Vec<&Value> =
        reported_failures(&report).iter().map(|failure| &failure["kind"]).collect();
    assert!(kinds.iter().all(|kind| *kind == "import"), "{kinds:?}");
    // There is no input that could be made smaller.
    let id = reported_failures(&report)[0]["id"].as_str().unwrap();
    let table = run_seeded(&place, &[&["--repo", "repo"][..], &BREADTH_ARGS].concat());
    for (ran, next) in [(table, "menace show"), (place.run(&["show", id]), "menace repro")] {
        assert!(ran.out.contains(next), "{}{}", ran.out, ran.err);
        assert!(!ran.out.contains("menace shrink"), "{}", ran.out);
    }
}

#[test]
fn a_module_that_takes_its_time_to_import_is_called_like_any_other() {
    let place = make_repo(&[(
        "desk.py",
        "import time\n\ntime.sleep(3)\n\ndef half(n: int) -> int:\n    return n // 2\n",
    )]);
    place.write("presets.json", "[{\"SCENARIO_NAME\": \"normal\"}]");
    let half = ["--section", "desk.py::half", "--preset-file", "presets.json"];
    let report = breadth_report(&place, &[&["--repo", "repo"], &half[..]].concat());
    assert_eq!((not_importable(&report), reported_failures(&report)), (vec![], vec![]), "{report}");
    assert!(report["verdicts"]["returned"].as_u64().is_some_and(|calls| calls > 2), "{report}");
}

#[test]
fn a_package_that_is_not_installed_is_named_once_and_the_rest_runs() {
    let place = make_repo(&[
        ("desk.py", "import no_such_package.part\ndef half(n: int) -> int:\n    return n // 2\n"),
        ("shelf.py", "def third(n: int) -> int:\n    return n // 3\n"),
    ]);
    let report = breadth_report(&place, &["--repo", "repo"]);
    assert_eq!(not_importable(&report), [("desk.py", &json!("no_such_package"))]);
    // It is the machine that lacks something, not the code.
    assert_eq!(reported_failures(&report).len(), 0, "{report}");
    assert!(report["verdicts"]["returned"].as_u64().is_some_and(|calls| calls > 0), "{report}");
    let table = run_seeded(&place, &[&["--repo", "repo"][..], &BREADTH_ARGS].concat());
    assert_eq!(table.out.matches("desk.py: ModuleNotFoundError").count(), 1, "{}", table.out);
    assert!(table.out.contains("repository: no_such_package"), "{}", table.out);
}

#[test]
fn a_package_that_only_a_function_wants_is_named_once_and_costs_the_function_nothing() {
    let drawn = "def drawn(n: int) -> int:\n    import no_such_package.part\n    return n\n";
    let half = "\n\ndef half(n: int) -> int:\n    return n // 2\n";
    let load = "import importlib\n\n\ndef load(name: str) -> str:\n    \
                return importlib.import_module(name or 'math').__name__\n";
    let place = make_repo(&[("desk.py", &format!("{drawn}{half}")), ("shelf.py", load)]);
    let report = breadth_report(&place, &["--repo", "repo"]);
    // What an input asks for is no package that the repository wants.
    assert_eq!(not_importable(&report), [("desk.py", &json!("no_such_package"))]);
    let drawn_failures =
        reported_failures(&report).into_iter().filter(|one| one["section"] == "desk.py::drawn");
    assert_eq!(drawn_failures.count(), 0, "{report}");
    let modules = report["modules"].as_array().unwrap();
    let desk = modules.iter().find(|module| module["path"] == "desk.py").unwrap();
    assert_eq!(desk["metrics"]["reliability"], json!(1.0), "{desk}");
}

#[test]
fn files_that_are_no_python_are_reported_and_the_rest_runs() {
    let place = TestDirectory::with_fixture("broken");
    let report = breadth_report(&place, &["--repo", "broken"]);
    let called = report["coverage"]["called"].as_u64();
    assert!(called.is_some_and(|called| called > 0), "{report}");
    let said = report.to_string();
    assert!(said.contains("pkg/syntax.py"), "{said}");
}

#[test]
fn an_interpreter_that_does_not_exist_is_reported() {
    let place = make_repo(&[("desk.py", "def half(n: int) -> int:\n    return n // 2\n")]);
    let ran = run_seeded(&place, &["--repo", "repo", "--python", "/nowhere/python3"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("/nowhere/python3"), "{}", ran.err);
}

#[test]
fn a_data_directory_that_cannot_be_written_is_reported_before_any_call() {
    let place = make_repo(&[("desk.py", "def half(n: int) -> int:\n    return n // 2\n")]);
    place.write("file", "");
    let ran = run_seeded(&place, &["--repo", "repo", "--sandbox-data-dir", "file/data"]);
    assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
    assert!(ran.err.contains("file/data"), "{}", ran.err);
    assert_eq!(ran.out, "");
}

#[test]
fn a_preset_file_that_cannot_be_read_is_reported() {
    let place = make_repo(&[("desk.py", "def half(n: int) -> int:\n    return n // 2\n")]);
    place.write("presets.json", "[{\"CPU_LIMIT\": \"many\"}]");
    for name in ["presets.json", "nowhere.json"] {
        let ran = run_seeded(&place, &["--repo", "repo", "--preset-file", name]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(name), "{}", ran.err);
    }
    let left = fs::read_dir(place.path().join("sandbox_data")).into_iter().flatten().count();
    assert_eq!(left, 0, "a run that never began left something");
}

#[test]
fn what_is_missing_of_an_own_package_is_no_package_that_is_not_installed() {
    let place = make_repo(&[]);
    for directory in ["repo/tools", "repo/shop"] {
        fs::create_dir(place.path().join(directory)).unwrap();
    }
    place.write("repo/shop/__init__.py", "");
    place.write("repo/shop/cart.py", "def half(n: int) -> int:\n    return n // 2\n");
    place.write("repo/tools/x.py", "import shop.gone\n\ndef f() -> int:\n    return 1\n");
    let report = super::breadth_report(&place, &["--repo", "repo", "--module", "tools/x.py"]);
    assert_eq!(report["not_importable"][0]["missing"], serde_json::Value::Null, "{report}");
    assert_eq!(report["failures"][0]["kind"], "import", "{report}");
}

/// Answers as Python 2 does when it is asked for its isolated mode. A script would not do: it would
/// be asked for the program behind it.
const PYTHON2_SOURCE: &str = "\
#include <stdio.h>
int main(void) { fputs(\"Unknown option: -I\\n\", stderr); return 2; }
";

#[test]
fn an_interpreter_that_is_too_old_is_reported_with_the_version_needed() {
    let place = make_repo(&[("desk.py", "def half(n: int) -> int:\n    return n // 2\n")]);
    place.write("ancient.c", PYTHON2_SOURCE);
    let python2 = place.path().join("python2");
    let mut compiler = Command::new("cc");
    compiler.arg(place.path().join("ancient.c")).arg("-o").arg(&python2);
    assert!(compiler.status().expect("whatever links Rust compiles C").success());
    let python2 = python2.to_str().unwrap();
    let ran = run_seeded(&place, &["--repo", "repo", "--python", python2]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("Python 2") && ran.err.contains("3.8 or newer"), "{}", ran.err);
    assert_eq!(ran.out, "");
}

#[test]
fn a_full_disk_is_reported_and_loses_nothing_that_was_stored() {
    assert!(nix::unistd::geteuid().is_root(), "only root can mount a small disk: run this as root");
    let place =
        make_repo(&[("desk.py", "def first(names: list[str]) -> str:\n    return names[0]\n")]);
    fs::create_dir(place.path().join("data")).unwrap();
    // The first run has room; the second finds none.
    let script = "mount -t tmpfs -o size=4m none data && \"$0\" \"$@\" >/dev/null && \
                  { dd if=/dev/zero of=data/filler bs=4k 2>/dev/null; \"$0\" \"$@\"; \
                  echo ended $?; rm data/filler; \"$0\" failures --sandbox-data-dir data; }";
    let menace = env!("CARGO_BIN_EXE_menace");
    let data = ["--sandbox-data-dir", "data", "--repo", "repo"];
    let started = ["--mount", "sh", "-c", script, menace, "run"];
    let arguments = [&started[..], &super::SEED_ARGS, &BREADTH_ARGS, &data].concat();
    let mut command = place.with_environment(Command::new("unshare"), &arguments);
    let ran = CommandOutput::from(command.envs(SANDBOX_VARIABLES).output().unwrap());
    assert!(ran.err.contains("free some"), "{ran:?}");
    assert!(ran.out.contains("ended 1") || ran.out.contains("ended 2"), "{ran:?}");
    assert!(ran.out.contains("desk.py:2"), "{ran:?}");
}

//! `menace run` as its users meet it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::processes::{control_groups_of, descendants, is_alive, wait_until};
use crate::program::{CommandOutput, SANDBOX_VARIABLES, TestDirectory};

mod bad_input;
mod bursts;
mod call_conditions;
mod changes;
mod custom_metrics;
mod lost_sandboxes;
mod scenario_selection;
mod shared_data;
mod shared_process;

const SEED_ARGS: [&str; 4] = ["--seed", "1", "--budget", "none"];
/// Enough for what needs no depth.
const BREADTH_ARGS: [&str; 3] = ["--calls-per-cell", "2", "--no-depth"];

/// Runs with `--seed 1`, without a limit of time.
fn run_seeded(place: &TestDirectory, arguments: &[&str]) -> CommandOutput {
    place.run_with(&SANDBOX_VARIABLES, &[&["run"], &SEED_ARGS[..], arguments].concat())
}

/// The report of a broad run.
fn breadth_report(place: &TestDirectory, arguments: &[&str]) -> Value {
    run_seeded(place, &[arguments, &BREADTH_ARGS, &["--format", "json"]].concat()).json()
}

/// A repository of these files.
fn make_repo(files: &[(&str, &str)]) -> TestDirectory {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    for (name, text) in files {
        place.write(&format!("repo/{name}"), text);
    }
    place
}

/// Numbers that clocks decide on, and names that are new each time.
fn mask_clock_values(report: &Value) -> Value {
    const CLOCK_METRICS: [&str; 14] = [
        "worst_scenario",
        "roi",
        "roi_delta",
        "raroi",
        "run_id",
        "elapsed_s",
        "timing_calls",
        "efficiency",
        "throughput",
        "energy_consumption",
        "recovery_time",
        "profitability",
        "network_latency",
        "projected_lucrativity",
    ];
    match report {
        Value::Object(fields) => fields
            .iter()
            // Conclusions rest on all of these numbers.
            .filter(|(name, _)| *name != "decisions")
            .map(|(name, value)| {
                let bare = name.strip_prefix("synergy_").unwrap_or(name);
                let is_measured =
                    CLOCK_METRICS.contains(&bare) && !value.is_object() && !value.is_null();
                let value = if is_measured { json!("[…]") } else { mask_clock_values(value) };
                (name.clone(), value)
            })
            .collect(),
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(mask_clock_values).collect();
            // Modules are ordered by what they are worth.
            items.sort_by_key(|item| item["path"].as_str().map(str::to_owned));
            Value::Array(items)
        }
        other => other.clone(),
    }
}

fn reported_failures(report: &Value) -> Vec<&Value> {
    report["failures"].as_array().unwrap().iter().collect()
}

#[test]
fn the_report_of_a_small_shop_for_people_and_for_machines() {
    let place = TestDirectory::with_fixture("bookshop");
    let before = place.files("bookshop");
    let both = ["--repo", "bookshop", "--out", "report.json"];
    let ran = run_seeded(&place, &[&both[..], &BREADTH_ARGS].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for line in ran.out.lines() {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
    assert_eq!(ran.out.matches("<== WORST").count(), 1, "{}", ran.out);

    let report = fs::read_to_string(place.path().join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    for field in ["roi", "elapsed_s"] {
        assert!(report[field].as_f64().is_some_and(f64::is_finite), "{field}: {}", report[field]);
    }
    let calls: u64 =
        report["verdicts"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(report["calls"], calls, "{}", report["verdicts"]);
    assert_eq!(place.files("bookshop"), before, "the repository was changed");
}

#[test]
fn a_query_that_the_shop_builds_from_text_and_an_average_of_nothing_are_found() {
    let place = TestDirectory::with_fixture("bookshop");
    let query = "bookshop/storage/database.py::Database.find_by_title";
    let average = "bookshop/pricing.py::discount";
    let sections = ["--section", query, "--section", average];
    let arguments = ["--repo", "bookshop", "--calls-per-cell", "2", "--format", "json"];
    let report = run_seeded(&place, &[&arguments[..], &sections].concat()).json();
    let found = reported_failures(&report);
    let find_by_kind = |kind: &str| found.iter().find(|one| one["kind"] == kind);
    assert_eq!(
        find_by_kind("injection").map(|one| &one["section"]),
        Some(&json!(query)),
        "{report}"
    );
    let unhandled = find_by_kind("unhandled").map(|one| (&one["section"], &one["exception"]));
    let expected = (&json!(average), &json!("ZeroDivisionError"));
    assert_eq!(unhandled, Some(expected), "{report}");
    let failure_lines = found.iter().map(|one| {
        let field = |name: &str| one[name].as_str().unwrap();
        [field("id"), field("kind"), field("scenario"), field("section"), field("location")]
            .join("  ")
    });
    insta::assert_snapshot!("failures_of_the_shop", failure_lines.collect::<Vec<_>>().join("\n"));
    // The calls of the run are those that were stored, but for what is filed beside them.
    let stored =
        crate::store_contents::read_call_counts(&place.path().join("sandbox_data/menace.db"));
    let sum = |is_beside: bool| -> u64 {
        let found = stored.iter().filter(|one| {
            (one.scenario == menace_store::OutsideCellScenario::Auxiliary.as_str()) == is_beside
        });
        found.map(|one| one.count).sum()
    };
    assert_eq!(report["calls"], sum(false), "{stored:?}");
    assert!(report["timing_calls"].as_u64().is_some_and(|timing| timing <= sum(true)), "{report}");
}

#[test]
fn the_same_seed_gives_the_same_report_however_many_calls_are_made_at_once() {
    let arguments = ["--module", "ferry/words.py", "--format", "json", "--repo", "sound"];
    let report = |seed, jobs| {
        let place = TestDirectory::with_fixture("sound");
        let own = ["run", "--budget", "none", "--seed", seed, "--jobs", jobs];
        let arguments = [&own[..], &arguments].concat();
        mask_clock_values(&place.run_with(&SANDBOX_VARIABLES, &arguments).json())
    };
    let (first, again, other) = (report("5", "1"), report("5", "4"), report("6", "2"));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn what_is_written_to_a_file_is_the_report_whatever_is_printed() {
    let place = make_repo(&[("desk.py", "def half(n: int) -> int:\n    return n // 2\n")]);
    let written = |format| {
        let arguments = ["--repo", "repo", "--format", format, "--out", "report.json"];
        let ran = run_seeded(&place, &[&arguments[..], &BREADTH_ARGS].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let text = fs::read_to_string(place.path().join("report.json")).unwrap();
        (ran.out, serde_json::from_str::<Value>(&text).unwrap())
    };
    let (printed, report) = written("json");
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), report);
    let (_, report) = written("table");
    assert_eq!((&report["version"], &report["status"]), (&json!(1), &json!("finished")));
}

const WEAK_MODULE: &str = "def first(names: list[str]) -> str:\n    return names[0]\n";

#[test]
fn failures_have_a_name_a_place_and_an_input() {
    let place = make_repo(&[("desk.py", WEAK_MODULE)]);
    let report = breadth_report(&place, &["--repo", "repo"]);
    let failures = reported_failures(&report);
    assert_eq!(failures.len(), 1, "{report}");
    let failure = failures[0];
    assert_eq!(failure["section"], "desk.py::first");
    assert_eq!(failure["location"], "desk.py:2");
    assert_eq!(failure["kind"], "unhandled");
    assert_eq!(failure["exception"], "IndexError", "{failure}");
    assert_eq!(failure["new"], true);
    assert!(failure["input"].as_str().is_some_and(|input| input.contains("[]")), "{failure}");
}

/// One section that breaks and one that does not.
fn make_two_module_repo() -> TestDirectory {
    make_repo(&[
        ("desk.py", WEAK_MODULE),
        ("shelf.py", "def half(n: int) -> int:\n    return n // 2\n"),
    ])
}

#[test]
fn the_report_of_two_modules_reads_like_this_for_machines() {
    let report = breadth_report(&make_two_module_repo(), &["--repo", "repo"]);
    insta::assert_json_snapshot!("two_modules_as_json", mask_clock_values(&report));
}

/// Every number that a clock decides on becomes `#`, and rows that such numbers sort are sorted by
/// name.
fn mask_numbers(table: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in table.lines() {
        let worst = line.replace("<== WORST", "").trim_end().to_owned();
        let words = worst.split_inclusive(' ').map(|word| {
            let number = word.trim_end();
            let is_measured = number.contains('.') && number.parse::<f64>().is_ok();
            if is_measured {
                word.replace(number, &"#".repeat(number.len()))
            } else {
                word.to_owned()
            }
        });
        let line: String = words.collect();
        lines.push(line.split(" · run ").next().unwrap_or_default().to_owned());
    }
    let end = lines[0].find(" in ").unwrap_or(lines[0].len());
    lines[0].truncate(end);
    let is_scenario = |line: &String| line.contains('#') && !line.contains(".py");
    let mut scenarios: Vec<String> =
        lines.iter().skip(2).filter(|line| is_scenario(line)).cloned().collect();
    scenarios.sort();
    let mut scenarios = scenarios.into_iter();
    for line in lines.iter_mut().skip(2).filter(|line| is_scenario(line)) {
        *line = scenarios.next().unwrap_or_default();
    }
    lines.join("\n")
}

#[test]
fn the_report_of_two_modules_reads_like_this_for_people() {
    let ran =
        run_seeded(&make_two_module_repo(), &[&["--repo", "repo"][..], &BREADTH_ARGS].concat());
    assert_eq!(ran.out.matches("<== WORST").count(), 1, "{}", ran.out);
    insta::assert_snapshot!("two_modules_as_a_table", mask_numbers(&ran.out));
}

#[test]
fn failures_can_fail_a_pipeline() {
    let place = make_repo(&[("desk.py", WEAK_MODULE)]);
    let arguments = [&["--repo", "repo"][..], &BREADTH_ARGS].concat();
    let with = |policy| run_seeded(&place, &[&arguments[..], &["--fail-on", policy]].concat());
    let first = with("new");
    assert_eq!(first.code, Some(3), "{}", first.err);
    let why = "1 new failure: --fail-on new ends with exit code 3";
    assert!(first.err.contains(why), "{}", first.err);
    // By now it is known.
    let second = with("new");
    assert_eq!((second.code, second.err.contains("exit code")), (Some(0), false), "{}", second.err);
    let third = with("any");
    assert_eq!(third.code, Some(3), "{}", third.err);
    place.write(
        "repo/desk.py",
        "def first(names: list[str]) -> str:\n    return ''.join(names[:1])\n",
    );
    let fixed = with("any");
    assert_eq!(fixed.code, Some(0), "{}", fixed.err);
}

#[test]
fn the_table_of_many_cycles_says_which_one_it_is_of() {
    let place = make_repo(&[("desk.py", "def half(n: int) -> int:\n    return n // 2\n")]);
    let ran = run_seeded(&place, &[&["--repo", "repo", "--runs", "2"][..], &BREADTH_ARGS].concat());
    let head: Vec<&str> = ran.out.lines().take(2).collect();
    assert!(head[0].contains(" s, 2 cycles · seed 1"), "{}", ran.out);
    assert!(head[1].ends_with(" · ROI and the tables are of the last cycle"), "{}", ran.out);
}

#[test]
fn every_cycle_is_in_the_history() {
    let place = make_repo(&[("desk.py", "def half(n: int) -> int:\n    return n // 2\n")]);
    let report = breadth_report(&place, &["--repo", "repo", "--runs", "3"]);
    assert_eq!(report["cycles"], 3);
    let history = fs::read_to_string(place.path().join("sandbox_data/roi_history.json")).unwrap();
    let history: Value = serde_json::from_str(&history).unwrap();
    assert_eq!(history["roi_history"].as_array().map(Vec::len), Some(3), "{history}");
    // Nothing has changed, and generated presets are what they were: otherwise there would be no
    // deltas.
    let deltas = &history["scenario_roi_deltas"]["random_1"];
    assert_eq!(deltas.as_array().map(Vec::len), Some(2), "{history}");
    // What is made of no clock is the same, of every scenario: it had the same inputs.
    let is_counted = |key: &&String| {
        let metric = key.rsplit_once(':').map(|(_, metric)| metric);
        let counted = ["reliability", "resilience", "safety_rating", "risk_index", "flexibility"];
        metric.is_some_and(|metric| counted.contains(&metric))
    };
    let metrics = history["metrics_history"].as_object().unwrap();
    assert!(metrics.contains_key("user_misuse:resilience"), "{history}");
    for key in metrics.keys().filter(is_counted) {
        let values: Vec<f64> =
            metrics[key].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
        assert!(
            values.len() == 3 && values.iter().all(|one| (one - values[0]).abs() < 1e-9),
            "{key}: {values:?}"
        );
    }
}

#[test]
fn flagged_modules_are_left_out_until_the_flags_are_reset() {
    let half = "def half(n: int) -> int:\n    return n // 2\n";
    let place = make_repo(&[("desk.py", half), ("shelf.py", half)]);
    fs::create_dir(place.path().join("sandbox_data")).unwrap();
    place.write("sandbox_data/roi.flags", "desk.py\n");
    let called = |report: &Value| {
        let modules = report["modules"].as_array().unwrap().iter();
        let called = modules.filter(|module| module["flagged"] == false);
        called.map(|module| module["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let report = breadth_report(&place, &["--repo", "repo"]);
    assert_eq!(called(&report), ["shelf.py"]);
    let warning = "left out because they have converged: 1 module; --reset-flags begins again";
    assert_eq!(report["warnings"], json!([warning]));
    let mut all = called(&breadth_report(&place, &["--repo", "repo", "--reset-flags"]));
    all.sort();
    assert_eq!(all, ["desk.py", "shelf.py"]);
    let flags = fs::read_to_string(place.path().join("sandbox_data/roi.flags"));
    assert!(!flags.unwrap_or_default().contains("desk.py"));
}

#[test]
fn a_run_that_calls_nothing_has_no_roi() {
    let half = "def half(n: int) -> int:\n    return n // 2\n";
    let place = make_repo(&[("desk.py", half), ("shelf.py", half)]);
    breadth_report(&place, &["--repo", "repo"]);
    place.write("sandbox_data/roi.flags", "desk.py\nshelf.py\n");
    let report = breadth_report(&place, &["--repo", "repo"]);
    assert_eq!((&report["calls"], &report["roi"]), (&json!(0), &Value::Null), "{report}");
    assert!(
        report["warnings"].to_string().contains("converged: 2 modules; --reset-flags"),
        "{report}"
    );
    let table = run_seeded(&place, &[&["--repo", "repo"][..], &BREADTH_ARGS].concat());
    assert!(table.out.contains("\nROI – · "), "{}", table.out);
    assert_eq!(table.out.matches("left out").count(), 2, "{}", table.out);
    // Later commands read it back.
    let read: menace_store::RunReport = serde_json::from_value(report).unwrap();
    assert_eq!(read.roi, None);
}

#[test]
fn a_run_that_is_cut_short_says_what_was_not_covered() {
    let place = TestDirectory::with_fixture("sound");
    let arguments = ["run", "--repo", "sound", "--seed", "1", "--budget", "1s", "--format", "json"];
    let report = place.run_with(&SANDBOX_VARIABLES, &arguments).json();
    assert_eq!(report["status"], "cut_short");
    assert!(!report["not_covered"].as_array().unwrap().is_empty(), "{report}");
    // Among one there is no worst.
    let scenarios = report["scenarios"].as_array().unwrap().len();
    assert_eq!(report["worst_scenario"].is_null(), scenarios < 2, "{report}");
    // It compares with nothing, and goes into no history.
    let data = place.path().join("sandbox_data");
    for (file, table) in [("metrics.db", "metrics"), ("synergy_history.db", "synergy_history")] {
        let connection = rusqlite::Connection::open(data.join(file)).unwrap();
        let count = format!("SELECT count(*) FROM {table}");
        let rows: i64 = connection.query_row(&count, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0, "{file}");
    }
}

/// Its calls take their time, so that exploring it takes far longer than calling it a few times.
const SLOW_MODULE: &str = "\
import time


def half(n: int, of: int, name: str, rest: list[int]) -> int:
    time.sleep(0.2)
    return n // of if of and name and rest else 0
";

#[test]
fn a_run_whose_depth_alone_is_cut_short_compares_with_the_one_before() {
    let place = make_repo(&[("desk.py", SLOW_MODULE)]);
    place.write("presets.json", "[{\"SCENARIO_NAME\": \"normal\"}]");
    let report = || {
        let arguments = ["run", "--repo", "repo", "--seed", "1", "--budget", "11s", "--jobs", "2"];
        let short = ["--calls-per-cell", "1", "--section", "desk.py::half", "--format", "json"];
        place.run_with(&SANDBOX_VARIABLES, &[&arguments[..], &short].concat()).json()
    };
    let cut = |report: &Value| report["not_covered"].as_array().unwrap().clone();
    let (first, second) = (report(), report());
    for report in [&first, &second] {
        let missed = json!([{"kind": "depth", "sections": 1, "ids": ["desk.py::half"]}]);
        assert_eq!((&report["status"], Value::Array(cut(report))), (&json!("cut_short"), missed));
    }
    assert_eq!(first["roi_delta"], Value::Null);
    assert!(second["roi_delta"].is_number(), "{second}");
    let history = fs::read_to_string(place.path().join("sandbox_data/roi_history.json")).unwrap();
    let history: Value = serde_json::from_str(&history).unwrap();
    assert_eq!(history["roi_history"].as_array().map(Vec::len), Some(2), "{history}");
    let about = history["selection"].as_str().unwrap_or_default();
    assert!(about.ends_with("depth cut short"), "{about}");
}

#[test]
fn calls_that_show_a_failure_come_first_and_those_of_other_cycles_not_at_all() {
    let place = make_repo(&[("desk.py", WEAK_MODULE)]);
    let report = breadth_report(&place, &["--repo", "repo", "--runs", "2"]);
    let found = reported_failures(&report)[0];
    let explained = place
        .run_with(&SANDBOX_VARIABLES, &["explain", "desk.py::first", "--format", "json"])
        .json();
    let calls = explained["calls"].as_array().unwrap();
    assert!(calls.iter().all(|call| call["cell"]["cycle"] == 1), "{explained}");
    let shows = |call: &Value| call["failure"] == found["id"];
    assert!(shows(&calls[0]), "{explained}");
    let failing_calls = calls.iter().filter(|call| shows(call)).count() as u64;
    assert!(failing_calls > 0 && failing_calls < found["count"].as_u64().unwrap(), "{found}");
    // One of each cycle was made again to be sure, which is no call of a cell.
    let is_again = |call: &&Value| shows(call) && call["cell"]["scenario"] == "auxiliary";
    assert_eq!(calls.iter().filter(is_again).count(), 1, "{explained}");
}

/// What a later command says of a failure that a run has found.
#[test]
fn a_failure_can_be_looked_at_and_made_again() {
    let place = make_repo(&[("desk.py", WEAK_MODULE)]);
    let report = breadth_report(&place, &["--repo", "repo"]);
    let id = reported_failures(&report)[0]["id"].as_str().unwrap().to_owned();
    let on = |arguments: &[&str]| place.run_with(&SANDBOX_VARIABLES, arguments);
    let listed = on(&["failures", "--format", "json"]).json();
    assert!(listed.to_string().contains(&id), "{listed}");
    let shown = on(&["show", &id]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    for said in ["desk.py:2", "IndexError", "return names[0]"] {
        assert!(shown.out.contains(said), "no {said} in {}", shown.out);
    }
    let again = on(&["repro", &id, "--repo", "repo"]);
    assert!(again.out.contains("still fails"), "{again:?}");
    let shrunk = on(&["shrink", &id, "--repo", "repo"]);
    assert_eq!(shrunk.code, Some(0), "{}", shrunk.err);
    let explained = on(&["explain", "desk.py"]);
    assert!(explained.out.contains("reliability"), "{explained:?}");
    place.write(
        "repo/desk.py",
        "def first(names: list[str]) -> str:\n    return ''.join(names[:1])\n",
    );
    let fixed = on(&["repro", &id, "--repo", "repo"]);
    assert!(!fixed.out.contains("still fails"), "{fixed:?}");
}

#[test]
fn exported_tests_name_the_section_and_the_exception() {
    let place = make_repo(&[("desk.py", WEAK_MODULE)]);
    breadth_report(&place, &["--repo", "repo"]);
    let exported =
        place.run_with(&SANDBOX_VARIABLES, &["export-tests", "--repo", "repo", "--out", "tests"]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    let files = place.files("tests");
    let tests: Vec<_> = files.iter().filter(|(path, _)| is_test(path)).collect();
    assert_eq!(tests.len(), 1, "{files:?}");
    let text = String::from_utf8_lossy(&tests[0].1);
    assert!(text.contains("IndexError") && text.contains("first"), "{text}");

    // From anywhere: it fails as the section does, and finding nothing is no way to pass.
    let elsewhere = tempfile::tempdir().unwrap();
    let pytest = || {
        let mut command = std::process::Command::new(crate::failures::venv_python());
        command.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(&tests[0].0);
        let output = command.current_dir(elsewhere.path()).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (passed, said) = pytest();
    assert!(!passed && said.contains("IndexError: list index out of range"), "{said}");
    place.write("repo/desk.py", "import nothing_like_this\n");
    let (passed, said) = pytest();
    assert!(!passed && said.contains("No module named 'nothing_like_this'"), "{said}");
    place.write("repo/desk.py", "def last(names: list[str]) -> str:\n    return ''\n");
    let (passed, said) = pytest();
    assert!(!passed && said.contains("desk.py has no first"), "{said}");
    fs::remove_file(place.path().join("repo/desk.py")).unwrap();
    let (passed, said) = pytest();
    assert!(!passed && said.contains("desk.py is neither above this file"), "{said}");
    place.write("repo/desk.py", "def first(names: list[str]) -> str:\n    return ''\n");
    let (passed, said) = pytest();
    assert!(passed, "{said}");
}

fn is_test(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("test_"))
}

/// Makes every file and directory below a path read-only.
fn make_read_only(path: &Path) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            make_read_only(&path);
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        }
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o555)).unwrap();
}

#[test]
fn a_checkout_that_cannot_be_written_is_run_like_any_other() {
    let place = make_repo(&[("desk.py", WEAK_MODULE)]);
    make_read_only(&place.path().join("repo"));
    let arguments = ["run", "--repo", "repo", "--sandbox-data-dir", "data", "--format", "json"];
    let mut command =
        place.unprivileged_command(&[&arguments[..], &SEED_ARGS, &BREADTH_ARGS].concat());
    let ran =
        CommandOutput::from(command.envs(SANDBOX_VARIABLES).stdin(Stdio::null()).output().unwrap());
    let report = ran.json();
    assert_eq!(reported_failures(&report).len(), 1, "{report}");
}

/// How many failures are stored; none as long as there is no database.
fn count_stored_failures(place: &TestDirectory) -> u64 {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let database = place.path().join("sandbox_data/menace.db");
    let read = || {
        let connection = rusqlite::Connection::open_with_flags(database, flags)?;
        connection.query_row("SELECT count(*) FROM failures", [], |row| row.get::<_, i64>(0))
    };
    read().unwrap_or_default().cast_unsigned()
}

#[test]
fn an_interrupted_run_says_what_it_has_kept() {
    let nap = "import time\ndef nap(n: int) -> int:\n    time.sleep(30)\n    return n\n";
    let place = make_repo(&[("desk.py", WEAK_MODULE), ("late.py", nap)]);
    fs::create_dir(place.path().join("sandbox_data")).unwrap();
    place.write("sandbox_data/roi_history.json", "{");
    let mut command =
        place.command(&[&["run", "--repo", "repo"], &SEED_ARGS[..], &BREADTH_ARGS].concat());
    command.envs(SANDBOX_VARIABLES).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    assert!(
        wait_until(Duration::from_mins(1), || count_stored_failures(&place) > 0),
        "nothing was found"
    );
    let pid = child.id();
    let processes = descendants(pid.cast_signed());
    let asked = Instant::now();
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGINT).unwrap();
    let ran = CommandOutput::from(child.wait_with_output().unwrap());
    let took = asked.elapsed();
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""), "{}", ran.err);
    assert!(took < Duration::from_secs(1), "it took {took:?}");
    let left: Vec<_> = processes.into_iter().filter(|pid| is_alive(*pid)).collect();
    assert_eq!((left, control_groups_of(pid)), (Vec::new(), Vec::new()));
    assert!(ran.err.contains("interrupted") && ran.err.contains("failure"), "{}", ran.err);
    assert!(
        ran.err.contains("roi_history.json.corrupt-1"),
        "damage is reported at once: {}",
        ran.err
    );
    let page = fs::read_to_string(place.path().join("sandbox_data/report.html")).unwrap();
    assert!(page.contains("interrupted") && page.contains("IndexError"), "{page}");
    assert!(ran.err.contains("report.html` shows it"), "{}", ran.err);
    let listed = place.run_with(&SANDBOX_VARIABLES, &["failures", "--all"]);
    assert!(listed.out.contains("desk.py:2"), "{listed:?}");
}

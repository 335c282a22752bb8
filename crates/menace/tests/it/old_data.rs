//! Databases, histories and exported tests of the version before the renames still work.

use std::fs;
use std::process::Command;

use menace_store::{BorderlineBucket, BorderlineStatus, ModuleFlagsFile, RunReport, SkippedStage};
use menace_track::RoiHistory;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::failures::venv_python;
use crate::program::{CommandOutput, SANDBOX_VARIABLES, TestDirectory};

const OLD_RUN: &str = "r-20261118-150822-44c7";
const OLD_FAILURES: [(&str, u64); 3] =
    [("f7423bb5ab6", 50), ("f169fc14576", 44), ("fd7873eb9c7", 10)];

/// A copy of the bookshop, and of the old data in the data directory.
fn old_data() -> TestDirectory {
    let place = TestDirectory::with_fixture("bookshop");
    place.copy_fixture("old-data", "sandbox_data");
    place
}

fn run_command(place: &TestDirectory, arguments: &[&str]) -> CommandOutput {
    let ran = place.run_with(&SANDBOX_VARIABLES, arguments);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
    assert_eq!(ran.err, "", "{arguments:?}");
    ran
}

fn read_json(place: &TestDirectory, file: &str) -> Value {
    let text = fs::read_to_string(place.path().join("sandbox_data").join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn failure_counts(place: &TestDirectory) -> Vec<(String, u64)> {
    let listed = run_command(place, &["failures", "--format", "json"]).json();
    let rows = listed.as_array().or_else(|| listed["failures"].as_array()).unwrap().iter();
    rows.map(|row| (row["id"].as_str().unwrap().to_owned(), row["count"].as_u64().unwrap()))
        .collect()
}

#[test]
fn failures_of_an_old_database_are_listed_shown_and_reproduced() {
    let place = old_data();
    assert_eq!(failure_counts(&place), OLD_FAILURES.map(|(id, count)| (id.to_owned(), count)));
    let shown = run_command(&place, &["show", "f169", "--format", "json"]).json();
    let failure = &shown["failure"];
    assert_eq!(failure["call"]["target"]["kind"], "function");
    let frames = failure["outcome"]["exception"]["frames"].as_array().unwrap();
    assert_eq!(
        frames[1],
        json!({"file": "bookshop/pricing.py", "line": 25, "function": "discount",
               "in_repository": true})
    );
    let shown = run_command(&place, &["show", "f7423"]).out;
    assert!(shown.contains("parse_price('hello world')"), "{shown}");
    assert!(shown.contains("parse_price('')"), "no shrunk call in {shown}");
    assert!(shown.contains("50× in 1 run"), "{shown}");
    for (id, _) in OLD_FAILURES {
        let repeated = run_command(&place, &["repro", id, "--repo", "bookshop"]).out;
        assert!(repeated.contains("it still fails"), "{repeated}");
    }
}

#[test]
fn the_summary_of_an_old_run_becomes_a_report_with_its_decisions() {
    let place = old_data();
    run_command(&place, &["report", "--out", "report.html"]);
    let page = fs::read_to_string(place.path().join("report.html")).unwrap();
    let counts = ["<dd>50, first in", "<dd>44, first in", "<dd>10, first in"];
    for expected in [OLD_RUN, "<dd>1,012<span", "2 cycles"].into_iter().chain(counts) {
        assert!(page.contains(expected), "no {expected:?} in the report");
    }
    assert_eq!(page.matches("<span class=\"chip new\">").count(), OLD_FAILURES.len());
    let database = Connection::open(place.path().join("sandbox_data/menace.db")).unwrap();
    let summary: String =
        database.query_row("SELECT summary FROM runs", [], |row| row.get(0)).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let report: RunReport = serde_json::from_value(summary.clone()).unwrap();
    assert_eq!(report.calls, 1012);
    let bottlenecks = &serde_json::to_value(&report).unwrap()["decisions"]["bottlenecks"];
    assert_eq!(*bottlenecks, summary["decided"]["bottlenecks"]);
}

#[test]
fn old_histories_are_ranked_forecast_and_explained() {
    let place = old_data();
    let history = "sandbox_data/roi_history.json";
    for (arguments, expected) in [
        (&["roi", "rank", history][..], "bookshop/pricing.py ROI=0.61 RAROI=0.50 gain=-0.008"),
        (&["roi", "forecast", history], "the mean of 2 cycles is 0.626"),
        (&["rank", "scenarios", history], "user_misuse ROI=1.00 security_score=0.85"),
        (&["synergy", "metrics"], "synergy_throughput latest=49248.8694 ema=46891.7556"),
        (&["explain", "bookshop/pricing.py"], "r-20261118-150822-44c7, cycle 2"),
        (&["explain", "bookshop/pricing.py"], "0.6062"),
    ] {
        let printed = run_command(&place, arguments).out;
        assert!(printed.contains(expected), "no {expected:?} in {printed}");
    }
}

#[test]
fn a_run_continues_old_histories() {
    let place = old_data();
    let before = read_json(&place, "roi_history.json");
    let old_foresight = read_json(&place, "foresight.json");
    let short = ["run", "--repo", "bookshop", "--seed", "1", "--budget", "none", "--no-depth"];
    let selection = ["--module", "bookshop/pricing.py", "--module", "bookshop/web/*"];
    let output = ["--calls-per-cell", "2", "--format", "json"];
    let arguments = [&short[..], &selection, &output].concat();
    let report = place.run_with(&SANDBOX_VARIABLES, &arguments).json();

    let after = read_json(&place, "roi_history.json");
    assert_eq!(after["cycles"], 3);
    let old_roi = before["roi_history"].as_array().unwrap();
    let new_roi = after["roi_history"].as_array().unwrap();
    assert_eq!(new_roi[..2], old_roi[..]);
    let delta = new_roi[2].as_f64().unwrap() - old_roi[1].as_f64().unwrap();
    assert!((report["roi_delta"].as_f64().unwrap() - delta).abs() < 1e-9, "{report}");
    let foresight = read_json(&place, "foresight.json");
    for (workflow, old) in old_foresight.as_object().unwrap() {
        assert_eq!(old["seen"], 2);
        assert_eq!(foresight[workflow]["recorded_cycles"], 3, "{workflow}");
        assert_eq!(foresight[workflow]["history"][0], old["history"][0], "{workflow}");
    }
    let synergy = Connection::open(place.path().join("sandbox_data/synergy_history.db")).unwrap();
    let entries: i64 =
        synergy.query_row("SELECT count(*) FROM synergy_history", [], |row| row.get(0)).unwrap();
    assert_eq!(entries, 3);
    // The failures of the old run are the same ones for the new run.
    let counts = failure_counts(&place);
    for (id, old_count) in OLD_FAILURES {
        let count = counts.iter().find(|(known, _)| known == id).map(|(_, count)| *count);
        assert!(count > Some(old_count), "{id}: {counts:?}");
        let failures = report["failures"].as_array().unwrap();
        let failure = failures.iter().find(|failure| failure["id"] == id).unwrap();
        assert_eq!(failure["new"], false, "{failure}");
    }
}

#[test]
fn old_exported_tests_still_fail_and_are_replaced_by_a_new_export() {
    let place = old_data();
    let tests = place.path().join("bookshop/tests/menace");
    fs::create_dir_all(tests.parent().unwrap()).unwrap();
    fs::rename(place.path().join("sandbox_data/exported"), &tests).unwrap();
    let output = Command::new(venv_python())
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", "tests/menace"])
        .current_dir(place.path().join("bookshop"))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("3 failed"), "{printed}");
    assert!(!printed.contains("passed") && !printed.contains("error"), "{printed}");

    let analysis = run_command(&place, &["analyze", "--repo", "bookshop", "--format", "json"]).out;
    assert!(!analysis.contains("test_menace_bookshop_pricing"), "{analysis}");
    let exported =
        run_command(&place, &["export-tests", "--repo", "bookshop", "--format", "json"]).json();
    assert_eq!(exported["not_exported"], json!([]));
    assert_eq!(exported["files"].as_array().unwrap().len(), 2, "{exported}");
}

/// Data of runs under faults, with upstream requests, a hang and a time limit.
fn old_runs_under_faults() -> TestDirectory {
    let place = TestDirectory::with_fixture("bookshop");
    place.copy_fixture("old-data/stalls", "sandbox_data");
    place
}

fn old_failure(place: &TestDirectory, id: &str) -> Value {
    run_command(place, &["show", id, "--format", "json"]).json()["failure"].take()
}

#[test]
fn faults_and_upstream_requests_of_an_old_database_are_shown() {
    let place = old_runs_under_faults();
    let failure = old_failure(&place, "f74f364cab7");
    assert_eq!(
        failure["call"]["conditions"]["faults"],
        json!([{"mode": "flaky_upstream", "trigger": {"rate": 1.0}}])
    );
    let stats = &failure["outcome"]["fault_stats"][0];
    assert_eq!((&stats["opportunities"], &stats["injected"]), (&json!(1), &json!(1)), "{stats}");
    let request = &failure["outcome"]["upstream"]["requests"][0];
    assert_eq!(request["request"], "GET http://rates.example.com/v1/buy/EUR");

    let disk = old_failure(&place, "f4bd76d43d0");
    assert_eq!(disk["call"]["conditions"]["faults"][0]["trigger"], json!({"nth": 2}));
    assert_eq!(disk["outcome"]["fault_stats"][0]["injected"], 1);
    assert!(run_command(&place, &["show", "f74f"]).out.contains("rates.example.com"));
}

#[test]
fn a_hang_and_what_calls_leaked_are_shown_from_an_old_database() {
    let place = old_runs_under_faults();
    let hang = old_failure(&place, "faa6c49cc2d");
    let frame = &hang["outcome"]["hang_location"]["frames"][0];
    assert_eq!(
        frame,
        &json!({"file": "workers/queues.py", "line": 19, "function": "shout_all",
                "in_repository": true})
    );
    assert_eq!(hang["outcome"]["hang_location"]["loop_frames"], json!([]));
    let leak = old_failure(&place, "f7b11fbbcc2");
    assert_eq!(leak["outcome"]["leaked"]["threads"], json!(["Thread-1 (work)"]));
    assert!(leak["outcome"]["state_changes"].is_object(), "{leak}");
}

#[test]
fn skipped_stages_reasons_and_decisions_of_old_runs_are_read() {
    let place = old_runs_under_faults();
    let data = place.path().join("sandbox_data");
    let report: RunReport = serde_json::from_value(read_json(&place, "report.json")).unwrap();
    let skipped: Vec<_> = report.skipped_stages.iter().map(|stage| &stage.kind).collect();
    assert!(skipped.contains(&&SkippedStage::SharedRun), "{skipped:?}");
    assert!(skipped.contains(&&SkippedStage::Depth), "{skipped:?}");

    run_command(&place, &["report", "--out", "report.html"]);
    let database = Connection::open(data.join("menace.db")).unwrap();
    let mut runs = database.prepare("SELECT summary FROM runs").unwrap();
    let summaries = runs.query_map([], |row| row.get::<_, String>(0)).unwrap();
    for summary in summaries {
        let report: RunReport = serde_json::from_str(&summary.unwrap()).unwrap();
        assert!(
            report.uncallable_sections[0].reason.contains("shout_all"),
            "{:?}",
            report.uncallable_sections
        );
        assert!(report.decisions.is_some());
    }
    let count_names = |name: &str| -> i64 {
        let sql = "SELECT count(*) FROM names WHERE text = ?1";
        database.query_row(sql, [name], |row| row.get(0)).unwrap()
    };
    assert_eq!((count_names("beside"), count_names("auxiliary")), (0, 1));
}

#[test]
fn predictions_of_plugins_are_read_from_an_old_history() {
    let place = old_runs_under_faults();
    let old = read_json(&place, "roi_history.json");
    let history: RoiHistory = serde_json::from_value(old.clone()).unwrap();
    let predictions = serde_json::to_value(&history.external_predictions).unwrap();
    assert_eq!(predictions, json!({"plugin:prophet": {"reliability": 0.25}}));
    assert_eq!(predictions, old["heard"]);
}

#[test]
fn old_files_of_borderline_workflows_and_flags_are_read() {
    let place = old_runs_under_faults();
    let data = place.path().join("sandbox_data");
    let bucket = BorderlineBucket::new(&data.join("borderline_bucket.jsonl"));
    let (candidates, notice) = bucket.modules().unwrap();
    assert!(notice.is_none());
    assert_eq!(candidates.len(), 3);
    assert!(candidates.iter().all(|one| one.status == BorderlineStatus::Terminated));
    let (flagged, notice) =
        ModuleFlagsFile::new(&data.join("roi.flags")).flagged_modules().unwrap();
    assert!(notice.is_none());
    assert_eq!(flagged.len(), 3);
    assert!(flagged.contains("workers/queues.py"), "{flagged:?}");
}

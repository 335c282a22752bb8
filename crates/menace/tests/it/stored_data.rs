//! Commands that look at what runs have kept: they change nothing, and say what is so.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use menace_track::stats::forecast_calibrator::{DriftLimits, ForecastCalibrator};
use serde_json::{Value, json};

use crate::program::{CommandOutput, SANDBOX_VARIABLES, TestDirectory};

const WEAK_MODULE: &str = "def first(names: list[str]) -> str:\n    return names[0]\n";
const OTHER_WEAK_MODULE: &str =
    "def first(names: list[str]) -> str:\n    return {}['x'] + names[-1]\n";

fn make_repo(source: &str) -> TestDirectory {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    place.write("repo/desk.py", source);
    place
}

fn run_command(place: &TestDirectory, arguments: &[&str]) -> CommandOutput {
    place.run_with(&SANDBOX_VARIABLES, arguments)
}

/// A short run, with more arguments.
fn short_run(place: &TestDirectory, arguments: &[&str]) -> CommandOutput {
    let short =
        ["run", "--repo", "repo", "--seed", "1", "--budget", "none", "--no-depth"].as_slice();
    run_command(place, &[short, &["--calls-per-cell", "2"], arguments].concat())
}

/// The report of a short run.
fn short_run_report(place: &TestDirectory) -> Value {
    short_run(place, &["--format", "json"]).json()
}

fn only_failure(report: &Value) -> String {
    let failures = report["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{report}");
    failures[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_damaged_history_stays_where_it_is() {
    let place = TestDirectory::new();
    place.write("history.json", "{\"roi_history\": [1,");
    let before = place.files(".");
    for command in [
        &["roi", "rank", "history.json"][..],
        &["rank", "scenarios", "history.json"],
        &["synergy", "metrics", "--file", "history.json"],
    ] {
        let ran = place.run(command);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("`history.json` is no history"), "{}", ran.err);
        assert!(ran.err.contains("EOF"), "no reason in {}", ran.err);
        assert_eq!(place.files("."), before, "{command:?}");
    }
}

#[test]
fn tests_are_written_into_the_repository_of_the_run() {
    let place = make_repo(WEAK_MODULE);
    let id = only_failure(&short_run_report(&place));
    let explained = run_command(&place, &["explain", "desk:first", "--format", "json"]).json();
    assert_eq!(explained["what"], "desk.py::first");
    // Commands to go on with say what they need.
    let shown = run_command(&place, &["show", &id]).out;
    assert!(shown.contains("\nNext:\n"), "{shown}");
    let shown = run_command(&place, &["show", &id, "--sandbox-data-dir", "sandbox_data"]).out;
    assert!(shown.contains("\nNext, each with --sandbox-data-dir sandbox_data:\n"), "{shown}");
    place.write("taken", "");
    let exported = run_command(&place, &["export-tests", "--out", "taken/tests"]);
    assert_eq!(exported.code, Some(2), "{exported:?}");
    assert!(exported.err.contains("--out names another directory"), "{}", exported.err);
    let exported = run_command(&place, &["export-tests"]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    let file = place.path().join("repo/tests/menace/test_menace_desk.py");
    assert!(file.is_file(), "{exported:?}");
    assert!(!place.path().join("tests").exists(), "{exported:?}");
    // They show what is wrong with the repository, and are no part of it.
    let analysis = run_command(&place, &["analyze", "--repo", "repo", "--format", "json"]).json();
    let modules = analysis["modules"].as_array().unwrap();
    assert_eq!(modules.len(), 1, "{analysis}");
}

#[test]
fn a_failure_under_a_preset_is_shown_in_full() {
    let place = make_repo(
        "import sqlite3\nfrom pathlib import Path\n\n\ndef found(name: str) -> list:\n    \
         Path('found.txt').write_text('seen')\n    base = sqlite3.connect(':memory:')\n    \
         return base.execute(f\"SELECT 1 WHERE 'x' = '{name}'\").fetchall()\n",
    );
    place.write(
        "presets.json",
        r#"{"SCENARIO_NAME": "tight", "MEMORY_LIMIT": "128Mi", "TIMEOUT": 4,
            "NETWORK_LATENCY_MS": 20, "NETWORK_JITTER_MS": 5, "BANDWIDTH_LIMIT": "1Mbps",
            "FAILURE_MODES": ["hostile_input", "disk_corruption"],
            "SANDBOX_STUB_STRATEGY": ["hostile"], "THREAT_INTENSITY": 90}"#,
    );
    let many = ["--calls-per-cell", "12", "--section", "desk.py::found", "--no-depth"];
    let arguments =
        ["run", "--repo", "repo", "--seed", "1", "--budget", "none", "--format", "json"];
    let preset = ["--preset-file", "presets.json"];
    let report = run_command(&place, &[&arguments[..], &many, &preset].concat()).json();
    let failures = report["failures"].as_array().unwrap();
    let failure = failures.iter().find(|one| one["scenario"] == "tight");
    let failure = failure.unwrap_or_else(|| panic!("{report}"));
    let id = failure["id"].as_str().unwrap();
    // A run makes it smaller only as far as a little time goes.
    assert_eq!(run_command(&place, &["shrink", id]).code, Some(0));
    let shown = run_command(&place, &["show", id]);
    // What it was held to, what it was put through, and what that did.
    let lines = shown.out.lines().skip_while(|line| !line.starts_with("verdict"));
    let lines: Vec<&str> = lines.take_while(|line| !line.starts_with("seed")).collect();
    let text = lines.join("\n");
    let (detail, clock) = text.rsplit_once("; last after ").expect("when it was injected");
    assert!(clock.ends_with(" ms"), "{clock}");
    insta::assert_snapshot!("a_failure_in_full", detail);
}

#[test]
fn what_is_not_written_has_a_reason_and_leaves_no_directory() {
    let place = make_repo("def half(n: int) -> int:\n    return n // 2\n");
    short_run_report(&place);
    let exported = run_command(&place, &["export-tests"]);
    assert_eq!(exported.out, "Nothing was written: no run has found a failure.\n");
    place.write("repo/desk.py", WEAK_MODULE);
    let id = only_failure(&short_run_report(&place));
    // A test without its first line belongs to the user.
    let (own, text) = (place.path().join("own/test_menace_desk.py"), "import desk  # mine\n");
    assert!(
        run_command(&place, &["export-tests", "--out", "own"]).out.contains("test_menace_desk.py")
    );
    assert!(fs::read_to_string(&own).unwrap().contains("def test_"));
    fs::write(&own, text).unwrap();
    let again = run_command(&place, &["export-tests", "--out", "own"]);
    assert!(again.out.contains("is yours") && again.out.contains(&id), "{again:?}");
    assert_eq!(fs::read_to_string(&own).unwrap(), text);
    place.write("repo/desk.py", "def last(names: list[str]) -> str:\n    return names[-1]\n");
    let exported = run_command(&place, &["export-tests", "--out", "out"]);
    let why = format!("not written: {id}: `desk.py::first` is not in the repository\n");
    assert_eq!(exported.out, why + "Nothing was written.\n");
    run_command(&place, &["repro", &id]);
    let exported = run_command(&place, &["export-tests", "--out", "out"]);
    assert!(exported.out.contains("of 1 failure, all are gone"), "{exported:?}");
    assert!(!place.path().join("out").exists() && !place.path().join("repo/tests").exists());
}

#[test]
fn a_report_that_cannot_be_written_is_reported_before_any_call() {
    let place = make_repo(WEAK_MODULE);
    let ran = short_run(&place, &["--out", "nowhere/report.json"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("nowhere/report.json"), "{}", ran.err);
    assert!(!place.path().join("sandbox_data").exists(), "something was called");
}

#[test]
fn a_report_that_cannot_be_written_in_the_end_is_printed_all_the_same() {
    let place = make_repo(WEAK_MODULE);
    // It can be opened, and takes nothing.
    let ran = short_run(&place, &["--out", "/dev/full"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("/dev/full"), "{}", ran.err);
    assert!(ran.out.contains("1 failure"), "{}", ran.out);
}

#[test]
fn every_preset_file_is_read_before_anything_is_called() {
    let place = make_repo(WEAK_MODULE);
    place.write("good.json", "[{\"CPU_LIMIT\": 1}]");
    place.write("bad.json", "[{\"CPU_LIMIT\": \"many\"}]");
    let files = ["--preset-file", "good.json", "--preset-file", "bad.json"];
    let ran = short_run(&place, &files);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("bad.json"), "{}", ran.err);
    assert!(!place.path().join("sandbox_data").exists(), "something was called");
}

#[test]
fn a_file_where_the_data_directory_should_be_is_named_with_the_way_out() {
    let place = make_repo(WEAK_MODULE);
    place.write("file", "");
    for command in [&["failures"][..], &["synergy", "metrics"], &["run", "--repo", "repo"]] {
        let ran = run_command(&place, &[command, &["--sandbox-data-dir", "file/data"]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        for said in ["the data directory `", "file/data`", "is a file", "--sandbox-data-dir"] {
            assert!(ran.err.contains(said), "no {said} in {}", ran.err);
        }
    }
}

#[test]
fn a_failure_that_became_another_is_gone() {
    let place = make_repo(WEAK_MODULE);
    let id = only_failure(&short_run_report(&place));
    let shown = || run_command(&place, &["show", &id, "--format", "json"]).json();
    let seen = shown()["last"]["at_ms"].as_i64().unwrap();
    place.write("repo/desk.py", OTHER_WEAK_MODULE);
    let again = run_command(&place, &["repro", &id, "--format", "json"]).json();
    assert_eq!(again["result"], "other", "{again}");
    let gone = shown()["gone_ms"].as_i64().expect("gone");
    assert!(gone > seen, "{gone} is not after {seen}");
    assert_eq!(run_command(&place, &["failures", "--format", "json"]).json(), json!([]));
}

#[test]
fn the_last_run_is_the_last_that_has_results() {
    let place = make_repo(WEAK_MODULE);
    let good = short_run_report(&place);
    let id = only_failure(&good);
    let database = rusqlite::Connection::open(place.path().join("sandbox_data/menace.db")).unwrap();
    // As one that was killed before its first cycle was over.
    let killed = "INSERT INTO runs (id, seed, repository, started_ms, status, settings) \
                  VALUES ('r-killed', 1, '/repo', 99999999999999, 'interrupted', '{}')";
    database.execute(killed, []).unwrap();
    drop(database);
    let listed = run_command(&place, &["failures", "--run", "last", "--format", "json"]).json();
    assert_eq!(listed[0]["id"], json!(id), "{listed}");
    for arguments in [&["explain", "desk.py"][..], &["explain", "desk.py", "--run", "last"]] {
        let explained = run_command(&place, &[arguments, &["--format", "json"]].concat()).json();
        assert_eq!(explained["run"], good["run_id"]);
    }
}

#[test]
fn sections_without_a_number_are_not_among_those_explained() {
    // Only `outer` can call `inner`.
    let place =
        make_repo("def outer(n: int) -> int:\n    def inner():\n        return n\n    return n\n");
    short_run_report(&place);
    let explained = run_command(&place, &["explain", "desk.py", "--format", "json"]).json();
    assert!(explained.to_string().contains("inner"), "{explained}");
    let table = run_command(&place, &["explain", "desk.py"]).out;
    assert!(table.contains(" outer ") && !table.contains("inner"), "{table}");
}

#[test]
fn a_module_is_explained_with_the_calls_behind_it() {
    let place = make_repo(WEAK_MODULE);
    short_run_report(&place);
    let explained = run_command(&place, &["explain", "desk.py", "--format", "json"]).json();
    let sections = explained["sections"].as_array().unwrap();
    assert!(sections.iter().all(|one| one["calls"].as_u64() > Some(0)), "{explained}");
    assert_eq!(explained["calls"][0]["exception"], "IndexError", "bad ones come first");
    for what in ["desk.py", "desk.py::first"] {
        let table = run_command(&place, &["explain", what]).out;
        assert!(table.contains("\n      IndexError: list index out of range\n"), "{table}");
        assert!(table.contains("\nreliability: "), "no meaning of the terms in {table}");
        for line in table.lines() {
            assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
        }
    }
}

#[test]
fn a_forecast_from_little_is_not_sure_of_itself() {
    let place = TestDirectory::new();
    place.write("few.json", r#"{"roi_history": [0.5, 0.7], "metrics_history": {"x": [1.0]}}"#);
    for command in
        [&["roi", "forecast", "few.json"][..], &["roi", "predict-metric", "few.json", "x"]]
    {
        let ran = place.run(command);
        assert!(ran.out.contains("too little to tell"), "{ran:?}");
        let json = place.run(&[command, &["--format", "json"]].concat()).json();
        assert_eq!((&json["confidence"], &json["interval"]), (&Value::Null, &Value::Null));
    }
    // As many as the first comparison needs: `forecasts_and_their_reliability_…` has it after four.
    for metric in [&[][..], &["--metric", "x"]] {
        let ran = place.run(&[&["roi", "reliability", "few.json"], metric].concat());
        assert!(ran.err.contains("takes 4 cycles: `menace run --runs 4`"), "{ran:?}");
    }
    let ran = place.run(&["roi", "reliability", "few.json", "--metric", "y"]);
    assert!(ran.err.contains("no metric `y`"), "{ran:?}");
    place.write("more.json", r#"{"roi_history": [0.5, 0.7, 0.6, 0.8]}"#);
    let ran = place.run(&["roi", "forecast", "more.json"]);
    assert!(ran.out.starts_with("ROI forecast: "), "{ran:?}");
    let json = place.run(&["roi", "forecast", "more.json", "--format", "json"]).json();
    assert_eq!(json["confidence"], json!(0.95));
}

#[test]
fn a_forecast_is_calibrated_where_a_model_of_the_same_sections_lies_beside_it() {
    let place = TestDirectory::new();
    let value = |step: u32| f64::from(step * 7 % 11) / 11.0;
    let said: Vec<f64> = (0..20).map(value).collect();
    // Forecasts were always a tenth too low.
    let came: Vec<f64> = said.iter().map(|said| said + 0.1).collect();
    let rows: Vec<Vec<f64>> = said.iter().map(|said| vec![*said]).collect();
    let features = ["predicted_roi".to_owned()];
    let mut model =
        ForecastCalibrator::train(&features, &rows, &came, DriftLimits::default(), "").unwrap();
    let history =
        json!({"roi_history": [0.5, 0.5, 0.5], "predicted_roi": said, "actual_roi": came});
    fs::create_dir(place.path().join("data")).unwrap();
    place.write("data/roi_history.json", &history.to_string());
    let asked = |more: &[&str]| place.run(&[&["roi", "forecast", "data"], more].concat());
    let plain = asked(&[]).out;
    assert_eq!(plain.lines().count(), 1, "{plain}");

    let file = "data/truth_adapter.json";
    place.write(file, &model.to_json().unwrap());
    let line = "  calibrated by what came of earlier forecasts: 0.600";
    assert_eq!(asked(&[]).out, format!("{plain}{line}\n"));
    let json = asked(&["--format", "json"]).json();
    assert_eq!(json["calibrated"]["low_confidence"], json!(false));
    let calibrated = json["calibrated"]["value"].as_f64().unwrap();
    assert!((calibrated - 0.6).abs() < 1e-3, "{json}");

    // What it was trained on looks different now.
    model.check_drift(&vec![vec![9.0]; 20], "");
    place.write(file, &model.to_json().unwrap());
    assert_eq!(asked(&[]).out, format!("{plain}{line}; of low confidence\n"));

    place.write(file, &model.with_comparison_key("module desk.py").to_json().unwrap());
    assert_eq!(asked(&[]).out, plain, "a model of other sections is not asked");
    place.write(file, "{");
    let damaged = asked(&[]);
    assert_eq!((damaged.code, damaged.out.as_str()), (Some(0), plain.as_str()));
    assert!(damaged.err.contains("truth_adapter.json"), "{damaged:?}");
    assert_eq!(place.files("data").len(), 2, "looking moves nothing aside");
}

#[test]
fn a_data_directory_that_may_not_be_written_can_be_looked_at() {
    let place = make_repo(WEAK_MODULE);
    let id = only_failure(&short_run_report(&place));
    let data = place.path().join("sandbox_data");
    let sealed = |mode| fs::set_permissions(&data, fs::Permissions::from_mode(mode)).unwrap();
    for entry in fs::read_dir(&data).unwrap().flatten() {
        fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o444)).unwrap();
    }
    sealed(0o555);
    let before = place.files("sandbox_data");
    for command in [&["failures"][..], &["show", &id], &["explain", "desk.py"]] {
        let ran = CommandOutput::from(
            place.unprivileged_command(command).envs(SANDBOX_VARIABLES).output().unwrap(),
        );
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.contains("desk.py"), "{ran:?}");
    }
    let mut command = place.unprivileged_command(&["report", "--out", "report.html"]);
    let ran = CommandOutput::from(command.envs(SANDBOX_VARIABLES).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = fs::read_to_string(place.path().join("report.html")).unwrap();
    assert!(page.contains("desk.py") && page.contains(&id), "{page}");
    assert_eq!(place.files("sandbox_data"), before);
    sealed(0o755);
}

/// Two histories of two cycles each.
fn make_histories() -> TestDirectory {
    let place = TestDirectory::new();
    let history = |normal: f64, hostile: f64| {
        json!({
            "roi_history": [0.1, normal],
            "module_roi": {"cart.py": [0.25, normal], "mail.py": [0.5, hostile]},
            "module_raroi": {"cart.py": [0.25, normal / 2.0], "mail.py": [0.5, hostile]},
            "module_deltas": {"cart.py": [normal - 0.25], "mail.py": [hostile - 0.5]},
            "module_synergy": {"cart.py": [0.125]},
            "scenario_roi": {"normal": [0.25, normal], "hostile_input": [0.5, hostile]},
            "metrics_history": {
                "normal:security_score": [0.5, 0.75],
                "synergy_roi": [0.25, normal], "synergy_revenue": [0.0, -0.125],
            },
            "synergy_history": [
                {"synergy_roi": 0.25, "synergy_revenue": 0.0},
                {"synergy_roi": normal, "synergy_revenue": -0.125},
            ],
            "scenario_synergy": {
                "normal": [{"synergy_roi": 0.25}],
                "hostile_input": [{"synergy_roi": hostile}],
            },
        })
    };
    for (name, value) in [
        ("one", history(0.75, 0.25)),
        ("two", history(0.5, 0.125)),
        ("a/sandbox_data", history(0.75, 0.25)),
        ("b/sandbox_data", history(0.5, 0.125)),
    ] {
        fs::create_dir_all(place.path().join(name)).unwrap();
        place.write(&format!("{name}/roi_history.json"), &value.to_string());
    }
    place
}

#[test]
fn a_ranking_by_a_metric_that_nothing_has_recorded_says_which_are_near() {
    let place = make_histories();
    for what in ["synergy", "scenario-synergy"] {
        let ran = place.run(&["rank", what, "one", "two", "--metric", "roy"]);
        assert_eq!(ran.code, Some(2), "{what}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("`synergy_roy`; did you mean `roi`"), "{what}: {}", ran.err);
    }
}

#[test]
fn rankings_of_two_histories_read_like_this() {
    let place = make_histories();
    let mut outputs = Vec::new();
    for command in [
        &["rank", "scenarios", "one", "two/roi_history.json"][..],
        &["rank", "synergy", "one", "two"],
        &["rank", "synergy", "one", "two", "--metric", "revenue"],
        &["rank", "scenario-synergy", "one", "two"],
        &["rank", "synergy", "a/sandbox_data", "b/sandbox_data"],
        &["synergy", "metrics", "--file", "one", "--window", "2", "--plot"],
        &["roi", "rank", "one"],
    ] {
        let ran = place.run(command);
        assert_eq!(ran.code, Some(0), "{command:?}: {}", ran.err);
        outputs.push(format!("$ menace {}\n{}", command.join(" "), ran.out));
    }
    insta::assert_snapshot!("rankings", outputs.join("\n"));
}

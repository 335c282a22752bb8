//! What a run concludes from its histories, as its users meet it.

use std::fs;

use serde_json::{Value, json};

use crate::program::{CommandOutput, SANDBOX_VARIABLES, TestDirectory};

const HALF_MODULE: &str = "def half(n: int) -> int:\n    return n // 2\n";

/// A metric plugin that has nothing but an opinion.
const METRIC_PLUGIN: &str = "\
def register(manager, tracker):
    tracker.record_metric_prediction('reliability', 0.25)


def collect_metrics(prev_roi, roi, resources):
    return {}
";

fn make_repo() -> TestDirectory {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    place.write("repo/desk.py", HALF_MODULE);
    place
}

/// A small run with these variables.
fn run_with_variables(
    place: &TestDirectory,
    variables: &[(&str, &str)],
    arguments: &[&str],
) -> CommandOutput {
    let small = ["run", "--repo", "repo", "--calls-per-cell", "1", "--no-depth"];
    let rest = ["--seed", "1", "--budget", "none", "--format", "json"];
    place.run_with(
        &[&SANDBOX_VARIABLES, variables].concat(),
        &[&small[..], &rest, arguments].concat(),
    )
}

fn json_lines(place: &TestDirectory, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(place.path().join(name)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write_history(place: &TestDirectory, history: &Value) {
    fs::create_dir(place.path().join("sandbox_data")).unwrap();
    place.write("sandbox_data/roi_history.json", &history.to_string());
}

#[test]
fn thresholds_forecasts_and_evidence_are_written_down_after_each_cycle() {
    let place = make_repo();
    let ran =
        run_with_variables(&place, &[], &["--runs", "2", "--forecast-log", "forecasts.jsonl"]);
    assert!(!ran.err.contains("threshold") && !ran.err.contains("INFO"), "{}", ran.err);
    let report = ran.json();
    let thresholds = json_lines(&place, "sandbox_data/threshold_log.jsonl");
    assert_eq!(thresholds.len(), 2);
    for (line, number) in thresholds.iter().zip(1..) {
        assert_eq!(line["cycle"], number);
        assert_eq!(line["run"], report["run_id"]);
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
        assert_eq!(line["converged"], false);
        assert_eq!(
            (&line["roi_threshold"], &line["synergy_threshold"]),
            (&json!(0.01), &json!(0.0))
        );
        assert_eq!(line["roi"]["verdict"], "too_few_samples");
        assert_eq!(line["roi"]["needed"], 3);
    }
    let forecasts = json_lines(&place, "forecasts.jsonl");
    assert_eq!(forecasts.len(), 2);
    assert_eq!((&forecasts[0]["cycle"], &forecasts[1]["cycle"]), (&json!(1), &json!(2)));
    assert_eq!(forecasts[0]["method"], "mean");
    assert_eq!(forecasts[0]["forecast"], forecasts[0]["roi"]);
    assert!(forecasts[1]["predictions"]["pred_reliability"].is_number(), "{}", forecasts[1]);
    assert!(forecasts[1]["evidence"]["roi"].is_array(), "{}", forecasts[1]);
    assert!(forecasts[1]["evidence"]["entropy"].is_object(), "{}", forecasts[1]);
    assert!(forecasts[1]["evidence"]["modules"].is_object(), "{}", forecasts[1]);
    assert_eq!(thresholds[1]["roi_adaptive"]["samples"], 1, "{}", thresholds[1]);
    let decided = &report["decisions"];
    assert_eq!(decided["forecast"]["samples"], 2);
    let hints = &decided["bottlenecks"]["desk.py"];
    let explained = place.run(&["explain", "desk.py", "--format", "json"]).json();
    assert_eq!(&explained["bottlenecks"], hints);
    let table = place.run(&["explain", "desk.py"]).out;
    let hint = hints[0]["hint"].as_str().unwrap();
    assert!(table.contains("What holds it back") && table.contains(&hint[..40]), "{table}");
}

#[test]
fn a_run_ends_once_it_has_converged_for_roi_cycles() {
    let still = [0.0; 3];
    let converged = json!({"roi_deltas": still, "module_deltas": {"desk.py": still}});
    let early = make_repo();
    write_history(&early, &converged);
    let report = run_with_variables(&early, &[], &["--runs", "2"]).json();
    assert_eq!(report["cycles"], 1, "{report}");
    assert!(report["warnings"].to_string().contains("ended after cycle 1"), "{report}");
    let evidence = &report["decisions"]["convergence"]["roi"]["evidence"];
    assert_eq!(evidence[0]["check"], "mean");
    assert_eq!((&evidence[2]["p_value"], &evidence[2]["samples"]), (&json!(0.0), &json!(3)));

    // The run has converged, its module has not.
    let restless = json!({"roi_deltas": still, "module_deltas": {"desk.py": [0.5, -0.5, 0.5]}});
    let going = make_repo();
    write_history(&going, &restless);
    let report = run_with_variables(&going, &[], &["--runs", "2"]).json();
    assert_eq!(report["cycles"], 2, "{}", report["warnings"]);
    let line = json_lines(&going, "sandbox_data/threshold_log.jsonl").swap_remove(0);
    assert_eq!((&line["roi"]["verdict"], &line["converged"]), (&json!("yes"), &json!(false)));
    let module = &line["modules"]["desk.py"];
    assert_eq!((&module["verdict"], &module["samples"]), (&json!("no"), &json!(3)), "{line}");
    let decided = &report["decisions"]["convergence"]["modules"]["desk.py"];
    assert_eq!(decided["verdict"], "no", "the report says why it goes on");

    let later = make_repo();
    write_history(&later, &converged);
    let report = run_with_variables(&later, &[], &["--runs", "2", "--roi-cycles", "5"]).json();
    assert_eq!(report["cycles"], 2, "{}", report["warnings"]);
}

#[test]
fn converged_modules_are_flagged_and_the_run_ends_when_all_are() {
    let place = make_repo();
    place.write("repo/shelf.py", HALF_MODULE);
    // Without the ROI before there is no delta of this cycle: the seeded ones decide.
    let still = [0.0; 3];
    let modules = json!({"desk.py": still, "shelf.py": still});
    write_history(
        &place,
        &json!({"module_deltas": modules, "roi_history": [0.9], "roi_deltas": [0.0]}),
    );
    place.write("sandbox_data/roi.flags", "shelf.py\n");
    let report = run_with_variables(&place, &[], &["--runs", "3"]).json();
    assert_eq!(report["cycles"], 1, "no module is left to be called: {}", report["warnings"]);
    let flags = fs::read_to_string(place.path().join("sandbox_data/roi.flags")).unwrap();
    assert_eq!(flags, "shelf.py\ndesk.py\n");
    // With a module less, the run is worth something else, which is no change.
    let text = fs::read_to_string(place.path().join("sandbox_data/roi_history.json")).unwrap();
    let kept: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&kept["roi_deltas"], &kept["selection"]),
        (&json!([0.0]), &json!(" without shelf.py"))
    );
    assert_eq!(kept["roi_history"].as_array().map(Vec::len), Some(2));
    let converged = "later cycles leave out until the source changes: desk.py";
    assert!(report["warnings"].to_string().contains(converged), "{}", report["warnings"]);

    // The next run skips what did not change, and calls what did.
    place.write(
        "repo/desk.py",
        &format!("{HALF_MODULE}\n\ndef third(n: int) -> int:\n    return n // 3\n"),
    );
    let report = run_with_variables(&place, &[], &[]).json();
    let modules = report["modules"].as_array().unwrap().iter();
    let called = modules.filter(|module| module["metrics"]["reliability"].is_number());
    assert_eq!(called.map(|module| &module["path"]).collect::<Vec<_>>(), ["desk.py"], "{report}");
}

#[test]
fn cycles_about_other_sections_are_no_measure_of_this_one() {
    let unusual = |report: &Value| {
        let discrepancies = report["discrepancies"].as_array().unwrap().iter();
        discrepancies.filter(|one| one.as_str().unwrap().contains("standard deviations")).count()
    };
    let before = |selection: &str| {
        json!({
            "roi_history": [0.1, 0.1, 0.1, 0.1, 0.1],
            "roi_deltas": [0.0, 0.0, 0.0, 0.0],
            "metrics_history": {"shannon_entropy": [9.0, 9.0, 9.0, 9.0, 9.0]},
            "predicted_roi": [0.3, 0.3],
            "actual_roi": [0.1, 0.1],
            "selection": selection,
        })
    };
    let same = make_repo();
    write_history(&same, &before(""));
    let report = run_with_variables(&same, &[], &[]).json();
    assert_eq!(unusual(&report), 1, "{}", report["discrepancies"]);
    assert_eq!(report["decisions"]["forecast"]["samples"], 6);
    assert!(report["decisions"]["convergence"]["reliability"].is_number());

    let other = make_repo();
    write_history(&other, &before("module shelf.py"));
    for cycles in [1, 2] {
        let report = run_with_variables(&other, &[], &[]).json();
        assert_eq!(unusual(&report), 0, "{}", report["discrepancies"]);
        assert_eq!(report["decisions"]["forecast"]["samples"], cycles);
        assert_eq!(report["decisions"]["convergence"]["converged"], false);
        assert_eq!(report["decisions"]["convergence"]["reliability"], Value::Null);
        let forecast = other.run(&["roi", "forecast", "sandbox_data", "--format", "json"]).json();
        assert_eq!(forecast["samples"], cycles);
    }
    let text = fs::read_to_string(other.path().join("sandbox_data/roi_history.json")).unwrap();
    let kept: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(kept["roi_history"].as_array().map(Vec::len), Some(7), "none is lost");
    assert_eq!(kept["predicted_roi"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_module_whose_entropy_does_not_pay_is_flagged_and_left_out() {
    let place = make_repo();
    let strict = [("ENTROPY_THRESHOLD", "1000")];
    run_with_variables(&place, &strict, &[]).json();
    let mut text = HALF_MODULE.to_owned();
    for number in 0..3 {
        assert!(!place.path().join("sandbox_data/entropy.flags").exists(), "patch {number}");
        let name = format!("a{number}");
        text = [
            text.as_str(),
            &format!("\n\ndef other{number}({name}: int) -> bool:\n"),
            &format!("    return {name} > 3 or {name} < {number}\n"),
        ]
        .concat();
        place.write("repo/desk.py", &text);
        run_with_variables(&place, &strict, &[]).json();
    }
    let flags = fs::read_to_string(place.path().join("sandbox_data/entropy.flags")).unwrap();
    assert_eq!(flags, "desk.py\n");
    let last = json_lines(&place, "sandbox_data/threshold_log.jsonl").pop().unwrap();
    assert_eq!(last["complete"], json!(["desk.py"]));
    let evidence = &last["entropy"]["desk.py"]["ceiling"]["evidence"][0];
    assert_eq!((&evidence["check"], &evidence["samples"]), (&json!("entropy_ceiling"), &json!(3)));
    let report = run_with_variables(&place, &strict, &[]).json();
    assert_eq!(report["calls"], 0, "{}", report["warnings"]);
    // A change of its source begins again.
    place.write("repo/desk.py", HALF_MODULE);
    assert_ne!(run_with_variables(&place, &strict, &[]).json()["calls"], 0);
}

#[test]
fn workflows_on_the_border_are_queued_tried_in_small_and_settled() {
    let place = make_repo();
    let high = ("BORDERLINE_RAROI_THRESHOLD", "2");
    let bucket = "sandbox_data/borderline_bucket.jsonl";
    run_with_variables(&place, &[high, ("MICROPILOT_MODE", "off")], &[]).json();
    assert!(!place.path().join(bucket).exists());

    run_with_variables(&place, &[high, ("MICROPILOT_MODE", "queue")], &[]).json();
    let queued = &json_lines(&place, bucket)[0];
    assert_eq!((&queued["workflow_id"], &queued["status"]), (&json!("desk.py"), &json!("pending")));
    assert_eq!(queued["raroi"].as_array().map(Vec::len), Some(1));

    let low = ("BORDERLINE_RAROI_THRESHOLD", "-2");
    let report =
        run_with_variables(&place, &[low, ("MICROPILOT_MODE", "queue")], &["--process-borderline"])
            .json();
    let promoted = &json_lines(&place, bucket)[0];
    assert_eq!(promoted["status"], "promoted");
    assert_eq!(promoted["raroi"].as_array().map(Vec::len), Some(2), "the pilot measured, too");
    assert_eq!(&report["decisions"]["borderline"][0], promoted);

    // A promoted module whose RAROI has fallen since is tried once more, and terminated.
    let fallen = r#"{"workflow_id":"desk.py","raroi":[5.0],"confidence":0.0,"status":"promoted"}"#;
    place.write(bucket, &format!("{fallen}\n"));
    for _ in 0..2 {
        // It is called each time.
        let auto = [high, ("MICROPILOT_MODE", "auto"), ("ROI_CYCLES", "9")];
        let report = run_with_variables(&place, &auto, &[]).json();
        let ended = &json_lines(&place, bucket)[0];
        assert_eq!(ended["status"], "terminated");
        assert_eq!(ended["raroi"].as_array().map(Vec::len), Some(3));
        let evidence = &report["decisions"]["borderline_evidence"]["desk.py"]["evidence"][0];
        assert_eq!((&evidence["check"], &evidence["threshold"]), (&json!("raroi"), &json!(2.0)));
    }

    // No module is called any more, but a pending module is still tried.
    place.write("sandbox_data/roi.flags", "desk.py\n");
    let waiting = r#"{"workflow_id":"desk.py","raroi":[0.1],"confidence":0.0,"status":"pending"}"#;
    place.write(bucket, &format!("{waiting}\n"));
    let report =
        run_with_variables(&place, &[low, ("MICROPILOT_MODE", "queue")], &["--process-borderline"])
            .json();
    assert_eq!(json_lines(&place, bucket)[0]["status"], "promoted", "{}", report["warnings"]);
    assert_eq!((&report["calls"], &report["decisions"]), (&json!(0), &Value::Null));
    assert!(report["warnings"].to_string().contains("desk.py is on the border and was promoted"));
}

#[test]
fn new_modules_use_cold_start_curves_and_bad_ones_are_refused_before_any_call() {
    let place = make_repo();
    place.write("curves.yaml", "trajectories: {default: [0.9, 0.9]}\n");
    run_with_variables(&place, &[("FORESIGHT_TEMPLATES", "curves.yaml")], &[]).json();
    let text = fs::read_to_string(place.path().join("sandbox_data/foresight.json")).unwrap();
    let known: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(known["desk.py"]["template"], json!([0.9, 0.9]));
    assert_eq!(known["desk.py"]["history"].as_array().map(Vec::len), Some(1));
    let stress = known["desk.py"]["history"][0]["stress"].as_f64();
    assert!(stress.is_some_and(|stress| stress > 0.0 && stress < 1.0), "{known}");

    place.write("curves.yaml", "trajectories: {default: []}\n");
    let refused = run_with_variables(&place, &[("FORESIGHT_TEMPLATES", "curves.yaml")], &[]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(
        refused.err.contains("curves.yaml") && refused.err.contains("`default`"),
        "{}",
        refused.err
    );
}

#[test]
fn forecasts_and_their_reliability_are_reported_from_real_histories() {
    let place = make_repo();
    // As many cycles as the settings say, where no flag does.
    fs::create_dir(place.path().join("plugins")).unwrap();
    place.write("plugins/prophet.py", METRIC_PLUGIN);
    let calm =
        [("ROI_CYCLES", "9"), ("SANDBOX_CYCLES", "4"), ("SANDBOX_METRICS_PLUGIN_DIR", "plugins")];
    run_with_variables(&place, &calm, &[]).json();
    let text = fs::read_to_string(place.path().join("sandbox_data/roi_history.json")).unwrap();
    let known: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(known["external_predictions"], json!({"plugin:prophet": {"reliability": 0.25}}));
    let came = known["actual_metrics"]["reliability"][0].as_f64().unwrap();
    let error = known["predictor_errors"]["plugin:prophet"]["reliability"][0].as_f64().unwrap();
    assert!((error - (came - 0.25).abs()).abs() < 1e-9, "{error} {came}");
    let forecast = place.run(&["roi", "forecast", "sandbox_data", "--format", "json"]).json();
    assert_eq!((&forecast["what"], &forecast["samples"]), (&json!("ROI"), &json!(4)));
    let interval = forecast["interval"].as_array().unwrap();
    assert!(interval[0].as_f64() <= forecast["predicted"].as_f64());
    let output = place.run(&["roi", "reliability", "sandbox_data", "--format", "json"]).json();
    let reliability = output["reliability"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&reliability) && output["samples"] == 1, "{output}");
    let explained = place.run(&["explain", "desk.py", "--format", "json"]).json();
    assert!(explained["confidence"].as_f64().is_some_and(|it| it > 0.0), "{explained}");
    let none = place.run(&["roi", "reliability", "sandbox_data", "--window", "0"]);
    assert_eq!(none.code, Some(2));
    assert!(none.err.contains("--window"), "{}", none.err);
    let metric = ["roi", "reliability", "sandbox_data", "--metric", "reliability"];
    assert!(place.run(&metric).out.starts_with("reliability reliability: "));
    let synergy = place.run(&["roi", "predict-metric", "sandbox_data", "flexibility"]);
    assert_eq!(synergy.code, Some(0), "{}", synergy.err);
}

#[test]
fn synergy_is_forecast_with_or_without_its_prefix() {
    let place = make_repo();
    let metrics = json!({"synergy_roi": [0.1, 0.2, 0.3], "synergy_flexibility": [0.3, 0.2, 0.1]});
    write_history(&place, &json!({ "metrics_history": metrics }));
    let json = |arguments: &[&str]| {
        place.run(&[&["roi"], arguments, &["sandbox_data", "--format", "json"]].concat()).json()
    };
    let synergy = json(&["forecast", "--synergy"]);
    assert_eq!(synergy["what"], "synergy_roi");
    assert!((synergy["predicted"].as_f64().unwrap() - 0.4).abs() < 1e-9, "{synergy}");
    let predicted = |metric: &str| {
        place.run(&["roi", "predict-metric", "sandbox_data", metric, "--format", "json"]).json()
    };
    assert_eq!(predicted("roi"), synergy);
    assert_eq!(predicted("flexibility"), predicted("synergy_flexibility"));
    let unknown = place.run(&["roi", "predict-metric", "sandbox_data", "flexibilty"]);
    assert_eq!(unknown.code, Some(2));
}

#[test]
fn a_run_ends_only_when_synergy_rests_and_its_models_are_fed() {
    let place = make_repo();
    place.write("repo/shelf.py", "def twice(n: int) -> int:\n    return n * 2\n");
    run_with_variables(&place, &[], &[]).json();
    let file = "sandbox_data/roi_history.json";
    let read = || -> Value {
        serde_json::from_str(&fs::read_to_string(place.path().join(file)).unwrap()).unwrap()
    };
    let mut known = read();
    known["roi_history"] = json!([]);
    known["roi_deltas"] = json!([0.0, 0.0, 0.0]);
    known["module_roi"] = json!({});
    known["module_deltas"] = json!({"desk.py": [0.0, 0.0, 0.0], "shelf.py": [0.0, 0.0, 0.0]});
    let values: Vec<f64> = (0..12_u32).map(|step| f64::from(step * 7 % 11) / 11.0).collect();
    known["actual_roi"] = json!(values);
    known["predicted_roi"] = json!(values);
    let metrics = known["metrics_history"].as_object_mut().unwrap();
    for (_, values) in metrics.iter_mut().filter(|(name, _)| name.starts_with("synergy_")) {
        *values = json!(vec![values[0].clone(); 5]);
    }
    // It needs a forecast, which the first cycle had none of.
    metrics.insert("synergy_projected_lucrativity".to_owned(), json!(vec![0.0; 5]));
    place.write(file, &known.to_string());

    let calm = [("SYNERGY_THRESHOLD", "1e12"), ("SYNERGY_CYCLES", "3"), ("SANDBOX_DEBUG", "1")];
    let ran = run_with_variables(&place, &calm, &["--runs", "2"]);
    let report = ran.json();
    assert_eq!(report["cycles"], 1, "{}", report["decisions"]["convergence"]);
    assert_eq!(report["decisions"]["convergence"]["synergy"]["verdict"], "yes");
    for field in ["prediction=", "largest_ema=", "synergy_confidence=", "synergy convergence"] {
        assert!(ran.err.contains(field), "{field}: {}", ran.err);
    }
    assert!(report["decisions"]["calibrated"]["value"].is_number(), "{}", report["decisions"]);
    let forecast = place.run(&["roi", "forecast", "sandbox_data", "--format", "json"]).json();
    let calibrated = &report["decisions"]["calibrated"];
    assert_eq!(&forecast["calibrated"], calibrated, "the command reports the same");
    assert!(place.path().join("sandbox_data/truth_adapter.json").exists());
    for resource in ["cpu", "memory", "disk", "time"] {
        assert_eq!(read()["resource_history"][resource].as_array().map(Vec::len), Some(2));
    }

    place.write(file, &known.to_string());
    let near = [("SYNERGY_THRESHOLD", "1e-12"), ("SYNERGY_CYCLES", "3")];
    let report = run_with_variables(&place, &near, &["--reset-flags"]).json();
    let judged = &report["decisions"]["convergence"];
    assert_eq!((&judged["roi"]["verdict"], &judged["converged"]), (&json!("yes"), &json!(false)));
    let average = &judged["synergy"]["metrics"]["synergy_roi"]["evidence"][0];
    assert_eq!((&average["check"], &average["threshold"]), (&json!("mean"), &json!(1e-12)));
}

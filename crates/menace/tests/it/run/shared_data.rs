//! The data directory: shared by runs at once, repaired after damage, reused by the next run.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use super::{BREADTH_ARGS, SEED_ARGS, breadth_report, make_repo, reported_failures, run_seeded};
use crate::program::{CommandOutput, SANDBOX_VARIABLES};

const HALF_MODULE: &str = "def half(n: int) -> int:\n    return n // 2\n";

#[test]
fn two_runs_at_once_on_one_data_directory_keep_out_of_each_others_way() {
    let place = make_repo(&[("desk.py", HALF_MODULE), ("shelf.py", super::WEAK_MODULE)]);
    let arguments =
        [&["run", "--repo", "repo", "--format", "json"][..], &SEED_ARGS, &BREADTH_ARGS].concat();
    let start = || {
        let mut command = place.command(&arguments);
        command.envs(SANDBOX_VARIABLES).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children = [start(), start()];
    let reports =
        children.map(|child| CommandOutput::from(child.wait_with_output().unwrap()).json());
    assert_ne!(reports[0]["run_id"], reports[1]["run_id"]);
    assert_eq!(reports[0]["verdicts"], reports[1]["verdicts"]);
    let history = fs::read_to_string(place.path().join("sandbox_data/roi_history.json")).unwrap();
    let history: Value = serde_json::from_str(&history).unwrap();
    assert_eq!(history["roi_history"].as_array().map(Vec::len), Some(2), "{history}");
}

#[test]
fn a_damaged_history_is_moved_aside_and_reported() {
    let place = make_repo(&[("desk.py", HALF_MODULE)]);
    let data = place.path().join("sandbox_data");
    fs::create_dir(&data).unwrap();
    let damaged = "{\"roi_history\": [0.1, 0.";
    fs::write(data.join("roi_history.json"), damaged).unwrap();
    let ran = run_seeded(&place, &[&["--repo", "repo"][..], &BREADTH_ARGS].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("roi_history.json"), "{}", ran.err);
    let kept = fs::read_dir(&data).unwrap().flatten().filter(|entry| {
        entry.file_name().to_string_lossy().starts_with("roi_history.json")
            && fs::read_to_string(entry.path()).is_ok_and(|text| text == damaged)
    });
    assert_eq!(kept.count(), 1, "what was damaged is gone");
    let text = fs::read_to_string(data.join("roi_history.json")).unwrap();
    let history: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(history["roi_history"].as_array().map(Vec::len), Some(1), "{history}");
}

#[test]
fn histories_come_back_with_recover_also_after_a_run_without_it() {
    let place = make_repo(&[("desk.py", HALF_MODULE), ("shelf.py", HALF_MODULE)]);
    let data = place.path().join("sandbox_data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("roi_history.json"), "{\"roi_history\": [0.1, 0.").unwrap();
    fs::write(data.join("roi_history.json.bak"), "{\"roi_history\": [0.1, 0.2, 0.3]}").unwrap();
    fs::write(data.join("synergy_history.db"), "no database").unwrap();
    let (mut synergy, _) =
        menace_store::SynergyHistory::open(&data.join("synergy_history.db.bak")).unwrap();
    synergy.append(&[[("synergy_roi".to_owned(), 0.5)].into()]).unwrap();
    drop(synergy);
    // The first reader of a damaged history reports it, whichever that is.
    fs::write(data.join("roi.flags"), "other.py\n").unwrap();
    let kept = || {
        let text = fs::read_to_string(data.join("roi_history.json")).unwrap();
        let history: Value = serde_json::from_str(&text).unwrap();
        let (synergy, _) =
            menace_store::SynergyHistory::open(&data.join("synergy_history.db")).unwrap();
        let synergy = synergy.last_entries(9).unwrap().0;
        let before =
            history["roi_history"].as_array().unwrap()[..].iter().filter_map(Value::as_f64);
        (before.collect::<Vec<f64>>(), synergy)
    };
    let arguments = [&["--repo", "repo"][..], &BREADTH_ARGS].concat();
    let without = run_seeded(&place, &arguments);
    assert_eq!(without.code, Some(0), "{}", without.err);
    for file in ["roi_history.json", "synergy_history.db"] {
        assert!(without.err.contains(&format!("{file}.corrupt-1")), "{}", without.err);
    }
    assert_eq!(
        without.err.matches("--recover goes back to the last").count(),
        2,
        "{}",
        without.err
    );
    let (cycles, entries) = kept();
    assert_eq!((cycles.len(), entries.len()), (1, 1));

    let with = run_seeded(&place, &[&arguments[..], &["--recover"]].concat());
    assert_eq!(with.code, Some(0), "{}", with.err);
    let (cycles, entries) = kept();
    assert_eq!((&cycles[..3], cycles.len()), (&[0.1, 0.2, 0.3][..], 4), "{}", with.err);
    assert_eq!((entries[0]["synergy_roi"], entries.len()), (0.5, 2), "{}", with.err);
    assert!(data.join("roi_history.json.replaced-1").exists());
    assert!(data.join("synergy_history.db.replaced-1").exists());
}

#[test]
fn the_next_run_knows_what_the_last_one_found() {
    let place = make_repo(&[("desk.py", super::WEAK_MODULE)]);
    let first = breadth_report(&place, &["--repo", "repo"]);
    let second = breadth_report(&place, &["--repo", "repo"]);
    assert_eq!(first["roi_delta"], Value::Null);
    assert!(second["roi_delta"].as_f64().is_some_and(|delta| delta.abs() < 0.01), "{second}");
    let (first, second) =
        (reported_failures(&first)[0].clone(), reported_failures(&second)[0].clone());
    assert_eq!(first["id"], second["id"]);
    assert_eq!((&first["new"], &second["new"]), (&Value::Bool(true), &Value::Bool(false)));
}

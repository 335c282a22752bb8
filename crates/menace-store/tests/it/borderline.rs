//! The bucket of modules on the border, and logs of JSON lines.

use std::fs;

use menace_store::files::{append_line, read_lines};
use menace_store::{BorderlineBucket, BorderlineMeasurement, BorderlineStatus, StoreNotice};
use serde_json::{Value, json};
use tempfile::tempdir;

#[test]
fn a_module_has_one_line_from_pending_to_its_end() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("data/borderline_bucket.jsonl");
    let bucket = BorderlineBucket::new(&path);
    assert_eq!(bucket.modules().unwrap(), (vec![], None));
    bucket.add_measurement("shop/cart.py", measurement(-0.1, 0.4)).unwrap();
    bucket.add_measurement("desk.py", measurement(0.0, 0.9)).unwrap();
    bucket
        .record_pilot_result("shop/cart.py", measurement(0.3, 0.5), BorderlineStatus::Promoted)
        .unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        "{\"workflow_id\":\"shop/cart.py\",\"raroi\":[-0.1,0.3],\"confidence\":0.5,\
             \"status\":\"promoted\",\"source\":\"abc\"}\n\
         {\"workflow_id\":\"desk.py\",\"raroi\":[0.0],\"confidence\":0.9,\"status\":\"pending\"}\n"
    );
    bucket.add_measurement("desk.py", measurement(f64::NAN, 0.1)).unwrap();
    let (modules, _) = bucket.modules().unwrap();
    assert_eq!((modules[1].raroi.as_slice(), modules[1].confidence), ([0.0].as_slice(), 0.1));
}

fn measurement(raroi: f64, confidence: f64) -> BorderlineMeasurement<'static> {
    BorderlineMeasurement { raroi, confidence: Some(confidence), source_hash: "abc" }
}

#[test]
fn a_terminated_module_stays_terminated_until_its_source_changes() {
    let directory = tempdir().unwrap();
    let bucket = BorderlineBucket::new(&directory.path().join("bucket.jsonl"));
    let only = || bucket.modules().unwrap().0.remove(0);
    bucket.add_measurement("desk.py", measurement(0.1, 0.5)).unwrap();
    bucket
        .record_pilot_result("desk.py", measurement(0.0, 0.5), BorderlineStatus::Terminated)
        .unwrap();
    bucket.add_measurement("desk.py", measurement(-0.5, 0.5)).unwrap();
    assert_eq!((only().status, only().raroi), (BorderlineStatus::Terminated, vec![0.1, 0.0]));
    bucket
        .add_measurement(
            "desk.py",
            BorderlineMeasurement { source_hash: "def", ..measurement(-0.5, 0.5) },
        )
        .unwrap();
    assert_eq!((only().status, only().raroi), (BorderlineStatus::Pending, vec![0.1, 0.0, -0.5]));
}

#[test]
fn a_promoted_module_is_queued_again_only_when_it_falls_further() {
    let directory = tempdir().unwrap();
    let bucket = BorderlineBucket::new(&directory.path().join("bucket.jsonl"));
    let status = || bucket.modules().unwrap().0.remove(0).status;
    bucket.add_measurement("desk.py", measurement(-0.1, 0.5)).unwrap();
    bucket
        .record_pilot_result("desk.py", measurement(0.3, 0.5), BorderlineStatus::Promoted)
        .unwrap();
    bucket.add_measurement("desk.py", measurement(-0.1, 0.5)).unwrap();
    assert_eq!(status(), BorderlineStatus::Promoted);
    bucket.add_measurement("desk.py", measurement(-0.2, 0.5)).unwrap();
    assert_eq!(status(), BorderlineStatus::Pending);
}

#[test]
fn only_the_last_returns_are_kept() {
    let directory = tempdir().unwrap();
    let bucket = BorderlineBucket::new(&directory.path().join("bucket.jsonl"));
    for step in 0..30 {
        bucket.add_measurement("desk.py", measurement(f64::from(step), 0.5)).unwrap();
    }
    let (modules, _) = bucket.modules().unwrap();
    assert_eq!(modules[0].raroi.len(), 10);
    assert_eq!(modules[0].raroi.last(), Some(&29.0));
}

#[test]
fn a_damaged_bucket_is_kept_aside_and_goes_on_with_its_good_lines() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("bucket.jsonl");
    let bucket = BorderlineBucket::new(&path);
    bucket.add_measurement("desk.py", measurement(0.1, 0.5)).unwrap();
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{good}{{\"workflow_id\":")).unwrap();
    let notice = bucket.add_measurement("chair.py", measurement(0.2, 0.5)).unwrap();
    assert!(matches!(&notice, Some(StoreNotice::MovedAside { why, .. }) if why.contains("line 2")));
    let (modules, notice) = bucket.modules().unwrap();
    let names: Vec<&str> = modules.iter().map(|one| one.module.as_str()).collect();
    assert_eq!((names.as_slice(), notice), (["desk.py", "chair.py"].as_slice(), None));
    assert!(directory.path().join("bucket.jsonl.corrupt-1").exists());
}

#[test]
fn a_line_that_was_cut_off_damages_no_other_line() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("logs/threshold_log.jsonl");
    append_line(&path, &json!({"run": 1})).unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}{{\"run\":")).unwrap();
    append_line(&path, &json!({"run": 3})).unwrap();
    let (lines, damaged) = read_lines::<Value>(&path).unwrap();
    assert_eq!(lines, [json!({"run": 1}), json!({"run": 3})]);
    assert_eq!(damaged, [2]);
    let beside: Vec<_> = fs::read_dir(directory.path().join("logs")).unwrap().collect();
    assert_eq!(beside.len(), 1, "no lock lies beside a log");
}

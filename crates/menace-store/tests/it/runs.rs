//! Runs and what is measured in them.

use std::collections::BTreeMap;

use menace_model::{InputIntent, ScenarioSeverity, SourceLocation, Verdict};
use menace_store::{
    CallRecord, CellKey, CellRecord, ModuleRecord, RunId, RunStatus, ScenarioRecord, SectionRecord,
    StoreError, StoredMetricMap,
};
use serde_json::json;
use tempfile::tempdir;

use crate::sample::{call, call_record, cell, end, open, open_empty, run, section};

fn numbers(values: &[(&str, f64)]) -> StoredMetricMap {
    values.iter().map(|&(name, value)| (name.to_owned(), Some(value))).collect()
}

#[test]
fn a_run_is_read_as_it_was_written() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let writer = store.start_run(&run("r-1", 1000)).unwrap();
    writer.record_cycles(1).unwrap();
    writer.flush().unwrap();
    let going_on = store.latest_run().unwrap().unwrap();
    assert_eq!((going_on.status, going_on.cycles), (RunStatus::Running, 1));
    assert_eq!((going_on.seed, going_on.finished_ms), (u64::MAX - 1, None));

    assert_eq!(writer.finish(end(RunStatus::CutShort, 2000)).unwrap(), 2);
    let over = store.run("r-1").unwrap();
    assert_eq!((over.status, over.finished_ms), (RunStatus::CutShort, Some(2000)));
    assert_eq!(over.settings, json!({"jobs": 2}));
    assert_eq!(over.report, Some(json!({"calls": 3})));
}

#[test]
fn what_was_measured_is_read_as_it_was_written() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let writer = store.start_run(&run("r-1", 1000)).unwrap();
    let cell = CellRecord {
        key: cell("total"),
        severity: Some(ScenarioSeverity::High),
        calls: Some(3),
        verdicts: BTreeMap::from([(Verdict::Returned, 2), (Verdict::TimedOut, 1)]),
        roi: Some(0.1 + 0.2),
        metrics: numbers(&[("reliability", 2.0 / 3.0)]),
    };
    let section = SectionRecord {
        cycle: 0,
        section: section("total"),
        signature: Some("(prices)".into()),
        roi: Some(-0.5),
        raroi: None,
        metrics: numbers(&[]),
        uncallable_reason: Some("it is nested".into()),
    };
    let module = ModuleRecord {
        cycle: 0,
        path: "shop/cart.py".into(),
        roi: Some(1.5),
        raroi: Some(1.25),
        metrics: numbers(&[("efficiency", 0.75)]),
        flagged: true,
        risk_flags: json!(["S102"]),
    };
    let scenario = ScenarioRecord {
        cycle: 0,
        scenario: "normal".into(),
        severity: None,
        roi: Some(1.0),
        roi_delta: Some(-0.25),
        metrics: numbers(&[("throughput", 1e6)]),
    };
    writer.record_cell(cell.clone()).unwrap();
    writer.record_section(section.clone()).unwrap();
    writer.record_module(module.clone()).unwrap();
    writer.record_scenario(scenario.clone()).unwrap();
    writer.finish(end(RunStatus::Finished, 2000)).unwrap();

    let id = RunId("r-1".into());
    assert_eq!(store.cells(&id, 0).unwrap(), [cell]);
    assert_eq!(store.sections(&id, 0).unwrap(), [section]);
    assert_eq!(store.modules(&id, 0).unwrap(), [module]);
    assert_eq!(store.scenarios(&id, 0).unwrap(), [scenario]);
    assert_eq!(store.cells(&id, 1).unwrap(), []);
    assert_eq!(store.cells(&RunId("r-2".into()), 0).unwrap(), []);
}

#[test]
fn what_is_not_a_number_stays_that_way() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let writer = store.start_run(&run("r-1", 1000)).unwrap();
    let record = ScenarioRecord {
        cycle: 0,
        scenario: "normal".into(),
        severity: None,
        roi: Some(f64::NAN),
        roi_delta: None,
        metrics: numbers(&[("bad", f64::NAN), ("good", 1.0)]),
    };
    writer.record_scenario(record).unwrap();
    writer.finish(end(RunStatus::Finished, 2000)).unwrap();
    let read = store.scenarios(&RunId("r-1".into()), 0).unwrap().pop().unwrap();
    assert_eq!(read.roi, None);
    assert_eq!(read.metrics["bad"], None);
    assert_eq!(read.metrics["good"], Some(1.0));
}

#[test]
fn calls_of_a_section_come_in_order_and_in_pages() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let writer = store.start_run(&run("r-1", 1000)).unwrap();
    let bad = CallRecord {
        verdict: Verdict::Raised,
        intent: InputIntent::Hostile,
        exception: Some("builtins.KeyError".into()),
        message: Some("'a'".into()),
        place: Some(SourceLocation { file: "shop/cart.py".into(), line: 3 }),
        ..call_record("total", 2)
    }
    .with_call(&call());
    for record in
        [bad.clone(), call_record("total", 1), call_record("other", 1), call_record("total", 0)]
    {
        writer.record_call(record).unwrap();
    }
    // The same call once more: it was delivered twice.
    writer.record_call(call_record("total", 0)).unwrap();
    let later = CellKey { cycle: 1, ..cell("total") };
    writer.record_call(CallRecord { cell: later, ..call_record("total", 0) }).unwrap();
    let failure = menace_model::FailureId("f0123456789".into());
    writer.link_call_to_failure(cell("total"), 2, failure.clone()).unwrap();
    writer.finish(end(RunStatus::Finished, 2000)).unwrap();

    let id = RunId("r-1".into());
    let all = store.calls(&id, &section("total"), 0, 10, 0).unwrap();
    let bad = CallRecord { failure: Some(failure), ..bad };
    assert_eq!(all, [bad, call_record("total", 0), call_record("total", 1)]);
    assert_eq!(store.calls(&id, &section("total"), 0, 10, 2).unwrap(), [call_record("total", 1)]);
    assert_eq!(store.calls(&id, &section("other"), 0, 1, 0).unwrap(), [call_record("other", 1)]);
    assert_eq!(store.calls(&id, &section("missing"), 0, 10, 0).unwrap(), []);
    assert_eq!(store.calls(&id, &section("total"), 1, 10, 0).unwrap().len(), 1);
    // Cells are there before their scores are written.
    let cells = store.cells(&id, 0).unwrap();
    assert_eq!(cells.iter().map(|cell| cell.calls).collect::<Vec<_>>(), [None, None]);
}

#[test]
fn a_long_message_is_cut_between_characters() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let writer = store.start_run(&run("r-1", 1000)).unwrap();
    let message = Some(format!("{}\nmore", "ä".repeat(500)));
    writer.record_call(CallRecord { message, ..call_record("total", 0) }).unwrap();
    writer.finish(end(RunStatus::Finished, 2000)).unwrap();
    let calls = store.calls(&RunId("r-1".into()), &section("total"), 0, 1, 0).unwrap();
    assert_eq!(calls[0].message.as_deref(), Some(&*"ä".repeat(100)));
}

#[test]
fn a_run_is_found_by_the_start_of_its_name() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    insta::assert_snapshot!(store.run("r-1").unwrap_err(), @"there is no run `r-1`; start one with \
        `menace run`");
    for (id, started_ms) in [("r-1", 3), ("r-10", 2), ("r-2", 1)] {
        let writer = store.start_run(&run(id, started_ms)).unwrap();
        writer.finish(end(RunStatus::Finished, 9)).unwrap();
    }
    let names = |limit, offset| -> Vec<String> {
        store.runs(limit, offset).unwrap().into_iter().map(|run| run.id.0).collect()
    };
    assert_eq!(names(10, 0), ["r-1", "r-10", "r-2"]);
    assert_eq!(names(1, 1), ["r-10"]);
    assert_eq!(store.run_count().unwrap(), 3);
    assert_eq!(store.run("r-2").unwrap().id.0, "r-2");
    assert_eq!(store.run("r-1").unwrap().id.0, "r-1");
    assert_eq!(store.run("r-10").unwrap().id.0, "r-10");
    insta::assert_snapshot!(store.run("r-").unwrap_err(), @"`r-` may be any of r-1, r-10, r-2; \
        give more of it");
    insta::assert_snapshot!(store.run("x%").unwrap_err(), @"there is no run `x%`; the last ones \
        are r-1, r-10, r-2");
}

#[test]
fn a_run_that_was_not_measured_does_not_hide_one_that_was() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    assert_eq!(store.latest_measured_run().unwrap(), None);
    let good = store.start_run(&run("r-1", 1)).unwrap();
    for cycle in 0..2 {
        let record = SectionRecord {
            cycle,
            section: section("total"),
            signature: None,
            roi: None,
            raroi: None,
            metrics: StoredMetricMap::new(),
            uncallable_reason: None,
        };
        good.record_section(record).unwrap();
    }
    good.record_cycles(3).unwrap();
    good.finish(end(RunStatus::Finished, 2)).unwrap();
    let going_on = store.start_run(&run("r-2", 3)).unwrap();
    going_on.record_call(call_record("total", 0)).unwrap();
    going_on.flush().unwrap();
    assert_eq!(store.latest_run().unwrap().unwrap().id.0, "r-2");
    let measured = store.latest_measured_run().unwrap().unwrap();
    assert_eq!(measured.id.0, "r-1");
    assert_eq!(store.last_measured_cycle(&measured.id).unwrap(), Some(1));
    assert_eq!(store.last_measured_cycle(&RunId("r-2".into())).unwrap(), None);
}

#[test]
fn calls_that_did_not_go_well_come_first() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let writer = store.start_run(&run("r-1", 1)).unwrap();
    for number in 0..250 {
        writer.record_call(call_record("total", number)).unwrap();
    }
    writer
        .record_call(CallRecord { verdict: Verdict::Crashed, ..call_record("total", 250) })
        .unwrap();
    let failure = Some(menace_model::FailureId("fa".into()));
    writer.record_call(CallRecord { failure, ..call_record("total", 251) }).unwrap();
    writer.finish(end(RunStatus::Finished, 2)).unwrap();
    let calls = store.calls(&RunId("r-1".into()), &section("total"), 0, 3, 0).unwrap();
    let numbers: Vec<u32> = calls.iter().map(|call| call.number).collect();
    assert_eq!(numbers, [251, 250, 0]);
}

#[test]
fn names_of_runs_are_fit_for_files_and_used_once() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    for bad in ["", "../r", "a/b", "ä", &"r".repeat(65)] {
        assert!(matches!(store.start_run(&run(bad, 1)), Err(StoreError::BadRunId { .. })), "{bad}");
    }
    store.start_run(&run("r-1", 1)).unwrap().finish(end(RunStatus::Finished, 2)).unwrap();
    assert!(matches!(store.start_run(&run("r-1", 1)), Err(StoreError::RunExists { .. })));
    // The refused one did no harm to the other.
    drop(store);
    let (store, notices) = open(directory.path());
    assert_eq!(notices, []);
    assert_eq!(store.run("r-1").unwrap().status, RunStatus::Finished);
}

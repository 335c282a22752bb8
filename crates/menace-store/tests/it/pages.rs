//! What pages ask for: facts of runs, failures by filter, calls page by page, a run that goes on.

use menace_model::WeaknessKind;
use menace_store::{
    CallFilter, CallRecord, CallSortOrder, FailureFilter, FailureSortOrder, PageRange,
    RunEndRecord, RunId, RunSortOrder, RunStatus, StoreTotals,
};
use rusqlite::Connection;
use serde_json::json;
use tempfile::tempdir;

use crate::sample::{call_record, cell, end, failure, open, open_empty, run, section};

const ALL_ROWS: PageRange = PageRange { limit: 100, offset: 0 };
/// Those that did not go well first.
const FAILED_FIRST: (CallSortOrder, bool) = (CallSortOrder::FailedFirst, true);

fn run_end_with_report(report: serde_json::Value) -> RunEndRecord {
    RunEndRecord { status: RunStatus::Finished, finished_ms: 2000, cycles: 1, report }
}

#[test]
fn the_facts_of_a_run_come_from_its_summary() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let summary = json!({
        "calls": 7, "sections": 2, "roi": 0.5, "roi_delta": null, "elapsed_s": 1.5,
        "failures": [{"id": "f1", "new": true}, {"id": "f2", "new": false}],
        "worst_scenario": "normal", "verdicts": {"returned": 6, "raised": 1},
    });
    store.start_run(&run("r-1", 1000)).unwrap().finish(run_end_with_report(summary)).unwrap();
    let going_on = store.start_run(&run("r-2", 2000)).unwrap();
    let lines = store.list_runs(ALL_ROWS).unwrap();
    assert_eq!(lines.iter().map(|line| &*line.id.0).collect::<Vec<_>>(), ["r-2", "r-1"]);
    assert_eq!((lines[0].calls, lines[0].status), (None, RunStatus::Running));
    let over = &lines[1];
    assert_eq!((over.calls, over.sections), (Some(7), Some(2)));
    assert_eq!((over.failures, over.new_failures), (Some(2), Some(1)));
    assert_eq!((over.roi, over.roi_delta, over.elapsed_s), (Some(0.5), None, Some(1.5)));
    assert_eq!(over.verdicts["returned"], 6);
    assert_eq!(store.totals().unwrap(), StoreTotals { runs: 2, calls: 7 });
    assert_eq!(store.previous_run(&RunId("r-2".into())).unwrap(), Some(RunId("r-1".into())));
    assert_eq!(store.previous_run(&RunId("r-1".into())).unwrap(), None);
    drop(going_on);
}

#[test]
fn a_summary_that_is_odd_does_not_keep_a_run_from_ending() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    for (number, odd) in
        [json!([]), json!("x"), json!({"calls": "many", "failures": 3, "verdicts": []}), json!({})]
            .into_iter()
            .enumerate()
    {
        let id = format!("r-{number}");
        store.start_run(&run(&id, 1000)).unwrap().finish(run_end_with_report(odd)).unwrap();
        assert_eq!(store.run(&id).unwrap().status, RunStatus::Finished);
    }
    assert_eq!(store.totals().unwrap().runs, 4);
}

#[test]
fn a_database_of_the_first_version_gets_its_facts() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("menace.db");
    let older = Connection::open(&path).unwrap();
    older.pragma_update(None, "application_id", 0x4d4e_4345).unwrap();
    older.execute_batch(include_str!("../../sql/menace/001_start.sql")).unwrap();
    older.pragma_update(None, "user_version", 1).unwrap();
    older
        .execute_batch(
            "INSERT INTO runs (id, seed, repository, started_ms, status, settings, summary) VALUES
             ('r-1', 1, '/repo', 1, 'finished', '{}', '{\"calls\": 5, \"roi\": 0.25}'),
             ('r-2', 1, '/repo', 2, 'interrupted', '{}', NULL)",
        )
        .unwrap();
    drop(older);
    let (store, notices) = open(directory.path());
    assert_eq!(notices, []);
    assert_eq!(store.totals().unwrap(), StoreTotals { runs: 2, calls: 5 });
    let lines = store.list_runs(ALL_ROWS).unwrap();
    assert_eq!((lines[0].calls, lines[1].roi), (None, Some(0.25)));
}

#[test]
fn failures_are_found_page_by_page() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let writer = store.start_run(&run("r-1", 1000)).unwrap();
    for number in 0..5u32 {
        let mut one = failure(&format!("f{number}"));
        one.message = format!("100% of {number}");
        writer.record_failure(&one, 1000 + i64::from(number), u64::from(number) + 1).unwrap();
    }
    writer.finish(end(RunStatus::Finished, 2000)).unwrap();
    store.set_gone(&failure("f0").id, Some(3000)).unwrap();
    let ids = |filter: &FailureFilter, order, reverse, page| -> Vec<String> {
        let lines = store.list_failures(filter, order, reverse, page).unwrap();
        lines.into_iter().map(|line| line.id.0).collect()
    };
    let open = FailureFilter::default();
    assert_eq!(ids(&open, FailureSortOrder::LastSeen, false, ALL_ROWS), ["f4", "f3", "f2", "f1"]);
    let second = PageRange { limit: 2, offset: 2 };
    assert_eq!(ids(&open, FailureSortOrder::Count, true, second), ["f3", "f4"]);
    let all = FailureFilter { gone: true, ..FailureFilter::default() };
    assert_eq!(ids(&all, FailureSortOrder::FirstSeen, true, ALL_ROWS).len(), 5);
    assert_eq!((store.failure_count(&open).unwrap(), store.failure_count(&all).unwrap()), (4, 5));
    let text = |text: &str| FailureFilter { text: Some(text.into()), ..FailureFilter::default() };
    assert_eq!(ids(&text("100% OF 3"), FailureSortOrder::LastSeen, false, ALL_ROWS), ["f3"]);
    assert_eq!(store.failure_count(&text("100_")).unwrap(), 0, "an underscore is an underscore");
    assert_eq!(store.failure_kinds().unwrap(), [(WeaknessKind::Unhandled, 4)]);
    let none = FailureFilter { run: Some(RunId("r-9".into())), ..all };
    assert_eq!(store.failure_count(&none).unwrap(), 0);
    let (seen, count) = store.latest_occurrences(&failure("f4").id, 10).unwrap();
    assert_eq!((seen.len(), count, seen[0].count), (1, 1, 5));
}

#[test]
fn a_run_is_seen_by_others_while_it_goes_on() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let reader = store.open_reader().unwrap();
    let before = reader.data_version().unwrap();
    let id = RunId("r-1".into());
    let writer = store.start_run(&run("r-1", 1000)).unwrap();
    for number in 0..3 {
        writer.record_call(call_record("total", number)).unwrap();
    }
    writer.record_failure(&failure("f1"), 1001, 1).unwrap();
    writer.flush().unwrap();
    assert_ne!(reader.data_version().unwrap(), before, "something was written");
    assert_eq!(reader.active_runs().unwrap(), std::slice::from_ref(&id));
    let live = reader.live_stats(&id).unwrap();
    assert_eq!((live.calls, live.failures), (3, 1));
    assert_eq!(live.current_cell, Some(("shop/cart.py::total".into(), "normal".into())));
    let filter = CallFilter::default();
    let page = PageRange { limit: 2, offset: 2 };
    assert_eq!(
        reader.call_page(&id, 0, &section("total"), &filter, FAILED_FIRST, page).unwrap().len(),
        1
    );
    assert_eq!(reader.call_count(&id, 0, &section("total"), &filter).unwrap(), 3);
    let raised = CallFilter { verdict: Some("raised".into()), ..filter };
    assert_eq!(reader.call_count(&id, 0, &section("total"), &raised).unwrap(), 0);
    assert_eq!(reader.cells_of_section(&id, 0, &cell("total").section).unwrap().len(), 1);
    drop(writer);
    assert_eq!(reader.active_runs().unwrap(), [], "its lock is free");
    // A reader cannot change anything.
    reader.set_gone(&failure("f1").id, Some(1)).unwrap_err();
}

#[test]
fn runs_are_sorted_and_searched() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    for (id, moment, roi) in [("r-1", 1000, 0.5), ("r-2", 2000, 0.25), ("s_3", 3000, 0.75)] {
        let writer = store.start_run(&run(id, moment)).unwrap();
        writer.finish(run_end_with_report(json!({"calls": 1, "roi": roi}))).unwrap();
    }
    let going_on = store.start_run(&run("r-4", 4000)).unwrap();
    let ids = |text: Option<&str>, order, descending, page| -> Vec<String> {
        let lines = store.list_sorted_runs(text, order, descending, page).unwrap();
        lines.into_iter().map(|line| line.id.0).collect()
    };
    assert_eq!(ids(None, RunSortOrder::Started, true, ALL_ROWS), ["r-4", "s_3", "r-2", "r-1"]);
    assert_eq!(ids(None, RunSortOrder::Started, false, ALL_ROWS), ["r-1", "r-2", "s_3", "r-4"]);
    // What has no number yet comes last, whichever way.
    assert_eq!(ids(None, RunSortOrder::Roi, true, ALL_ROWS), ["s_3", "r-1", "r-2", "r-4"]);
    assert_eq!(ids(None, RunSortOrder::Roi, false, ALL_ROWS), ["r-2", "r-1", "s_3", "r-4"]);
    let second = PageRange { limit: 1, offset: 1 };
    assert_eq!(ids(Some("r-"), RunSortOrder::Roi, false, second), ["r-1"]);
    assert_eq!(
        (store.count_runs_matching("r-").unwrap(), store.count_runs_matching("_").unwrap()),
        (3, 1)
    );
    drop(going_on);
}

#[test]
fn calls_are_sorted_and_searched() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let id = RunId("r-1".into());
    let writer = store.start_run(&run("r-1", 1000)).unwrap();
    for (number, wall_ms, message) in [(0, 2.0, "half"), (1, 1.0, "100 %"), (2, 3.0, "none")] {
        let message = Some(message.to_owned());
        writer
            .record_call(CallRecord { wall_ms, message, ..call_record("total", number) })
            .unwrap();
    }
    writer.flush().unwrap();
    let numbers = |text: Option<&str>, order| -> Vec<u32> {
        let filter = CallFilter { text: text.map(str::to_owned), ..CallFilter::default() };
        let calls = store.call_page(&id, 0, &section("total"), &filter, order, ALL_ROWS).unwrap();
        assert_eq!(
            store.call_count(&id, 0, &section("total"), &filter).unwrap(),
            calls.len() as u64
        );
        calls.into_iter().map(|call| call.number).collect()
    };
    assert_eq!(numbers(None, FAILED_FIRST), [0, 1, 2]);
    assert_eq!(numbers(None, (CallSortOrder::WallTime, true)), [2, 0, 1]);
    assert_eq!(numbers(None, (CallSortOrder::WallTime, false)), [1, 0, 2]);
    assert_eq!(numbers(None, (CallSortOrder::Number, true)), [2, 1, 0]);
    assert_eq!(numbers(Some("%"), FAILED_FIRST), [1]);
}

//! Failures, and when they are seen.

use menace_model::{Call, CallStep, FailureId, SourceLocation, Value};
use menace_store::{
    FailureFilter, FailureSortOrder, PageRange, RunId, RunOccurrences, RunStatus, StoreError,
};
use tempfile::tempdir;

use crate::sample::{call, end, failure, open_empty, run};

#[test]
fn equal_failures_are_one_with_a_count() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let first = store.start_run(&run("r-1", 100)).unwrap();
    first.record_failure(&failure("fa"), 110, 2).unwrap();
    let mut again = failure("fa");
    again.message = "seen once more in the same run".into();
    first.record_failure(&again, 120, 3).unwrap();
    first.record_failure(&failure("fb"), 130, 1).unwrap();
    first.finish(end(RunStatus::Finished, 200)).unwrap();

    let known = store.failure("fa").unwrap();
    assert_eq!(known.failure, failure("fa"));
    assert_eq!((known.count, known.count_in_run), (5, None));
    assert_eq!((known.first_seen.at_ms, known.last_seen.at_ms), (110, 120));

    let second = store.start_run(&run("r-2", 300)).unwrap();
    let mut moved = failure("fa");
    moved.location = SourceLocation { file: "shop/cart.py".into(), line: 14 };
    moved.call.args = vec![Value::Bool(true)];
    second.record_failure(&moved, 310, 1).unwrap();
    second.finish(end(RunStatus::Finished, 400)).unwrap();

    let known = store.failure("fa").unwrap();
    assert_eq!(known.failure, moved, "the last run knows best");
    assert_eq!((known.first_seen.run.0.as_str(), known.last_seen.run.0.as_str()), ("r-1", "r-2"));
    assert_eq!(known.count, 6);
    let sighting =
        |run: &str, started_ms, count| RunOccurrences { run: RunId(run.into()), started_ms, count };
    assert_eq!(
        store.occurrences_by_run(&FailureId("fa".into())).unwrap(),
        [sighting("r-1", 100, 5), sighting("r-2", 300, 1)]
    );

    let ids = |failures: Vec<menace_store::FailureRecord>| -> Vec<(String, Option<u64>)> {
        failures.into_iter().map(|known| (known.failure.id.0, known.count_in_run)).collect()
    };
    assert_eq!(ids(store.failures().unwrap()), [("fa".into(), None), ("fb".into(), None)]);
    let of = |run: &str| ids(store.failures_of_run(&RunId(run.into())).unwrap());
    assert_eq!(of("r-1"), [("fb".into(), Some(1)), ("fa".into(), Some(5))]);
    assert_eq!(of("r-2"), [("fa".into(), Some(1))]);
    assert_eq!(of("r-3"), []);
}

#[test]
fn a_failure_that_a_run_also_sees_under_the_baseline_is_kept_as_it_was_seen_there() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let writer = store.start_run(&run("r-1", 100)).unwrap();
    let mut under_faults = failure("fa");
    under_faults.scenario = "hostile_input:high".into();
    under_faults.call.args = vec![Value::Bool(true)];
    for (seen, at_ms) in [(&under_faults, 110), (&failure("fa"), 120), (&under_faults, 130)] {
        writer.record_failure(seen, at_ms, 1).unwrap();
    }
    writer.finish(end(RunStatus::Finished, 200)).unwrap();
    let known = store.failure("fa").unwrap();
    assert_eq!((known.failure, known.count), (failure("fa"), 3));
}

#[test]
fn a_failure_that_is_gone_is_back_when_it_is_seen() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let id = FailureId("fa".into());
    let writer = store.start_run(&run("r-1", 100)).unwrap();
    writer.record_failure(&failure("fa"), 110, 1).unwrap();
    writer.mark_failure_gone(id.clone(), 120).unwrap();
    writer.flush().unwrap();
    assert_eq!(store.failure("fa").unwrap().gone_ms, Some(120));
    store.set_gone(&id, Some(130)).unwrap();
    assert_eq!(store.failure("fa").unwrap().gone_ms, Some(130));
    writer.record_failure(&failure("fa"), 140, 1).unwrap();
    writer.finish(end(RunStatus::Finished, 200)).unwrap();
    assert_eq!(store.failure("fa").unwrap().gone_ms, None);
}

#[test]
fn a_failure_is_new_where_no_earlier_run_found_it_or_it_was_gone() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let (known, back) = (FailureId("fa".into()), FailureId("fb".into()));
    let new_in = |run_id: &str, at_ms: i64, gone_meanwhile: bool| {
        let run_id = RunId(run_id.into());
        let writer = store.start_run(&run(&run_id.0, at_ms)).unwrap();
        if gone_meanwhile {
            writer.mark_failure_gone(known.clone(), at_ms).unwrap();
        }
        for id in ["fa", "fb", "fa"] {
            writer.record_failure(&failure(id), at_ms, 1).unwrap();
        }
        writer.flush().unwrap();
        let reported: Vec<bool> = [&known, &back].map(|id| writer.is_new(id)).into();
        writer.finish(end(RunStatus::Finished, at_ms + 1)).unwrap();
        let mut stored = store.failures_of_run(&run_id).unwrap();
        stored.sort_by_key(|one| one.failure.id.clone());
        assert_eq!(stored.iter().map(|one| one.new_in_run).collect::<Vec<_>>(), reported);
        let filter = FailureFilter { run: Some(run_id), ..FailureFilter::default() };
        let order = FailureSortOrder::Section;
        let listed = store.list_failures(&filter, order, false, PageRange::first(9)).unwrap();
        assert_eq!(listed.iter().map(|one| one.new_in_run).collect::<Vec<_>>(), reported);
        reported
    };
    assert_eq!(new_in("r-1", 100, false), [true, true]);
    store.set_gone(&back, Some(150)).unwrap();
    assert_eq!(new_in("r-2", 200, true), [false, true], "one was gone before the run");
    assert_eq!(new_in("r-3", 300, false), [false, false]);
    assert!(store.failures_of_run(&RunId("r-2".into())).unwrap()[1].new_in_run);
}

#[test]
fn the_smallest_call_is_kept_beside_the_first() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let writer = store.start_run(&run("r-1", 100)).unwrap();
    writer.record_failure(&failure("fa"), 110, 1).unwrap();
    writer.finish(end(RunStatus::Finished, 200)).unwrap();
    let small = Call { step: CallStep { args: Vec::new(), ..call().step }, ..call() };
    store.set_shrunk(&FailureId("fa".into()), &small).unwrap();
    let known = store.failure("f").unwrap();
    assert_eq!(known.shrunk, Some(small));
    assert_eq!(known.failure.call, call());
    let unknown = FailureId("fz".into());
    assert!(matches!(store.set_gone(&unknown, None), Err(StoreError::NotFound { .. })));
    insta::assert_snapshot!(store.failure("fz").unwrap_err(), @"there is no failure `fz`; `menace \
        failures` lists all");
}

#[test]
fn the_smallest_call_is_dropped_with_the_call_that_it_was_made_of() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let see = |run_id: &str, at_ms, args: Vec<Value>| {
        let writer = store.start_run(&run(run_id, at_ms)).unwrap();
        let mut seen = failure("fa");
        seen.call.args = args;
        writer.record_failure(&seen, at_ms, 1).unwrap();
        // A second sighting in the same run brings no call along.
        writer.record_failure(&failure("fa"), at_ms, 1).unwrap();
        writer.finish(end(RunStatus::Finished, at_ms + 1)).unwrap();
        store.failure("fa").unwrap().shrunk
    };
    assert_eq!(see("r-1", 100, vec![Value::None]), None);
    let small = Call { step: CallStep { args: Vec::new(), ..call().step }, ..call() };
    store.set_shrunk(&FailureId("fa".into()), &small).unwrap();
    assert_eq!(see("r-2", 200, vec![Value::None]), Some(small));
    assert_eq!(see("r-3", 300, vec![Value::Bool(true)]), None);
}

#[test]
fn a_call_that_cannot_be_written_is_the_error_of_its_sender_only() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let writer = store.start_run(&run("r-1", 100)).unwrap();
    let mut deep = failure("fa");
    deep.call.args = vec![(0..200).fold(Value::None, |value, _| Value::List(vec![value]))];
    assert!(matches!(
        writer.record_failure(&deep, 110, 1),
        Err(StoreError::NotSerializable { .. })
    ));
    writer.record_failure(&failure("fb"), 110, 1).unwrap();
    writer.finish(end(RunStatus::Finished, 200)).unwrap();
    assert_eq!(store.failures().unwrap().len(), 1);
}

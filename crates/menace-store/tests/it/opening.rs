//! Opening the store: what is there, what is not, what belongs to another program.

use std::fs;

use menace_store::{RunId, RunStatus, Store, StoreError, StoreNotice};
use rusqlite::Connection;
use tempfile::tempdir;

use crate::sample::{DATABASE_URL, call_record, end, open, open_empty, query_number, run};

#[test]
fn the_directory_is_made_and_the_file_is_what_it_should_be() {
    let directory = tempdir().unwrap();
    let store = open_empty(&directory.path().join("deep/er"));
    assert_eq!(store.path(), directory.path().join("deep/er/menace.db"));
    let connection = Connection::open(store.path()).unwrap();
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    assert_eq!(query_number(store.path(), "PRAGMA user_version"), 5);
}

#[test]
fn looking_makes_nothing() {
    let directory = tempdir().unwrap();
    let data = directory.path().join("sandbox_data");
    assert!(Store::open_existing(&data, DATABASE_URL).unwrap().is_none());
    assert!(!data.exists());
    drop(open_empty(&data));
    assert!(Store::open_existing(&data, DATABASE_URL).unwrap().is_some());
}

#[test]
fn looking_leaves_what_is_damaged_where_it_is() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("menace.db");
    fs::write(&path, "damaged").unwrap();
    let error = Store::open_existing(directory.path(), DATABASE_URL).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"damaged");
    fs::write(&path, "").unwrap();
    assert!(Store::open_existing(directory.path(), DATABASE_URL).unwrap().is_none());
    assert_eq!(fs::read(&path).unwrap(), b"");
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let directory = tempdir().unwrap();
    let path = open_empty(directory.path()).path().to_owned();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Store::open(directory.path(), DATABASE_URL).unwrap_err();
    let message = error.to_string().replace(&*directory.path().to_string_lossy(), "DATA");
    insta::assert_snapshot!(message, @"`DATA/menace.db` was written by a newer version (its schema \
        is 99, this one knows 5); update Menace, or set SANDBOX_DATA_DIR to another directory");
    assert_eq!(query_number(&path, "PRAGMA user_version"), 99);
}

#[test]
fn the_database_of_another_program_is_refused_and_left_alone() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("menace.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE users (name TEXT)").unwrap();
    let before = fs::read(&path).unwrap();
    let error = Store::open(directory.path(), DATABASE_URL).unwrap_err();
    assert!(matches!(error, StoreError::ForeignDatabase { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_damaged_file_outside_the_data_directory_is_not_ours_to_move() {
    let directory = tempdir().unwrap();
    let notes = directory.path().join("notes.txt");
    fs::write(&notes, "not a database at all, ".repeat(100)).unwrap();
    let url = format!("sqlite:///{}", notes.display());
    let error = Store::open(&directory.path().join("data"), &url).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "not a database at all, ".repeat(100));
}

#[test]
fn a_file_where_the_directory_should_be_is_named() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("data"), "").unwrap();
    let error = Store::open(&directory.path().join("data"), DATABASE_URL).unwrap_err();
    let message = error.to_string().replace(&*directory.path().to_string_lossy(), "DIR");
    insta::assert_snapshot!(message, @"cannot create `DIR/data`: a file is where a directory \
        should be; move it, or set SANDBOX_DATA_DIR to another directory");
}

#[test]
fn an_abandoned_run_is_interrupted_and_a_live_one_is_not() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let abandoned = store.start_run(&run("r-1", 1)).unwrap();
    let live = store.start_run(&run("r-2", 2)).unwrap();
    abandoned.record_call(call_record("total", 0)).unwrap();
    drop(abandoned);

    let (other, notices) = open(directory.path());
    let runs = vec![RunId("r-1".into())];
    assert_eq!(notices, [StoreNotice::InterruptedRuns { runs }]);
    assert_eq!(other.run("r-1").unwrap().status, RunStatus::Interrupted);
    assert_eq!(other.run("r-2").unwrap().status, RunStatus::Running);
    assert_eq!(query_number(store.path(), "SELECT count(*) FROM calls"), 1);

    live.finish(end(RunStatus::Finished, 3)).unwrap();
    assert_eq!(open(directory.path()).1, []);
    assert_eq!(other.run("r-2").unwrap().status, RunStatus::Finished);
    let left = fs::read_dir(directory.path().join("menace.db.running")).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn a_record_that_cannot_be_stored_is_an_error_of_its_sender() {
    let directory = tempdir().unwrap();
    let store = open_empty(directory.path());
    let writer = store.start_run(&run("r-1", 1)).unwrap();
    writer.record_call(call_record("total", 0)).unwrap();
    writer.flush().unwrap();
    Connection::open(store.path()).unwrap().execute_batch("DROP TABLE calls").unwrap();
    writer.record_call(call_record("total", 1)).unwrap();
    let Err(StoreError::RowsNotStored { lost, .. }) = writer.flush() else {
        panic!("the flush must fail");
    };
    assert_eq!(lost, 1);
    let Err(StoreError::RowsNotStored { lost, .. }) = writer.record_call(call_record("total", 2))
    else {
        panic!("the next send must fail");
    };
    assert_eq!(lost, 2);
    let error = writer.finish(end(RunStatus::Finished, 3)).unwrap_err();
    insta::assert_snapshot!(error, @"3 rows of run `r-1` could not be stored");
}

//! Disks that are full, or may not be written. They are mounted in namespaces of their own.

use std::error::Error as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use menace_store::{RunStatus, Store, StoreError};
use tempfile::tempdir;

use crate::processes::{WriterProcess, print_message};
use crate::sample::{DATABASE_URL, call_record, check_integrity, end, open, query_number, run};

/// Does a deed in a file system of its own.
fn run_on_tmpfs(options: &str, task: &str) -> Vec<String> {
    let directory = tempdir().unwrap();
    let this = std::env::current_exe().expect("this test has a program");
    let mut command = Command::new("unshare");
    let mount = r#"mount -t tmpfs -o "$1" none "$2" && shift 2 && exec "$@""#;
    command
        .args(["--map-root-user", "--mount", "sh", "-c", mount, "sh", options])
        .args([directory.path(), &this]);
    let mut other = WriterProcess::start_with_command(command, task, directory.path(), "r-1");
    let mut said = Vec::new();
    while let Some(line) = other.read_message() {
        said.push(line.replace(&*directory.path().to_string_lossy(), "DATA"));
    }
    other.wait_for_success();
    said
}

/// With all causes, in one line.
fn error_chain(error: &StoreError) -> String {
    let mut story = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        story = format!("{story}: {error}");
        cause = error.source();
    }
    story
}

/// Writes until there is no space, makes some, and looks at what is there.
pub(crate) fn fill_disk(directory: &Path) {
    let ballast = directory.join("ballast");
    fs::write(&ballast, vec![0; 512 << 10]).expect("there is space for it");
    let (store, _) = open(directory);
    let writer = store.start_run(&run("r-1", 1)).expect("a run");
    let mut acknowledged = 0;
    let error = loop {
        let group = 100;
        let sent = (acknowledged..acknowledged + group)
            .try_for_each(|number| writer.record_call(call_record("total", number)));
        match sent.and_then(|()| writer.flush()) {
            Ok(()) => acknowledged += group,
            Err(error) => break error,
        }
    };
    let StoreError::RowsNotStored { lost, source, .. } = &error else {
        panic!("{error}");
    };
    assert!((1..=100).contains(lost), "{lost} rows are lost");
    print_message(&source.to_string());
    let error = writer.finish(end(RunStatus::Finished, 2)).expect_err("the run is not complete");
    assert!(matches!(error, StoreError::RowsNotStored { .. }), "{error}");

    fs::remove_file(&ballast).expect("it is ours");
    drop(store);
    let (store, notices) = open(directory);
    for notice in notices {
        print_message(&notice.to_string());
    }
    let stored = query_number(store.path(), "SELECT count(*) FROM calls");
    assert!(acknowledged > 0 && stored >= i64::from(acknowledged), "{stored} of {acknowledged}");
    print_message(&format!("integrity: {}", check_integrity(store.path())));
}

pub(crate) fn open_store(directory: &Path) {
    match Store::open(directory, DATABASE_URL) {
        Ok(_) => print_message("it opened"),
        Err(error) => print_message(&error_chain(&error)),
    }
}

#[test]
fn on_a_full_disk_nothing_is_lost_in_silence() {
    insta::assert_snapshot!(run_on_tmpfs("size=2m", "fill").join("\n"), @"
    no space is left for `DATA/menace.db`; free some, or set SANDBOX_DATA_DIR to a \
    directory on another disk
    interrupted before the end: r-1
    integrity: ok
    ");
}

#[test]
fn a_store_that_has_no_space_at_all_says_so() {
    insta::assert_snapshot!(run_on_tmpfs("size=16k", "open").join("\n"), @"cannot read or write \
        `DATA/menace.db`: its disk is full or failing; free some space, or set SANDBOX_DATA_DIR to \
        a directory on another disk: disk I/O error: Error code 4874: disk I/O error");
}

#[test]
fn a_store_that_may_not_be_written_says_so() {
    insta::assert_snapshot!(run_on_tmpfs("ro", "open").join("\n"), @"cannot lock \
        `DATA/menace.db.lock`: it may not be written; make it writable, or set SANDBOX_DATA_DIR to \
        a directory that is: Read-only file system (os error 30)");
}

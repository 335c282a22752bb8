//! Disks that are full, or may not be written. They are mounted in namespaces of their own.

use std::error::Error as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use menace_store::{Error, RunStatus, Store};
use tempfile::tempdir;

use crate::processes::{Other, say};
use crate::sample::{URL, call_record, end, integrity, number, open, run};

/// Does a deed in a file system of its own.
fn on(options: &str, deed: &str) -> Vec<String> {
    let directory = tempdir().unwrap();
    let this = std::env::current_exe().expect("this test has a program");
    let mut command = Command::new("unshare");
    let mount = r#"mount -t tmpfs -o "$1" none "$2" && shift 2 && exec "$@""#;
    command
        .args(["--map-root-user", "--mount", "sh", "-c", mount, "sh", options])
        .args([directory.path(), &this]);
    let mut other = Other::start_by(command, deed, directory.path(), "r-1");
    let mut said = Vec::new();
    while let Some(line) = other.hear() {
        said.push(line.replace(&*directory.path().to_string_lossy(), "DATA"));
    }
    other.end();
    said
}

/// With all causes, in one line.
fn story(error: &Error) -> String {
    let mut story = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        story = format!("{story}: {error}");
        cause = error.source();
    }
    story
}

/// Writes until there is no space, makes some, and looks at what is there.
pub(crate) fn fill(directory: &Path) {
    let ballast = directory.join("ballast");
    fs::write(&ballast, vec![0; 512 << 10]).expect("there is space for it");
    let (store, _) = open(directory);
    let writer = store.start_run(&run("r-1", 1)).expect("a run");
    let mut acknowledged = 0;
    let error = loop {
        let group = 100;
        let sent = (acknowledged..acknowledged + group)
            .try_for_each(|number| writer.call(call_record("total", number)));
        match sent.and_then(|()| writer.flush()) {
            Ok(()) => acknowledged += group,
            Err(error) => break error,
        }
    };
    let Error::Writing { lost, source, .. } = &error else {
        panic!("{error}");
    };
    assert!((1..=100).contains(lost), "{lost} rows are lost");
    say(&source.to_string());
    let error = writer.finish(end(RunStatus::Finished, 2)).expect_err("the run is not complete");
    assert!(matches!(error, Error::Writing { .. }), "{error}");

    fs::remove_file(&ballast).expect("it is ours");
    drop(store);
    let (store, notices) = open(directory);
    for notice in notices {
        say(&notice.to_string());
    }
    let stored = number(store.path(), "SELECT count(*) FROM calls");
    assert!(acknowledged > 0 && stored >= i64::from(acknowledged), "{stored} of {acknowledged}");
    say(&format!("integrity: {}", integrity(store.path())));
}

pub(crate) fn open_only(directory: &Path) {
    match Store::open(directory, URL) {
        Ok(_) => say("it opened"),
        Err(error) => say(&story(&error)),
    }
}

#[test]
fn on_a_full_disk_nothing_is_lost_in_silence() {
    insta::assert_snapshot!(on("size=2m", "fill").join("\n"), @"
    no space is left for `DATA/menace.db`; free some, or set SANDBOX_DATA_DIR to a directory on another disk
    interrupted before the end: r-1
    integrity: ok
    ");
}

#[test]
fn a_store_that_has_no_space_at_all_says_so() {
    insta::assert_snapshot!(on("size=16k", "open").join("\n"), @"cannot read or write `DATA/menace.db`: its disk is full or failing; free some space, or set SANDBOX_DATA_DIR to a directory on another disk: disk I/O error: Error code 4874: disk I/O error");
}

#[test]
fn a_store_that_may_not_be_written_says_so() {
    insta::assert_snapshot!(on("ro", "open").join("\n"), @"cannot lock `DATA/menace.db.lock`: it may not be written; make it writable, or set SANDBOX_DATA_DIR to a directory that is: Read-only file system (os error 30)");
}

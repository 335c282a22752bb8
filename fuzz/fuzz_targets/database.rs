#![no_main]

#[allow(dead_code, reason = "shared with the tests of the store")]
#[path = "../../crates/menace-store/tests/it/sample.rs"]
mod sample;

use std::fs;
use std::sync::LazyLock;

use menace_store::RunStatus;
use tempfile::TempDir;

/// A data directory, and the bytes of a database with a run, that is changed in it.
static DATA: LazyLock<(TempDir, Vec<u8>)> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("writable");
    let (store, _) = sample::open(directory.path());
    let writer = store.start_run(&sample::run("r-1", 1)).expect("a new run");
    for number in 0..20 {
        writer.record_call(sample::call_record("total", number)).expect("it can be recorded");
    }
    writer.finish(sample::end(RunStatus::Finished, 2)).expect("it can be finished");
    drop(store);
    let bytes = fs::read(directory.path().join("menace.db")).expect("it was made");
    (directory, bytes)
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (directory, database) = &*DATA;
    for left in ["menace.db-wal", "menace.db-shm", "menace.db-journal"] {
        let _ = fs::remove_file(directory.path().join(left));
    }
    menace_fuzz::database::read_changed(database, bytes, directory.path());
});

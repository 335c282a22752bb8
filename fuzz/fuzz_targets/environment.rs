#![no_main]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::LazyLock;

use tempfile::TempDir;

static CHECKOUT: LazyLock<TempDir> = LazyLock::new(|| {
    let checkout = tempfile::tempdir().expect("writable");
    fs::create_dir_all(checkout.path().join(".venv/bin")).expect("writable");
    symlink("/usr/bin/python3", checkout.path().join(".venv/bin/python")).expect("writable");
    checkout
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fs::write(CHECKOUT.path().join(".venv/pyvenv.cfg"), bytes).expect("writable");
    menace_sandbox::fuzzing::read_environment(CHECKOUT.path());
});

#![no_main]

use std::sync::LazyLock;

use tempfile::TempDir;

static CHECKOUT: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("writable"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    menace_fuzz::ignore_files::read_all(bytes, CHECKOUT.path());
});

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    menace_fuzz::history::read_all(&menace_fuzz::text(bytes));
});

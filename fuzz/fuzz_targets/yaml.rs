#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    menace_fuzz::settings::read_yaml(&menace_fuzz::text(bytes));
});

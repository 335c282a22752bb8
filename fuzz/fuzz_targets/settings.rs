#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    menace_fuzz::settings::read_dotenv(&menace_fuzz::text(bytes));
});

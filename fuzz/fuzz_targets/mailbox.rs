#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| menace_sandbox::fuzzing::read_mailbox(bytes));

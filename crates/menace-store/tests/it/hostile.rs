//! A database that came with a checkout, with anything in it: reading it ends, without a panic.

#[allow(unreachable_pub, reason = "shared with the targets of `cargo xtask fuzz`")]
#[path = "../../../../fuzz/src/database.rs"]
mod database;

use std::fs;
use std::sync::OnceLock;

use menace_store::RunStatus;
use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::tempdir;

use self::database::{change_column, read_all, read_changed};
use crate::sample::{call_record, end, open, run};

/// The bytes of a database with a run in it.
fn sample_database() -> &'static [u8] {
    static DATABASE: OnceLock<Vec<u8>> = OnceLock::new();
    DATABASE.get_or_init(|| {
        let directory = tempdir().unwrap();
        let (store, _) = open(directory.path());
        let writer = store.start_run(&run("r-1", 1)).unwrap();
        for number in 0..20 {
            writer.record_call(call_record("total", number)).unwrap();
        }
        writer.finish(end(RunStatus::Finished, 2)).unwrap();
        drop(store);
        fs::read(directory.path().join("menace.db")).unwrap()
    })
}

/// Values that columns of another type do not expect.
fn expression() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "NULL",
            "-1",
            "9223372036854775807",
            "-9223372036854775808",
            "1e300",
            "9e999",
            "''",
            "x'ff00'",
            "CAST(x'fffe80' AS TEXT)",
            "'['",
            "'{'",
            "'null'",
            "'[[[[[[[[[['",
            "hex(zeroblob(100000))",
            "char(27) || '[2J'",
        ])
        .prop_map(str::to_owned),
        "[a-z\\[\\]{}:,\"0-9]{0,20}".prop_map(|text| format!("'{text}'")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_damaged_page_breaks_reading(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)
    ) {
        let directory = tempdir().unwrap();
        let mut bytes = sample_database().to_vec();
        for (at, byte) in changes {
            let length = bytes.len();
            bytes[at.index(length)] = byte;
        }
        fs::write(directory.path().join("menace.db"), bytes).unwrap();
        read_all(directory.path());
    }

    #[test]
    fn no_value_of_another_type_breaks_reading(
        expressions in proptest::collection::vec(expression(), 1..6),
        seed in any::<u32>(),
    ) {
        let directory = tempdir().unwrap();
        let path = directory.path().join("menace.db");
        fs::write(&path, sample_database()).unwrap();
        let connection = Connection::open(&path).unwrap();
        for (number, expression) in expressions.iter().enumerate() {
            change_column(&connection, seed as usize + number * 7, expression);
        }
        drop(connection);
        read_all(directory.path());
    }

    #[test]
    fn no_change_of_a_fuzzer_breaks_reading(
        changes in proptest::collection::vec(any::<u8>(), 0..60)
    ) {
        let directory = tempdir().unwrap();
        read_changed(sample_database(), &changes, directory.path());
    }
}

//! A database that came with a checkout, with anything in it: reading it ends, without a panic.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use menace_store::{RunStatus, Store};
use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::tempdir;

use crate::sample::{DATABASE_URL, call_record, end, open, run};

/// The bytes of a database with a run in it.
fn database() -> &'static [u8] {
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

fn read_all(directory: &Path) {
    let Ok(Some((store, _))) = Store::open_existing(directory, DATABASE_URL) else { return };
    let runs = store.runs(10, 0).unwrap_or_default();
    let _ = (store.failures(), store.failure_kinds(), store.latest_run(), store.active_runs());
    for run in runs {
        let _ = store.last_measured_cycle(&run.id);
        let _ = (store.cells(&run.id, 0), store.sections(&run.id, 0), store.modules(&run.id, 0));
        let _ = (store.live_stats(&run.id), store.failures_of_run(&run.id));
    }
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
        let mut bytes = database().to_vec();
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
        fs::write(&path, database()).unwrap();
        let connection = Connection::open(&path).unwrap();
        let sql = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c \
                   WHERE m.type = 'table'";
        let columns: Vec<(String, String)> = connection
            .prepare(sql)
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        for (number, expression) in expressions.iter().enumerate() {
            let (table, column) = &columns[(seed as usize + number * 7) % columns.len()];
            let update = format!("UPDATE OR IGNORE \"{table}\" SET \"{column}\" = {expression}");
            // A rule of the table may be against it.
            let _ = connection.execute(&update, []);
        }
        drop(connection);
        read_all(directory.path());
    }
}

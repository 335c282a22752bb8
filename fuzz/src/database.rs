//! Databases that came with a checkout.

use std::fs;
use std::path::Path;

use menace_store::Store;
use rusqlite::Connection;

const DATABASE_URL: &str = "sqlite:///menace.db";

/// Reads everything in the database of a data directory.
pub fn read_all(directory: &Path) {
    let Ok(Some((store, _))) = Store::open_existing(directory, DATABASE_URL) else { return };
    let runs = store.runs(10, 0).unwrap_or_default();
    let _ = (store.failures(), store.failure_kinds(), store.latest_run(), store.active_runs());
    for run in runs {
        let _ = store.last_measured_cycle(&run.id);
        let _ = (store.cells(&run.id, 0), store.sections(&run.id, 0), store.modules(&run.id, 0));
        let _ = (store.live_stats(&run.id), store.failures_of_run(&run.id));
    }
}

/// A database that is changed before it is read: by an odd first byte, bytes of its file, each of
/// which follows its place in three bytes; by an even one, the texts of its columns.
pub fn read_changed(database: &[u8], changes: &[u8], directory: &Path) {
    let path = directory.join("menace.db");
    let Some((kind, changes)) = changes.split_first() else { return };
    let mut bytes = database.to_vec();
    if kind % 2 == 1 {
        for change in changes.chunks_exact(4) {
            let place = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize;
            let length = bytes.len();
            bytes[place % length] = change[3];
        }
    }
    fs::write(&path, bytes).expect("the directory is ours");
    if kind % 2 == 0 {
        let connection = Connection::open(&path).expect("it is a database");
        for (number, change) in changes.split(|byte| *byte == 0).take(8).enumerate() {
            let text = String::from_utf8_lossy(change).replace('\'', "''");
            change_column(&connection, usize::from(*kind) + 7 * number, &format!("'{text}'"));
        }
    }
    read_all(directory);
}

/// Sets one column to the value of an expression, if no rule of its table is against it.
pub fn change_column(connection: &Connection, number: usize, expression: &str) {
    let sql = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c \
               WHERE m.type = 'table'";
    let mut statement = connection.prepare(sql).expect("the schema can be read");
    let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let columns: Vec<(String, String)> =
        columns.and_then(Iterator::collect).expect("tables have columns");
    let (table, column) = &columns[number % columns.len()];
    let update = format!("UPDATE OR IGNORE \"{table}\" SET \"{column}\" = {expression}");
    let _ = connection.execute(&update, []);
}

//! Brings the schema up to date. The version is SQLite's `user_version`.
//!
//! Invariant: either all missing migrations are applied, or none.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::{DatabaseSpec, InDatabase, StoreError, StoreResult};

pub(super) fn apply_migrations(
    path: &Path,
    connection: &mut Connection,
    kind: &DatabaseSpec,
) -> StoreResult<()> {
    let known = kind.migrations.len();
    let done = check_schema_version(path, connection, kind)?;
    if done == known {
        return Ok(());
    }
    apply_pending(connection, kind, done).in_database(path)?;
    tracing::debug!(path = %path.display(), from = done, to = known, "brought the schema up to \
        date");
    Ok(())
}

/// The number of applied migrations; an error if this version of the program does not know them
/// all.
pub(super) fn check_schema_version(
    path: &Path,
    connection: &Connection,
    kind: &DatabaseSpec,
) -> StoreResult<usize> {
    let known = kind.migrations.len();
    let found = read_schema_version(connection).in_database(path)?;
    usize::try_from(found)
        .ok()
        .filter(|&done| done <= known)
        .ok_or_else(|| StoreError::NewerSchema { path: path.to_owned(), found, known })
}

fn read_schema_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn apply_pending(db: &mut Connection, kind: &DatabaseSpec, done: usize) -> rusqlite::Result<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for migration in &kind.migrations[done..] {
        transaction.execute_batch(migration)?;
    }
    if let Some(application) = kind.application_id {
        transaction.pragma_update(None, "application_id", application)?;
    }
    let version = u32::try_from(kind.migrations.len()).unwrap_or(u32::MAX);
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::JournalMode;

    const FIRST_MIGRATION: &str =
        "CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('apple')";
    const SECOND_MIGRATION: &str = "ALTER TABLE fruit ADD COLUMN colour TEXT DEFAULT 'red'";
    const THIRD_MIGRATION: &str = "UPDATE fruit SET colour = 'green'";

    const fn spec_with_migrations(migrations: &'static [&'static str]) -> DatabaseSpec {
        DatabaseSpec { migrations, application_id: Some(1), journal_mode: JournalMode::Rollback }
    }

    const SCHEMA_VERSIONS: [DatabaseSpec; 4] = [
        spec_with_migrations(&[]),
        spec_with_migrations(&[FIRST_MIGRATION]),
        spec_with_migrations(&[FIRST_MIGRATION, SECOND_MIGRATION]),
        spec_with_migrations(&[FIRST_MIGRATION, SECOND_MIGRATION, THIRD_MIGRATION]),
    ];

    fn read_colour(connection: &Connection) -> String {
        connection.query_row("SELECT colour FROM fruit", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn every_older_version_ends_where_a_new_one_does() {
        for older in &SCHEMA_VERSIONS {
            let mut connection = Connection::open_in_memory().unwrap();
            apply_migrations(Path::new("fruit.db"), &mut connection, older).unwrap();
            for _ in 0..2 {
                apply_migrations(Path::new("fruit.db"), &mut connection, &SCHEMA_VERSIONS[3])
                    .unwrap();
                assert_eq!(read_schema_version(&connection).unwrap(), 3);
                assert_eq!(read_colour(&connection), "green");
            }
        }
    }

    #[test]
    fn a_step_that_fails_takes_the_others_back() {
        let mut connection = Connection::open_in_memory().unwrap();
        apply_migrations(Path::new("fruit.db"), &mut connection, &SCHEMA_VERSIONS[1]).unwrap();
        let broken = spec_with_migrations(&[
            FIRST_MIGRATION,
            SECOND_MIGRATION,
            "UPDATE vegetables SET colour = 'green'",
        ]);
        apply_migrations(Path::new("fruit.db"), &mut connection, &broken).unwrap_err();
        assert_eq!(read_schema_version(&connection).unwrap(), 1);
        apply_migrations(Path::new("fruit.db"), &mut connection, &SCHEMA_VERSIONS[2]).unwrap();
        assert_eq!(read_colour(&connection), "red");
    }

    #[test]
    fn a_version_from_the_future_or_below_zero_is_refused() {
        for found in [4, -1] {
            let mut connection = Connection::open_in_memory().unwrap();
            connection.pragma_update(None, "user_version", found).unwrap();
            let error =
                apply_migrations(Path::new("fruit.db"), &mut connection, &SCHEMA_VERSIONS[3])
                    .unwrap_err();
            assert!(matches!(error, StoreError::NewerSchema { .. }), "{error}");
        }
    }
}

//! Brings the schema up to date. The version is SQLite's `user_version`.
//!
//! Invariant: all that is missing is done, or nothing.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::{Error, Kind, Result};

pub(super) fn run(path: &Path, connection: &mut Connection, kind: &Kind) -> Result<()> {
    let known = kind.migrations.len();
    let done = refuse_newer(path, connection, kind)?;
    if done == known {
        return Ok(());
    }
    apply(connection, kind, done).map_err(|source| Error::of(path, source))?;
    tracing::debug!(path = %path.display(), from = done, to = known, "brought the schema up to date");
    Ok(())
}

/// How many steps were done, if this version of the program knows them.
pub(super) fn refuse_newer(path: &Path, connection: &Connection, kind: &Kind) -> Result<usize> {
    let known = kind.migrations.len();
    let found = version(connection).map_err(|source| Error::of(path, source))?;
    usize::try_from(found).ok().filter(|&done| done <= known).ok_or_else(|| Error::Newer {
        path: path.to_owned(),
        found,
        known,
    })
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn apply(connection: &mut Connection, kind: &Kind, done: usize) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for migration in &kind.migrations[done..] {
        transaction.execute_batch(migration)?;
    }
    if let Some(application) = kind.application {
        transaction.pragma_update(None, "application_id", application)?;
    }
    let version = u32::try_from(kind.migrations.len()).unwrap_or(u32::MAX);
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Journal;

    const FIRST: &str = "CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('apple')";
    const SECOND: &str = "ALTER TABLE fruit ADD COLUMN colour TEXT DEFAULT 'red'";
    const THIRD: &str = "UPDATE fruit SET colour = 'green'";

    const fn kind(migrations: &'static [&'static str]) -> Kind {
        Kind { migrations, application: Some(1), journal: Journal::Rollback }
    }

    const STEPS: [Kind; 4] =
        [kind(&[]), kind(&[FIRST]), kind(&[FIRST, SECOND]), kind(&[FIRST, SECOND, THIRD])];

    fn colour(connection: &Connection) -> String {
        connection.query_row("SELECT colour FROM fruit", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn every_older_version_ends_where_a_new_one_does() {
        for older in &STEPS {
            let mut connection = Connection::open_in_memory().unwrap();
            run(Path::new("fruit.db"), &mut connection, older).unwrap();
            for _ in 0..2 {
                run(Path::new("fruit.db"), &mut connection, &STEPS[3]).unwrap();
                assert_eq!(version(&connection).unwrap(), 3);
                assert_eq!(colour(&connection), "green");
            }
        }
    }

    #[test]
    fn a_step_that_fails_takes_the_others_back() {
        let mut connection = Connection::open_in_memory().unwrap();
        run(Path::new("fruit.db"), &mut connection, &STEPS[1]).unwrap();
        let broken = kind(&[FIRST, SECOND, "UPDATE vegetables SET colour = 'green'"]);
        run(Path::new("fruit.db"), &mut connection, &broken).unwrap_err();
        assert_eq!(version(&connection).unwrap(), 1);
        run(Path::new("fruit.db"), &mut connection, &STEPS[2]).unwrap();
        assert_eq!(colour(&connection), "red");
    }

    #[test]
    fn a_version_from_the_future_or_below_zero_is_refused() {
        for found in [4, -1] {
            let mut connection = Connection::open_in_memory().unwrap();
            connection.pragma_update(None, "user_version", found).unwrap();
            let error = run(Path::new("fruit.db"), &mut connection, &STEPS[3]).unwrap_err();
            assert!(matches!(error, Error::Newer { .. }), "{error}");
        }
    }
}

//! Checks that a database has the objects that Menace creates, and no others.
//!
//! A database may have come with a checkout: a view or a trigger in it would run in Menace's
//! queries.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::{DatabaseSpec, InDatabase, StoreError, StoreResult, migrations};

/// By type and name of an object: the normalised SQL of those that run code, such as views and
/// triggers.
type SchemaObjects = BTreeMap<(String, String), Option<String>>;

/// Checks the schema; to be called before anything is read or written, even before migrating.
pub(super) fn check_schema_objects(
    path: &Path,
    connection: &Connection,
    kind: &DatabaseSpec,
) -> StoreResult<()> {
    distrust_schema(connection).in_database(path)?;
    let found = read_objects(connection).in_database(path)?;
    let done = migrations::check_schema_version(path, connection, kind)?;
    // Without an application id other programs may have added tables, but nothing that runs.
    let ours = match kind.application_id {
        Some(_) => Some(expected_objects(&kind.migrations[..done]).in_database(path)?),
        None => None,
    };
    let is_ours = |object: &(String, String), runs: &Option<String>| match &ours {
        Some(ours) => ours.get(object) == Some(runs),
        None => runs.is_none(),
    };
    match found.into_iter().find(|(object, runs)| !is_ours(object, runs)) {
        None => Ok(()),
        Some(((kind, name), _)) => {
            let object = format!("{kind} `{}`", menace_model::escape_for_terminal(&name));
            Err(StoreError::ForeignObject { path: path.to_owned(), object })
        }
    }
}

/// Prevents functions with side effects from being called by the schema, and writes to the schema
/// table.
fn distrust_schema(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.pragma_update(None, "cell_size_check", true)
}

fn read_objects(connection: &Connection) -> rusqlite::Result<SchemaObjects> {
    let sql = "SELECT type, name, CASE WHEN type IN ('view', 'trigger') THEN sql END \
               FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        // Versions of Menace differ in the line breaks of their SQL.
        let runs: Option<String> = row.get(2)?;
        let runs = runs.map(|sql| sql.split_whitespace().collect::<Vec<_>>().join(" "));
        Ok(((row.get(0)?, row.get(1)?), runs))
    })?;
    rows.collect()
}

fn expected_objects(migrations: &[&str]) -> rusqlite::Result<SchemaObjects> {
    let connection = Connection::open_in_memory()?;
    for migration in migrations {
        connection.execute_batch(migration)?;
    }
    read_objects(&connection)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::JournalMode;

    const SPEC: DatabaseSpec = DatabaseSpec {
        migrations: &["CREATE TABLE fruit (name TEXT); CREATE VIEW ripe AS SELECT * FROM fruit"],
        application_id: Some(1),
        journal_mode: JournalMode::Rollback,
    };

    fn check(spec: &DatabaseSpec, hostile: &str) -> Result<(), String> {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(SPEC.migrations[0]).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        connection.execute_batch(hostile).unwrap();
        check_schema_objects(Path::new("x.db"), &connection, spec)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn objects_that_menace_does_not_make_are_refused() {
        assert_eq!(check(&SPEC, ""), Ok(()));
        for (hostile, named) in [
            ("CREATE VIEW extra AS SELECT 1", "view `extra`"),
            ("CREATE TABLE extra (x)", "table `extra`"),
            ("CREATE TRIGGER t AFTER INSERT ON fruit BEGIN SELECT 1; END", "trigger `t`"),
            ("DROP VIEW ripe; CREATE VIEW ripe AS SELECT 'never' AS name", "view `ripe`"),
            ("CREATE VIEW \"a\u{1b}[2J\" AS SELECT 1", "view `a\\x1b[2J`"),
        ] {
            let error = check(&SPEC, hostile).unwrap_err();
            assert!(error.contains(named), "{hostile}: {error}");
        }
    }

    #[test]
    fn a_database_of_others_may_have_its_own_tables_and_nothing_that_runs() {
        let shared = DatabaseSpec { application_id: None, ..SPEC };
        assert_eq!(check(&shared, "DROP VIEW ripe; CREATE TABLE extra (x)"), Ok(()));
        assert!(check(&shared, "").unwrap_err().contains("view `ripe`"));
    }
}

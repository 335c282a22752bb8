//! Caches the keys of names and cells, which are queried once per run.

use menace_model::SectionId;
use rusqlite::{Connection, OptionalExtension, Result};
use rustc_hash::FxHashMap;

use crate::CellKey;

/// Keys that are committed, or will be with the current transaction. When that fails the writer
/// ends, and the cache with it.
#[derive(Debug, Default)]
pub(super) struct NameKeyCache {
    names: FxHashMap<Box<str>, i64>,
    cells: FxHashMap<(u32, i64, i64), i64>,
}

impl NameKeyCache {
    pub(super) fn name_key(&mut self, database: &Connection, text: &str) -> Result<i64> {
        if let Some(&key) = self.names.get(text) {
            return Ok(key);
        }
        let key = find_or_insert_key(
            database,
            include_str!("../../sql/read/name.sql"),
            include_str!("../../sql/write/name.sql"),
            [text],
        )?;
        self.names.insert(text.into(), key);
        Ok(key)
    }

    pub(super) fn optional_name_key(
        &mut self,
        database: &Connection,
        text: Option<&str>,
    ) -> Result<Option<i64>> {
        text.map(|text| self.name_key(database, text)).transpose()
    }

    pub(super) fn section_key(&mut self, db: &Connection, section: &SectionId) -> Result<i64> {
        self.name_key(db, section.as_str())
    }

    pub(super) fn cell_key(&mut self, db: &Connection, run: i64, cell: &CellKey) -> Result<i64> {
        let section = self.section_key(db, &cell.section)?;
        let scenario = self.name_key(db, &cell.scenario)?;
        if let Some(&key) = self.cells.get(&(cell.cycle, section, scenario)) {
            return Ok(key);
        }
        let key = find_or_insert_key(
            db,
            include_str!("../../sql/read/cell_key.sql"),
            include_str!("../../sql/write/cell_key.sql"),
            (run, cell.cycle, section, scenario),
        )?;
        self.cells.insert((cell.cycle, section, scenario), key);
        Ok(key)
    }
}

/// The key of an existing row, or of a new one.
fn find_or_insert_key(
    database: &Connection,
    find: &str,
    add: &str,
    values: impl rusqlite::Params + Clone,
) -> Result<i64> {
    let found =
        database.prepare_cached(find)?.query_row(values.clone(), |row| row.get(0)).optional()?;
    match found {
        Some(key) => Ok(key),
        None => database.prepare_cached(add)?.query_row(values, |row| row.get(0)),
    }
}

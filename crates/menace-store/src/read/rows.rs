//! Converts columns to values. Other programs can change a database, so every column is checked.

use std::str::FromStr;

use menace_model::{InputIntent, ScenarioSeverity, SectionId, Verdict, WeaknessKind};
use rusqlite::Row;
use rusqlite::types::FromSql;
use serde::de::DeserializeOwned;

use crate::{RunStatus, StoredMetricMap};

/// Why a row could not be read.
#[derive(Debug)]
pub(super) enum RowError {
    Sql(rusqlite::Error),
    Content { what: &'static str, why: String },
}

impl From<rusqlite::Error> for RowError {
    fn from(source: rusqlite::Error) -> Self {
        Self::Sql(source)
    }
}

pub(super) type RowResult<T> = std::result::Result<T, RowError>;

/// Reads the columns of a row from left to right.
pub(super) struct ColumnReader<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> ColumnReader<'r> {
    pub(super) fn new(row: &'r Row<'r>) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn get<T: FromSql>(&mut self) -> RowResult<T> {
        let column = self.next;
        self.next += 1;
        Ok(self.row.get(column)?)
    }

    pub(super) fn get_u64(&mut self) -> RowResult<u64> {
        Ok(self.get::<i64>()?.max(0).cast_unsigned())
    }

    pub(super) fn section(&mut self) -> RowResult<SectionId> {
        let text: String = self.get()?;
        match text.rsplit_once("::") {
            Some((path, qualname)) => Ok(SectionId::new(path, qualname)),
            None => Err(RowError::Content { what: "a section", why: text }),
        }
    }

    pub(super) fn verdict(&mut self) -> RowResult<Verdict> {
        self.get_enum("a verdict")
    }

    pub(super) fn kind(&mut self) -> RowResult<WeaknessKind> {
        self.get_enum("a kind of weakness")
    }

    pub(super) fn status(&mut self) -> RowResult<RunStatus> {
        self.get_enum("the state of a run")
    }

    pub(super) fn severity(&mut self) -> RowResult<Option<ScenarioSeverity>> {
        let word = self.get::<Option<String>>()?;
        word.map(|word| parse_enum("the severity of a scenario", word)).transpose()
    }

    pub(super) fn intent(&mut self) -> RowResult<InputIntent> {
        let word: String = self.get()?;
        from_json("an intent", &format!("\"{word}\""))
    }

    pub(super) fn get_json<T: DeserializeOwned>(&mut self, what: &'static str) -> RowResult<T> {
        from_json(what, &self.get::<String>()?)
    }

    pub(super) fn get_optional_json<T: DeserializeOwned>(
        &mut self,
        what: &'static str,
    ) -> RowResult<Option<T>> {
        self.get::<Option<String>>()?.map(|text| from_json(what, &text)).transpose()
    }

    pub(super) fn get_metrics(&mut self) -> RowResult<StoredMetricMap> {
        Ok(self.get_optional_json("metrics")?.unwrap_or_default())
    }

    fn get_enum<T: FromStr>(&mut self, what: &'static str) -> RowResult<T> {
        parse_enum(what, self.get()?)
    }
}

fn parse_enum<T: FromStr>(what: &'static str, word: String) -> RowResult<T> {
    word.parse().map_err(|_| RowError::Content { what, why: word })
}

fn from_json<T: DeserializeOwned>(what: &'static str, text: &str) -> RowResult<T> {
    serde_json::from_str(text).map_err(|error| RowError::Content { what, why: error.to_string() })
}

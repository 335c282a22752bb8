//! From columns to what they mean. A database can be changed by others: nothing is taken for granted.

use std::collections::BTreeMap;

use menace_model::{Intent, SectionId, Verdict, WeaknessKind};
use rusqlite::Row;
use rusqlite::types::FromSql;
use serde::de::DeserializeOwned;

use crate::{Numbers, RunStatus};

/// Why a row could not be read.
#[derive(Debug)]
pub(super) enum Misread {
    Sql(rusqlite::Error),
    Content { what: &'static str, why: String },
}

impl From<rusqlite::Error> for Misread {
    fn from(source: rusqlite::Error) -> Self {
        Self::Sql(source)
    }
}

type Result<T> = std::result::Result<T, Misread>;

/// Columns from left to right.
pub(super) struct Columns<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(super) fn of(row: &'r Row<'r>) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn get<T: FromSql>(&mut self) -> Result<T> {
        let column = self.next;
        self.next += 1;
        Ok(self.row.get(column)?)
    }

    pub(super) fn unsigned(&mut self) -> Result<u64> {
        Ok(self.get::<i64>()?.max(0).cast_unsigned())
    }

    pub(super) fn section(&mut self) -> Result<SectionId> {
        let text: String = self.get()?;
        match text.rsplit_once("::") {
            Some((path, qualname)) => Ok(SectionId::new(path, qualname)),
            None => Err(Misread::Content { what: "a section", why: text }),
        }
    }

    pub(super) fn verdict(&mut self) -> Result<Verdict> {
        self.word("a verdict", &Verdict::ALL, Verdict::as_str)
    }

    pub(super) fn kind(&mut self) -> Result<WeaknessKind> {
        self.word("a kind of weakness", &WeaknessKind::ALL, WeaknessKind::as_str)
    }

    pub(super) fn status(&mut self) -> Result<RunStatus> {
        self.word("the state of a run", &RunStatus::ALL, RunStatus::as_str)
    }

    pub(super) fn intent(&mut self) -> Result<Intent> {
        let word: String = self.get()?;
        from_json("an intent", &format!("\"{word}\""))
    }

    pub(super) fn json<T: DeserializeOwned>(&mut self, what: &'static str) -> Result<T> {
        from_json(what, &self.get::<String>()?)
    }

    pub(super) fn maybe_json<T: DeserializeOwned>(
        &mut self,
        what: &'static str,
    ) -> Result<Option<T>> {
        self.get::<Option<String>>()?.map(|text| from_json(what, &text)).transpose()
    }

    pub(super) fn numbers(&mut self) -> Result<Numbers> {
        let numbers: Option<BTreeMap<String, Option<f64>>> = self.maybe_json("metrics")?;
        let known = |(name, number): (String, Option<f64>)| (name, number.unwrap_or(f64::NAN));
        Ok(numbers.unwrap_or_default().into_iter().map(known).collect())
    }

    fn word<T: Copy>(
        &mut self,
        what: &'static str,
        all: &[T],
        as_str: impl Fn(T) -> &'static str,
    ) -> Result<T> {
        let word: String = self.get()?;
        let found = all.iter().copied().find(|&one| as_str(one) == word);
        found.ok_or(Misread::Content { what, why: word })
    }
}

fn from_json<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Misread::Content { what, why: error.to_string() })
}

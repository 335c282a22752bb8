//! The position of the reader, and messages about unexpected content.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::tree::OrderedJson;
use crate::value::{Value, ValueError};

pub(super) type ValueReadResult<T> = std::result::Result<T, ValueError>;

pub(super) struct ValueReader {
    /// The position as shown in messages.
    place: String,
    /// The number of open brackets.
    depth: usize,
}

impl ValueReader {
    pub(super) fn starting_at(place: &str) -> Self {
        Self { place: place.to_owned(), depth: 0 }
    }

    /// Reads every item of a list, one level deeper.
    pub(super) fn read_each<T>(
        &mut self,
        tree: OrderedJson,
        expected: &str,
        mut read: impl FnMut(&mut Self, OrderedJson) -> ValueReadResult<T>,
    ) -> ValueReadResult<Vec<T>> {
        let OrderedJson::Array(items) = tree else {
            return Err(self.unexpected(expected, &tree));
        };
        self.read_nested(|reader| {
            let length = reader.place.len();
            let mut values = Vec::with_capacity(items.len());
            for (index, item) in items.into_iter().enumerate() {
                let _ = write!(reader.place, "[{index}]");
                values.push(read(reader, item)?);
                reader.place.truncate(length);
            }
            Ok(values)
        })
    }

    /// Reads the value of an object's key.
    pub(super) fn read_at_key<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self) -> ValueReadResult<T>,
    ) -> ValueReadResult<T> {
        let length = self.place.len();
        let is_word = |char: char| char.is_alphanumeric() || char == '_' || char == '$';
        if !key.is_empty() && key.chars().all(is_word) {
            let dot = if length > 0 { "." } else { "" };
            let _ = write!(self.place, "{dot}{key}");
        } else {
            let _ = write!(self.place, "[{key:?}]");
        }
        let value = read(self)?;
        self.place.truncate(length);
        Ok(value)
    }

    pub(super) fn read_required<T>(
        &mut self,
        key: &str,
        tree: Option<OrderedJson>,
        read: impl FnOnce(&mut Self, OrderedJson) -> ValueReadResult<T>,
    ) -> ValueReadResult<T> {
        match tree {
            Some(tree) => self.read_at_key(key, |reader| read(reader, tree)),
            None => Err(self.error(format!("expected `{key}` beside the tag, found none"))),
        }
    }

    pub(super) fn read_optional<T: Default>(
        &mut self,
        key: &str,
        tree: Option<OrderedJson>,
        read: impl FnOnce(&mut Self, OrderedJson) -> ValueReadResult<T>,
    ) -> ValueReadResult<T> {
        tree.map_or_else(
            || Ok(T::default()),
            |tree| self.read_at_key(key, |reader| read(reader, tree)),
        )
    }

    /// Reads one level deeper.
    pub(super) fn read_nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> ValueReadResult<T>,
    ) -> ValueReadResult<T> {
        if self.depth == Value::MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {} levels", Value::MAX_DEPTH)));
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    pub(super) fn reject_repeated_keys(
        &self,
        entries: &[(String, OrderedJson)],
    ) -> ValueReadResult<()> {
        let mut seen = HashSet::new();
        match entries.iter().find(|(key, _)| !seen.insert(key)) {
            Some((key, _)) => Err(self.error(format!("the key {key:?} is there twice"))),
            None => Ok(()),
        }
    }

    pub(super) fn unexpected(&self, expected: &str, found: &OrderedJson) -> ValueError {
        self.error(format!("expected {expected}, found {found}"))
    }

    pub(super) fn error(&self, reason: String) -> ValueError {
        ValueError { place: self.place.clone(), reason }
    }
}

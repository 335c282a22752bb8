//! Where the reader is, and what it says when something else is there than it expected.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::tree::Tree;
use crate::value::{Value, ValueError};

pub(super) type Result<T> = std::result::Result<T, ValueError>;

pub(super) struct Reader {
    /// As shown in messages.
    place: String,
    /// How many brackets are open.
    depth: usize,
}

impl Reader {
    pub(super) fn at(place: &str) -> Self {
        Self { place: place.to_owned(), depth: 0 }
    }

    /// Reads every item of a list, one level down.
    pub(super) fn each<T>(
        &mut self,
        tree: Tree,
        expected: &str,
        mut read: impl FnMut(&mut Self, Tree) -> Result<T>,
    ) -> Result<Vec<T>> {
        let Tree::Array(items) = tree else {
            return Err(self.unexpected(expected, &tree));
        };
        self.nested(|reader| {
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

    /// Reads what is behind a key of an object.
    pub(super) fn inside<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
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

    pub(super) fn required<T>(
        &mut self,
        key: &str,
        tree: Option<Tree>,
        read: impl FnOnce(&mut Self, Tree) -> Result<T>,
    ) -> Result<T> {
        match tree {
            Some(tree) => self.inside(key, |reader| read(reader, tree)),
            None => Err(self.error(format!("expected `{key}` beside the tag, found none"))),
        }
    }

    pub(super) fn optional<T: Default>(
        &mut self,
        key: &str,
        tree: Option<Tree>,
        read: impl FnOnce(&mut Self, Tree) -> Result<T>,
    ) -> Result<T> {
        tree.map_or_else(|| Ok(T::default()), |tree| self.inside(key, |reader| read(reader, tree)))
    }

    /// Reads one bracket further in.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == Value::MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {} levels", Value::MAX_DEPTH)));
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    pub(super) fn refuse_repeated(&self, entries: &[(String, Tree)]) -> Result<()> {
        let mut seen = HashSet::new();
        match entries.iter().find(|(key, _)| !seen.insert(key)) {
            Some((key, _)) => Err(self.error(format!("the key {key:?} is there twice"))),
            None => Ok(()),
        }
    }

    pub(super) fn unexpected(&self, expected: &str, found: &Tree) -> ValueError {
        self.error(format!("expected {expected}, found {found}"))
    }

    pub(super) fn error(&self, reason: String) -> ValueError {
        ValueError { place: self.place.clone(), reason }
    }
}

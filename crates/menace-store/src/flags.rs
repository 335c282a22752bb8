//! `*.flags`: modules that later cycles leave alone, one path per line. People may edit them.
//!
//! Who is flagged, and why, is decided by `menace-track`.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::Notice;
use crate::database::PATIENCE;
use crate::files::{Error, Lock, Result, move_aside, write_atomic};

/// One such file: `roi.flags`, `entropy.flags`.
#[derive(Debug, Clone)]
pub struct Flags {
    path: PathBuf,
}

impl Flags {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Paths of the flagged modules. What is no text is moved aside, and told of.
    pub fn modules(&self) -> Result<(BTreeSet<String>, Option<Notice>)> {
        let (lines, notice) = self.lines()?;
        Ok((lines.iter().filter_map(|line| module(line)).map(ToOwned::to_owned).collect(), notice))
    }

    /// Adds modules at the end; those that are there stay where they are.
    pub fn add<'m>(&self, modules: impl IntoIterator<Item = &'m str>) -> Result<Option<Notice>> {
        let _lock = Lock::acquire(&self.path, PATIENCE)?;
        let (mut lines, notice) = self.lines()?;
        let mut known: BTreeSet<String> =
            lines.iter().filter_map(|line| module(line)).map(ToOwned::to_owned).collect();
        let before = known.len();
        for path in modules {
            // A path that would be read as something else cannot be written on a line.
            if module(path) == Some(path) && !path.contains(['\n', '\r']) {
                if known.insert(path.to_owned()) {
                    lines.push(path.to_owned());
                }
            } else {
                tracing::warn!(path, "this name of a module cannot be flagged");
            }
        }
        if known.len() > before {
            self.write(&lines)?;
        }
        Ok(notice)
    }

    /// Removes all flags but keeps comments. Returns how many there were.
    pub fn reset(&self) -> Result<(usize, Option<Notice>)> {
        let _lock = Lock::acquire(&self.path, PATIENCE)?;
        let (mut lines, notice) = self.lines()?;
        let before = lines.len();
        lines.retain(|line| module(line).is_none());
        let removed = before - lines.len();
        if removed > 0 {
            self.write(&lines)?;
        }
        Ok((removed, notice))
    }

    fn lines(&self) -> Result<(Vec<String>, Option<Notice>)> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), None)),
            Err(source) => return Err(Error::of("read", &self.path, source)),
        };
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                Ok((text.lines().map(ToOwned::to_owned).collect(), None))
            }
            _ => {
                let to = move_aside(&self.path, "corrupt", &[])?;
                let (path, why) = (self.path.clone(), "it is no text".into());
                Ok((Vec::new(), Some(Notice::MovedAside { path, to, why })))
            }
        }
    }

    fn write(&self, lines: &[String]) -> Result<()> {
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        write_atomic(&self.path, text.as_bytes())
    }
}

/// The module that a line names; comments and blank lines name none.
fn module(line: &str) -> Option<&str> {
    let line = line.trim();
    (!line.is_empty() && !line.starts_with('#')).then_some(line)
}

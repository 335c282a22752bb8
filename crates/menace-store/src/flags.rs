//! `*.flags`: modules that later cycles leave out, one path per line. Users may edit these files.
//!
//! Which modules are flagged, and why, is up to `menace-track`.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::StoreNotice;
use crate::database::LOCK_TIMEOUT;
use crate::files::{self, FileLock, StoreFileError, StoreFileResult, move_aside, write_atomic};

/// One file of flags: `roi.flags` or `entropy.flags`.
#[derive(Debug, Clone)]
pub struct ModuleFlagsFile {
    path: PathBuf,
}

impl ModuleFlagsFile {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Paths of the flagged modules. A file that is no text is moved aside, with a notice.
    pub fn flagged_modules(&self) -> StoreFileResult<(BTreeSet<String>, Option<StoreNotice>)> {
        let (lines, notice) = self.read_lines()?;
        Ok((parse_modules(&lines), notice))
    }

    /// Adds modules at the end, unless they are in the file.
    pub fn add<'m>(
        &self,
        modules: impl IntoIterator<Item = &'m str>,
    ) -> StoreFileResult<Option<StoreNotice>> {
        let _lock = FileLock::acquire(&self.path, LOCK_TIMEOUT)?;
        let (mut lines, notice) = self.read_lines()?;
        let mut known = parse_modules(&lines);
        let before = known.len();
        for path in modules {
            // A path that would not be read back unchanged cannot be written as a line.
            if parse_module(path) == Some(path) && !path.contains(['\n', '\r']) {
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
    pub fn reset(&self) -> StoreFileResult<(usize, Option<StoreNotice>)> {
        let _lock = FileLock::acquire(&self.path, LOCK_TIMEOUT)?;
        let (mut lines, notice) = self.read_lines()?;
        let before = lines.len();
        lines.retain(|line| parse_module(line).is_none());
        let removed = before - lines.len();
        if removed > 0 {
            self.write(&lines)?;
        }
        Ok((removed, notice))
    }

    fn read_lines(&self) -> StoreFileResult<(Vec<String>, Option<StoreNotice>)> {
        let bytes = match files::read_file(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), None)),
            Err(source) => return Err(StoreFileError::from_io("read", &self.path, source)),
        };
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                Ok((text.lines().map(ToOwned::to_owned).collect(), None))
            }
            _ => {
                let to = move_aside(&self.path, "corrupt", &[])?;
                let (path, why) = (self.path.clone(), "it is no text".into());
                Ok((Vec::new(), Some(StoreNotice::MovedAside { path, to, why })))
            }
        }
    }

    fn write(&self, lines: &[String]) -> StoreFileResult<()> {
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        write_atomic(&self.path, text.as_bytes())
    }
}

fn parse_modules(lines: &[String]) -> BTreeSet<String> {
    lines.iter().filter_map(|line| parse_module(line)).map(ToOwned::to_owned).collect()
}

/// The module on a line; `None` for comments and blank lines.
fn parse_module(line: &str) -> Option<&str> {
    let line = line.trim();
    (!line.is_empty() && !line.starts_with('#')).then_some(line)
}

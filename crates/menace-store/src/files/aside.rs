//! Keeps what cannot be read under another name.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Error, Result, beside};

/// Renames `path` to `<name>.<word>-<n>`, the first that is free, and what belongs to it likewise.
///
/// `companions` are added to both names; they move first, so that none is ever found beside a
/// new file that it does not belong to.
pub(crate) fn move_aside(path: &Path, word: &str, companions: &[&str]) -> Result<PathBuf> {
    let mut number = 1;
    let to = loop {
        let to = beside(path, &format!(".{word}-{number}"));
        let taken = |suffix: &&str| fs::symlink_metadata(beside(&to, suffix)).is_ok();
        if !taken(&"") && !companions.iter().any(taken) {
            break to;
        }
        number += 1;
    };
    for suffix in companions {
        let companion = beside(path, suffix);
        if fs::symlink_metadata(&companion).is_ok() {
            fs::rename(&companion, beside(&to, suffix))
                .map_err(|source| Error::of("move", &companion, source))?;
        }
    }
    fs::rename(path, &to).map_err(|source| Error::of("move", path, source))?;
    Ok(to)
}

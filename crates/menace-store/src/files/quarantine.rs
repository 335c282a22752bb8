//! Moves unreadable files aside, under another name.

use std::fs;
use std::path::{Path, PathBuf};

use super::{StoreFileError, StoreFileResult, append_to_file_name, rename_file};

/// Renames `path` to `<name>.<word>-<n>` with the first free number, and its companion files
/// likewise.
///
/// `companions` are suffixes of both names. They are renamed first, so that none is ever beside a
/// new file that it does not belong to.
pub(crate) fn move_aside(path: &Path, word: &str, companions: &[&str]) -> StoreFileResult<PathBuf> {
    let mut number = 1;
    let to = loop {
        let to = append_to_file_name(path, &format!(".{word}-{number}"));
        let taken = |suffix: &&str| fs::symlink_metadata(append_to_file_name(&to, suffix)).is_ok();
        if !taken(&"") && !companions.iter().any(taken) {
            break to;
        }
        number += 1;
    };
    for suffix in companions {
        let companion = append_to_file_name(path, suffix);
        if fs::symlink_metadata(&companion).is_ok() {
            rename_file(&companion, &append_to_file_name(&to, suffix))
                .map_err(|source| StoreFileError::from_io("move", &companion, source))?;
        }
    }
    rename_file(path, &to).map_err(|source| StoreFileError::from_io("move", path, source))?;
    Ok(to)
}

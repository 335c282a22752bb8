//! Restores last good copies: beside a file as `<name>.bak`, beside a damaged one as
//! `<name>.corrupt-<n>.bak`.
//!
//! Invariant: restoring a copy renames it, and it is never overwritten before.

use std::path::{Path, PathBuf};

use menace_files::UntrustedDir;

use super::{
    BACKUP_SUFFIX, StoreFileError, StoreFileResult, append_to_file_name, exists, move_aside,
    parent_directory, rename_file,
};
use crate::StoreNotice;

/// Whether there is a copy from before damage that `restore` would use.
pub fn has_restorable_copy(path: &Path) -> StoreFileResult<bool> {
    Ok(!list_restorable_copies(path)?.is_empty())
}

/// Replaces `path` by the newest copy from before damage; a file that was created since is kept
/// under another name. Does nothing without such a copy.
///
/// `check` returns what is wrong with the present file, if anything.
pub(crate) fn restore<E: From<StoreFileError>>(
    path: &Path,
    companions: &[&str],
    check: &dyn Fn(&Path) -> Result<Option<String>, E>,
) -> Result<Vec<StoreNotice>, E> {
    let mut notices = Vec::new();
    if exists(path) {
        notices.extend(move_aside_if_damaged(path, companions, check)?);
    }
    let mut copies = list_restorable_copies(path)?;
    let beside_it = append_to_file_name(path, BACKUP_SUFFIX);
    if !exists(path) && exists(&beside_it) {
        copies.insert(0, beside_it);
    }
    for copy in copies {
        if let Some(notice) = move_aside_if_damaged(&copy, &[], check)? {
            notices.push(notice);
            continue;
        }
        if exists(path) {
            let to = move_aside(path, "replaced", companions)?;
            notices.push(StoreNotice::Replaced { path: path.to_owned(), to });
        }
        rename_file(&copy, path)
            .map_err(|source| StoreFileError::from_io("move", &copy, source))?;
        notices.push(StoreNotice::RestoredFromBackup { path: path.to_owned(), backup: copy });
        break;
    }
    Ok(notices)
}

fn move_aside_if_damaged<E: From<StoreFileError>>(
    path: &Path,
    companions: &[&str],
    check: &dyn Fn(&Path) -> Result<Option<String>, E>,
) -> Result<Option<StoreNotice>, E> {
    let Some(why) = check(path)? else { return Ok(None) };
    let to = move_aside(path, "corrupt", companions)?;
    Ok(Some(StoreNotice::MovedAside { path: path.to_owned(), to, why }))
}

/// Copies from before damage, newest first.
fn list_restorable_copies(path: &Path) -> StoreFileResult<Vec<PathBuf>> {
    let home = parent_directory(path);
    let read = |source| StoreFileError::from_io("read", home, source);
    if !exists(home) {
        return Ok(Vec::new());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in UntrustedDir::open(home).and_then(|home| home.entry_names()).map_err(read)? {
        let file = entry.to_string_lossy();
        let number = file
            .strip_prefix(&name)
            .and_then(|rest| rest.strip_prefix(".corrupt-"))
            .and_then(|rest| rest.strip_suffix(BACKUP_SUFFIX))
            .and_then(|number| number.parse::<u64>().ok());
        found.extend(number.map(|number| (number, home.join(&entry))));
    }
    found.sort();
    Ok(found.into_iter().rev().map(|(_, path)| path).collect())
}

//! Last good copies: beside a file as `<name>.bak`, beside a damaged one as `<name>.corrupt-<n>.bak`.
//!
//! Invariant: a copy is used up when it takes the place of its file, and never overwritten before.

use std::fs;
use std::path::{Path, PathBuf};

use super::{BACKUP, Error, Result, beside, directory, move_aside};
use crate::Notice;

/// Whether there is a copy from before some damage that [`restore`] would go back to.
pub fn has_copy(path: &Path) -> Result<bool> {
    Ok(!kept(path)?.is_empty())
}

/// Puts the newest copy from before damage in the place of `path`; what was started there since is kept
/// under another name. Does nothing when there is no such copy.
///
/// `check` says what is wrong with a file that is there, if anything.
pub(crate) fn restore<E: From<Error>>(
    path: &Path,
    companions: &[&str],
    check: &dyn Fn(&Path) -> std::result::Result<Option<String>, E>,
) -> std::result::Result<Vec<Notice>, E> {
    let mut notices = Vec::new();
    if exists(path) {
        notices.extend(set_aside_if_damaged(path, companions, check)?);
    }
    let mut copies = kept(path)?;
    let beside_it = beside(path, BACKUP);
    if !exists(path) && exists(&beside_it) {
        copies.insert(0, beside_it);
    }
    for copy in copies {
        if let Some(notice) = set_aside_if_damaged(&copy, &[], check)? {
            notices.push(notice);
            continue;
        }
        if exists(path) {
            let to = move_aside(path, "replaced", companions)?;
            notices.push(Notice::Replaced { path: path.to_owned(), to });
        }
        fs::rename(&copy, path).map_err(|source| Error::of("move", &copy, source))?;
        notices.push(Notice::FromBackup { path: path.to_owned(), backup: copy });
        break;
    }
    Ok(notices)
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn set_aside_if_damaged<E: From<Error>>(
    path: &Path,
    companions: &[&str],
    check: &dyn Fn(&Path) -> std::result::Result<Option<String>, E>,
) -> std::result::Result<Option<Notice>, E> {
    let Some(why) = check(path)? else { return Ok(None) };
    let to = move_aside(path, "corrupt", companions)?;
    Ok(Some(Notice::MovedAside { path: path.to_owned(), to, why }))
}

/// Copies of versions before damage, the newest first.
fn kept(path: &Path) -> Result<Vec<PathBuf>> {
    let home = directory(path);
    let read = |source| Error::of("read", home, source);
    if !exists(home) {
        return Ok(Vec::new());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in fs::read_dir(home).map_err(read)? {
        let entry = entry.map_err(read)?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let number = file
            .strip_prefix(&name)
            .and_then(|rest| rest.strip_prefix(".corrupt-"))
            .and_then(|rest| rest.strip_suffix(BACKUP))
            .and_then(|number| number.parse::<u64>().ok());
        found.extend(number.map(|number| (number, entry.path())));
    }
    found.sort();
    Ok(found.into_iter().rev().map(|(_, path)| path).collect())
}

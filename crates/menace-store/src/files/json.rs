//! JSON files: read strictly, written atomically, with the last good version as a backup.
//!
//! Callers hold a lock, since reading, changing and writing must be one step for other processes.

use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::{
    BACKUP_SUFFIX, StoreFileError, StoreFileResult, append_to_file_name, move_aside, read_file,
    restore, write_atomic,
};
use crate::StoreNotice;

/// The backup is moved aside with a damaged file, so that the next version does not overwrite it.
const JSON_SIDECAR_SUFFIXES: [&str; 1] = [BACKUP_SUFFIX];

/// The result of reading a file.
#[derive(Debug, PartialEq)]
pub enum LoadedFile<T> {
    Missing,
    /// The file was no valid JSON of this type, and was moved aside.
    Corrupt(StoreNotice),
    Valid(T),
}

/// Reads a file. A file that cannot be parsed is moved aside to `<name>.corrupt-<n>`, with its last
/// good copy as `<name>.corrupt-<n>.bak`.
pub fn load<T: DeserializeOwned>(path: &Path) -> StoreFileResult<LoadedFile<T>> {
    let why = match load_in_place(path) {
        Ok(Ok(value)) => return Ok(LoadedFile::Valid(value)),
        Ok(Err(why)) => why,
        Err(error) if error.is_missing() => return Ok(LoadedFile::Missing),
        Err(error) => return Err(error),
    };
    let to = move_aside(path, "corrupt", &JSON_SIDECAR_SUFFIXES)?;
    Ok(LoadedFile::Corrupt(StoreNotice::MovedAside { path: path.to_owned(), to, why }))
}

/// Writes a file. The previous one becomes `<name>.bak` if it is valid JSON, and is moved aside
/// otherwise.
pub fn save<T: Serialize + ?Sized>(path: &Path, value: &T) -> StoreFileResult<Option<StoreNotice>> {
    let mut content = serde_json::to_vec(value)
        .map_err(|source| StoreFileError::NotSerializable { path: path.to_owned(), source })?;
    content.push(b'\n');
    let mut notice = None;
    match read_file(path) {
        Ok(before) if serde_json::from_slice::<IgnoredAny>(&before).is_ok() => {
            write_atomic(&append_to_file_name(path, BACKUP_SUFFIX), &before)?;
        }
        // A damaged file must not replace a good backup, nor be overwritten.
        Ok(_) => {
            let to = move_aside(path, "corrupt", &JSON_SIDECAR_SUFFIXES)?;
            let why = "it is no JSON".into();
            notice = Some(StoreNotice::MovedAside { path: path.to_owned(), to, why });
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(source) => return Err(StoreFileError::from_io("read", path, source)),
    }
    write_atomic(path, &content)?;
    Ok(notice)
}

/// Reads a file. If it is missing or damaged, or was created anew after damage, its last good copy
/// replaces it. The notices say what was restored.
pub fn recover<T: DeserializeOwned>(path: &Path) -> StoreFileResult<(Option<T>, Vec<StoreNotice>)> {
    let check = |path: &Path| match load_in_place::<T>(path)? {
        Ok(_) => Ok(None),
        Err(why) => Ok(Some(why)),
    };
    let mut notices = restore::<StoreFileError>(path, &JSON_SIDECAR_SUFFIXES, &check)?;
    match load(path)? {
        LoadedFile::Valid(value) => Ok((Some(value), notices)),
        LoadedFile::Missing => Ok((None, notices)),
        LoadedFile::Corrupt(notice) => {
            notices.push(notice);
            Ok((None, notices))
        }
    }
}

/// Parses a file; the inner error says why it is no valid JSON of this type.
fn load_in_place<T: DeserializeOwned>(path: &Path) -> StoreFileResult<Result<T, String>> {
    let bytes = read_file(path).map_err(|source| StoreFileError::from_io("read", path, source))?;
    Ok(serde_json::from_slice(&bytes).map_err(|error| {
        if bytes.is_empty() { "it is empty".to_owned() } else { error.to_string() }
    }))
}

//! Writes files atomically.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use menace_files::UntrustedDir;

use super::{
    StoreFileError, StoreFileResult, append_to_file_name, create_parent_directory, open_or_create,
    parent_directory, remove_file, rename_file,
};

/// Writes `content` to `path` atomically: a reader sees the old content or the new one.
///
/// Creates the directory if there is none.
pub fn write_atomic(path: &Path, content: &[u8]) -> StoreFileResult<()> {
    create_parent_directory(path)?;
    let (draft, mut file) = lock_draft(path)?;
    let written = file
        .set_len(0)
        .and_then(|()| file.write_all(content))
        .and_then(|()| file.sync_all())
        .and_then(|()| rename_file(&draft, path));
    if let Err(source) = written {
        // A partial draft would only take up space on a full disk.
        let _ = remove_file(&draft);
        return Err(StoreFileError::from_io("write", path, source));
    }
    // The rename is durable once the directory has been synced.
    let directory = parent_directory(path);
    UntrustedDir::open(directory)
        .and_then(|directory| directory.sync())
        .map_err(|source| StoreFileError::from_io("write", directory, source))
}

/// A temporary file beside `path` that no other process writes to.
///
/// Its name is always the same, so that the next writer reuses the file of a killed one.
fn lock_draft(path: &Path) -> StoreFileResult<(PathBuf, File)> {
    let draft = append_to_file_name(path, ".new");
    loop {
        let file = open_or_create(&draft)
            .map_err(|source| StoreFileError::from_io("write", &draft, source))?;
        file.lock().map_err(|source| StoreFileError::from_io("lock", &draft, source))?;
        // While waiting for the lock, another process may have renamed the draft.
        if is_same_file(&file, &draft) {
            return Ok((draft, file));
        }
    }
}

fn is_same_file(file: &File, path: &Path) -> bool {
    let identity = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(there)) => identity(&open) == identity(&there),
        _ => false,
    }
}

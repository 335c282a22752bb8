//! Replaces a file as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Error, Result, beside, create_directory, directory};

/// Writes `content` to `path`: all of it or, whatever happens, nothing.
///
/// Creates the directory when there is none.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<()> {
    create_directory(path)?;
    let (draft, mut file) = own_draft(path)?;
    let written = file
        .set_len(0)
        .and_then(|()| file.write_all(content))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&draft, path));
    if let Err(source) = written {
        // What was written so far would take space that others need.
        let _ = fs::remove_file(&draft);
        return Err(Error::of("write", path, source));
    }
    // The new name is safe once the directory is.
    let directory = directory(path);
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| Error::of("write", directory, source))
}

/// A file beside `path` that nobody else writes to.
///
/// It has the same name each time, so that the next writer uses up what a killed one left behind.
fn own_draft(path: &Path) -> Result<(PathBuf, File)> {
    let draft = beside(path, ".new");
    loop {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&draft)
            .map_err(|source| Error::of("write", &draft, source))?;
        file.lock().map_err(|source| Error::of("lock", &draft, source))?;
        // While waiting, the draft may have become the file itself.
        if is_at(&file, &draft) {
            return Ok((draft, file));
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => identity(&open) == identity(&there),
        _ => false,
    }
}

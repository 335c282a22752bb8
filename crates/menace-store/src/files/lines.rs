//! JSON lines: one object per line, added at the end.
//!
//! Invariant: a line that was cut off because its process was killed damages no other line.

use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{StoreFileError, StoreFileResult, create_parent_directory, open_or_create, read_file};

/// Appends one line; creates the file and its directory if necessary.
pub fn append_line<T: Serialize + ?Sized>(path: &Path, value: &T) -> StoreFileResult<()> {
    let mut line = serde_json::to_vec(value)
        .map_err(|source| StoreFileError::NotSerializable { path: path.to_owned(), source })?;
    line.push(b'\n');
    create_parent_directory(path)?;
    let mut file =
        open_or_create(path).map_err(|source| StoreFileError::from_io("write", path, source))?;
    // The file itself is locked, because a log may be anywhere and a lock file beside it would be
    // clutter.
    file.lock().map_err(|source| StoreFileError::from_io("lock", path, source))?;
    let failed = |source| StoreFileError::from_io("write", path, source);
    let length = file.seek(SeekFrom::End(0)).map_err(failed)?;
    if length > 0 {
        let mut end = [0];
        file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut end)).map_err(failed)?;
        if end != *b"\n" {
            line.insert(0, b'\n');
        }
    }
    file.write_all(&line).map_err(failed)
}

/// All lines that can be parsed, and the numbers of those that cannot; empty without a file.
pub fn read_lines<T: DeserializeOwned>(path: &Path) -> StoreFileResult<(Vec<T>, Vec<usize>)> {
    let bytes = match read_file(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
        Err(source) => return Err(StoreFileError::from_io("read", path, source)),
    };
    let (mut values, mut damaged_lines) = (Vec::new(), Vec::new());
    for (place, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(value) => values.push(value),
            Err(_) => damaged_lines.push(place + 1),
        }
    }
    Ok((values, damaged_lines))
}

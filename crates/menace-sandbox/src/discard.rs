//! Throws away directories that a guest has had its hands on.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Removes a file or a whole tree; nothing to do when it does not exist.
///
/// A guest can nest directories deeper than a path can name or a stack can follow, and take its own
/// rights to them away. So directories are moved up to the top, one level at a time, until all are
/// empty.
pub(crate) fn discard(top: &Path) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(top) else { return Ok(()) };
    if !found.is_dir() {
        return fs::remove_file(top);
    }
    let mut waiting = vec![top.to_owned()];
    let mut empty = Vec::new();
    let mut number = 0_u64;
    while let Some(directory) = waiting.pop() {
        open_up(&directory)?;
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                fs::remove_file(entry.path())?;
            } else if directory == top {
                waiting.push(entry.path());
            } else {
                open_up(&entry.path())?;
                let moved = free_name(top, &mut number);
                fs::rename(entry.path(), &moved)?;
                waiting.push(moved);
            }
        }
        empty.push(directory);
    }
    // The top was the first, and is empty when the others are gone.
    empty.iter().rev().try_for_each(fs::remove_dir)
}

fn open_up(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))
}

fn free_name(top: &Path, number: &mut u64) -> PathBuf {
    loop {
        *number += 1;
        let path = top.join(format!("discarded-{number}"));
        if fs::symlink_metadata(&path).is_err() {
            return path;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn deep_closed_and_linked_trees_go() {
        let room = tempfile::tempdir().unwrap();
        fs::write(room.path().join("kept"), "").unwrap();
        let top = room.path().join("top");
        fs::create_dir(&top).unwrap();
        symlink(room.path().join("kept"), top.join("link")).unwrap();
        symlink(room.path(), top.join("link-to-directory")).unwrap();
        // Deeper than a path can name, by moving each into the next.
        for _ in 0..100 {
            let name = "d".repeat(200);
            let outer = room.path().join("outer");
            fs::create_dir(&outer).unwrap();
            fs::write(outer.join("file"), "").unwrap();
            let inner = top.join(&name);
            if inner.exists() {
                fs::rename(&inner, outer.join(&name)).unwrap();
            }
            fs::rename(outer, inner).unwrap();
        }
        fs::create_dir(top.join("closed")).unwrap();
        fs::set_permissions(top.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        discard(&top).unwrap();
        assert!(!top.exists() && room.path().join("kept").exists());
        discard(&top).unwrap();
    }
}

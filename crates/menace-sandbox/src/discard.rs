//! Removes directories that a guest could write to, even if it still exchanges links in them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use crate::directory::{InaccessiblePolicy, OpenDirectory};

/// Removes a file or a whole tree; no error when it does not exist. Apart from the last name, only
/// Menace may be able to change what the path leads to.
pub(crate) fn discard(top: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (top.parent(), top.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    match OpenDirectory::open_path(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        above => discard_in(&above?, name),
    }
}

/// Removes the entry of this name, with everything below it.
///
/// A guest can nest directories deeper than a path can name or a stack can follow, and deny itself
/// access to them. So directories are moved up to the top, one level at a time, until all are
/// empty. When a process keeps filling them, this returns an error instead of going on.
pub(crate) fn discard_in(above: &OpenDirectory, name: &OsStr) -> io::Result<()> {
    if above.remove_file(name)? {
        return Ok(());
    }
    let top = match above.open(name, InaccessiblePolicy::MakeAccessible) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let mut pending = remove_files_and_list_dirs(&top)?;
    let mut number = 0_u64;
    while let Some(name) = pending.pop() {
        let directory = top.open(&name, InaccessiblePolicy::MakeAccessible)?;
        for inner in remove_files_and_list_dirs(&directory)? {
            // Moving a directory changes its `..` entry, which requires write permission.
            let _opened_up = directory.open(&inner, InaccessiblePolicy::MakeAccessible)?;
            pending.push(move_up(&directory, &inner, &top, &mut number)?);
        }
        remove_empty(&top, &name)?;
    }
    remove_empty(above, name)
}

/// Removes everything except directories that are not empty; returns their names.
fn remove_files_and_list_dirs(directory: &OpenDirectory) -> io::Result<Vec<OsString>> {
    let mut nonempty = Vec::new();
    for name in directory.names()? {
        if !directory.remove_file(&name)? && !directory.remove_directory(&name)? {
            nonempty.push(name);
        }
    }
    Ok(nonempty)
}

fn move_up(
    from: &OpenDirectory,
    name: &OsStr,
    top: &OpenDirectory,
    number: &mut u64,
) -> io::Result<OsString> {
    loop {
        *number += 1;
        let free = OsString::from(format!("discarded-{number}"));
        if from.move_to(name, top, &free)? {
            return Ok(free);
        }
    }
}

fn remove_empty(above: &OpenDirectory, name: &OsStr) -> io::Result<()> {
    if above.remove_directory(name)? {
        return Ok(());
    }
    Err(io::Error::other("a process fills a directory that is to be removed"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn deep_closed_and_linked_trees_go() {
        let room = tempfile::tempdir().unwrap();
        fs::write(room.path().join("kept"), "").unwrap();
        let top = room.path().join("top");
        fs::create_dir(&top).unwrap();
        symlink(room.path().join("kept"), top.join("link")).unwrap();
        symlink(room.path(), top.join("link-to-directory")).unwrap();
        // Makes a tree deeper than a path can name, by moving each directory into the next.
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
        fs::write(top.join("closed/file"), "").unwrap();
        fs::set_permissions(top.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        fs::create_dir(top.join("discarded-1")).unwrap();
        fs::write(top.join("discarded-1/file"), "").unwrap();
        discard(&top).unwrap();
        assert!(!top.exists() && room.path().join("kept").exists());
        discard(&top).unwrap();
    }

    #[test]
    fn a_link_is_removed_and_not_what_it_leads_to() {
        let room = tempfile::tempdir().unwrap();
        fs::create_dir(room.path().join("kept")).unwrap();
        fs::write(room.path().join("kept/file"), "").unwrap();
        symlink(room.path().join("kept"), room.path().join("link")).unwrap();
        discard(&room.path().join("link")).unwrap();
        assert!(!room.path().join("link").is_symlink());
        assert!(room.path().join("kept/file").exists());
    }
}

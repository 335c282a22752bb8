//! Files by their path, as users and settings name them.
//!
//! A relative path without `..` lies in the working directory, which may be a checkout: no link on
//! its way is followed. Any other path is the user's, since no file of a checkout may name one;
//! links may lead to its directory, but its last component is none.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::open::is_plain_relative;
use crate::untrusted_dir::NEW_DIRECTORY_MODE;
use crate::{UntrustedDir, UntrustedFile};

/// The directory of a file, wherever links lead to it, and the name of the file in it.
pub fn open_parent(path: &Path) -> io::Result<(UntrustedDir, &Path)> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let name = Path::new(path.file_name().unwrap_or_default());
    Ok((UntrustedDir::open(parent.unwrap_or(Path::new(".")))?, name))
}

/// Opens a regular file of a directory that has been checked, or that is the user's.
pub fn open_file(path: &Path) -> io::Result<UntrustedFile> {
    let (parent, name) = open_parent(path)?;
    parent.open_file(name)
}

/// The contents of such a file, at most `limit` bytes.
pub fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    open_file(path)?.read(limit)
}

/// The contents of a file that a setting names.
pub fn read_named_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (directory, name) = open_named_directory_of(path)?;
    directory.read(name, limit)
}

/// As [`read_named_file`], for text.
pub fn read_named_text(path: &Path, limit: u64) -> io::Result<String> {
    let (directory, name) = open_named_directory_of(path)?;
    directory.read_to_string(name, limit)
}

/// Whether links lie on the way to a file that a setting names, or in its place: an error where
/// they do. Nothing is opened.
pub fn check_named_file(path: &Path) -> io::Result<()> {
    let (directory, name) = open_named_directory_of(path)?;
    match directory.open_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Opens a file that the user named for output, made where it is missing. A device at an absolute
/// path is the user's.
#[expect(clippy::disallowed_methods, reason = "a device at a path that is the user's")]
pub fn open_named_to_append(path: &Path) -> io::Result<File> {
    if !is_plain_relative(path) && is_special(path) {
        return File::options().append(true).open(path);
    }
    let (directory, name) = open_named_directory_of(path)?;
    directory.open_to_append(name)
}

/// Where a path leads, for naming places and for comparing them. What lies there later may be
/// another file: below a checkout, [`UntrustedDir`] opens it.
#[expect(clippy::disallowed_methods, reason = "nothing is opened")]
pub fn resolve_named_path(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

/// Makes a directory of the user's, with all above it: whatever the mask of the process, no other
/// user can write to it.
#[expect(clippy::disallowed_methods, reason = "the path is the user's, or has been checked")]
pub fn create_named_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(NEW_DIRECTORY_MODE).create(path)
}

/// Replaces a file that the user named for output, as a whole; directories on the way are made.
#[expect(clippy::disallowed_methods, reason = "devices and directories of the user's own")]
pub fn write_named_file(path: &Path, contents: &[u8]) -> io::Result<()> {
    if is_plain_relative(path) {
        let here = UntrustedDir::open(Path::new("."))?;
        here.create_directories(path.parent().unwrap_or(Path::new("")))?;
        return here.replace(path, contents);
    }
    if is_special(path) {
        return std::fs::write(path, contents);
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let (directory, name) = open_parent(path)?;
    directory.replace(name, contents)
}

fn open_named_directory_of(path: &Path) -> io::Result<(UntrustedDir, &Path)> {
    if is_plain_relative(path) {
        Ok((UntrustedDir::open(Path::new("."))?, path))
    } else {
        open_parent(path)
    }
}

/// `/dev/stdout`, `/dev/null`, a pipe of the shell.
#[expect(clippy::disallowed_methods, reason = "a device at a path that is the user's")]
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::refusal_of;

    #[test]
    fn a_link_in_the_place_of_a_file_is_refused_and_one_on_the_way_of_the_user_is_not() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "s3cret").unwrap();
        let dir = tempfile::tempdir().unwrap();
        symlink(outside.path().join("secret"), dir.path().join("file")).unwrap();
        symlink(outside.path(), dir.path().join("way")).unwrap();
        for refused in [
            read_file(&dir.path().join("file"), 100),
            read_named_file(&dir.path().join("file"), 100),
        ] {
            assert!(refusal_of(&refused.unwrap_err()).is_some());
        }
        assert!(check_named_file(&dir.path().join("file")).is_err());
        assert!(check_named_file(&dir.path().join("missing")).is_ok());
        assert!(open_named_to_append(&dir.path().join("file")).is_err());
        assert_eq!(read_named_file(&dir.path().join("way/secret"), 100).unwrap(), b"s3cret");
        write_named_file(&dir.path().join("file"), b"mine").unwrap();
        assert_eq!(read_file(&dir.path().join("file"), 100).unwrap(), b"mine");
        assert_eq!(std::fs::read(outside.path().join("secret")).unwrap(), b"s3cret");
    }

    #[test]
    fn what_is_made_cannot_be_written_by_other_users() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join("a/b");
        let mask = nix::sys::stat::umask(nix::sys::stat::Mode::empty());
        create_named_directories(&own).unwrap();
        let dir = UntrustedDir::open(&own).unwrap();
        dir.create_directories(Path::new("c/d")).unwrap();
        drop(dir.open_or_create(Path::new("opened")).unwrap());
        drop(dir.open_to_append(Path::new("appended")).unwrap());
        dir.replace(Path::new("replaced"), b"x").unwrap();
        dir.replace_private(Path::new("private"), b"x").unwrap();
        dir.replace_cache(Path::new("cache"), b"x").unwrap();
        nix::sys::stat::umask(mask);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
        for name in [".", "..", "c", "c/d", "opened", "appended", "replaced", "private", "cache"] {
            assert_eq!(mode(&own.join(name)) & 0o022, 0, "{name}");
        }
        for name in ["private", "cache"] {
            assert_eq!(mode(&own.join(name)) & 0o077, 0, "{name}");
        }
    }

    #[test]
    fn output_to_a_device_leaves_it_a_device() {
        write_named_file(Path::new("/dev/null"), b"text").unwrap();
        drop(open_named_to_append(Path::new("/dev/null")).unwrap());
        assert!(is_special(Path::new("/dev/null")));
        assert!(write_named_file(Path::new("/dev/full"), b"text").is_err());
    }
}

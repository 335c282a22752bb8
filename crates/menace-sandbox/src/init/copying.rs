//! Copies files and whole trees, whatever a guest has made of them.

use std::ffi::OsString;
use std::fs::{self, File, FileTimes, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{
    FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown, lchown, symlink,
};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::stat::Mode;
use nix::unistd::{Whence, lseek, mkfifo};

use super::scan::{Directory, Shut};
use crate::wire::messages::Identity;

/// Copies `from` to `to`, where nothing may be but, for a directory, an empty one. What is neither
/// file nor link, directory or pipe cannot be copied, and is not.
///
/// Copies are `owner`'s, unless it is who copies them.
pub(super) fn copy(from: &Path, to: &Path, owner: Option<Identity>, shut: Shut) -> io::Result<()> {
    let copying = Copying { owner, shut };
    let found = fs::symlink_metadata(from)?;
    if !found.is_dir() {
        return copying.leaf(from, to, &found);
    }
    // An explicit stack of open directories: a guest can nest them deeper than a path can name.
    let mut pairs = vec![copying.enter(from, to, found)?];
    while let Some(pair) = pairs.last_mut() {
        let Some(name) = pair.names.pop() else {
            pairs.pop().map_or(Ok(()), |pair| copying.leave(&pair))?;
            continue;
        };
        let (from, to) = (pair.from.at(&name), pair.to.at(&name));
        let found = fs::symlink_metadata(&from)?;
        if found.is_dir() {
            pairs.push(copying.enter(&from, &to, found)?);
        } else {
            copying.leaf(&from, &to, &found)?;
        }
    }
    Ok(())
}

struct Copying {
    owner: Option<Identity>,
    shut: Shut,
}

/// A directory that is being copied.
struct Pair {
    from: Directory,
    to: Directory,
    names: Vec<OsString>,
    found: Metadata,
}

impl Copying {
    fn enter(&self, from: &Path, to: &Path, found: Metadata) -> io::Result<Pair> {
        let from = Directory::open(from, self.shut)?;
        match fs::create_dir(to) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let to = Directory::open(to, Shut::Refuse)?;
        Ok(Pair { names: from.names()?, from, to, found })
    }

    /// Mode and times last: filling it needs the one and changes the other.
    fn leave(&self, pair: &Pair) -> io::Result<()> {
        self.finish(pair.to.file(), &pair.found)
    }

    fn finish(&self, copy: &File, found: &Metadata) -> io::Result<()> {
        if let Some(owner) = self.owner {
            fchown(copy, Some(owner.uid), Some(owner.gid))?;
        }
        copy.set_permissions(fs::Permissions::from_mode(found.mode() & 0o7777))?;
        copy.set_times(FileTimes::new().set_modified(found.modified()?))
    }

    fn leaf(&self, from: &Path, to: &Path, found: &Metadata) -> io::Result<()> {
        let kind = found.file_type();
        if kind.is_symlink() {
            symlink(fs::read_link(from)?, to)?;
        } else if kind.is_fifo() {
            mkfifo(to, Mode::from_bits_truncate(found.mode()))?;
        } else if kind.is_file() {
            let source = self.open(from, found)?;
            let copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
            copy_data(source, &copy, found.len())?;
            return self.finish(&copy, found);
        } else {
            return Ok(());
        }
        self.owner.map_or(Ok(()), |owner| lchown(to, Some(owner.uid), Some(owner.gid)))
    }

    fn open(&self, path: &Path, found: &Metadata) -> io::Result<File> {
        let open = || OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path);
        match open() {
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied && self.shut == Shut::OpenUp =>
            {
                fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
                let opened = open();
                fs::set_permissions(path, fs::Permissions::from_mode(found.mode() & 0o7777))?;
                opened
            }
            result => result,
        }
    }
}

/// Holes stay holes.
fn copy_data(mut source: File, mut copy: &File, size: u64) -> io::Result<()> {
    let mut at = 0;
    while let Some(start) = seek(&source, at, Whence::SeekData)? {
        let end = seek(&source, start, Whence::SeekHole)?.unwrap_or(size);
        source.seek(SeekFrom::Start(start))?;
        copy.seek(SeekFrom::Start(start))?;
        let copied = io::copy(&mut (&source).take(end - start), &mut copy)?;
        if copied == 0 {
            break;
        }
        at = start + copied;
    }
    copy.set_len(size)
}

fn seek(file: &File, at: u64, whence: Whence) -> io::Result<Option<u64>> {
    let at = i64::try_from(at).map_err(io::Error::other)?;
    match lseek(file.as_fd(), at, whence) {
        Ok(found) => Ok(u64::try_from(found).ok()),
        Err(Errno::ENXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_holes_modes_times_links_and_pipes_are_copied() {
        let room = tempfile::tempdir().unwrap();
        let (from, to) = (room.path().join("from"), room.path().join("to"));
        fs::create_dir_all(from.join("inner")).unwrap();
        let sparse = File::create(from.join("sparse")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        std::os::unix::fs::FileExt::write_at(&sparse, b"middle", 1 << 30).unwrap();
        std::os::unix::fs::FileExt::write_at(&sparse, b"end", (1 << 40) - 3).unwrap();
        fs::write(from.join("inner/plain"), "plain").unwrap();
        fs::set_permissions(from.join("inner/plain"), fs::Permissions::from_mode(0o751)).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        let plain = File::open(from.join("inner/plain")).unwrap();
        plain.set_times(FileTimes::new().set_modified(old)).unwrap();
        symlink("nowhere", from.join("link")).unwrap();
        mkfifo(&from.join("pipe"), Mode::S_IRUSR).unwrap();

        copy(&from, &to, None, Shut::Refuse).unwrap();

        let copied = fs::metadata(to.join("sparse")).unwrap();
        assert_eq!(copied.len(), 1 << 40);
        assert!(copied.blocks() * 512 < 1 << 20, "{}", copied.blocks());
        let sparse = File::open(to.join("sparse")).unwrap();
        for (at, text) in [(1 << 30, "middle"), ((1 << 40) - 3, "end")] {
            let mut found = vec![0; text.len()];
            std::os::unix::fs::FileExt::read_exact_at(&sparse, &mut found, at).unwrap();
            assert_eq!(found, text.as_bytes());
        }
        assert_eq!(fs::read(to.join("inner/plain")).unwrap(), b"plain");
        let plain = fs::metadata(to.join("inner/plain")).unwrap();
        assert_eq!((plain.mode() & 0o7777, plain.modified().unwrap()), (0o751, old));
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("nowhere"));
        assert!(fs::symlink_metadata(to.join("pipe")).unwrap().file_type().is_fifo());
    }

    #[test]
    fn directories_are_copied_however_deep_they_are() {
        let room = tempfile::tempdir().unwrap();
        let (from, to) = (room.path().join("from"), room.path().join("to"));
        fs::create_dir(&from).unwrap();
        // Deeper than a path can name, by moving each into the next.
        for _ in 0..100 {
            let (outer, name) = (room.path().join("outer"), "d".repeat(200));
            fs::create_dir(&outer).unwrap();
            let inner = from.join(&name);
            if inner.exists() {
                fs::rename(&inner, outer.join(&name)).unwrap();
            }
            fs::rename(outer, inner).unwrap();
        }
        copy(&from, &to, None, Shut::Refuse).unwrap();
        let levels = super::super::scan::weigh(&to, || true).unwrap().entries;
        assert_eq!(levels, 100);
        crate::discard::discard(&from).unwrap();
        crate::discard::discard(&to).unwrap();
    }
}

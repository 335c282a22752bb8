//! Copies files and directory trees, whatever a guest has put into them.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, fchown};

use nix::errno::Errno;
use nix::fcntl::AtFlags;
use nix::sys::stat::futimens;
use nix::sys::time::TimeSpec;
use nix::unistd::{Gid, Uid, Whence, fchownat, lseek};

use crate::directory::{EntryMetadata, InaccessiblePolicy, OpenDirectory};
use crate::wire::messages::UserIdentity;

/// Copies the entry `name` of `from` to `to`, where it must not exist. Entries other than files,
/// links, directories and pipes are left out.
pub(super) fn copy_entry(from: &OpenDirectory, to: &OpenDirectory, name: &OsStr) -> io::Result<()> {
    let copier = TreeCopier { owner: None, shut: InaccessiblePolicy::MakeAccessible };
    let pair = copier.copy_one(from, to, name)?;
    pair.map_or(Ok(()), |pair| copier.copy_below(pair))
}

/// Copies everything in `from`, and its mode, to an empty directory.
///
/// The copies belong to `owner`, or to this process if there is none.
pub(super) fn copy_tree(
    from: &OpenDirectory,
    to: &OpenDirectory,
    owner: Option<UserIdentity>,
    shut: InaccessiblePolicy,
) -> io::Result<()> {
    let found = from.metadata()?;
    let (from, to) = (from.reopen(shut)?, to.reopen(InaccessiblePolicy::MakeAccessible)?);
    TreeCopier { owner, shut }.copy_below(CopyFrame { names: from.names()?, from, to, found })
}

struct TreeCopier {
    owner: Option<UserIdentity>,
    shut: InaccessiblePolicy,
}

/// A directory whose content is being copied.
struct CopyFrame {
    from: OpenDirectory,
    to: OpenDirectory,
    names: Vec<OsString>,
    found: EntryMetadata,
}

impl TreeCopier {
    fn copy_below(&self, top: CopyFrame) -> io::Result<()> {
        // An explicit stack of open directories: a guest can nest them deeper than a path can name.
        let mut pairs = vec![top];
        while let Some(pair) = pairs.last_mut() {
            match pair.names.pop() {
                Some(name) => {
                    let inner = self.copy_one(&pair.from, &pair.to, &name)?;
                    pairs.extend(inner);
                }
                None => pairs.pop().map_or(Ok(()), |pair| self.finish_directory(pair))?,
            }
        }
        Ok(())
    }

    /// Copies one entry; the content of a directory is still to be copied.
    fn copy_one(
        &self,
        from: &OpenDirectory,
        to: &OpenDirectory,
        name: &OsStr,
    ) -> io::Result<Option<CopyFrame>> {
        let found = from.entry_metadata(name)?;
        if found.is_directory() {
            let from = from.open(name, self.shut)?;
            to.create_directory(name)?;
            let to = to.open(name, InaccessiblePolicy::Refuse)?;
            return Ok(Some(CopyFrame { names: from.names()?, from, to, found }));
        }
        if found.is_file() {
            let (source, found) = from.open_file(name, self.shut)?;
            let copy = to.create_file(name)?;
            copy_data(source, &copy, found.size())?;
            self.copy_attributes(&copy, &found)?;
            return Ok(None);
        }
        if found.is_link() {
            to.create_link(name, &from.read_link(name)?)?;
        } else if found.is_pipe() {
            to.create_pipe(name, found.permissions())?;
        } else {
            return Ok(None);
        }
        if let Some(UserIdentity { uid, gid }) = self.owner {
            let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
            fchownat(to, name, Some(uid), Some(gid), AtFlags::AT_SYMLINK_NOFOLLOW)?;
        }
        Ok(None)
    }

    /// Sets mode and times last: copying the content needs write permission, and changes the times.
    fn finish_directory(&self, mut pair: CopyFrame) -> io::Result<()> {
        pair.to.keep_current_mode();
        self.copy_attributes(pair.to.file(), &pair.found)
    }

    fn copy_attributes(&self, copy: &File, found: &EntryMetadata) -> io::Result<()> {
        if let Some(owner) = self.owner {
            fchown(copy, Some(owner.uid), Some(owner.gid))?;
        }
        copy.set_permissions(fs::Permissions::from_mode(found.permissions()))?;
        let (seconds, nanoseconds) = found.modified_at();
        Ok(futimens(copy, &TimeSpec::UTIME_OMIT, &TimeSpec::new(seconds, nanoseconds))?)
    }
}

/// Copies the data without filling holes. Ends at `size`, even if a process appends meanwhile.
fn copy_data(mut source: File, mut copy: &File, size: u64) -> io::Result<()> {
    let mut at = 0;
    while at < size
        && let Some(start) = seek_if_found(&source, at, Whence::SeekData)?
    {
        let end = seek_if_found(&source, start, Whence::SeekHole)?.unwrap_or(size).min(size);
        source.seek(SeekFrom::Start(start))?;
        copy.seek(SeekFrom::Start(start))?;
        let copied = io::copy(&mut (&source).take(end.saturating_sub(start)), &mut copy)?;
        if copied == 0 {
            break;
        }
        at = start + copied;
    }
    copy.set_len(size)
}

fn seek_if_found(file: &File, at: u64, whence: Whence) -> io::Result<Option<u64>> {
    let at = i64::try_from(at).map_err(io::Error::other)?;
    match lseek(file.as_fd(), at, whence) {
        Ok(found) => Ok(u64::try_from(found).ok()),
        Err(Errno::ENXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
    use std::path::Path;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    fn copy_into_copies(top: &Path) {
        let top = OpenDirectory::open_path(top).unwrap();
        top.create_directory(OsStr::new("copies")).unwrap();
        let copies = top.open(OsStr::new("copies"), InaccessiblePolicy::Refuse).unwrap();
        copy_entry(&top, &copies, OsStr::new("from")).unwrap();
    }

    #[test]
    fn data_holes_modes_times_links_and_pipes_are_copied() {
        let top = tempfile::tempdir().unwrap();
        let (from, to) = (top.path().join("from"), top.path().join("copies/from"));
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

        copy_into_copies(top.path());

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
        let top = tempfile::tempdir().unwrap();
        let (from, to) = (top.path().join("from"), top.path().join("copies/from"));
        fs::create_dir(&from).unwrap();
        // Makes a tree deeper than a path can name, by moving each directory into the next.
        for _ in 0..100 {
            let (outer, name) = (top.path().join("outer"), "d".repeat(200));
            fs::create_dir(&outer).unwrap();
            let inner = from.join(&name);
            if inner.exists() {
                fs::rename(&inner, outer.join(&name)).unwrap();
            }
            fs::rename(outer, inner).unwrap();
        }
        copy_into_copies(top.path());
        let levels =
            super::super::tree_scan::measure(&OpenDirectory::open_path(&to).unwrap(), || true)
                .unwrap()
                .entries;
        assert_eq!(levels, 100);
        crate::discard::discard(&from).unwrap();
        crate::discard::discard(&to).unwrap();
    }
}

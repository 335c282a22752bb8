//! Accesses directories through descriptors, while other processes may change them.
//!
//! Invariant: whatever other processes rename or replace meanwhile, a method reaches only the open
//! directory and the entry of one name in it, and follows no link. So code that starts from a
//! directory opened before a guest ran stays below it, or in directories that were below it when
//! they were opened.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the module that opens them through descriptors"
)]

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{
    AtFlags, OFlag, OpenHow, RenameFlags, ResolveFlag, openat2, readlinkat, renameat2,
};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, mkfifoat, symlinkat, unlinkat};

/// How to treat a directory or file whose mode denies its owner access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InaccessiblePolicy {
    Refuse,
    Skip,
    /// Changes the mode, and restores it when the directory is closed.
    MakeAccessible,
}

/// Full access for the owner.
const OWNER_ACCESS_MODE: u32 = 0o700;
/// The most names that are read from one directory, so that a process which keeps adding names
/// cannot keep the reader busy.
const MAX_DIRECTORY_NAMES: usize = 1 << 22;
const RESOLVE_BENEATH_FLAGS: ResolveFlag = ResolveFlag::RESOLVE_BENEATH
    .union(ResolveFlag::RESOLVE_NO_SYMLINKS)
    .union(ResolveFlag::RESOLVE_NO_MAGICLINKS);
const OPEN_DIRECTORY_FLAGS: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY);

/// An open directory.
#[derive(Debug)]
pub(crate) struct OpenDirectory {
    file: File,
    mode_to_restore: Option<u32>,
}

impl OpenDirectory {
    /// Opens a directory by path: only where no guest can change what the path leads to.
    pub(crate) fn open_path(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(path)?;
        Ok(Self { file, mode_to_restore: None })
    }

    /// Opens the subdirectory of that name.
    pub(crate) fn open(&self, name: &OsStr, inaccessible: InaccessiblePolicy) -> io::Result<Self> {
        let file = match self.open_beneath(name, OPEN_DIRECTORY_FLAGS) {
            Err(Errno::EMFILE) => {
                return Err(io::Error::other("directories are nested too deeply"));
            }
            Err(Errno::EACCES) if inaccessible == InaccessiblePolicy::MakeAccessible => {
                return self.open_inaccessible(name);
            }
            opened => File::from(opened?),
        };
        let mut opened = Self { file, mode_to_restore: None };
        if inaccessible == InaccessiblePolicy::MakeAccessible {
            opened.make_accessible()?;
        }
        Ok(opened)
    }

    /// Opens the same directory once more.
    pub(crate) fn reopen(&self, inaccessible: InaccessiblePolicy) -> io::Result<Self> {
        let mut opened = Self { file: self.file.try_clone()?, mode_to_restore: None };
        if inaccessible == InaccessiblePolicy::MakeAccessible {
            opened.make_accessible()?;
        }
        Ok(opened)
    }

    fn make_accessible(&mut self) -> io::Result<()> {
        let mode = self.metadata()?.permissions();
        if mode & OWNER_ACCESS_MODE != OWNER_ACCESS_MODE {
            self.set_mode(mode | OWNER_ACCESS_MODE)?;
            self.mode_to_restore = Some(mode);
        }
        Ok(())
    }

    /// Opens a directory whose mode denies reading: changes the mode of exactly this directory
    /// before.
    fn open_inaccessible(&self, name: &OsStr) -> io::Result<Self> {
        let handle = self.open_beneath(name, OFlag::O_PATH | OFlag::O_DIRECTORY)?;
        let mode = EntryMetadata::from_fd(handle.as_fd())?.permissions();
        fs::set_permissions(
            proc_fd_path(handle.as_fd()),
            Permissions::from_mode(mode | OWNER_ACCESS_MODE),
        )?;
        let how = OpenHow::new()
            .flags(OPEN_DIRECTORY_FLAGS | OFlag::O_CLOEXEC)
            .resolve(RESOLVE_BENEATH_FLAGS);
        let file = File::from(openat2(&handle, ".", how)?);
        Ok(Self { file, mode_to_restore: Some(mode) })
    }

    fn open_beneath(&self, name: &OsStr, flags: OFlag) -> nix::Result<OwnedFd> {
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        openat2(&self.file, name, OpenHow::new().flags(flags).resolve(RESOLVE_BENEATH_FLAGS))
    }

    /// The names of all entries, in no particular order.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        // Both descriptors share one position, which the iterator resets when it is dropped.
        let mut listed = Dir::from_fd(self.file.try_clone()?.into())?;
        let mut names = Vec::new();
        for entry in listed.iter() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
            if names.len() > MAX_DIRECTORY_NAMES {
                return Err(io::Error::other("a directory has too many files"));
            }
        }
        Ok(names)
    }

    /// The metadata of the entry, without following a link.
    pub(crate) fn entry_metadata(&self, name: &OsStr) -> io::Result<EntryMetadata> {
        Ok(EntryMetadata(fstatat(&self.file, name, AtFlags::AT_SYMLINK_NOFOLLOW)?))
    }

    pub(crate) fn metadata(&self) -> io::Result<EntryMetadata> {
        EntryMetadata::from_fd(self.file.as_fd())
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.file.set_permissions(Permissions::from_mode(mode))
    }

    /// The present mode is the right one, and is not changed on closing.
    pub(crate) fn keep_current_mode(&mut self) {
        self.mode_to_restore = None;
    }

    /// Opens a regular file for reading. Nothing else is opened, so this never blocks.
    pub(crate) fn open_file(
        &self,
        name: &OsStr,
        inaccessible: InaccessiblePolicy,
    ) -> io::Result<(File, EntryMetadata)> {
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let file = match self.open_beneath(name, flags) {
            Err(Errno::EACCES) if inaccessible == InaccessiblePolicy::MakeAccessible => {
                self.open_inaccessible_file(name)?
            }
            opened => File::from(opened?),
        };
        let found = EntryMetadata::from_fd(file.as_fd())?;
        if found.is_file() { Ok((file, found)) } else { Err(not_a_file_error()) }
    }

    fn open_inaccessible_file(&self, name: &OsStr) -> io::Result<File> {
        let handle = self.open_beneath(name, OFlag::O_PATH)?;
        let found = EntryMetadata::from_fd(handle.as_fd())?;
        // A file with a second name may belong elsewhere, and its mode must not change.
        if !found.is_file() || !found.has_one_name() {
            return Err(not_a_file_error());
        }
        let path = proc_fd_path(handle.as_fd());
        fs::set_permissions(&path, Permissions::from_mode(found.permissions() | 0o400))?;
        let opened = File::open(&path);
        fs::set_permissions(&path, Permissions::from_mode(found.permissions()))?;
        opened
    }

    /// Creates a file; an error if it exists.
    pub(crate) fn create_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW;
        let how =
            OpenHow::new().flags(flags | OFlag::O_CLOEXEC).mode(Mode::S_IRUSR | Mode::S_IWUSR);
        Ok(File::from(openat2(&self.file, name, how.resolve(RESOLVE_BENEATH_FLAGS))?))
    }

    pub(crate) fn create_directory(&self, name: &OsStr) -> io::Result<()> {
        Ok(mkdirat(&self.file, name, Mode::S_IRWXU)?)
    }

    pub(crate) fn create_link(&self, name: &OsStr, target: &OsStr) -> io::Result<()> {
        Ok(symlinkat(target, &self.file, name)?)
    }

    pub(crate) fn create_pipe(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        Ok(mkfifoat(&self.file, name, Mode::from_bits_truncate(mode))?)
    }

    pub(crate) fn read_link(&self, name: &OsStr) -> io::Result<OsString> {
        Ok(readlinkat(&self.file, name)?)
    }

    /// Removes anything but a directory; false for a directory.
    pub(crate) fn remove_file(&self, name: &OsStr) -> io::Result<bool> {
        match unlinkat(&self.file, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(true),
            Err(Errno::EISDIR) => Ok(false),
            // `EPERM` stands for a directory on some file systems; otherwise for a file that cannot
            // be removed.
            Err(Errno::EPERM) if self.entry_metadata(name)?.is_directory() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an empty directory; false when it is not empty.
    pub(crate) fn remove_directory(&self, name: &OsStr) -> io::Result<bool> {
        match unlinkat(&self.file, name, UnlinkatFlags::RemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(true),
            Err(Errno::ENOTEMPTY | Errno::EEXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves an entry to another directory; false when its new name is taken there.
    pub(crate) fn move_to(&self, name: &OsStr, to: &Self, new_name: &OsStr) -> io::Result<bool> {
        let flags = RenameFlags::RENAME_NOREPLACE;
        match renameat2(&self.file, name, &to.file, new_name, flags) {
            Ok(()) => Ok(true),
            Err(Errno::EEXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for OpenDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for OpenDirectory {
    fn drop(&mut self) {
        if let Some(mode) = self.mode_to_restore {
            // Fails only when the directory is gone.
            let _ = self.set_mode(mode);
        }
    }
}

/// Metadata of a file, directory or other entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryMetadata(FileStat);

impl EntryMetadata {
    fn from_fd(fd: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self(fstat(fd)?))
    }

    fn has_kind(&self, kind: SFlag) -> bool {
        self.0.st_mode & SFlag::S_IFMT.bits() == kind.bits()
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.has_kind(SFlag::S_IFDIR)
    }

    pub(crate) fn is_file(&self) -> bool {
        self.has_kind(SFlag::S_IFREG)
    }

    pub(crate) fn is_link(&self) -> bool {
        self.has_kind(SFlag::S_IFLNK)
    }

    pub(crate) fn is_pipe(&self) -> bool {
        self.has_kind(SFlag::S_IFIFO)
    }

    /// Whether it is the character device 0/0, with which overlayfs marks deleted files.
    pub(crate) fn is_null_device(&self) -> bool {
        self.has_kind(SFlag::S_IFCHR) && self.0.st_rdev == 0
    }

    /// Kind and permissions.
    pub(crate) fn mode(&self) -> u32 {
        self.0.st_mode
    }

    pub(crate) fn permissions(&self) -> u32 {
        self.0.st_mode & 0o7777
    }

    /// Whether it has only one hard link.
    fn has_one_name(&self) -> bool {
        self.0.st_nlink == 1
    }

    pub(crate) fn size(&self) -> u64 {
        self.0.st_size.cast_unsigned()
    }

    /// Allocated bytes, which are fewer than the size when the file has holes.
    pub(crate) fn allocated_bytes(&self) -> u64 {
        if self.is_file() { self.0.st_blocks.cast_unsigned() * 512 } else { 0 }
    }

    pub(crate) fn inode(&self) -> u64 {
        self.0.st_ino
    }

    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        (self.0.st_dev, self.0.st_ino) == (other.0.st_dev, other.0.st_ino)
    }

    /// The last change of any kind (ctime), in seconds and nanoseconds.
    pub(crate) fn changed_at(&self) -> (i64, i64) {
        (self.0.st_ctime, self.0.st_ctime_nsec)
    }

    /// The last change of the content (mtime), in seconds and nanoseconds.
    pub(crate) fn modified_at(&self) -> (i64, i64) {
        (self.0.st_mtime, self.0.st_mtime_nsec)
    }
}

fn not_a_file_error() -> io::Error {
    io::Error::other("it is no file, or not one of its own")
}

/// A path to the file behind a descriptor, for calls that accept no `O_PATH` descriptor.
fn proc_fd_path(handle: BorrowedFd<'_>) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

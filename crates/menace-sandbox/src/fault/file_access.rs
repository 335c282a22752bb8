//! Which system calls touch files of the guest, and how.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::confine::interposition::{DESCRIPTOR_SYSCALLS, PATH_SYSCALLS};
use crate::confine::{SyscallNotification, sys};

/// The longest path that is read from the guest's memory (`PATH_MAX`).
const MAX_PATH_BYTES: usize = 4096;

/// A system call of the guest on a file in one of its own directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileAccess {
    kind: FileAccessKind,
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileAccessKind {
    Read,
    /// `write` and the like.
    Write,
    /// `sendfile`, `copy_file_range`: the kernel moves the data, init never sees it.
    Copy,
    /// `fallocate`.
    Reserve,
    /// A file, directory or link is created, or a file is opened with `O_CREAT` or `O_TRUNC`.
    Create,
    /// Truncating, removing, renaming.
    Change,
    /// `fsync`, `fdatasync`.
    Sync,
}

impl FileAccess {
    pub(super) fn from_notification(
        notice: &SyscallNotification,
        places: &[PathBuf],
    ) -> Option<Self> {
        let number = notice.number;
        let touch = if DESCRIPTOR_SYSCALLS.contains(&number) {
            let how = match number {
                libc::SYS_read | libc::SYS_pread64 | libc::SYS_readv | libc::SYS_preadv => {
                    FileAccessKind::Read
                }
                libc::SYS_fsync | libc::SYS_fdatasync => FileAccessKind::Sync,
                libc::SYS_ftruncate => FileAccessKind::Change,
                libc::SYS_fallocate => FileAccessKind::Reserve,
                libc::SYS_sendfile | libc::SYS_copy_file_range => FileAccessKind::Copy,
                _ => FileAccessKind::Write,
            };
            // `copy_file_range` has the written descriptor as its third argument.
            let argument = if number == libc::SYS_copy_file_range { 2 } else { 0 };
            let fd = notice.arguments[argument] as u32;
            let path = fs::read_link(format!("/proc/{}/fd/{fd}", notice.pid)).ok()?;
            Self { kind: how, path }
        } else if PATH_SYSCALLS.contains(&number) {
            Self {
                kind: if is_creating_syscall(number) {
                    FileAccessKind::Create
                } else {
                    FileAccessKind::Change
                },
                path: changed_path(notice)?,
            }
        } else {
            return None;
        };
        let is_guest_file = touch.path.is_relative()
            && !touch.path.to_string_lossy().contains(":[")
            || places.iter().any(|place| touch.path.starts_with(place));
        is_guest_file.then_some(touch)
    }

    pub(super) fn is_data_write(&self) -> bool {
        self.kind == FileAccessKind::Write
    }

    pub(super) fn is_copy(&self) -> bool {
        self.kind == FileAccessKind::Copy
    }

    pub(super) fn is_read(&self) -> bool {
        self.kind == FileAccessKind::Read
    }

    pub(super) fn is_sync(&self) -> bool {
        self.kind == FileAccessKind::Sync
    }

    /// Whether the call changes content or names: all kinds but reading and syncing.
    pub(super) fn modifies_disk(&self) -> bool {
        !matches!(self.kind, FileAccessKind::Read | FileAccessKind::Sync)
    }

    /// Whether the call fails with `ENOSPC` on a full disk.
    pub(super) fn needs_disk_space(&self) -> bool {
        matches!(
            self.kind,
            FileAccessKind::Write
                | FileAccessKind::Copy
                | FileAccessKind::Reserve
                | FileAccessKind::Create
        )
    }
}

impl fmt::Display for FileAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            FileAccessKind::Read => "reading",
            FileAccessKind::Write => "writing to",
            FileAccessKind::Copy => "copying to",
            FileAccessKind::Reserve => "making room in",
            FileAccessKind::Create => "creating",
            FileAccessKind::Change => "changing",
            FileAccessKind::Sync => "syncing",
        };
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        write!(f, "{what} `{}`", name.to_string_lossy())
    }
}

fn is_creating_syscall(number: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if matches!(
        number,
        libc::SYS_open | libc::SYS_creat | libc::SYS_mkdir | libc::SYS_link | libc::SYS_symlink
    ) {
        return true;
    }
    matches!(number, libc::SYS_openat | libc::SYS_mkdirat | libc::SYS_linkat | libc::SYS_symlinkat)
}

/// The path that a system call changes; nothing for calls that change nothing, like opening to
/// read.
///
/// Another thread of the guest may change the path in memory after it was read: the fault then hits
/// another file of the guest, and does no other harm.
fn changed_path(notice: &SyscallNotification) -> Option<PathBuf> {
    let arguments = &notice.arguments;
    let (path, flags) = match notice.number {
        libc::SYS_openat => (arguments[1], Some(arguments[2])),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => (arguments[0], Some(arguments[1])),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat | libc::SYS_mkdir | libc::SYS_unlink | libc::SYS_rmdir => {
            (arguments[0], None)
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename | libc::SYS_link | libc::SYS_symlink => (arguments[1], None),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_renameat => (arguments[3], None),
        libc::SYS_truncate => (arguments[0], None),
        libc::SYS_mkdirat | libc::SYS_unlinkat => (arguments[1], None),
        libc::SYS_renameat2 | libc::SYS_linkat => (arguments[3], None),
        libc::SYS_symlinkat => (arguments[2], None),
        _ => return None,
    };
    let changes = (libc::O_CREAT | libc::O_TRUNC) as u64;
    if flags.is_some_and(|flags| flags & changes == 0) {
        return None;
    }
    Some(make_absolute(notice.pid, read_guest_string(notice.pid, path)?))
}

fn read_guest_string(pid: u32, address: u64) -> Option<String> {
    let mut buffer = [0; MAX_PATH_BYTES];
    // The string may end right before an unmapped page, so each page is read by itself.
    let to_page_end = (4096 - address % 4096) as usize;
    let mut read = sys::read_memory(pid, address, &mut buffer[..to_page_end]).ok()?;
    if !buffer[..read].contains(&0) && read < MAX_PATH_BYTES {
        let next = address + read as u64;
        read += sys::read_memory(pid, next, &mut buffer[read..]).unwrap_or(0);
    }
    let end = buffer[..read].iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&buffer[..end]).into_owned())
}

fn make_absolute(pid: u32, path: String) -> PathBuf {
    let path = PathBuf::from(path);
    if path.is_absolute() {
        return path;
    }
    let directory = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    directory.join(Path::new(&path))
}

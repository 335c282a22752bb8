//! Which system calls touch files of the guest, and how.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::confine::interpose::{BY_DESCRIPTOR, BY_PATH};
use crate::confine::{Notice, sys};

/// The longest path that is read from a guest.
const LONGEST_PATH: usize = 4096;

/// A system call on a file that belongs to the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touch {
    how: How,
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Read,
    /// Data goes into the file.
    Write,
    /// The same, and the kernel takes it out of another file.
    Copy,
    /// Room for data is made.
    Reserve,
    /// A file comes to be.
    Create,
    /// The file, or what is behind a name, becomes another.
    Change,
    /// What was written is to be safe.
    Sync,
}

impl Touch {
    pub(super) fn of(notice: &Notice, places: &[PathBuf]) -> Option<Self> {
        let number = notice.number;
        let touch = if BY_DESCRIPTOR.contains(&number) {
            let how = match number {
                libc::SYS_read | libc::SYS_pread64 | libc::SYS_readv | libc::SYS_preadv => {
                    How::Read
                }
                libc::SYS_fsync | libc::SYS_fdatasync => How::Sync,
                libc::SYS_ftruncate => How::Change,
                libc::SYS_fallocate => How::Reserve,
                libc::SYS_sendfile | libc::SYS_copy_file_range => How::Copy,
                _ => How::Write,
            };
            // The second descriptor is the one that is written to.
            let argument = if number == libc::SYS_copy_file_range { 2 } else { 0 };
            let fd = notice.arguments[argument] as u32;
            let path = fs::read_link(format!("/proc/{}/fd/{fd}", notice.pid)).ok()?;
            Self { how, path }
        } else if BY_PATH.contains(&number) {
            Self {
                how: if creates(number) { How::Create } else { How::Change },
                path: named(notice)?,
            }
        } else {
            return None;
        };
        let is_theirs = touch.path.is_relative() && !touch.path.to_string_lossy().contains(":[")
            || places.iter().any(|place| touch.path.starts_with(place));
        is_theirs.then_some(touch)
    }

    pub(super) fn writes_data(&self) -> bool {
        self.how == How::Write
    }

    pub(super) fn copies(&self) -> bool {
        self.how == How::Copy
    }

    pub(super) fn reads(&self) -> bool {
        self.how == How::Read
    }

    pub(super) fn is_sync(&self) -> bool {
        self.how == How::Sync
    }

    /// Afterwards, something on the disk is not what it was.
    pub(super) fn changes(&self) -> bool {
        !matches!(self.how, How::Read | How::Sync)
    }

    /// It cannot be done on a disk that is full.
    pub(super) fn takes_space(&self) -> bool {
        matches!(self.how, How::Write | How::Copy | How::Reserve | How::Create)
    }
}

impl fmt::Display for Touch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.how {
            How::Read => "reading",
            How::Write => "writing to",
            How::Copy => "copying to",
            How::Reserve => "making room in",
            How::Create => "creating",
            How::Change => "changing",
            How::Sync => "syncing",
        };
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        write!(f, "{what} `{}`", name.to_string_lossy())
    }
}

fn creates(number: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if matches!(
        number,
        libc::SYS_open | libc::SYS_creat | libc::SYS_mkdir | libc::SYS_link | libc::SYS_symlink
    ) {
        return true;
    }
    matches!(number, libc::SYS_openat | libc::SYS_mkdirat | libc::SYS_linkat | libc::SYS_symlinkat)
}

/// The path that a call names, if the call changes something.
///
/// Another thread of the guest may change it meanwhile: it then strikes the wrong call, and nothing
/// worse.
fn named(notice: &Notice) -> Option<PathBuf> {
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
    Some(absolute(notice.pid, text_at(notice.pid, path)?))
}

fn text_at(pid: u32, address: u64) -> Option<String> {
    let mut buffer = [0; LONGEST_PATH];
    // A path may end right before memory that is not there.
    let to_page_end = (4096 - address % 4096) as usize;
    let mut read = sys::read_memory(pid, address, &mut buffer[..to_page_end]).ok()?;
    if !buffer[..read].contains(&0) && read < LONGEST_PATH {
        let next = address + read as u64;
        read += sys::read_memory(pid, next, &mut buffer[read..]).unwrap_or(0);
    }
    let end = buffer[..read].iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&buffer[..end]).into_owned())
}

fn absolute(pid: u32, path: String) -> PathBuf {
    let path = PathBuf::from(path);
    if path.is_absolute() {
        return path;
    }
    let directory = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    directory.join(Path::new(&path))
}

//! Replaces a write of the guest: init writes other bytes, or fewer, in its place.
//!
//! Only regular files are written to: a pipe, a socket or a terminal may have no room, and init
//! would wait for the guest, which waits for init.

#![expect(clippy::disallowed_methods, reason = "files of the kernel, below `/proc`")]

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use crate::confine::{SyscallNotification, sys as guest};
use crate::sys;

/// The most bytes that init writes in the guest's place; a longer write becomes a short write,
/// which the kernel may make too.
const MAX_WRITE_BYTES: usize = 1 << 20;

/// The most entries of an `iovec` table.
const MAX_IOVECS: usize = libc::UIO_MAXIOV as usize;

/// Makes the guest's write in its place, with the data that `change` leaves; returns the result for
/// the guest. `None` when init cannot make the write: the kernel then makes it unchanged.
pub(super) fn write_for_guest(
    notice: &SyscallNotification,
    change: impl FnOnce(&mut Vec<u8>),
) -> Option<i64> {
    let [fd, address, length, offset, _, flags] = notice.arguments;
    let (parts, offset) = match notice.number {
        libc::SYS_write => (vec![(address, length)], None),
        libc::SYS_pwrite64 => (vec![(address, length)], Some(offset)),
        libc::SYS_writev => (read_iovecs(notice.pid, address, length)?, None),
        libc::SYS_pwritev => (read_iovecs(notice.pid, address, length)?, Some(offset)),
        // Without flags; an offset of -1 stands for the file's position.
        libc::SYS_pwritev2 if flags == 0 => {
            let offset = Some(offset).filter(|offset| *offset != u64::MAX);
            (read_iovecs(notice.pid, address, length)?, offset)
        }
        _ => return None,
    };
    let mut data = read_guest_data(notice.pid, &parts)?;
    change(&mut data);
    if data.is_empty() {
        return None;
    }
    // The notification has the number of a thread, a pidfd needs that of its process.
    let process = sys::pidfd_open(read_tgid(notice.pid)?).ok()?;
    let mut file = File::from(guest::copy_descriptor(process.as_fd(), fd as u32).ok()?);
    // Of the copy, which no other thread of the guest can replace.
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let written = match offset {
        Some(offset) => file.write_at(&data, offset).ok()?,
        None => file.write(&data).ok()?,
    };
    i64::try_from(written).ok()
}

/// Address and length of each part of a `writev`.
fn read_iovecs(pid: u32, address: u64, count: u64) -> Option<Vec<(u64, u64)>> {
    const WORD_BYTES: usize = size_of::<u64>();
    let count = usize::try_from(count).ok().filter(|count| *count <= MAX_IOVECS)?;
    let mut table = vec![0; count * 2 * WORD_BYTES];
    let read = guest::read_memory(pid, address, &mut table).ok()?;
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).ok();
    let part = |both: &[u8]| word(&both[..WORD_BYTES]).zip(word(&both[WORD_BYTES..]));
    (read == table.len()).then(|| table.chunks_exact(2 * WORD_BYTES).filter_map(part).collect())
}

fn read_guest_data(pid: u32, parts: &[(u64, u64)]) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    for (address, length) in parts {
        let before = data.len();
        let wanted = usize::try_from(*length).ok()?.min(MAX_WRITE_BYTES - before);
        data.resize(before + wanted, 0);
        if wanted > 0 {
            let read = guest::read_memory(pid, *address, &mut data[before..]).ok()?;
            data.truncate(before + read);
        }
        if data.len() < before + wanted || data.len() == MAX_WRITE_BYTES {
            break;
        }
    }
    Some(data)
}

fn read_tgid(thread: u32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

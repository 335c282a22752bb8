//! Replaces a write of the guest: init writes other bytes, or fewer, in its place.
//!
//! Only regular files are written to: a pipe, a socket or a terminal may have no room, and init
//! would wait for the guest, which waits for init.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use crate::confine::{SyscallNotification, sys as guest};
use crate::sys;

/// More than this is written in parts, as the kernel may do too.
const MAX_WRITE_BYTES: usize = 1 << 20;

/// The most parts that a write may come in.
const MAX_IOVECS: usize = libc::UIO_MAXIOV as usize;

/// Writes what `change` makes of the guest's data; returns the result that the guest gets. Nothing
/// when it cannot be done: the guest then writes by itself.
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
        // Without flags, and at the position of the file when none is given.
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
    // The number of a thread is no number of a process.
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

/// Where the parts of a write are, and how long.
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

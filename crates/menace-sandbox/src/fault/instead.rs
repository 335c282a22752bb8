//! Writes in the guest's stead: other bytes, or fewer of them.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use crate::confine::{Notice, sys as guest};
use crate::sys;

/// More than this is written in parts, as the kernel may do too.
const LARGEST: usize = 1 << 20;

/// The most parts that a write may come in.
const PARTS: usize = libc::UIO_MAXIOV as usize;

/// Writes what `change` makes of the guest's data; the result is what the guest is told. Nothing when
/// it cannot be done: the guest then writes by itself.
pub(super) fn write(notice: &Notice, change: impl FnOnce(&mut Vec<u8>)) -> Option<i64> {
    let [fd, address, length, offset, _, flags] = notice.arguments;
    let (parts, offset) = match notice.number {
        libc::SYS_write => (vec![(address, length)], None),
        libc::SYS_pwrite64 => (vec![(address, length)], Some(offset)),
        libc::SYS_writev => (parts(notice.pid, address, length)?, None),
        libc::SYS_pwritev => (parts(notice.pid, address, length)?, Some(offset)),
        // Without flags, and at the position of the file when none is given.
        libc::SYS_pwritev2 if flags == 0 => {
            let offset = Some(offset).filter(|offset| *offset != u64::MAX);
            (parts(notice.pid, address, length)?, offset)
        }
        _ => return None,
    };
    let mut data = gathered(notice.pid, &parts)?;
    change(&mut data);
    if data.is_empty() {
        return None;
    }
    // The number of a thread is no number of a process.
    let process = sys::pidfd_open(process_of(notice.pid)?).ok()?;
    let mut file = File::from(guest::borrow_descriptor(process.as_fd(), fd as u32).ok()?);
    let written = match offset {
        Some(offset) => file.write_at(&data, offset).ok()?,
        None => file.write(&data).ok()?,
    };
    i64::try_from(written).ok()
}

/// Where the parts of a write are, and how long.
fn parts(pid: u32, address: u64, count: u64) -> Option<Vec<(u64, u64)>> {
    const WORD: usize = size_of::<u64>();
    let count = usize::try_from(count).ok().filter(|count| *count <= PARTS)?;
    let mut table = vec![0; count * 2 * WORD];
    let read = guest::read_memory(pid, address, &mut table).ok()?;
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).ok();
    let part = |both: &[u8]| word(&both[..WORD]).zip(word(&both[WORD..]));
    (read == table.len()).then(|| table.chunks_exact(2 * WORD).filter_map(part).collect())
}

fn gathered(pid: u32, parts: &[(u64, u64)]) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    for (address, length) in parts {
        let before = data.len();
        let wanted = usize::try_from(*length).ok()?.min(LARGEST - before);
        data.resize(before + wanted, 0);
        if wanted > 0 {
            let read = guest::read_memory(pid, *address, &mut data[before..]).ok()?;
            data.truncate(before + read);
        }
        if data.len() < before + wanted || data.len() == LARGEST {
            break;
        }
    }
    Some(data)
}

fn process_of(thread: u32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

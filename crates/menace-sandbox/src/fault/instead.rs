//! Writes in the guest's stead: other bytes, or fewer of them.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use crate::confine::{Notice, sys as guest};
use crate::sys;

/// More than this is written in parts, as the kernel may do too.
const LARGEST: usize = 1 << 20;

/// Writes what `change` makes of the guest's data; the result is what the guest is told. Nothing when
/// it cannot be done: the guest then writes by itself.
pub(super) fn write(notice: &Notice, change: impl FnOnce(&mut Vec<u8>)) -> Option<i64> {
    let [fd, address, length, offset, ..] = notice.arguments;
    let positioned = match notice.number {
        libc::SYS_write => false,
        libc::SYS_pwrite64 => true,
        _ => return None,
    };
    let mut data = vec![0; usize::try_from(length).ok()?.min(LARGEST)];
    let read = guest::read_memory(notice.pid, address, &mut data).ok()?;
    data.truncate(read);
    change(&mut data);
    if data.is_empty() {
        return None;
    }
    // The number of a thread is no number of a process.
    let process = sys::pidfd_open(process_of(notice.pid)?).ok()?;
    let mut file = File::from(guest::borrow_descriptor(process.as_fd(), fd as u32).ok()?);
    let written =
        if positioned { file.write_at(&data, offset).ok()? } else { file.write(&data).ok()? };
    i64::try_from(written).ok()
}

fn process_of(thread: u32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

//! What processes hold through descriptors alone, where no control group counts it: files without a
//! name, and data that waits in sockets.
//!
//! Descriptors that are under way from one process to another are not seen.

#![expect(clippy::disallowed_methods, reason = "files of the kernel, below `/proc`")]

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::layer::BLOCK_BYTES;
use crate::confine::sys::copy_descriptor;
use crate::sys;

/// In units of `st_blocks`.
const STAT_BLOCK_BYTES: u64 = 512;

/// In bytes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HiddenUsage {
    /// Files that were made without a directory (`memfd_create`), mapped or not.
    pub memory_files: u64,
    pub sockets: u64,
    /// Files that were removed, or never had a name.
    pub nameless_files: u64,
}

impl HiddenUsage {
    /// Of all these processes together. Nameless files count below `top` only.
    pub(crate) fn measure(pids: impl Iterator<Item = i32>, top: &Path) -> Self {
        let mut total = Self::default();
        let mut seen = BTreeSet::new();
        for pid in pids {
            total.add_process(pid, top, &mut seen);
        }
        total
    }

    /// `seen`: links of the files and sockets that were counted, which processes may share.
    fn add_process(&mut self, pid: i32, top: &Path, seen: &mut BTreeSet<(u64, u64)>) {
        let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return };
        let mut process = None;
        for entry in entries.flatten() {
            let Ok(target) = fs::read_link(entry.path()) else { continue };
            let name = target.as_os_str().as_encoded_bytes();
            let is_socket = name.starts_with(b"socket:");
            let is_memory = name.starts_with(b"/memfd:");
            let is_nameless = name.ends_with(b" (deleted)") && target.starts_with(top);
            if !(is_socket || is_memory || is_nameless) {
                continue;
            }
            let Ok(found) = fs::metadata(entry.path()) else { continue };
            if !seen.insert((found.dev(), found.ino())) {
                continue;
            }
            let bytes = found.blocks() * STAT_BLOCK_BYTES;
            if is_memory {
                self.memory_files += bytes;
            } else if is_nameless && found.is_file() && found.nlink() == 0 {
                self.nameless_files += bytes.next_multiple_of(BLOCK_BYTES);
            } else if is_socket {
                let process: &Option<OwnedFd> =
                    process.get_or_insert_with(|| sys::pidfd_open(pid).ok());
                let fd = entry.file_name().to_str().and_then(|number| number.parse().ok());
                let socket = process.as_ref().zip(fd);
                let socket = socket.and_then(|(of, fd)| copy_descriptor(of.as_fd(), fd).ok());
                self.sockets += socket.map_or(0, |socket| sys::socket_memory(socket.as_fd()));
            }
        }
    }
}

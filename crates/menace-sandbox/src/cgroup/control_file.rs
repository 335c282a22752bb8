//! One file of a group: what it is for, what it is called in each version, how it is read and
//! written.
//!
//! All access is by `pread` and `pwrite` at offset 0, so that processes which share a description
//! do not disturb each other.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::{CgroupController, CgroupError, CgroupResult, CgroupVersion, v1, v2};

/// What an open file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CgroupFileRole {
    Procs,
    MemoryLimit,
    SwapLimit,
    MemoryUsage,
    MemoryPeak,
    MemoryStat,
    MemoryReclaim,
    OomEvents,
    CpuQuota,
    CpuPeriod,
    CpuTotal,
    CpuUser,
    CpuSystem,
    PidsLimit,
    PidsUsage,
    PidsEvents,
    Kill,
    Freezer,
}

/// A file that a controller brings into a group's directory.
#[derive(Debug)]
pub(super) struct CgroupFileEntry {
    pub(super) controller: CgroupController,
    pub(super) role: CgroupFileRole,
    pub(super) name: &'static str,
    pub(super) read: bool,
    pub(super) write: bool,
}

impl CgroupFileEntry {
    pub(super) const fn new(
        controller: CgroupController,
        role: CgroupFileRole,
        name: &'static str,
    ) -> Self {
        Self { controller, role, name, read: true, write: true }
    }

    pub(super) const fn read_only(
        controller: CgroupController,
        role: CgroupFileRole,
        name: &'static str,
    ) -> Self {
        Self { write: false, ..Self::new(controller, role, name) }
    }

    pub(super) const fn write_only(
        controller: CgroupController,
        role: CgroupFileRole,
        name: &'static str,
    ) -> Self {
        Self { read: false, ..Self::new(controller, role, name) }
    }
}

pub(super) const PROCS_FILE: &str = "cgroup.procs";

pub(super) fn file_table(version: CgroupVersion) -> &'static [CgroupFileEntry] {
    match version {
        CgroupVersion::CgroupV1 => v1::CGROUP_V1_FILES,
        CgroupVersion::CgroupV2 => v2::CGROUP_V2_FILES,
    }
}

#[derive(Debug)]
pub(super) struct CgroupFile {
    pub(super) role: CgroupFileRole,
    pub(super) version: CgroupVersion,
    pub(super) file: File,
}

impl CgroupFile {
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()?, ..*self })
    }

    pub(super) fn name(&self) -> &'static str {
        file_table(self.version)
            .iter()
            .find(|entry| entry.role == self.role)
            .map_or(PROCS_FILE, |entry| entry.name)
    }

    pub(super) fn set(&self, value: &str) -> CgroupResult<()> {
        self.write(value).map_err(|source| CgroupError::Set {
            file: self.name(),
            value: value.to_owned(),
            source,
        })
    }

    pub(super) fn write(&self, value: &str) -> io::Result<()> {
        self.file.write_at(value.as_bytes(), 0).map(|_| ())
    }

    fn read_text<'a>(&self, buffer: &'a mut [u8; 4096]) -> CgroupResult<&'a str> {
        let length = self
            .file
            .read_at(buffer, 0)
            .map_err(|source| CgroupError::Get { file: self.name(), source })?;
        std::str::from_utf8(&buffer[..length]).map_err(|_| self.malformed_error("not UTF-8"))
    }

    fn malformed_error(&self, text: &str) -> CgroupError {
        CgroupError::Malformed { file: self.name(), text: text.chars().take(200).collect() }
    }

    /// The one number of the file; `max` (version 2) is the largest.
    pub(super) fn read_number(&self) -> CgroupResult<u64> {
        let mut buffer = [0; 4096];
        let text = self.read_text(&mut buffer)?.trim();
        match text {
            "max" => Ok(u64::MAX),
            _ => text.parse().map_err(|_| self.malformed_error(text)),
        }
    }

    /// The number after `key` in a file of `key number` lines.
    pub(super) fn read_keyed<const N: usize>(&self, keys: [&str; N]) -> CgroupResult<[u64; N]> {
        let mut buffer = [0; 4096];
        let text = self.read_text(&mut buffer)?;
        let mut numbers = [0; N];
        for (number, key) in numbers.iter_mut().zip(keys) {
            *number = text
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))
                .and_then(|value| value.trim().parse().ok())
                .ok_or_else(|| self.malformed_error(text))?;
        }
        Ok(numbers)
    }
}

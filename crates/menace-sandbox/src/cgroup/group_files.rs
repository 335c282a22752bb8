//! The open files of a group, by role: opened on the host, handed to another process by number.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};

use super::control_file::{CgroupFile, CgroupFileEntry, CgroupFileRole, PROCS_FILE, file_table};
use super::limits::LastWrittenLimits;
use super::{CgroupController, CgroupError, CgroupResult, CgroupVersion};

/// An open file of a group, as a process that inherits it finds it: by descriptor number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InheritedCgroupFile {
    pub(crate) role: CgroupFileRole,
    pub(crate) version: CgroupVersion,
    pub(crate) fd: RawFd,
}

/// The open files of one group, by role.
#[derive(Debug)]
pub(crate) struct CgroupFiles {
    files: Vec<CgroupFile>,
    /// The limits written last, so that writing the same one again is skipped.
    pub(super) last_written: LastWrittenLimits,
}

impl CgroupFiles {
    pub(super) fn empty() -> Self {
        Self { files: Vec::new(), last_written: LastWrittenLimits::UNKNOWN }
    }

    /// Opens the files of one directory, as far as this kernel has them.
    pub(super) fn open(
        &mut self,
        directory: &Path,
        version: CgroupVersion,
        controllers: &[CgroupController],
    ) -> CgroupResult<()> {
        let entries =
            file_table(version).iter().filter(|entry| controllers.contains(&entry.controller));
        let procs = CgroupFileEntry::new(CgroupController::Kill, CgroupFileRole::Procs, PROCS_FILE);
        for entry in std::iter::once(&procs).chain(entries) {
            let path = directory.join(entry.name);
            let opened = OpenOptions::new().read(entry.read).write(entry.write).open(&path);
            let file = match opened {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                // Read-only before Linux 6.12; a peak that cannot be reset is of no use for a
                // single call.
                Err(_) if entry.role == CgroupFileRole::MemoryPeak => continue,
                Err(source) => return Err(CgroupError::Open { path, source }),
            };
            let part = CgroupFile { role: entry.role, version, file };
            if part.role == CgroupFileRole::MemoryPeak && part.write("0").is_err() {
                continue;
            }
            self.files.push(part);
        }
        Ok(())
    }

    /// The descriptor numbers of the files, for a process that inherits them.
    pub(crate) fn inheritable(&self) -> Vec<InheritedCgroupFile> {
        self.files
            .iter()
            .map(|part| InheritedCgroupFile {
                role: part.role,
                version: part.version,
                fd: part.file.as_raw_fd(),
            })
            .collect()
    }

    /// Rebuilds the files in the process that inherited them. `own` makes an `OwnedFd` of a number,
    /// which needs unsafe code.
    pub(crate) fn from_inherited(
        handed: &[InheritedCgroupFile],
        mut own: impl FnMut(RawFd) -> io::Result<OwnedFd>,
    ) -> io::Result<Self> {
        let parts = handed
            .iter()
            .map(|one| {
                Ok(CgroupFile {
                    role: one.role,
                    version: one.version,
                    file: File::from(own(one.fd)?),
                })
            })
            .collect::<io::Result<_>>()?;
        Ok(Self { files: parts, last_written: LastWrittenLimits::UNKNOWN })
    }

    /// The interface that enforces the controller's limit, or counts for it, in this group.
    pub(crate) fn version(&self, controller: CgroupController) -> Option<CgroupVersion> {
        let role = match controller {
            CgroupController::Memory => CgroupFileRole::MemoryLimit,
            CgroupController::Cpu => CgroupFileRole::CpuQuota,
            CgroupController::Cpuacct => CgroupFileRole::CpuTotal,
            CgroupController::Pids => CgroupFileRole::PidsLimit,
            CgroupController::Kill => {
                return self
                    .file(CgroupFileRole::Kill)
                    .or_else(|| self.file(CgroupFileRole::Freezer))
                    .map(|part| part.version);
            }
        };
        self.file(role).map(|part| part.version)
    }

    pub(super) fn file(&self, role: CgroupFileRole) -> Option<&CgroupFile> {
        self.files.iter().find(|part| part.role == role)
    }

    pub(super) fn require_file(
        &self,
        role: CgroupFileRole,
        what: &'static str,
    ) -> CgroupResult<&CgroupFile> {
        self.file(role).ok_or(CgroupError::Unavailable { what })
    }

    /// The `cgroup.procs` files, one per hierarchy.
    pub(super) fn procs_files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|part| part.role == CgroupFileRole::Procs).map(|part| &part.file)
    }

    /// Writes to `cgroup.kill` or the freezer; false where the group has no such file.
    pub(super) fn write_command(&self, role: CgroupFileRole, value: &str) -> CgroupResult<bool> {
        self.file(role).map_or(Ok(false), |part| part.set(value).map(|()| true))
    }

    /// Moves the calling process, with all its threads, into the group. Its children will be in it,
    /// too.
    pub(crate) fn attach_self(&self) -> CgroupResult<()> {
        self.attach(0)
    }

    /// Moves a process into the group; `pid` is its number in the caller's PID namespace.
    pub(crate) fn attach(&self, pid: u32) -> CgroupResult<()> {
        let pid = pid.to_string();
        self.files
            .iter()
            .filter(|part| part.role == CgroupFileRole::Procs)
            .try_for_each(|part| part.set(&pid))
    }

    /// Like [`Self::attach`], on another thread: the kernel waits for an RCU grace period, which
    /// takes as long as starting Python.
    pub(crate) fn attach_in_background(&self, pid: u32) -> io::Result<CgroupAttachTask> {
        let of_procs = |part: &&CgroupFile| part.role == CgroupFileRole::Procs;
        let parts = self.files.iter().filter(of_procs).map(CgroupFile::try_clone);
        let procs = Self {
            files: parts.collect::<io::Result<_>>()?,
            last_written: LastWrittenLimits::UNKNOWN,
        };
        Ok(CgroupAttachTask(thread::spawn(move || procs.attach(pid))))
    }
}

/// A thread that moves a process into a group.
#[derive(Debug)]
pub(crate) struct CgroupAttachTask(JoinHandle<CgroupResult<()>>);

impl CgroupAttachTask {
    /// Waits until the process is in the group.
    pub(crate) fn wait(self) -> CgroupResult<()> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

//! The open files of a group, by role: opened on the host, handed to another process by number.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};

use super::limits::Known;
use super::part::{Entry, PROCS, Part, Role, entries};
use super::{Controller, Error, Result, Version};

/// A file of a group as another process will find it: by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Handed {
    pub(crate) role: Role,
    pub(crate) version: Version,
    pub(crate) fd: RawFd,
}

/// The open files of one group, by role.
#[derive(Debug)]
pub(crate) struct GroupFiles {
    parts: Vec<Part>,
    /// See [`Known`].
    pub(super) known: Known,
}

impl GroupFiles {
    pub(super) fn empty() -> Self {
        Self { parts: Vec::new(), known: Known::NOTHING }
    }

    /// Adds the files of one directory; those that this kernel does not have are left out.
    pub(super) fn open(
        &mut self,
        directory: &Path,
        version: Version,
        controllers: &[Controller],
    ) -> Result<()> {
        let entries =
            entries(version).iter().filter(|entry| controllers.contains(&entry.controller));
        let procs = Entry::new(Controller::Kill, Role::Procs, PROCS);
        for entry in std::iter::once(&procs).chain(entries) {
            let path = directory.join(entry.name);
            let opened = OpenOptions::new().read(entry.read).write(entry.write).open(&path);
            let file = match opened {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                // Read-only before Linux 6.12, and a peak that cannot be reset is of no use to a call.
                Err(_) if entry.role == Role::MemoryPeak => continue,
                Err(source) => return Err(Error::Open { path, source }),
            };
            let part = Part { role: entry.role, version, file };
            if part.role == Role::MemoryPeak && part.write("0").is_err() {
                continue;
            }
            self.parts.push(part);
        }
        Ok(())
    }

    /// The files by number, for a process that inherits them.
    pub(crate) fn handed(&self) -> Vec<Handed> {
        self.parts
            .iter()
            .map(|part| Handed {
                role: part.role,
                version: part.version,
                fd: part.file.as_raw_fd(),
            })
            .collect()
    }

    /// Puts the files together again in the process that inherited them; `own` takes possession of a
    /// descriptor, which no safe code can do by its number.
    pub(crate) fn rebuilt(
        handed: &[Handed],
        mut own: impl FnMut(RawFd) -> io::Result<OwnedFd>,
    ) -> io::Result<Self> {
        let parts = handed
            .iter()
            .map(|one| {
                Ok(Part { role: one.role, version: one.version, file: File::from(own(one.fd)?) })
            })
            .collect::<io::Result<_>>()?;
        Ok(Self { parts, known: Known::NOTHING })
    }

    /// Which interface enforces (or counts) for the controller in this very group.
    pub(crate) fn version(&self, controller: Controller) -> Option<Version> {
        let role = match controller {
            Controller::Memory => Role::MemoryLimit,
            Controller::Cpu => Role::CpuQuota,
            Controller::Cpuacct => Role::CpuTotal,
            Controller::Pids => Role::PidsLimit,
            Controller::Kill => {
                return self
                    .part(Role::Kill)
                    .or_else(|| self.part(Role::Freezer))
                    .map(|part| part.version);
            }
        };
        self.part(role).map(|part| part.version)
    }

    pub(super) fn part(&self, role: Role) -> Option<&Part> {
        self.parts.iter().find(|part| part.role == role)
    }

    pub(super) fn need(&self, role: Role, what: &'static str) -> Result<&Part> {
        self.part(role).ok_or(Error::Unavailable { what })
    }

    /// One per hierarchy.
    pub(super) fn procs(&self) -> impl Iterator<Item = &File> {
        self.parts.iter().filter(|part| part.role == Role::Procs).map(|part| &part.file)
    }

    /// Writes to `cgroup.kill` or the freezer; false where the group has no such file.
    pub(super) fn command(&self, role: Role, value: &str) -> Result<bool> {
        self.part(role).map_or(Ok(false), |part| part.set(value).map(|()| true))
    }

    /// Moves the calling process, with all its threads, into the group. What it forks follows.
    pub(crate) fn attach_self(&self) -> Result<()> {
        self.attach(0)
    }

    /// Moves a process into the group; the number is that of the caller's PID namespace.
    pub(crate) fn attach(&self, pid: u32) -> Result<()> {
        let pid = pid.to_string();
        self.parts
            .iter()
            .filter(|part| part.role == Role::Procs)
            .try_for_each(|part| part.set(&pid))
    }

    /// The same on a thread of its own: the kernel waits for a grace period of all processors, which
    /// takes as long as starting a Python.
    pub(crate) fn begin_to_attach(&self, pid: u32) -> io::Result<Attaching> {
        let of_procs = |part: &&Part| part.role == Role::Procs;
        let parts = self.parts.iter().filter(of_procs).map(Part::try_clone);
        let procs = Self { parts: parts.collect::<io::Result<_>>()?, known: Known::NOTHING };
        Ok(Attaching(thread::spawn(move || procs.attach(pid))))
    }
}

/// A process on its way into a group.
#[derive(Debug)]
pub(crate) struct Attaching(JoinHandle<Result<()>>);

impl Attaching {
    /// Waits until the process is in the group.
    pub(crate) fn finish(self) -> Result<()> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

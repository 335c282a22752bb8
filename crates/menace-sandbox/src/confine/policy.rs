//! What each security level forbids.
//!
//! The policy only says *what*; [`super::seccomp`] and [`super::landlock`] turn it into filters, and
//! [`super::warden`] answers what the filters cannot decide alone.
//!
//! Every level keeps all promises of the sandbox, and each is stricter than the one below it:
//!
//! | level | adds | what a repository notices |
//! |---|---|---|
//! | 1 | namespaces, no capabilities, no new privileges; the *never* list of system calls; sockets only of the families Unix, IPv4 and IPv6, never raw, and route netlink; no signals to the keepers of the sandbox | nothing, unless it wants to administer the machine |
//! | 2 | Landlock on files: reading and writing only where the sandbox says so | files outside cannot be opened, not even from a leaked directory or through a stray mount |
//! | 3 (default) | only system calls that ordinary programs make; TCP and UDP only; `prctl` by list | nothing, unless it uses kernel interfaces that few programs know |
//! | 4 | no sockets (not even inside the private network) but pairs, no starting of programs | `subprocess` and `socket` fail with `PermissionError`; `socketpair`, threads and `fork` work |
//! | 5 | no new processes; the repository is read-only (the caller passes other [`Places`]) | `multiprocessing` and `os.fork` fail; threads work |
//!
//! `safe_mode` forbids all sockets but `socketpair(AF_UNIX)` at every level. Without namespaces (the
//! lowest tier) Landlock takes their place at every level, so files are restricted from level 1 on, the
//! same holds for sockets, and nothing may be aimed at other processes.
//!
//! [`Places`]: super::landlock::Places

use serde::{Deserialize, Serialize};

use super::interpose::Interpose;

/// `SECURITY_LEVEL`, 1 to 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub(crate) struct Level(u8);

#[derive(Debug, thiserror::Error)]
#[error("security level {0} does not exist: choose 1 (loosest) to 5 (strictest)")]
pub(crate) struct NoSuchLevel(u8);

impl Level {
    pub(crate) const DEFAULT: Self = Self(3);
    const NO_STRANGE_FILES: Self = Self(2);
    const NO_RARE_CALLS: Self = Self(3);
    const NO_NETWORK_NO_PROGRAMS: Self = Self(4);
    const NO_PROCESSES: Self = Self(5);

    /// Whether the guest may fork.
    pub(crate) fn allows_processes(self) -> bool {
        self < Self::NO_PROCESSES
    }
}

impl TryFrom<u8> for Level {
    type Error = NoSuchLevel;

    fn try_from(number: u8) -> Result<Self, NoSuchLevel> {
        if (1..=5).contains(&number) { Ok(Self(number)) } else { Err(NoSuchLevel(number)) }
    }
}

impl From<Level> for u8 {
    fn from(level: Level) -> Self {
        level.0
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// How strictly the guest is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub(crate) struct Policy {
    pub level: Level,
    /// No network at any level.
    pub safe_mode: bool,
    /// Whether user, mount, pid, net and ipc namespaces surround the process. Without them more has
    /// to be forbidden, because everything that the guest can name is the host's.
    pub namespaces: bool,
    /// Whether socket files of the host can be seen that would let the guest in.
    pub host_lets_in: bool,
    /// Whether Menace wants to know which files the guest goes for.
    pub watches_files: bool,
    pub interpose: Interpose,
}

impl Policy {
    /// Whether sockets may be made, beside pairs. They reach no further than the private network.
    pub(crate) fn network(self) -> bool {
        self.namespaces && !self.safe_mode && self.level < Level::NO_NETWORK_NO_PROGRAMS
    }

    /// Whether Unix sockets may be made, beside pairs that stay pairs.
    pub(crate) fn unix_sockets(self) -> bool {
        self.network() && !self.host_lets_in
    }

    /// Whether the guest may start programs.
    pub(crate) fn programs(self) -> bool {
        self.level < Level::NO_NETWORK_NO_PROGRAMS
    }

    /// Whether the guest may fork.
    pub(crate) fn processes(self) -> bool {
        self.level.allows_processes()
    }

    /// Whether kernel interfaces that few programs need are open.
    pub(crate) fn rare_calls(self) -> bool {
        self.level < Level::NO_RARE_CALLS
    }

    /// Whether Landlock restricts files.
    pub(crate) fn strange_files_forbidden(self) -> bool {
        self.level >= Level::NO_STRANGE_FILES || !self.namespaces
    }
}

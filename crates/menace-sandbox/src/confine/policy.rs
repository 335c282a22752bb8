//! What each security level forbids.
//!
//! The policy states *what* is forbidden; [`super::seccomp`] and [`super::landlock`] turn it into
//! filters and rules, and [`super::supervisor`] decides what the filters cannot.
//!
//! Every level keeps all promises of the sandbox, and each is stricter than the one below it:
//!
//! - Level 1: namespaces, no capabilities, no new privileges; the *never* list of system calls;
//!   sockets only of the families Unix, IPv4 and IPv6, never raw, and route netlink; no signals to
//!   init and zygote. A repository notices nothing, unless it administers the machine.
//! - Level 2 adds Landlock on files: reading and writing only where the sandbox says so. Files
//!   outside cannot be opened, not even from a leaked directory or through a stray mount.
//! - Level 3 (default) allows only system calls that ordinary programs make, TCP and UDP only, and
//!   `prctl` by list. A repository notices nothing, unless it uses rare kernel interfaces.
//! - Level 4 allows no sockets but pairs (not even inside the private network), and no starting of
//!   programs. `subprocess` and `socket` fail with `PermissionError`; `socketpair`, threads and
//!   `fork` work.
//! - Level 5 allows no new processes, and the repository is read-only (the caller passes other
//!   [`AllowedPaths`]). `multiprocessing` and `os.fork` fail; threads work.
//!
//! `safe_mode` forbids all sockets but `socketpair(AF_UNIX)` at every level. Without namespaces
//! (the lowest tier) Landlock takes their place at every level, so files are restricted from level
//! 1 on, the same holds for sockets, and nothing may be aimed at other processes.
//!
//! [`AllowedPaths`]: super::landlock::AllowedPaths

use menace_model::{CallConfinement, SyscallInterposition};
use serde::{Deserialize, Serialize};

/// What the guest is forbidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConfinementPolicy {
    pub confinement: CallConfinement,
    /// Whether user, mount, pid, net and ipc namespaces surround the process. Without them more has
    /// to be forbidden, because everything that the guest can name is the host's.
    pub namespaces: bool,
    /// Whether socket files of the host can be seen to which the guest could connect.
    pub host_sockets_visible: bool,
    /// Whether the paths that the guest opens are recorded.
    pub records_path_access: bool,
    pub interposition: SyscallInterposition,
}

impl ConfinementPolicy {
    /// Whether the guest may create sockets other than pairs. They reach only the private network.
    pub(crate) fn allows_network(self) -> bool {
        self.namespaces
            && !self.confinement.safe_mode
            && self.confinement.security_level.allows_network()
    }

    /// Whether the guest may create Unix sockets other than pairs.
    pub(crate) fn allows_unix_sockets(self) -> bool {
        self.allows_network() && !self.host_sockets_visible
    }

    /// Whether the guest may start programs.
    pub(crate) fn allows_programs(self) -> bool {
        self.confinement.security_level.allows_programs()
    }

    /// Whether the guest may fork.
    pub(crate) fn allows_processes(self) -> bool {
        self.confinement.security_level.allows_processes()
    }

    /// Whether kernel interfaces that few programs need are open.
    pub(crate) fn allows_rare_syscalls(self) -> bool {
        self.confinement.security_level.allows_rare_syscalls()
    }

    /// Whether Landlock restricts files.
    pub(crate) fn restricts_files(self) -> bool {
        self.confinement.security_level.restricts_files() || !self.namespaces
    }
}

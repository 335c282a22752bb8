//! Whose files are whose inside a sandbox: user namespaces that mounts are shown through.
//!
//! Only root can have them. Made once for all sandboxes of a backend, since each takes a process.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::sys;
use crate::wire::messages::UserIdentity;

#[derive(Debug)]
pub(crate) struct OwnerMappings {
    /// The owner of the repository is the guest.
    repository_owner: OwnedFd,
    /// No file has an owner inside, so the guest can write to none: not even to a socket, which a
    /// read-only mount does not prevent.
    unmapped_owner: OwnedFd,
}

impl OwnerMappings {
    pub(crate) fn new(repo: &Path, guest: UserIdentity) -> io::Result<Self> {
        let owner = fs::metadata(repo)?;
        let owner = UserIdentity { uid: owner.uid(), gid: owner.gid() };
        // The kernel requires an entry in a map: files of the guest's user become those of another
        // unused one.
        let unused = UserIdentity { uid: guest.uid + 1, gid: guest.gid + 1 };
        Ok(Self {
            repository_owner: create_mapping(owner, guest)?,
            unmapped_owner: create_mapping(guest, unused)?,
        })
    }

    /// For the init, in the order in which it takes them.
    pub(crate) fn descriptors(&self) -> [RawFd; 2] {
        [self.repository_owner.as_raw_fd(), self.unmapped_owner.as_raw_fd()]
    }
}

/// A user namespace in which the files of `from` are those of `to`.
fn create_mapping(from: UserIdentity, to: UserIdentity) -> io::Result<OwnedFd> {
    let holder = sys::spawn_user_namespace_holder()?;
    let of = |file: &str| format!("/proc/{}/{file}", holder.pid());
    fs::write(of("uid_map"), format!("{} {} 1", from.uid, to.uid))?;
    fs::write(of("gid_map"), format!("{} {} 1", from.gid, to.gid))?;
    fs::File::open(of("ns/user")).map(OwnedFd::from)
}

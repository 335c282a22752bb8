//! Determines the owners of files inside a sandbox: user namespaces for id-mapped mounts.
//!
//! Only root can make them. They are made once for all sandboxes of a backend, since each takes a
//! process.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::sys;
use crate::wire::messages::UserIdentity;

#[derive(Debug)]
pub(crate) struct OwnerNamespaces {
    /// Maps the repository's owner to the guest.
    repository_owner: OwnedFd,
    /// Maps no file to an owner inside, so the guest can write to none of them, not even to a
    /// socket, which a read-only mount does not prevent.
    unmapped_owner: OwnedFd,
}

impl OwnerNamespaces {
    pub(crate) fn new(repo: &Path, guest: UserIdentity) -> io::Result<Self> {
        let owner = fs::symlink_metadata(repo)?;
        let owner = UserIdentity { uid: owner.uid(), gid: owner.gid() };
        // The kernel requires an entry in a map, so the guest's user is mapped to another unused
        // one.
        let unused = UserIdentity { uid: guest.uid + 1, gid: guest.gid + 1 };
        Ok(Self {
            repository_owner: create_namespace(owner, guest)?,
            unmapped_owner: create_namespace(guest, unused)?,
        })
    }

    /// The descriptors in the order in which init expects them.
    pub(crate) fn descriptors(&self) -> [RawFd; 2] {
        [self.repository_owner.as_raw_fd(), self.unmapped_owner.as_raw_fd()]
    }
}

/// A user namespace in which files of `from` belong to `to`.
#[expect(clippy::disallowed_methods, reason = "files of the kernel, below `/proc`")]
fn create_namespace(from: UserIdentity, to: UserIdentity) -> io::Result<OwnedFd> {
    let holder = sys::spawn_user_namespace_holder()?;
    let of = |file: &str| format!("/proc/{}/{file}", holder.pid());
    fs::write(of("uid_map"), format!("{} {} 1", from.uid, to.uid))?;
    fs::write(of("gid_map"), format!("{} {} 1", from.gid, to.gid))?;
    fs::File::open(of("ns/user")).map(OwnedFd::from)
}

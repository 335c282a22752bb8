//! Whose files are whose inside a sandbox: user namespaces that mounts are shown through.
//!
//! Only root can have them. Made once for all sandboxes of a backend, since each takes a process.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::sys;
use crate::wire::messages::Identity;

#[derive(Debug)]
pub(crate) struct Owners {
    /// The owner of the repository is the guest.
    repository: OwnedFd,
    /// Every file is a stranger's, and so nobody can write to it: not even to a socket, which a
    /// mount that is read-only does not stop.
    strangers: OwnedFd,
}

impl Owners {
    pub(crate) fn new(repo: &Path, guest: Identity) -> io::Result<Self> {
        let owner = fs::metadata(repo)?;
        let owner = Identity { uid: owner.uid(), gid: owner.gid() };
        // The kernel wants a map to have an entry: nobody's files become nobody else's.
        let nobody = Identity { uid: guest.uid + 1, gid: guest.gid + 1 };
        Ok(Self { repository: mapping(owner, guest)?, strangers: mapping(guest, nobody)? })
    }

    /// For the init, in the order in which it takes them.
    pub(crate) fn descriptors(&self) -> [RawFd; 2] {
        [self.repository.as_raw_fd(), self.strangers.as_raw_fd()]
    }
}

/// A user namespace in which the files of `from` are those of `to`.
fn mapping(from: Identity, to: Identity) -> io::Result<OwnedFd> {
    let holder = sys::hold_user_namespace()?;
    let of = |file: &str| format!("/proc/{}/{file}", holder.pid());
    fs::write(of("uid_map"), format!("{} {} 1", from.uid, to.uid))?;
    fs::write(of("gid_map"), format!("{} {} 1", from.gid, to.gid))?;
    fs::File::open(of("ns/user")).map(OwnedFd::from)
}

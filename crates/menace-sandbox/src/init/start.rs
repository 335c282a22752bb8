//! Turns a fresh process into PID 1 of a sandbox: identity, namespaces, fork.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use nix::mount::MsFlags;
use nix::sched::CloneFlags;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Gid, Uid};

use super::copied_layer::CopiedLayer;
use super::processes::KillDescendantsOnDrop;
use super::root::InheritedOwnerNamespaces;
use super::{InitError, InitErrorContext, boot, paths, root};
use crate::cgroup::{CgroupFiles, InheritedCgroupFile};
use crate::sys;
use crate::wire::channel;
use crate::wire::messages::{InitConfig, UserIdentity};

/// Limit of open files: init holds one directory open per level of a tree, and real trees are less
/// deep.
const MAX_OPEN_FILES: u64 = 1 << 16;

/// Reads the configuration and becomes the sandbox; returns when the sandbox is over.
pub(crate) fn start(host: &UnixStream) -> Result<(), InitError> {
    let (config, descriptors): (InitConfig, Vec<OwnedFd>) = channel::receive_with_descriptors(host)
        .with_context(|| "cannot read the configuration".to_owned())?;
    // Descriptors arrive with other numbers, but in the order of the configuration.
    let mut received = descriptors.into_iter();
    let mut next = || -> io::Result<OwnedFd> {
        received.next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    };
    let packed_harness =
        fs::File::from(next().with_context(|| "cannot take over the harness".to_owned())?);
    let rebuild =
        |handed: &Vec<InheritedCgroupFile>| CgroupFiles::from_inherited(handed, |_| next());
    let group = config.cgroup_files.as_ref().map(rebuild).transpose();
    let group = group.with_context(|| "cannot take over the control group".to_owned())?;
    let owners = config.needs_owner_namespaces().then(|| {
        Ok(InheritedOwnerNamespaces { repository_owner: next()?, unmapped_owner: next()? })
    });
    let owners: io::Result<Option<InheritedOwnerNamespaces>> = owners.transpose();
    let owners = owners.with_context(|| "cannot take over the owners".to_owned())?;
    // A terminal's Ctrl-C goes to the host only, which ends its sandboxes itself.
    nix::unistd::setsid().with_context(|| "cannot start a session".to_owned())?;
    getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard.min(MAX_OPEN_FILES), hard))
        .with_context(|| "cannot raise the limit of open files".to_owned())?;
    if !config.tier.has_namespaces() {
        sys::become_subreaper()
            .with_context(|| "cannot become the reaper of orphans".to_owned())?;
        let _kill_descendants = KillDescendantsOnDrop;
        // While init copies the repository it does not read from the host, so it would not notice
        // its end.
        let die_with_host =
            || sys::die_with_parent().with_context(|| "cannot tie the init to its host".to_owned());
        die_with_host()?;
        let layer = CopiedLayer::new(&config)?;
        if let Some(identity) = config.switch_to {
            switch_to_identity(identity)?;
            // Changing the user clears the parent-death signal.
            die_with_host()?;
        }
        return boot::serve_copied(host, &config, layer, &packed_harness, group);
    }
    let host_mounts = enter_namespaces(&config, owners.as_ref())?;
    match sys::fork().with_context(|| "cannot fork".to_owned())? {
        ForkResult::Child => {
            sys::die_with_parent().with_context(|| "cannot tie PID 1 to its parent".to_owned())?;
            boot::serve_namespaced(host, &config, &host_mounts, &packed_harness, group)
        }
        ForkResult::Parent { child } => {
            // Only PID 1 may hold the connection: the host sees its end when the sandbox is over.
            drop((host_mounts, packed_harness, group));
            sys::close_from(0).with_context(|| "cannot close descriptors".to_owned())?;
            loop {
                match waitpid(child, None) {
                    Ok(WaitStatus::Exited(_, code)) => sys::exit_now(code),
                    Ok(WaitStatus::Signaled(..)) => sys::exit_now(1),
                    Err(nix::Error::EINTR) | Ok(_) => {}
                    Err(_) => sys::exit_now(1),
                }
            }
        }
    }
}

/// Makes everything that a sandbox consists of, calls `inside`, and removes it again.
pub(crate) fn try_namespaces(
    inside: impl FnOnce() -> Result<(), InitError>,
) -> Result<(), InitError> {
    let is_root = nix::unistd::geteuid().is_root();
    let (uid, gid) = if is_root {
        (65534, 65534)
    } else {
        (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw())
    };
    let identity = UserIdentity { uid, gid };
    if is_root {
        switch_to_identity(identity)?;
    }
    nix::sched::unshare(all_namespaces()).with_context(|| "cannot create namespaces".to_owned())?;
    map_identity(identity)?;
    make_mounts_private()?;
    match sys::fork().with_context(|| "cannot fork".to_owned())? {
        ForkResult::Child => {
            super::exit_with_trial_result(root::try_mounts().and_then(|()| inside()))
        }
        ForkResult::Parent { child } => match waitpid(child, None) {
            Ok(WaitStatus::Exited(_, 0)) => Ok(()),
            _ => sys::exit_now(1),
        },
    }
}

fn all_namespaces() -> CloneFlags {
    CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP
}

/// Leaves the host's namespaces. Mounts are cloned before, since the paths may be out of reach
/// afterwards.
fn enter_namespaces(
    config: &InitConfig,
    owners: Option<&InheritedOwnerNamespaces>,
) -> Result<root::HostMounts, InitError> {
    let unshare =
        |flags| nix::sched::unshare(flags).with_context(|| "cannot create namespaces".to_owned());
    if let Some(identity) = config.switch_to {
        // Only root can read every path and map owners, so mounts are cloned before the user is
        // changed.
        unshare(CloneFlags::CLONE_NEWNS)?;
        make_mounts_private()?;
        let host_mounts = root::HostMounts::clone_from_host(config, owners)?;
        switch_to_identity(identity)?;
        unshare(all_namespaces())?;
        map_identity(identity)?;
        return Ok(host_mounts);
    }
    let identity =
        UserIdentity { uid: nix::unistd::geteuid().as_raw(), gid: nix::unistd::getegid().as_raw() };
    unshare(all_namespaces())?;
    map_identity(identity)?;
    make_mounts_private()?;
    root::HostMounts::clone_from_host(config, None)
}

/// Mounts made from here on do not propagate to the host.
fn make_mounts_private() -> Result<(), InitError> {
    let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    nix::mount::mount(None::<&str>, "/", None::<&str>, flags, None::<&str>)
        .with_context(|| "cannot make mounts private".to_owned())
}

fn switch_to_identity(identity: UserIdentity) -> Result<(), InitError> {
    let (uid, gid) = (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid));
    nix::unistd::setgroups(&[]).with_context(|| "cannot drop groups".to_owned())?;
    nix::unistd::setresgid(gid, gid, gid).with_context(|| "cannot change the group".to_owned())?;
    nix::unistd::setresuid(uid, uid, uid).with_context(|| "cannot change the user".to_owned())?;
    // Changing the user made /proc/self belong to root, and the id maps are written there.
    sys::set_dumpable(true).with_context(|| "cannot stay in charge of /proc/self".to_owned())
}

/// Maps the guest's user id inside to the identity outside.
#[expect(clippy::disallowed_methods, reason = "files of the kernel, below `/proc`")]
fn map_identity(identity: UserIdentity) -> Result<(), InitError> {
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text)
            .with_context(|| format!("cannot write /proc/self/{file}"))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{} {} 1", paths::GUEST_UID, identity.uid))?;
    write("gid_map", format!("{} {} 1", paths::GUEST_UID, identity.gid))
}

//! From a fresh process to PID 1 of a sandbox: identity, namespaces, fork.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use nix::mount::MsFlags;
use nix::sched::CloneFlags;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Gid, Uid};

use super::copied::Copied;
use super::processes::EndDescendants;
use super::root::Owners;
use super::{During, InitError, boot, paths, root};
use crate::cgroup::{GroupFiles, Handed};
use crate::sys;
use crate::wire::channel;
use crate::wire::messages::{Identity, InitConfig};

/// Directories are held open one below the other: as many as anybody would nest.
const OPEN_FILES: u64 = 1 << 16;

/// Reads the configuration and becomes the sandbox; returns when it is over.
pub(crate) fn start(host: &UnixStream) -> Result<(), InitError> {
    let (config, descriptors): (InitConfig, Vec<OwnedFd>) =
        channel::receive_with(host).during(|| "cannot read the configuration".to_owned())?;
    // The numbers are the host's; the order is the same.
    let mut received = descriptors.into_iter();
    let mut next = || -> io::Result<OwnedFd> {
        received.next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    };
    let packed = fs::File::from(next().during(|| "cannot take over the harness".to_owned())?);
    let rebuild = |handed: &Vec<Handed>| GroupFiles::rebuilt(handed, |_| next());
    let group = config.group.as_ref().map(rebuild).transpose();
    let group = group.during(|| "cannot take over the control group".to_owned())?;
    let owners = config.brings_owners().then(|| Ok(Owners { repo: next()?, others: next()? }));
    let owners: io::Result<Option<Owners>> = owners.transpose();
    let owners = owners.during(|| "cannot take over the owners".to_owned())?;
    // A terminal's Ctrl-C is for the host, which then ends its sandboxes itself.
    nix::unistd::setsid().during(|| "cannot start a session".to_owned())?;
    getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard.min(OPEN_FILES), hard))
        .during(|| "cannot raise the limit of open files".to_owned())?;
    if !config.tier.has_namespaces() {
        sys::adopt_orphans().during(|| "cannot become the reaper of orphans".to_owned())?;
        let _at_the_end = EndDescendants;
        // Who copies does not listen to the host.
        let die = || sys::die_with_parent().during(|| "cannot tie the init to its host".to_owned());
        die()?;
        let layer = Copied::new(&config)?;
        if let Some(identity) = config.drop_to {
            become_identity(identity)?;
            // Another user starts without that tie.
            die()?;
        }
        return boot::serve_copied(host, &config, layer, &packed, group);
    }
    let trees = enter_namespaces(&config, owners.as_ref())?;
    match sys::fork().during(|| "cannot fork".to_owned())? {
        ForkResult::Child => {
            sys::die_with_parent().during(|| "cannot tie PID 1 to its parent".to_owned())?;
            boot::serve_namespaced(host, &config, &trees, &packed, group)
        }
        ForkResult::Parent { child } => {
            // Only PID 1 may hold the connection: its end tells the host that all is over.
            drop((trees, packed, group));
            sys::close_from(0).during(|| "cannot close descriptors".to_owned())?;
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

/// Makes everything that a sandbox is made of, does something in it, and throws it away.
pub(crate) fn try_namespaces(
    inside: impl FnOnce() -> Result<(), InitError>,
) -> Result<(), InitError> {
    let is_root = nix::unistd::geteuid().is_root();
    let (uid, gid) = if is_root {
        (65534, 65534)
    } else {
        (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw())
    };
    let identity = Identity { uid, gid };
    if is_root {
        become_identity(identity)?;
    }
    nix::sched::unshare(all_namespaces()).during(|| "cannot create namespaces".to_owned())?;
    map_identity(identity)?;
    keep_to_ourselves()?;
    match sys::fork().during(|| "cannot fork".to_owned())? {
        ForkResult::Child => super::end_trial(root::try_mounts().and_then(|()| inside())),
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

/// Leaves the host's namespaces. Trees of mounts are taken along, since afterwards the paths may
/// be out of reach.
fn enter_namespaces(
    config: &InitConfig,
    owners: Option<&Owners>,
) -> Result<root::Trees, InitError> {
    let unshare =
        |flags| nix::sched::unshare(flags).during(|| "cannot create namespaces".to_owned());
    if let Some(identity) = config.drop_to {
        // Root can read every path and show it with another owner: both before it stops being root.
        unshare(CloneFlags::CLONE_NEWNS)?;
        keep_to_ourselves()?;
        let trees = root::Trees::take(config, owners)?;
        become_identity(identity)?;
        unshare(all_namespaces())?;
        map_identity(identity)?;
        return Ok(trees);
    }
    let identity =
        Identity { uid: nix::unistd::geteuid().as_raw(), gid: nix::unistd::getegid().as_raw() };
    unshare(all_namespaces())?;
    map_identity(identity)?;
    keep_to_ourselves()?;
    root::Trees::take(config, None)
}

/// Nothing that is mounted from here on shows up outside.
fn keep_to_ourselves() -> Result<(), InitError> {
    let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    nix::mount::mount(None::<&str>, "/", None::<&str>, flags, None::<&str>)
        .during(|| "cannot make mounts private".to_owned())
}

fn become_identity(identity: Identity) -> Result<(), InitError> {
    let (uid, gid) = (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid));
    nix::unistd::setgroups(&[]).during(|| "cannot drop groups".to_owned())?;
    nix::unistd::setresgid(gid, gid, gid).during(|| "cannot change the group".to_owned())?;
    nix::unistd::setresuid(uid, uid, uid).during(|| "cannot change the user".to_owned())?;
    // Changing the user made /proc/self root's, and the maps are written there.
    sys::set_dumpable(true).during(|| "cannot stay in charge of /proc/self".to_owned())
}

/// Inside, the guest is one ordinary user.
fn map_identity(identity: Identity) -> Result<(), InitError> {
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text)
            .during(|| format!("cannot write /proc/self/{file}"))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{} {} 1", paths::UID, identity.uid))?;
    write("gid_map", format!("{} {} 1", paths::UID, identity.gid))
}

//! What can be seen from inside: a root of its own with only what Python needs.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::{During, InitError, paths};
use crate::wire::messages::InitConfig;
use crate::{harness, sys};

/// User namespaces whose owners files are shown with.
#[derive(Debug)]
pub(crate) struct Owners {
    pub(crate) repo: OwnedFd,
    /// Nobody that there is.
    pub(crate) others: OwnedFd,
}

/// Parts of the host's file system, detached from it.
#[derive(Debug)]
pub(crate) struct Trees {
    repo: OwnedFd,
    others: Vec<Tree>,
    links: Vec<(PathBuf, PathBuf)>,
    /// What is not as it should be, for people.
    pub(crate) remarks: Vec<String>,
}

#[derive(Debug)]
struct Tree {
    path: PathBuf,
    mounts: OwnedFd,
    is_directory: bool,
    /// Sockets in there could be connected to: whether a mount is read-only does not matter for that.
    lets_in: bool,
}

impl Trees {
    /// Takes copies of the mounts, read-only, the repository with `owners` mapped.
    pub(crate) fn take(config: &InitConfig, owners: Option<&Owners>) -> Result<Self, InitError> {
        let mut remarks = Vec::new();
        let repo = take(&config.repo, false)?;
        if let Some(owners) = owners
            && let Err(error) = sys::map_owners(repo.as_fd(), owners.repo.as_fd())
        {
            remarks.push(format!(
                "the file system of the repository cannot map owners ({error}): \
                 the guest sees its files as somebody else's"
            ));
        }
        sys::make_read_only(repo.as_fd(), false)
            .during(|| "cannot make the repository read-only".to_owned())?;
        let (mut others, mut links) = (Vec::new(), Vec::new());
        let system = paths::SYSTEM.iter().chain(&paths::ETC).map(PathBuf::from);
        let devices = paths::DEVICES.iter().map(PathBuf::from);
        for path in system.chain(devices).chain(config.needs.iter().cloned()) {
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            if found.file_type().is_symlink() {
                if let Ok(target) = fs::read_link(&path) {
                    links.push((path, target));
                }
                continue;
            }
            if found.file_type().is_socket() {
                continue;
            }
            let is_directory = found.is_dir();
            let mounts = take(&path, is_directory)?;
            let foreign = owners.is_some_and(|owners| {
                is_directory
                    && sys::show_to_strangers(mounts.as_fd(), owners.others.as_fd()).is_ok()
            });
            if !foreign {
                sys::make_read_only(mounts.as_fd(), path.starts_with("/dev"))
                    .during(|| format!("cannot make `{}` read-only", path.display()))?;
            }
            let lets_in = is_directory && !foreign;
            others.push(Tree { path, mounts, is_directory, lets_in });
        }
        Ok(Self { repo, others, links, remarks })
    }
}

fn take(path: &Path, recursive: bool) -> Result<OwnedFd, InitError> {
    sys::clone_mounts(path, recursive).during(|| format!("cannot reach `{}`", path.display()))
}

/// What the rest of the init has to know of the new root.
#[derive(Debug)]
pub(crate) struct Root {
    /// A `/proc` that only the holder of the descriptor can write to.
    pub(crate) proc: OwnedFd,
    /// Socket files of the host can be connected to, if the guest can make a socket.
    pub(crate) lets_in: bool,
}

/// Builds the new root from the trees and moves into it. Nothing of the host is left.
///
/// `with_sockets`: the guest may make some.
pub(crate) fn enter(
    config: &InitConfig,
    trees: &Trees,
    harness: &fs::File,
    with_sockets: bool,
) -> Result<Root, InitError> {
    // Any directory does as a place to build: what is below it is about to be out of sight.
    let root = Path::new("/tmp");
    let base = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("root"), root, Some("tmpfs"), base, Some("mode=0755,size=16m"))
        .during(|| "cannot mount the new root".to_owned())?;
    let inside = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    for directory in
        [paths::REPO, paths::BOX, paths::HARNESS, "/proc", "/etc", "/dev", "/var", "/run"]
    {
        create(&inside(Path::new(directory)))?;
    }
    let hidden = inside(Path::new(paths::HIDDEN));
    for directory in paths::IN_HIDDEN {
        create(&hidden.join(directory))?;
    }
    attach(&trees.repo, &hidden.join("repo"), true)?;
    for (path, target) in &trees.links {
        let link = inside(path);
        create(link.parent().unwrap_or(root))?;
        // A path that was made before, for something below it, wins.
        let _ = symlink(target, link);
    }
    let mut lets_in = false;
    for (number, tree) in trees.others.iter().enumerate() {
        let target = inside(&tree.path);
        if with_sockets && tree.lets_in {
            lets_in |= !attach_covered(tree, &target, &hidden.join(format!("below-{number}")))?;
        } else {
            attach(&tree.mounts, &target, tree.is_directory)?;
        }
    }
    for (link, target) in [
        ("/tmp", format!("{}/{}", paths::BOX, paths::TMP)),
        ("/var/tmp", format!("{}/{}", paths::BOX, paths::TMP)),
        ("/dev/shm", format!("{}/{}", paths::BOX, paths::SHM)),
        ("/dev/fd", "/proc/self/fd".to_owned()),
        ("/dev/stdin", "/proc/self/fd/0".to_owned()),
        ("/dev/stdout", "/proc/self/fd/1".to_owned()),
        ("/dev/stderr", "/proc/self/fd/2".to_owned()),
    ] {
        let _ = symlink(target, inside(Path::new(link)));
    }
    // Paths that were written down outside (editable installs, for one) lead to the repository.
    let outside = inside(&config.repo);
    if let Some(parent) = outside.parent()
        && create(parent).is_ok()
    {
        let _ = symlink(paths::REPO, outside);
    }
    for (file, text) in ETC_FILES {
        fs::write(inside(Path::new(file)), text).during(|| format!("cannot write `{file}`"))?;
    }
    harness::unpack(harness, &config.harness, &inside(Path::new(paths::HARNESS)))
        .during(|| "cannot write the harness".to_owned())?;
    let proc = own_proc(&inside(Path::new("/proc")))?;
    // Read-only: through `/proc/<pid>/mem` a call could change the interpreter, and so other calls.
    let flags = base | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
    mount(Some("proc"), &inside(Path::new("/proc")), Some("proc"), flags, None::<&str>)
        .during(|| "cannot mount /proc".to_owned())?;
    nix::unistd::chdir(root).during(|| "cannot enter the new root".to_owned())?;
    nix::unistd::pivot_root(".", ".").during(|| "cannot change the root".to_owned())?;
    umount2(".", MntFlags::MNT_DETACH).during(|| "cannot let go of the host's root".to_owned())?;
    nix::unistd::chdir("/").during(|| "cannot enter the new root".to_owned())?;
    hide()?;
    let sealed = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | base;
    mount(None::<&str>, "/", None::<&str>, sealed, None::<&str>)
        .during(|| "cannot seal the new root".to_owned())?;
    Ok(Root { proc, lets_in })
}

const ETC_FILES: [(&str, &str); 6] = [
    (
        "/etc/passwd",
        "sandbox:x:1000:1000::/sandbox/box/home:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
    ),
    ("/etc/group", "sandbox:x:1000:\nnogroup:x:65534:\n"),
    ("/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
    ("/etc/hostname", "sandbox\n"),
    ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ("/etc/resolv.conf", ""),
];

fn create(directory: &Path) -> Result<(), InitError> {
    fs::create_dir_all(directory).during(|| format!("cannot create `{}`", directory.display()))
}

fn attach(tree: &OwnedFd, target: &Path, is_directory: bool) -> Result<(), InitError> {
    if is_directory {
        create(target)?;
    } else {
        create(target.parent().unwrap_or(target))?;
        if !target.exists() {
            fs::File::create(target).during(|| format!("cannot create `{}`", target.display()))?;
        }
    }
    sys::attach_mounts(tree.as_fd(), target)
        .during(|| format!("cannot attach `{}`", target.display()))
}

/// Shows a tree through an overlay: the files are the same, but a socket in there is not the one that
/// somebody listens at. If that cannot be had, or would show what other mounts in the tree cover in their
/// place, it is shown as it is, and the answer is false.
fn attach_covered(tree: &Tree, target: &Path, below: &Path) -> Result<bool, InitError> {
    create(target)?;
    attach(&tree.mounts, below, true)?;
    let empty = below.with_file_name(paths::NOTHING);
    let options = format!("lowerdir={}:{},userxattr", below.display(), empty.display());
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_RDONLY;
    if !holds_mounts(below)
        && mount(Some("system"), target, Some("overlay"), flags, Some(options.as_str())).is_ok()
    {
        return Ok(true);
    }
    let moved = sys::move_mount(below, target);
    moved.during(|| format!("cannot attach `{}`", target.display())).map(|()| false)
}

/// Whether anything else is mounted inside of a mount. Who cannot tell has to think so. (Whoever is not
/// root is refused an overlay by the kernel then.)
fn holds_mounts(place: &Path) -> bool {
    let Ok(table) = fs::read("/proc/self/mountinfo") else { return true };
    let table = String::from_utf8_lossy(&table);
    let mut points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(Path::new);
    points.any(|point| point != place && point.starts_with(place))
}

/// Covers [`paths::HIDDEN`]; the init goes on using it through a descriptor.
///
/// Landlock alone would not do: it does not stop a connection to a socket in there, and the lowest
/// level is without it.
fn hide() -> Result<(), InitError> {
    let opened = fs::File::open(paths::HIDDEN).during(|| "cannot open the layers".to_owned())?;
    sys::place_privately(opened.as_fd(), paths::HIDDEN_FD)
        .during(|| "cannot keep the layers open".to_owned())?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_RDONLY;
    mount(Some("none"), paths::HIDDEN, Some("tmpfs"), flags, Some("mode=0555,size=4k"))
        .during(|| "cannot cover the layers".to_owned())
}

/// A `/proc` that can be written to, for the init alone: it is attached nowhere afterwards.
fn own_proc(place: &Path) -> Result<OwnedFd, InitError> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), place, Some("proc"), flags, None::<&str>)
        .during(|| "cannot mount /proc".to_owned())?;
    let opened = fs::File::open(place).during(|| "cannot open /proc".to_owned());
    umount2(place, MntFlags::MNT_DETACH).during(|| "cannot detach /proc".to_owned())?;
    opened.map(OwnedFd::from)
}

/// Where [`try_mounts`] leaves a `/proc` that can be written to.
pub(crate) const TRIAL_PROC: &str = "/tmp/proc";

/// Tries the mounts that a sandbox needs: memory, overlay, processes.
pub(crate) fn try_mounts() -> Result<(), InitError> {
    sys::loopback_up().during(|| "cannot bring the loopback interface up".to_owned())?;
    let root = Path::new("/tmp");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("root"), root, Some("tmpfs"), flags, Some("mode=0755,size=1m"))
        .during(|| "cannot mount a file system in memory".to_owned())?;
    for directory in ["lower", "upper", "work", "merged", "proc"] {
        create(&root.join(directory))?;
    }
    let options = "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work,userxattr";
    mount(Some("try"), "/tmp/merged", Some("overlay"), flags, Some(options))
        .during(|| "cannot mount an overlay".to_owned())?;
    mount(Some("proc"), TRIAL_PROC, Some("proc"), flags, None::<&str>)
        .during(|| "cannot mount /proc".to_owned())
}

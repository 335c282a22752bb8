//! The guest's root file system: it contains only what Python needs.

#![expect(
    clippy::disallowed_methods,
    reason = "the mount namespace of a sandbox, before a guest runs"
)]

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::{InitError, InitErrorContext, paths};
use crate::wire::messages::InitConfig;
use crate::{harness, sys};

/// User namespaces for id-mapped mounts, which determine the owners that the guest sees.
#[derive(Debug)]
pub(crate) struct InheritedOwnerNamespaces {
    pub(crate) repository_owner: OwnedFd,
    /// Maps all files to a user that does not exist.
    pub(crate) unmapped_owner: OwnedFd,
}

/// Mounts of the host that are cloned and detached from its mount tree.
#[derive(Debug)]
pub(crate) struct HostMounts {
    repo: OwnedFd,
    others: Vec<HostMount>,
    links: Vec<(PathBuf, PathBuf)>,
    /// Protections that this machine lacks, for the user.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug)]
struct HostMount {
    path: PathBuf,
    mounts: OwnedFd,
    is_directory: bool,
    /// Whether sockets of the host in this mount could be connected to; a read-only mount does not
    /// prevent that.
    exposes_sockets: bool,
}

impl HostMounts {
    /// Clones the mounts read-only; that of the repository with `owners` mapped.
    pub(crate) fn clone_from_host(
        config: &InitConfig,
        owners: Option<&InheritedOwnerNamespaces>,
    ) -> Result<Self, InitError> {
        let mut notes = Vec::new();
        let repo = clone_mounts(&config.repo, false)?;
        if let Some(owners) = owners
            && let Err(error) = sys::idmap_owners(repo.as_fd(), owners.repository_owner.as_fd())
        {
            notes.push(format!(
                "the file system of the repository cannot map owners ({error}): \
                 the guest sees its files as those of another user"
            ));
        }
        sys::make_tree_read_only(repo.as_fd(), false)
            .with_context(|| "cannot make the repository read-only".to_owned())?;
        let (mut others, mut links) = (Vec::new(), Vec::new());
        let system = paths::SYSTEM_DIRS.iter().chain(&paths::ETC_PATHS).map(PathBuf::from);
        let devices = paths::DEVICE_PATHS.iter().map(PathBuf::from);
        for path in system.chain(devices).chain(config.readable_paths.iter().cloned()) {
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
            let mounts = clone_mounts(&path, is_directory)?;
            let has_unmapped_owner = owners.is_some_and(|owners| {
                is_directory
                    && sys::idmap_to_unmapped_owner(mounts.as_fd(), owners.unmapped_owner.as_fd())
                        .is_ok()
            });
            if !has_unmapped_owner {
                sys::make_tree_read_only(mounts.as_fd(), path.starts_with("/dev"))
                    .with_context(|| format!("cannot make `{}` read-only", path.display()))?;
            }
            let exposes_sockets = is_directory && !has_unmapped_owner;
            others.push(HostMount { path, mounts, is_directory, exposes_sockets });
        }
        Ok(Self { repo, others, links, notes })
    }
}

fn clone_mounts(path: &Path, recursive: bool) -> Result<OwnedFd, InitError> {
    sys::clone_mounts(path, recursive).with_context(|| format!("cannot reach `{}`", path.display()))
}

/// Properties of the new root that other parts of init need.
#[derive(Debug)]
pub(crate) struct SandboxRoot {
    /// A writable `/proc`, reachable through this descriptor only.
    pub(crate) proc: OwnedFd,
    /// Whether a guest that can make sockets could connect to socket files of the host.
    pub(crate) exposes_sockets: bool,
}

/// Builds the new root from the cloned mounts and enters it. The host's root is unmounted.
///
/// `with_sockets`: the guest may create Unix sockets.
pub(crate) fn enter_new_root(
    config: &InitConfig,
    host_mounts: &HostMounts,
    harness: &fs::File,
    with_sockets: bool,
) -> Result<SandboxRoot, InitError> {
    // Any directory can serve as the place to build the root: it disappears with the host's root.
    let root = Path::new("/tmp");
    let base = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("root"), root, Some("tmpfs"), base, Some("mode=0755,size=16m"))
        .with_context(|| "cannot mount the new root".to_owned())?;
    let inside = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    for directory in [
        paths::REPO_DIR,
        paths::SCRATCH_DIR,
        paths::HARNESS_DIR,
        "/proc",
        "/etc",
        "/dev",
        "/var",
        "/run",
    ] {
        create_dir(&inside(Path::new(directory)))?;
    }
    let hidden = inside(Path::new(paths::HIDDEN_DIR));
    for directory in paths::HIDDEN_SUBDIRS {
        create_dir(&hidden.join(directory))?;
    }
    attach_mount(&host_mounts.repo, &hidden.join("repo"), true)?;
    for (path, target) in &host_mounts.links {
        let link = inside(path);
        create_dir(link.parent().unwrap_or(root))?;
        // The link's path may exist already, because a mount lies below it.
        let _ = symlink(target, link);
    }
    let mut exposes_sockets = false;
    for (number, tree) in host_mounts.others.iter().enumerate() {
        let target = inside(&tree.path);
        if tree.is_directory {
            let below = hidden.join(format!("below-{number}"));
            let has_overlay = attach_through_overlay(tree, &target, &below)?;
            exposes_sockets |= with_sockets && tree.exposes_sockets && !has_overlay;
        } else {
            attach_mount(&tree.mounts, &target, false)?;
        }
    }
    for (link, target) in [
        ("/tmp", format!("{}/{}", paths::SCRATCH_DIR, paths::TMP_SUBDIR)),
        ("/var/tmp", format!("{}/{}", paths::SCRATCH_DIR, paths::TMP_SUBDIR)),
        ("/dev/shm", format!("{}/{}", paths::SCRATCH_DIR, paths::SHM_SUBDIR)),
        ("/dev/fd", "/proc/self/fd".to_owned()),
        ("/dev/stdin", "/proc/self/fd/0".to_owned()),
        ("/dev/stdout", "/proc/self/fd/1".to_owned()),
        ("/dev/stderr", "/proc/self/fd/2".to_owned()),
    ] {
        let _ = symlink(target, inside(Path::new(link)));
    }
    // Absolute paths that were recorded on the host (by editable installs, for one) lead to the
    // repository.
    let outside = inside(&config.repo);
    if let Some(parent) = outside.parent()
        && create_dir(parent).is_ok()
    {
        let _ = symlink(paths::REPO_DIR, outside);
    }
    for (file, text) in ETC_FILES {
        fs::write(inside(Path::new(file)), text)
            .with_context(|| format!("cannot write `{file}`"))?;
    }
    harness::unpack_files(harness, &config.harness, &inside(Path::new(paths::HARNESS_DIR)))
        .with_context(|| "cannot write the harness".to_owned())?;
    let proc = open_writable_proc(&inside(Path::new("/proc")))?;
    // Read-only: with a writable `/proc/<pid>/mem` a call could change the zygote, and so later
    // calls.
    let flags = base | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
    mount(Some("proc"), &inside(Path::new("/proc")), Some("proc"), flags, None::<&str>)
        .with_context(|| "cannot mount /proc".to_owned())?;
    nix::unistd::chdir(root).with_context(|| "cannot enter the new root".to_owned())?;
    nix::unistd::pivot_root(".", ".").with_context(|| "cannot change the root".to_owned())?;
    umount2(".", MntFlags::MNT_DETACH)
        .with_context(|| "cannot let go of the host's root".to_owned())?;
    nix::unistd::chdir("/").with_context(|| "cannot enter the new root".to_owned())?;
    hide_layers()?;
    let sealed = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | base;
    mount(None::<&str>, "/", None::<&str>, sealed, None::<&str>)
        .with_context(|| "cannot seal the new root".to_owned())?;
    Ok(SandboxRoot { proc, exposes_sockets })
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

fn create_dir(directory: &Path) -> Result<(), InitError> {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create `{}`", directory.display()))
}

fn attach_mount(tree: &OwnedFd, target: &Path, is_directory: bool) -> Result<(), InitError> {
    if is_directory {
        create_dir(target)?;
    } else {
        create_dir(target.parent().unwrap_or(target))?;
        if !target.exists() {
            fs::File::create(target)
                .with_context(|| format!("cannot create `{}`", target.display()))?;
        }
    }
    sys::attach_mounts(tree.as_fd(), target)
        .with_context(|| format!("cannot attach `{}`", target.display()))
}

/// Shows a tree through an overlay: the files are the same, but a socket in there is not the one
/// that a service of the host listens at, a pipe has no reader on the host, locks hold no file of
/// the host's, and watches see nothing of what the host does. If there is no overlay, or it would
/// show what other mounts in the tree cover, the tree is shown as it is, and the result is false.
fn attach_through_overlay(
    tree: &HostMount,
    target: &Path,
    below: &Path,
) -> Result<bool, InitError> {
    create_dir(target)?;
    attach_mount(&tree.mounts, below, true)?;
    let empty = below.with_file_name(paths::EMPTY_SUBDIR);
    let options = format!("lowerdir={}:{},userxattr", below.display(), empty.display());
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_RDONLY;
    if !holds_mounts(below)
        && mount(Some("system"), target, Some("overlay"), flags, Some(options.as_str())).is_ok()
    {
        return Ok(true);
    }
    let moved = sys::move_mount(below, target);
    moved.with_context(|| format!("cannot attach `{}`", target.display())).map(|()| false)
}

/// Whether there are other mounts below a mount point; true when that is not known. (Without root,
/// the kernel refuses an overlay on such a tree.)
fn holds_mounts(place: &Path) -> bool {
    let Ok(table) = fs::read("/proc/self/mountinfo") else { return true };
    let table = String::from_utf8_lossy(&table);
    let mut points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(Path::new);
    points.any(|point| point != place && point.starts_with(place))
}

/// Covers [`paths::HIDDEN_DIR`] with an empty directory; init keeps using it through a descriptor.
///
/// Landlock does not suffice: it does not prevent connecting to a socket, and level 1 does without
/// it.
fn hide_layers() -> Result<(), InitError> {
    let opened =
        fs::File::open(paths::HIDDEN_DIR).with_context(|| "cannot open the layers".to_owned())?;
    sys::dup_to_cloexec(opened.as_fd(), paths::HIDDEN_DIR_FD)
        .with_context(|| "cannot keep the layers open".to_owned())?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_RDONLY;
    mount(Some("none"), paths::HIDDEN_DIR, Some("tmpfs"), flags, Some("mode=0555,size=4k"))
        .with_context(|| "cannot cover the layers".to_owned())
}

/// Opens a writable `/proc` for init, and unmounts it: only the descriptor leads to it.
fn open_writable_proc(place: &Path) -> Result<OwnedFd, InitError> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), place, Some("proc"), flags, None::<&str>)
        .with_context(|| "cannot mount /proc".to_owned())?;
    let opened = fs::File::open(place).with_context(|| "cannot open /proc".to_owned());
    umount2(place, MntFlags::MNT_DETACH).with_context(|| "cannot detach /proc".to_owned())?;
    opened.map(OwnedFd::from)
}

/// Where [`try_mounts`] mounts a writable `/proc`.
pub(crate) const TRIAL_PROC_PATH: &str = "/tmp/proc";

/// Tries the mounts that a sandbox needs: tmpfs, overlay, proc.
pub(crate) fn try_mounts() -> Result<(), InitError> {
    sys::bring_loopback_up()
        .with_context(|| "cannot bring the loopback interface up".to_owned())?;
    let root = Path::new("/tmp");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("root"), root, Some("tmpfs"), flags, Some("mode=0755,size=1m"))
        .with_context(|| "cannot mount a file system in memory".to_owned())?;
    for directory in ["lower", "upper", "work", "merged", "proc"] {
        create_dir(&root.join(directory))?;
    }
    let options = "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work,userxattr";
    mount(Some("try"), "/tmp/merged", Some("overlay"), flags, Some(options))
        .with_context(|| "cannot mount an overlay".to_owned())?;
    mount(Some("proc"), TRIAL_PROC_PATH, Some("proc"), flags, None::<&str>)
        .with_context(|| "cannot mount /proc".to_owned())
}

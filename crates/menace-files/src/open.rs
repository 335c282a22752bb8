//! Opens a path below a directory handle, following no link at any component.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat, openat2};
use rustix::io::Errno;

/// Opens a directory that the user named; links in its path are the user's.
pub(crate) fn open_named_directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(path, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Whether the path has no absolute or parent components.
pub(crate) fn is_plain_relative(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Opens `path` below `directory`. `ELOOP` means that a component is a link.
pub(crate) fn open_below(
    directory: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    // A FIFO would block the opening, and a terminal would become the controlling one.
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // `openat2` refuses a mode where nothing is created.
    let mode = if flags.contains(OFlags::CREATE) { mode } else { Mode::empty() };
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    match openat2(directory, path, flags, mode, resolve) {
        // Kernels before 5.6 lack `openat2`, and seccomp filters may refuse it.
        Err(Errno::NOSYS | Errno::PERM) => open_by_component(directory, path, flags, mode),
        result => result,
    }
}

/// Like [`open_below`], one component after the other.
pub(crate) fn open_by_component(
    directory: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let mut parts: Vec<&Path> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(Path::new(name)),
            Component::CurDir => {}
            _ => return Err(Errno::XDEV),
        }
    }
    let last = parts.pop().unwrap_or(Path::new("."));
    let mut current: Option<OwnedFd> = None;
    for part in parts {
        let at = current.as_ref().map_or(directory, AsFd::as_fd);
        let way = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::PATH | OFlags::CLOEXEC;
        let next = openat(at, part, way, Mode::empty()).map_err(|error| match error {
            // `O_DIRECTORY|O_NOFOLLOW` on a link returns ENOTDIR.
            Errno::NOTDIR if is_link(at, part) => Errno::LOOP,
            error => error,
        })?;
        current = Some(next);
    }
    openat(current.as_ref().map_or(directory, AsFd::as_fd), last, flags, mode)
}

fn is_link(directory: BorrowedFd<'_>, name: &Path) -> bool {
    rustix::fs::readlinkat(directory, name, Vec::new()).is_ok()
}

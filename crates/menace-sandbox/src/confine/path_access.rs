//! Records accesses to files outside of the sandbox, also by C code and other programs.
//!
//! Nothing is decided here: the kernel refuses the access, or the file does not exist, whatever is
//! recorded. Paths come from the guest's memory, which it may change meanwhile, so they only inform
//! people. The host decides whether a recorded path is one of its files.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::describe;
use super::notify::SyscallNotification;
use super::rules::{self, SyscallRules};

/// Paths are cut to this length.
const MAX_PATH_BYTES: usize = 1024;
/// The most accesses recorded for one call, beside the first of each kind; those that programs make
/// in searching for files count too.
const MAX_RECORDED_PATHS: usize = 1024;
/// How many links are followed from a path to a file: as many as the kernel follows.
const MAX_LINKS_FOLLOWED: usize = 40;
/// How many names are looked up for one path: links to links could name millions.
const MAX_LOOKUPS: usize = 1024;
const WRITE_FLAGS: i32 = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND;

/// A system call that takes a path.
#[derive(Debug)]
struct PathSyscall {
    number: i64,
    /// The argument with the directory that a relative path starts from.
    directory: Option<usize>,
    path: usize,
    action: PathSyscallAction,
}

#[derive(Debug, Clone, Copy)]
enum PathSyscallAction {
    /// Opens a file; the flags are in this argument.
    Open(usize),
    /// Opens a file; this argument points to the flags (`openat2`).
    OpenHow(usize),
    Change(&'static str),
}

macro_rules! by_path {
    ($($number:ident $path:literal $(from $directory:literal)?: $does:expr;)*) => {
        &[$(PathSyscall {
            number: libc::$number,
            directory: by_path!(@ $($directory)?),
            path: $path,
            action: $does,
        }),*]
    };
    (@ $directory:literal) => { Some($directory) };
    (@) => { None };
}

use PathSyscallAction::{Change, Open, OpenHow};
const PATH_SYSCALL_TABLE: &[PathSyscall] = by_path![
    SYS_openat 1 from 0: Open(2);
    SYS_openat2 1 from 0: OpenHow(2);
    SYS_truncate 0: Change("truncate");
    SYS_unlinkat 1 from 0: Change("remove");
    SYS_renameat2 1 from 0: Change("rename");
    SYS_renameat2 3 from 2: Change("rename");
];
#[cfg(target_arch = "x86_64")]
const LEGACY_PATH_SYSCALLS: &[PathSyscall] = by_path![
    SYS_open 0: Open(1);
    SYS_creat 0: Change("write");
    SYS_unlink 0: Change("remove");
    SYS_rmdir 0: Change("rmdir");
    SYS_renameat 1 from 0: Change("rename");
    SYS_renameat 3 from 2: Change("rename");
    SYS_rename 0: Change("rename");
    SYS_rename 1: Change("rename");
];
#[cfg(target_arch = "aarch64")]
const LEGACY_PATH_SYSCALLS: &[PathSyscall] = &[];

fn all_path_syscalls() -> impl Iterator<Item = &'static PathSyscall> {
    PATH_SYSCALL_TABLE.iter().chain(LEGACY_PATH_SYSCALLS)
}

/// The system calls to be notified of, each with the rules under which it is not.
///
/// Opening a directory is not: to read a file in it, the guest must make another such call.
pub(super) fn watched_syscalls() -> Result<Vec<(i64, SyscallRules)>, seccompiler::BackendError> {
    all_path_syscalls()
        .map(|call| {
            let rules = match call.action {
                Open(flags) => rules::unrecorded_open_rules(flags as u8)?,
                OpenHow(_) | Change(_) => SyscallRules::new(),
            };
            Ok((call.number, rules))
        })
        .collect()
}

/// An attempted access to a file outside: the action, and the path.
pub(super) type PathAccess = (String, String);

/// Paths whose use is not recorded. Each path stands for all that is beneath it.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnrecordedPaths {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
}

/// Records which files outside the guest tries to access.
#[derive(Debug, Default)]
pub(crate) struct PathAccessRecorder {
    unrecorded_paths: UnrecordedPaths,
    accesses: BTreeSet<PathAccess>,
    /// How many more there were.
    unlisted: u64,
}

impl PathAccessRecorder {
    pub(crate) fn new(unrecorded_paths: UnrecordedPaths) -> Self {
        Self { unrecorded_paths, ..Self::default() }
    }

    /// Whether the file behind a descriptor is one that the guest may write to by its name.
    pub(super) fn is_own_file(&self, pid: u32, descriptor: u64) -> bool {
        let link = fs::read_link(format!("/proc/{pid}/fd/{}", descriptor as u32));
        let allowed = &self.unrecorded_paths.write;
        link.is_ok_and(|file| allowed.iter().any(|place| file.starts_with(place)))
    }

    /// What was noted since this was last asked, and how many more there were than are noted.
    pub(crate) fn take(&mut self) -> (Vec<PathAccess>, u64) {
        let accesses = std::mem::take(&mut self.accesses).into_iter().collect();
        (accesses, std::mem::take(&mut self.unlisted))
    }

    pub(super) fn record(&mut self, notice: &SyscallNotification) {
        for call in all_path_syscalls().filter(|call| call.number == notice.number) {
            let Some((what, path)) = self.outside_access(notice, call) else { continue };
            let access = (what.to_owned(), path.to_string_lossy().into_owned());
            if self.accesses.len() < MAX_RECORDED_PATHS
                || !self.accesses.iter().any(|(noted, _)| noted == what)
            {
                self.accesses.insert(access);
            } else if !self.accesses.contains(&access) {
                self.unlisted += 1;
            }
        }
    }

    fn outside_access(
        &self,
        notice: &SyscallNotification,
        call: &PathSyscall,
    ) -> Option<(&'static str, PathBuf)> {
        let what = match call.action {
            Open(flags) => open_action(notice.arguments[flags] as i32)?,
            OpenHow(how) => {
                let flags = describe::read_guest_memory(notice.pid, notice.arguments[how], 8);
                open_action(u64::from_ne_bytes(flags.try_into().ok()?) as i32)?
            }
            Change(what) => what,
        };
        let path = read_path(notice, call)?;
        let allowed =
            if what == "read" { &self.unrecorded_paths.read } else { &self.unrecorded_paths.write };
        let is_allowed = |path: &Path| allowed.iter().any(|place| path.starts_with(place));
        let of_processes = path.starts_with("/proc");
        // `/proc` shows processes of the sandbox only; where it is the host's, process 1 is the
        // host's.
        if path.starts_with("/proc/1") || !of_processes && !is_allowed(&path) {
            return Some((what, path));
        }
        // A link elsewhere is part of the host's files, and leads where the host intends.
        let may_lead_away = path.starts_with(proc_dir(notice.pid))
            || self.unrecorded_paths.write.iter().any(|place| path.starts_with(place));
        if matches!(call.action, Change(_)) || !may_lead_away {
            return None;
        }
        let path = follow_links(&path);
        let is_gone = path.as_os_str().as_bytes().ends_with(b" (deleted)");
        let leads_away = !path.starts_with("/proc") && !is_gone && !is_allowed(&path);
        leads_away.then_some((what, path))
    }
}

/// The action of opening with these flags; nothing for `O_PATH`, which neither reads nor writes.
fn open_action(flags: i32) -> Option<&'static str> {
    if flags & libc::O_PATH != 0 {
        return None;
    }
    Some(if flags & WRITE_FLAGS == 0 { "read" } else { "write" })
}

/// The absolute path without dots. Links are not followed, except `/proc/self` of the calling
/// process.
fn read_path(notice: &SyscallNotification, call: &PathSyscall) -> Option<PathBuf> {
    let bytes =
        describe::read_guest_memory(notice.pid, notice.arguments[call.path], MAX_PATH_BYTES);
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let path = Path::new(OsStr::from_bytes(&bytes[..end]));
    if end == 0 {
        return None;
    }
    if path.is_absolute() {
        return Some(normalize_path(&resolve_proc_self(notice.pid, path)));
    }
    let directory = call.directory.map_or(libc::AT_FDCWD, |at| notice.arguments[at] as i32);
    let start = match directory {
        libc::AT_FDCWD => format!("/proc/{}/cwd", notice.pid),
        number => format!("/proc/{}/fd/{number}", notice.pid),
    };
    Some(normalize_path(&fs::read_link(start).ok()?.join(path)))
}

fn proc_dir(pid: u32) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

/// The path by which other processes reach the calling process's `/proc/self`.
fn resolve_proc_self(asker: u32, path: &Path) -> PathBuf {
    match path.strip_prefix("/proc/self") {
        Ok(rest) => proc_dir(asker).join(rest),
        Err(_) => path.to_owned(),
    }
}

fn normalize_path(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => cleaned.push(name),
            Component::ParentDir => drop(cleaned.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    cleaned
}

/// The absolute path after following links, as far as init can see them: for a
/// record of what a guest opened, which decides nothing.
fn follow_links(path: &Path) -> PathBuf {
    let mut waiting: Vec<PathBuf> = Vec::new();
    let push = |waiting: &mut Vec<PathBuf>, path: &Path| {
        waiting.extend(path.components().rev().map(|part| PathBuf::from(part.as_os_str())));
    };
    push(&mut waiting, path);
    let (mut here, mut links) = (PathBuf::from("/"), MAX_LINKS_FOLLOWED);
    for _ in 0..MAX_LOOKUPS {
        let Some(name) = waiting.pop() else { break };
        match name.components().next() {
            Some(Component::Normal(_)) => {}
            Some(Component::ParentDir) => {
                here.pop();
                continue;
            }
            Some(Component::RootDir) => {
                here = name;
                continue;
            }
            Some(Component::CurDir | Component::Prefix(_)) | None => continue,
        }
        here.push(name);
        if links > 0
            && let Ok(target) = fs::read_link(&here)
        {
            links -= 1;
            here.pop();
            push(&mut waiting, &target);
        }
    }
    here.extend(waiting.into_iter().rev());
    normalize_path(&here)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A notification as if this process had made the call.
    fn notice(number: i64, arguments: [u64; 6]) -> SyscallNotification {
        let mut notice = SyscallNotification::default();
        (notice.pid, notice.number, notice.arguments) = (std::process::id(), number, arguments);
        notice
    }

    fn record_open(allowed: &UnrecordedPaths, path: &Path, flags: i32) -> Vec<PathAccess> {
        let mut path_recorder = PathAccessRecorder::new(allowed.clone());
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        let int = |number: i32| u64::from(number.cast_unsigned());
        let directory = int(libc::AT_FDCWD);
        path_recorder.record(&notice(
            libc::SYS_openat,
            [directory, path.as_ptr() as u64, int(flags), 0, 0, 0],
        ));
        path_recorder.take().0
    }

    #[test]
    fn links_of_the_guests_own_are_followed_even_to_what_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let place = fs::canonicalize(directory.path()).unwrap();
        let allowed = UnrecordedPaths {
            read: vec![place.clone(), "/usr".into()],
            write: vec![place.clone()],
        };
        let outside = Path::new("/nowhere/secret");
        symlink("/nowhere", place.join("away")).unwrap();
        symlink("away/secret", place.join("link")).unwrap();
        fs::write(place.join("file"), "").unwrap();
        let noted = |what: &str| vec![(what.to_owned(), outside.to_string_lossy().into_owned())];
        let around = Path::new("/proc/self/root").join(place.strip_prefix("/").unwrap());
        for path in ["link", "away/secret", "file/../link"] {
            for place in [&place, &around] {
                let path = place.join(path);
                let found = record_open(&allowed, &path, libc::O_RDONLY);
                assert_eq!(found, noted("read"), "{}", path.display());
            }
        }
        assert_eq!(record_open(&allowed, outside, libc::O_RDWR), noted("write"));
        assert_eq!(record_open(&allowed, outside, libc::O_RDONLY | libc::O_PATH), []);
        for path in [place.join("file"), place.join("new"), "/usr/lib".into()] {
            assert_eq!(record_open(&allowed, &path, libc::O_RDONLY), [], "{}", path.display());
        }
        let usr = [("write".to_owned(), "/usr/x".to_owned())];
        assert_eq!(record_open(&allowed, Path::new("/usr/x"), libc::O_WRONLY), usr);
    }

    #[test]
    fn as_many_links_are_followed_as_the_kernel_follows() {
        let directory = tempfile::tempdir().unwrap();
        let place = fs::canonicalize(directory.path()).unwrap();
        let allowed = UnrecordedPaths { read: vec![place.clone()], write: vec![place.clone()] };
        symlink("/nowhere/secret", place.join("link-1")).unwrap();
        for number in 2..=60 {
            symlink(format!("link-{}", number - 1), place.join(format!("link-{number}"))).unwrap();
        }
        for (number, is_noted) in [(1, true), (17, true), (40, true), (41, false)] {
            let link = place.join(format!("link-{number}"));
            let noted = record_open(&allowed, &link, libc::O_RDONLY);
            assert_eq!(!noted.is_empty(), is_noted, "{number}");
            // The kernel goes as far, and no further.
            let refused = fs::File::open(&link).unwrap_err().raw_os_error();
            let expected = if is_noted { libc::ENOENT } else { libc::ELOOP };
            assert_eq!(refused, Some(expected), "{number}");
        }
    }

    /// Each link doubles the number of links on the way.
    #[test]
    fn links_that_multiply_are_not_followed_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let place = fs::canonicalize(directory.path()).unwrap();
        symlink(".", place.join("link-0")).unwrap();
        for number in 1..60 {
            let before = format!("link-{}", number - 1);
            symlink(format!("{before}/{before}"), place.join(format!("link-{number}"))).unwrap();
        }
        let began = std::time::Instant::now();
        follow_links(&place.join("link-59/secret"));
        assert!(began.elapsed() < std::time::Duration::from_secs(1), "{:?}", began.elapsed());
    }

    #[test]
    fn both_ends_of_a_rename_are_noted() {
        let (one, other) = (c"/one", c"/usr/../other");
        let mut path_recorder = PathAccessRecorder::new(UnrecordedPaths::default());
        let arguments = [0, one.as_ptr() as u64, 0, other.as_ptr() as u64, 0, 0];
        path_recorder.record(&notice(libc::SYS_renameat2, arguments));
        let noted = |path: &str| ("rename".to_owned(), path.to_owned());
        assert_eq!(path_recorder.take(), (vec![noted("/one"), noted("/other")], 0));
        assert_eq!(path_recorder.take(), (vec![], 0));
    }

    #[test]
    fn a_flood_hides_no_other_kind_and_is_counted() {
        let mut path_recorder = PathAccessRecorder::new(UnrecordedPaths::default());
        let directory = u64::from(libc::AT_FDCWD.cast_unsigned());
        let mut ask = |path: &str, number, place: usize| {
            let path = CString::new(path).unwrap();
            let mut arguments = [directory, 0, 0, 0, 0, 0];
            arguments[place] = path.as_ptr() as u64;
            path_recorder.record(&notice(number, arguments));
        };
        for number in 0..MAX_RECORDED_PATHS + 5 {
            ask(&format!("/nowhere/{number}"), libc::SYS_openat, 1);
        }
        ask("/nowhere/0", libc::SYS_openat, 1);
        ask("/nowhere/0", libc::SYS_unlinkat, 1);
        ask("/nowhere/1", libc::SYS_unlinkat, 1);
        let (accesses, unlisted) = path_recorder.take();
        assert_eq!((accesses.len(), unlisted), (MAX_RECORDED_PATHS + 1, 6));
        assert!(accesses.contains(&("remove".to_owned(), "/nowhere/0".to_owned())));
    }
}

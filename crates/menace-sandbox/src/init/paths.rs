//! Where things are inside a sandbox that has mounts of its own.

/// The repository, with the writable layer of the call on top.
pub(crate) const REPO: &str = "/sandbox/repo";
/// The rest of what a call may write to: a file system of its own for each call.
pub(crate) const BOX: &str = "/sandbox/box";
/// Everything that may be written lies below this.
pub(crate) const WRITABLE: &str = "/sandbox";
/// The two mounts that a layer consists of.
#[derive(Debug)]
pub(crate) struct Place {
    pub room: &'static str,
    pub repo: &'static str,
}

pub(crate) const CURRENT: Place = Place { room: BOX, repo: REPO };
/// Out of the guest's sight: the layer of the next call, and that of the last.
pub(crate) const NEXT: Place =
    Place { room: "/proc/self/fd/890/next/box", repo: "/proc/self/fd/890/next/repo" };
pub(crate) const USED: Place =
    Place { room: "/proc/self/fd/890/used/box", repo: "/proc/self/fd/890/used/repo" };
/// The harness.
pub(crate) const HARNESS: &str = "/menace";
/// Where what the guest must not reach is built; covered by an empty directory before it starts.
pub(crate) const HIDDEN: &str = "/layers";
pub(crate) const IN_HIDDEN: [&str; 6] =
    ["repo", "import", "next/box", "next/repo", "used/box", "used/repo"];
/// The number under which the init holds [`HIDDEN`] open: the only way to it.
pub(crate) const HIDDEN_FD: i32 = 890;
/// The repository as it is on the host, read-only.
pub(crate) const LOWER: &str = "/proc/self/fd/890/repo";
/// What importing the module wrote.
pub(crate) const IMPORTED: &str = "/proc/self/fd/890/import";
/// Below [`BOX`]: what overlayfs keeps its changes in.
pub(crate) const LAYER: &str = ".layer";
pub(crate) const UPPER: &str = ".layer/up";
pub(crate) const WORK: &str = ".layer/work";
/// Below [`BOX`].
pub(crate) const HOME: &str = "home";
pub(crate) const TMP: &str = "tmp";
pub(crate) const SHM: &str = "shm";
pub(crate) const DATA: &str = "data";
pub(crate) const IN_BOX: [&str; 4] = [HOME, TMP, SHM, DATA];
/// Who the guest is, inside.
pub(crate) const UID: u32 = 1000;

/// Parts of a Linux system that programs need, seen under their own path, read-only.
pub(crate) const SYSTEM: [&str; 6] = ["/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin"];
/// Of `/etc`, only what says nothing about the host.
pub(crate) const ETC: [&str; 9] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/ssl",
    "/etc/ca-certificates",
    "/etc/pki",
    "/etc/mime.types",
    "/etc/alternatives",
];
pub(crate) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

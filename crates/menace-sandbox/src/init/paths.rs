//! Where things are inside a sandbox that has mounts of its own.

/// The repository, with the writable layer of the call on top.
pub(crate) const REPO: &str = "/sandbox/repo";
/// The rest of what a call may write to: a file system of its own for each call.
pub(crate) const BOX: &str = "/sandbox/box";
/// Everything that may be written lies below this.
pub(crate) const WRITABLE: &str = "/sandbox";

/// Where a layer is made, kept and thrown away: a file system in memory, out of the guest's sight.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub top: &'static str,
    /// What overlayfs keeps changes of the repository in.
    pub upper: &'static str,
    pub work: &'static str,
    /// What becomes [`BOX`], or what overlayfs keeps changes of it in.
    pub room: &'static str,
    pub room_work: &'static str,
    /// Where the mounts of [`REPO`] and [`BOX`] are while they are not in the guest's sight.
    pub parked_repo: &'static str,
    pub parked_room: &'static str,
}

macro_rules! slot {
    ($top:literal) => {
        Slot {
            top: $top,
            upper: concat!($top, "/up"),
            work: concat!($top, "/work"),
            room: concat!($top, "/room"),
            room_work: concat!($top, "/room-work"),
            parked_repo: concat!($top, "/at-repo"),
            parked_room: concat!($top, "/at-box"),
        }
    };
}

/// One for the call under way; meanwhile the other is for the last and then for the next.
pub(crate) static SLOTS: [Slot; 2] = [slot!("/proc/self/fd/890/a"), slot!("/proc/self/fd/890/b")];
/// For what importing the module left.
pub(crate) static IMPORTED: Slot = slot!("/proc/self/fd/890/import");
/// The harness.
pub(crate) const HARNESS: &str = "/menace";
/// Where what the guest must not reach is built; covered by an empty directory before it starts.
pub(crate) const HIDDEN: &str = "/layers";
pub(crate) const IN_HIDDEN: [&str; 9] = [
    NOTHING,
    "repo",
    "a",
    "b",
    "import",
    "empty-box/home",
    "empty-box/tmp",
    "empty-box/shm",
    "empty-box/data",
];
/// In [`HIDDEN`]: an overlay that cannot be written to wants two layers.
pub(crate) const NOTHING: &str = "nothing";
/// The number under which the init holds [`HIDDEN`] open: the only way to it.
pub(crate) const HIDDEN_FD: i32 = 890;
/// The repository as it is on the host, read-only.
pub(crate) const LOWER: &str = "/proc/self/fd/890/repo";
/// What [`BOX`] is like before anybody has written to it.
pub(crate) const EMPTY_BOX: &str = "/proc/self/fd/890/empty-box";
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

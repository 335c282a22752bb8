//! Where things are inside a sandbox that has mounts of its own.

/// The repository, with the writable layer of the call on top.
pub(crate) const REPO_DIR: &str = "/sandbox/repo";
/// The scratch directory, the rest of what a call may write to: a file system of its own for each
/// call. Its path says `box`: stored reports name files by it.
pub(crate) const SCRATCH_DIR: &str = "/sandbox/box";
/// Everything that may be written lies below this.
pub(crate) const WRITABLE_DIR: &str = "/sandbox";

/// Where a layer is made, kept and thrown away: a file system in memory, out of the guest's sight.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LayerSlot {
    pub top: &'static str,
    /// What overlayfs keeps changes of the repository in.
    pub upper: &'static str,
    pub work: &'static str,
    /// What becomes [`SCRATCH_DIR`], or what overlayfs keeps changes of it in.
    pub scratch: &'static str,
    pub scratch_work: &'static str,
    /// Where the mounts of [`REPO_DIR`] and [`SCRATCH_DIR`] are while they are not in the guest's
    /// sight.
    pub parked_repo: &'static str,
    pub parked_scratch: &'static str,
}

macro_rules! slot {
    ($top:literal) => {
        LayerSlot {
            top: $top,
            upper: concat!($top, "/up"),
            work: concat!($top, "/work"),
            scratch: concat!($top, "/scratch"),
            scratch_work: concat!($top, "/scratch-work"),
            parked_repo: concat!($top, "/at-repo"),
            parked_scratch: concat!($top, "/at-scratch"),
        }
    };
}

/// One for the call under way; meanwhile the other is for the last and then for the next.
pub(crate) static LAYER_SLOTS: [LayerSlot; 2] =
    [slot!("/proc/self/fd/890/a"), slot!("/proc/self/fd/890/b")];
/// For what importing the module left.
pub(crate) static IMPORT_SLOT: LayerSlot = slot!("/proc/self/fd/890/import");
/// The harness.
pub(crate) const HARNESS_DIR: &str = "/menace";
/// Where what the guest must not reach is built; covered by an empty directory before it starts.
pub(crate) const HIDDEN_DIR: &str = "/layers";
pub(crate) const HIDDEN_SUBDIRS: [&str; 9] = [
    EMPTY_SUBDIR,
    "repo",
    "a",
    "b",
    "import",
    "empty-scratch/home",
    "empty-scratch/tmp",
    "empty-scratch/shm",
    "empty-scratch/data",
];
/// In [`HIDDEN_DIR`]: an overlay that cannot be written to wants two layers.
pub(crate) const EMPTY_SUBDIR: &str = "nothing";
/// The number under which the init holds [`HIDDEN_DIR`] open: the only way to it.
pub(crate) const HIDDEN_DIR_FD: i32 = 890;
/// The repository as it is on the host, read-only.
pub(crate) const REPO_LOWER_DIR: &str = "/proc/self/fd/890/repo";
/// What the scratch directory contains before the first call.
pub(crate) const EMPTY_SCRATCH_DIR: &str = "/proc/self/fd/890/empty-scratch";
/// Below [`SCRATCH_DIR`].
pub(crate) const HOME_SUBDIR: &str = "home";
pub(crate) const TMP_SUBDIR: &str = "tmp";
pub(crate) const SHM_SUBDIR: &str = "shm";
pub(crate) const DATA_SUBDIR: &str = "data";
pub(crate) const SCRATCH_SUBDIRS: [&str; 4] = [HOME_SUBDIR, TMP_SUBDIR, SHM_SUBDIR, DATA_SUBDIR];
/// The user id of the guest inside of the sandbox.
pub(crate) const GUEST_UID: u32 = 1000;

/// Parts of a Linux system that programs need, seen under their own path, read-only.
pub(crate) const SYSTEM_DIRS: [&str; 6] = ["/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin"];
/// Of `/etc`, only what says nothing about the host.
pub(crate) const ETC_PATHS: [&str; 9] = [
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
pub(crate) const DEVICE_PATHS: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

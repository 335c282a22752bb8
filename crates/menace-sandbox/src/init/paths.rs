//! Paths inside of a sandbox with its own mounts.

/// The repository, with the writable layer of the call on top.
pub(crate) const REPO_DIR: &str = "/sandbox/repo";
/// The scratch directory, the rest of what a call may write to: a file system of its own for each
/// call. Its path says `box`: stored reports name files by it.
pub(crate) const SCRATCH_DIR: &str = "/sandbox/box";
/// Everything that may be written lies below this.
pub(crate) const WRITABLE_DIR: &str = "/sandbox";

/// Where a layer is made, kept and removed: a tmpfs that the guest cannot see.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LayerSlot {
    pub top: &'static str,
    /// The upper directory for the repository.
    pub upper: &'static str,
    pub work: &'static str,
    /// The directory that becomes [`SCRATCH_DIR`], or the upper directory of an overlay that does.
    pub scratch: &'static str,
    pub scratch_work: &'static str,
    /// Where the mounts of [`REPO_DIR`] and [`SCRATCH_DIR`] are while the guest cannot see them.
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

/// Two slots, which alternate: one has the current call's layer, the other the last one, then the
/// next.
pub(crate) static LAYER_SLOTS: [LayerSlot; 2] =
    [slot!("/proc/self/fd/890/a"), slot!("/proc/self/fd/890/b")];
/// The slot of what the import wrote.
pub(crate) static IMPORT_SLOT: LayerSlot = slot!("/proc/self/fd/890/import");
/// The harness.
pub(crate) const HARNESS_DIR: &str = "/menace";
/// Where layers are built, which the guest must not reach; covered by an empty directory before it
/// starts.
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
/// In [`HIDDEN_DIR`]: an empty directory. A read-only overlay needs two lower directories.
pub(crate) const EMPTY_SUBDIR: &str = "nothing";
/// The descriptor with which init holds [`HIDDEN_DIR`] open, the only way to reach it.
pub(crate) const HIDDEN_DIR_FD: i32 = 890;
/// The repository of the host, read-only.
pub(crate) const REPO_LOWER_DIR: &str = "/proc/self/fd/890/repo";
/// What the scratch directory contains before the first call.
pub(crate) const EMPTY_SCRATCH_DIR: &str = "/proc/self/fd/890/empty-scratch";
/// Directories in [`SCRATCH_DIR`].
pub(crate) const HOME_SUBDIR: &str = "home";
pub(crate) const TMP_SUBDIR: &str = "tmp";
pub(crate) const SHM_SUBDIR: &str = "shm";
pub(crate) const DATA_SUBDIR: &str = "data";
pub(crate) const SCRATCH_SUBDIRS: [&str; 4] = [HOME_SUBDIR, TMP_SUBDIR, SHM_SUBDIR, DATA_SUBDIR];
/// The user id of the guest inside of the sandbox.
pub(crate) const GUEST_UID: u32 = 1000;

/// Directories of a Linux system that programs need, mounted read-only under the same path.
pub(crate) const SYSTEM_DIRS: [&str; 6] = ["/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin"];
/// The files of `/etc` that reveal nothing about the host.
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

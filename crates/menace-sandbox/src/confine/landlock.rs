//! Restricts with Landlock what this process can reach by name: files, TCP ports, abstract sockets,
//! other processes.
//!
//! Rules belong to directories, not to mounts: a rule for a directory also holds for file systems
//! that are mounted below it later. Landlock does not cover changing modes, owners, times and
//! attributes, nor testing whether a file exists; see [`super::syscalls::METADATA_SYSCALLS`].

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    make_bitflags,
};
use serde::{Deserialize, Serialize};

use super::policy::ConfinementPolicy;
use super::sys;

/// The newest Landlock ABI whose rights this module knows; rights that the kernel lacks are left
/// out.
const NEWEST_ABI: ABI = ABI::V9;
const ABI_WITH_TCP: u32 = 4;
const ABI_WITH_SCOPES: u32 = 6;
/// What each ABI has added, to report what an older kernel cannot restrict.
const FEATURES_SINCE_ABI: &[(u32, &str)] = &[
    (2, "moving files between directories"),
    (3, "truncating files by path"),
    (ABI_WITH_TCP, "TCP"),
    (5, "device requests"),
    (ABI_WITH_SCOPES, "signals and abstract sockets"),
];

/// The paths that the guest may access. Each includes everything below it.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowedPaths {
    /// Reading, listing, starting programs.
    pub read: Vec<PathBuf>,
    /// Everything but making device nodes.
    pub write: Vec<PathBuf>,
    /// Device files: reading, writing, requests.
    pub devices: Vec<PathBuf>,
}

/// What Landlock restricts on this kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandlockStatus {
    /// The kernel's Landlock ABI; 0 without Landlock.
    pub abi: u32,
    /// Whether files are restricted.
    pub restricts_files: bool,
    /// Whether TCP is denied.
    pub restricts_tcp: bool,
    /// Whether signals to processes outside and abstract Unix sockets outside are denied.
    pub is_scoped: bool,
    /// What this kernel's Landlock cannot restrict, of what was requested.
    pub unenforced: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LandlockError {
    #[error("failed to set up Landlock")]
    Ruleset(#[from] RulesetError),
    #[error("failed to open `{path}` for a Landlock rule")]
    Place { path: PathBuf, source: io::Error },
    #[error("Landlock is not available, and without namespaces nothing else protects the files")]
    Required,
    #[error("Landlock restricts nothing although the kernel offers it")]
    NotEnforced,
}

/// The Landlock ABI of this kernel; 0 without Landlock.
pub(crate) fn kernel_abi() -> u32 {
    sys::landlock_abi().unwrap_or(0)
}

/// Restricts this thread and all that it will start. Needs `no_new_privs`.
///
/// Without Landlock in the kernel this is an error only where nothing else protects files, that is
/// without namespaces.
pub(crate) fn restrict(
    policy: ConfinementPolicy,
    allowed: &AllowedPaths,
) -> Result<LandlockStatus, LandlockError> {
    let abi = kernel_abi();
    if abi == 0 {
        if !policy.namespaces {
            return Err(LandlockError::Required);
        }
        let all = "files, TCP, signals and abstract sockets (no Landlock in this kernel)";
        return Ok(LandlockStatus {
            unenforced: vec![all.to_owned()],
            ..LandlockStatus::default()
        });
    }
    let landlock_status = LandlockStatus {
        abi,
        restricts_files: policy.restricts_files(),
        restricts_tcp: !policy.allows_network() && abi >= ABI_WITH_TCP,
        is_scoped: abi >= ABI_WITH_SCOPES,
        unenforced: list_unenforced(abi),
    };
    if !(landlock_status.restricts_files
        || landlock_status.restricts_tcp
        || landlock_status.is_scoped)
    {
        return Ok(landlock_status);
    }
    let created = build_ruleset(&landlock_status)?.create()?;
    let created = if landlock_status.restricts_files {
        add_path_rules(created, policy, allowed)?
    } else {
        created
    };
    let status = created.restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(LandlockError::NotEnforced);
    }
    Ok(landlock_status)
}

fn list_unenforced(abi: u32) -> Vec<String> {
    let beyond = FEATURES_SINCE_ABI.iter().filter(|(since, _)| *since > abi);
    beyond.map(|(since, what)| format!("{what} (Landlock {since}; here {abi})")).collect()
}

fn build_ruleset(wanted: &LandlockStatus) -> Result<Ruleset, RulesetError> {
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    if wanted.restricts_files {
        ruleset = ruleset.handle_access(AccessFs::from_all(NEWEST_ABI))?;
    }
    if wanted.restricts_tcp {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST_ABI))?;
    }
    if wanted.is_scoped {
        ruleset = ruleset.scope(Scope::from_all(NEWEST_ABI))?;
    }
    Ok(ruleset)
}

fn add_path_rules(
    mut created: RulesetCreated,
    policy: ConfinementPolicy,
    allowed: &AllowedPaths,
) -> Result<RulesetCreated, LandlockError> {
    let AllowedPaths { read, write, devices } = allowed;
    for (paths, rights) in
        [(read, read_rights()), (write, write_rights(policy)), (devices, device_rights())]
    {
        for path in paths {
            // Nothing is allowed in a place that does not exist.
            let Some((place, is_directory)) = open_path(path)? else { continue };
            let rights =
                if is_directory { rights } else { rights & AccessFs::from_file(NEWEST_ABI) };
            created = created.add_rule(PathBeneath::new(place, rights))?;
        }
    }
    Ok(created)
}

/// Opens a path for a rule, and says whether it is a directory; nothing when it does not exist.
#[expect(clippy::disallowed_methods, reason = "of the rule table, or resolved by the host")]
fn open_path(path: &Path) -> Result<Option<(PathFd, bool)>, LandlockError> {
    let failed = |source| LandlockError::Place { path: path.to_owned(), source };
    match path.metadata() {
        Ok(metadata) => {
            let place = PathFd::new(path).map_err(|error| failed(io::Error::other(error)))?;
            Ok(Some((place, metadata.is_dir())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed(source)),
    }
}

fn read_rights() -> BitFlags<AccessFs> {
    AccessFs::from_read(NEWEST_ABI)
}

/// Where the policy denies programs, files that the guest wrote cannot be executed either.
fn write_rights(policy: ConfinementPolicy) -> BitFlags<AccessFs> {
    let mut without = make_bitflags!(AccessFs::{MakeChar | MakeBlock});
    if !policy.allows_programs() {
        without |= AccessFs::Execute;
    }
    AccessFs::from_all(NEWEST_ABI) & !without
}

fn device_rights() -> BitFlags<AccessFs> {
    make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | Truncate | IoctlDev})
}

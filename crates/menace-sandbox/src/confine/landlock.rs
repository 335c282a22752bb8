//! Restricts what this process can reach by name: files, TCP ports, abstract sockets, other
//! processes.
//!
//! Rules belong to directories, not to mounts: one that is given for a directory also holds for file
//! systems that are mounted below it later. Changing modes, owners, times and attributes is not
//! covered by Landlock, nor is asking whether a file exists; see [`super::syscalls::METADATA`].

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    make_bitflags,
};
use serde::{Deserialize, Serialize};

use super::policy::Policy;
use super::sys;

/// The newest interface whose rights this module knows; more than the kernel has is left out.
const NEWEST: ABI = ABI::V9;
const ABI_WITH_TCP: u32 = 4;
const ABI_WITH_SCOPES: u32 = 6;
/// What changed with each interface, for saying what an older kernel cannot do.
const SINCE: &[(u32, &str)] = &[
    (2, "moving files between directories"),
    (3, "truncating files by path"),
    (ABI_WITH_TCP, "TCP"),
    (5, "device requests"),
    (ABI_WITH_SCOPES, "signals and abstract sockets"),
];

/// Where the guest may go. Each path stands for all that is beneath it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// Reading, listing, starting programs.
    pub read: Vec<PathBuf>,
    /// Everything but making device nodes.
    pub write: Vec<PathBuf>,
    /// Device files: reading, writing, requests.
    pub devices: Vec<PathBuf>,
}

/// What Landlock does here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Landlocked {
    /// The kernel's interface; 0 when it has none.
    pub abi: u32,
    /// Files are restricted.
    pub files: bool,
    /// TCP is refused.
    pub tcp: bool,
    /// Signals cannot leave, and abstract Unix sockets outside cannot be reached.
    pub scoped: bool,
    /// What this kernel's Landlock cannot restrict.
    pub unenforced: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LandlockError {
    #[error("failed to set up Landlock")]
    Ruleset(#[from] RulesetError),
    #[error("failed to open `{path}` for a Landlock rule")]
    Place { path: PathBuf, source: io::Error },
    #[error("Landlock is not available, and without namespaces nothing else protects the files")]
    Needed,
    #[error("Landlock restricts nothing although the kernel offers it")]
    NotEnforced,
}

/// The interface of this kernel; 0 without Landlock.
pub(crate) fn abi() -> u32 {
    sys::landlock_abi().unwrap_or(0)
}

/// Restricts this thread and all that it will start. Needs `no_new_privs`.
///
/// A kernel without Landlock is an error only where nothing else protects the files.
pub(crate) fn restrict(policy: Policy, places: &Places) -> Result<Landlocked, LandlockError> {
    let abi = abi();
    if abi == 0 {
        if !policy.namespaces {
            return Err(LandlockError::Needed);
        }
        let all = "files, TCP, signals and abstract sockets (no Landlock in this kernel)";
        return Ok(Landlocked { unenforced: vec![all.to_owned()], ..Landlocked::default() });
    }
    let landlocked = Landlocked {
        abi,
        files: policy.strange_files_forbidden(),
        tcp: !policy.network() && abi >= ABI_WITH_TCP,
        scoped: abi >= ABI_WITH_SCOPES,
        unenforced: unenforced(abi),
    };
    if !(landlocked.files || landlocked.tcp || landlocked.scoped) {
        return Ok(landlocked);
    }
    let created = ruleset(&landlocked)?.create()?;
    let created = if landlocked.files { add_places(created, policy, places)? } else { created };
    let status = created.restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(LandlockError::NotEnforced);
    }
    Ok(landlocked)
}

fn unenforced(abi: u32) -> Vec<String> {
    let beyond = SINCE.iter().filter(|(since, _)| *since > abi);
    beyond.map(|(since, what)| format!("{what} (Landlock {since}; here {abi})")).collect()
}

fn ruleset(wanted: &Landlocked) -> Result<Ruleset, RulesetError> {
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    if wanted.files {
        ruleset = ruleset.handle_access(AccessFs::from_all(NEWEST))?;
    }
    if wanted.tcp {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    if wanted.scoped {
        ruleset = ruleset.scope(Scope::from_all(NEWEST))?;
    }
    Ok(ruleset)
}

fn add_places(
    mut created: RulesetCreated,
    policy: Policy,
    places: &Places,
) -> Result<RulesetCreated, LandlockError> {
    let Places { read, write, devices } = places;
    for (paths, rights) in [(read, reading()), (write, writing(policy)), (devices, using_devices())]
    {
        for path in paths {
            // Nothing is allowed in a place that does not exist.
            let Some((place, is_directory)) = open(path)? else { continue };
            let rights = if is_directory { rights } else { rights & AccessFs::from_file(NEWEST) };
            created = created.add_rule(PathBeneath::new(place, rights))?;
        }
    }
    Ok(created)
}

/// The place, and whether it is a directory; nothing when it does not exist.
fn open(path: &Path) -> Result<Option<(PathFd, bool)>, LandlockError> {
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

fn reading() -> BitFlags<AccessFs> {
    AccessFs::from_read(NEWEST)
}

/// Who may not start programs need not be able to start what they have written.
fn writing(policy: Policy) -> BitFlags<AccessFs> {
    let mut without = make_bitflags!(AccessFs::{MakeChar | MakeBlock});
    if !policy.programs() {
        without |= AccessFs::Execute;
    }
    AccessFs::from_all(NEWEST) & !without
}

fn using_devices() -> BitFlags<AccessFs> {
    make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | Truncate | IoctlDev})
}

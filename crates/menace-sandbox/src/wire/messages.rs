//! What the host and the init of a sandbox say to each other.

use std::path::PathBuf;

use menace_model::{Conditions, EnforcedBy, Felt, Files, Limit, Limits, Violation};
use serde::{Deserialize, Serialize};

use crate::Tier;
use crate::cgroup::Handed;
use crate::confine::Interpose;
use crate::harness::Contents;

/// Everything the init needs to build a sandbox. Descriptors travel beside it: of the harness, of the
/// control group, and those of [`InitConfig::brings_owners`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct InitConfig {
    pub tier: Tier,
    /// Who to be outside of the sandbox; set when Menace runs as root.
    pub drop_to: Option<Identity>,
    /// On the host.
    pub repo: PathBuf,
    /// How Python is started: an absolute path, or one below the repository, wherever that is inside.
    pub python: PathBuf,
    /// Directories and files of the host, to be seen under the same path, read-only.
    pub needs: Vec<PathBuf>,
    /// What the first descriptor leads to.
    pub harness: Contents,
    pub level: u8,
    pub safe_mode: bool,
    pub seed: u64,
    pub hash_seed: u32,
    pub freeze_time: Option<f64>,
    pub extra_env: Vec<(String, String)>,
    pub group: Option<Vec<Handed>>,
    /// Where to keep the copy of the repository when mounts cannot be had.
    pub workspace: Option<PathBuf>,
    pub probe: Option<Probe>,
    /// Hard limits of everything in the sandbox.
    pub open_files: u64,
    pub processes: u64,
    pub interpose: Interpose,
}

impl InitConfig {
    /// Whether two user namespaces come along: one for the owner of the repository, and one for those
    /// of everything else.
    pub(crate) fn brings_owners(&self) -> bool {
        self.drop_to.is_some() && self.tier.has_namespaces()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub uid: u32,
    pub gid: u32,
}

/// What the sandbox must fail to reach before it may be used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Probe {
    /// A file on the host.
    pub canary: PathBuf,
    /// A port on the host's loopback interface where somebody listens.
    pub port: u16,
    /// The name of an abstract Unix socket of the host.
    pub socket: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ToInit {
    /// A message for the harness, passed on as it is; there is no report.
    Tell(Vec<u8>),
    Import(Request),
    Call(Request),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Request {
    pub nonce: u64,
    pub limits: Limits,
    pub conditions: Conditions,
    /// Of everything random that happens to the call.
    pub seed: u64,
    /// The next call will go to another sandbox, so that there is time to get ready for the one
    /// after it.
    pub takes_turns: bool,
    /// The message for the harness, passed on as it is.
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum FromInit {
    Ready(Ready),
    Report(Box<Report>),
    /// The sandbox could not be built.
    Failed(String),
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Ready {
    /// Where the repository is, as seen from inside.
    pub repo: String,
    /// What is not as tight as it could be here.
    pub remarks: Vec<String>,
}

/// What happened, told by the init; only the mailbox comes from the guest.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Where the harness got to; see `docs/guest-protocol.md`.
    pub phase: u8,
    pub mailbox_nonce: u64,
    pub mailbox: Vec<u8>,
    /// Attempts at forbidden files that the guest's interpreter saw, each as it happened: its word too.
    pub told_attempts: Vec<Vec<u8>>,
    /// Files outside that system calls asked for: what was to be done, and the path.
    pub reached: Vec<(String, String)>,
    /// Of a call that had steps.
    pub steps: Option<Steps>,
    /// Where the code was, in the words of the interpreter that crashed or was asked: the guest's word too.
    pub whereabouts: Vec<u8>,
    /// As `waitpid` gives it; nothing when the process never ended by itself or never started.
    pub status: Option<i32>,
    pub killed: Option<Killed>,
    /// It had said nothing when its time was up, and whatever it said after that does not count. For the
    /// init itself.
    #[serde(skip)]
    pub is_late: bool,
    /// The fork failed with this error.
    pub fork_errno: Option<i32>,
    pub total_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    pub peak_memory_bytes: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub stdout: Captured,
    pub stderr: Captured,
    pub files: Files,
    pub disk_full: bool,
    pub oom_kills: u64,
    pub process_limit_hits: u64,
    pub processes_left: Vec<String>,
    pub attempts: Vec<Violation>,
    /// System calls that had no effect, though the guest was told that they had.
    pub pretended: Vec<String>,
    pub enforced_by: EnforcedBy,
    pub unenforced: Vec<Limit>,
    pub felt: Vec<Felt>,
    /// Why a fork of the interpreter would not be a private copy.
    pub keeps: Vec<String>,
    /// Why this sandbox must not be used again.
    pub spent: Option<String>,
}

/// How far the steps of a call came, and what they left in the mailbox: the guest's word.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Steps {
    pub begun: u32,
    /// The last one had ended, and what it returned was being let go of.
    pub leaving: bool,
    /// A length and a report, again and again.
    pub told: Vec<u8>,
}

/// What the init killed the call for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Killed {
    Deadline,
    Cpu,
    Memory,
    Disk,
    /// A fault, before its time was up.
    Early,
}

/// The beginning of a stream and how much there was.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Captured {
    pub bytes: Vec<u8>,
    pub total: u64,
}

//! What the host and the init of a sandbox say to each other.

use std::path::PathBuf;

use menace_model::{
    CallConditions, CallLimits, FaultStats, Limit, LimitEnforcement, PolicyViolation, SandboxSpec,
    TouchedFiles,
};
use serde::{Deserialize, Serialize};

use crate::Tier;
use crate::cgroup::InheritedCgroupFile;
use crate::harness::HarnessContents;

/// Everything the init needs to build a sandbox. Descriptors travel beside it: of the harness, of
/// the control group, and those of [`InitConfig::needs_owner_namespaces`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct InitConfig {
    pub tier: Tier,
    /// The user that init becomes outside of the sandbox; set when Menace runs as root.
    pub switch_to: Option<UserIdentity>,
    /// On the host.
    pub repo: PathBuf,
    pub python: PythonProgram,
    /// Directories and files of the host, to be seen under the same path, read-only.
    pub needs: Vec<PathBuf>,
    /// What the first descriptor leads to.
    pub harness: HarnessContents,
    /// Its module and import path are sent later, with the import.
    pub spec: SandboxSpec,
    pub cgroup_files: Option<Vec<InheritedCgroupFile>>,
    /// Where to keep the copy of the repository when mounts cannot be had.
    pub workspace: Option<PathBuf>,
    pub escape_probe: Option<EscapeProbe>,
}

/// Which Python is started, and which one it is for the guest: absolute paths, or paths below the
/// repository, wherever that is inside.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PythonProgram {
    pub program: PathBuf,
    pub executable: PathBuf,
    /// The virtual environment.
    pub environment: Option<PathBuf>,
    /// The repository has no part in what `site` runs.
    pub trusts_site: bool,
}

impl InitConfig {
    /// Whether two user namespaces come along: one for the owner of the repository, and one for
    /// those of everything else.
    pub(crate) fn needs_owner_namespaces(&self) -> bool {
        self.switch_to.is_some() && self.tier.has_namespaces()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UserIdentity {
    pub uid: u32,
    pub gid: u32,
}

/// What the sandbox must fail to reach before it may be used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EscapeProbe {
    /// A file on the host.
    pub canary: PathBuf,
    /// A port on the host's loopback interface where the host listens.
    pub port: u16,
    /// The name of an abstract Unix socket of the host.
    pub socket: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ToInitMessage {
    /// A message for the harness, passed on as it is; there is no report.
    Forward(Vec<u8>),
    Import(InitRequest),
    Call(InitRequest),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct InitRequest {
    pub nonce: u64,
    pub limits: CallLimits,
    pub conditions: CallConditions,
    /// Of everything random that happens to the call.
    pub seed: u64,
    /// The next call will go to another sandbox, so that there is time to get ready for the one
    /// after it.
    pub alternates_sandboxes: bool,
    /// The message for the harness, passed on as it is.
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum FromInitMessage {
    Ready(SandboxReady),
    Report(Box<InitReport>),
    /// The sandbox could not be built.
    Failed(String),
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SandboxReady {
    /// Where the repository is, as seen from inside.
    pub repo: String,
    /// What is not as tight as it could be here.
    pub remarks: Vec<String>,
}

/// What happened, as init saw it.
///
/// Untrusted, since the guest can write or choose them: the mailbox (`phase` to `mailbox`,
/// `reported_violations`, `steps`), `stack_dumps`, `unforkable_state`, what is in
/// `outside_accesses`, the output, and the names of files and processes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct InitReport {
    pub phase: CallPhase,
    pub mailbox_nonce: u64,
    pub mailbox: Vec<u8>,
    /// What the guest's interpreter saw, each as it happened.
    pub reported_violations: Vec<Vec<u8>>,
    /// Files outside that system calls asked for: what was to be done, and the path.
    pub outside_accesses: Vec<(String, String)>,
    /// Of a call that had steps.
    pub steps: Option<StepProgress>,
    /// Where the code was, in the words of the interpreter that crashed or was asked: the guest's
    /// word too.
    pub stack_dumps: Vec<u8>,
    /// As `waitpid` gives it; nothing when the process never ended by itself or never started.
    pub status: Option<i32>,
    pub killed: Option<KillReason>,
    /// It had said nothing when its time was up, and whatever it said after that does not count.
    /// For the init itself.
    #[serde(skip)]
    pub is_past_deadline: bool,
    /// The fork failed with this error.
    pub fork_errno: Option<i32>,
    pub total_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    pub peak_memory_bytes: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub stdout: CapturedStream,
    pub stderr: CapturedStream,
    pub files: TouchedFiles,
    pub disk_full: bool,
    pub oom_kills: u64,
    pub process_limit_hits: u64,
    pub leaked_processes: Vec<String>,
    pub violations: Vec<PolicyViolation>,
    /// System calls that had no effect, though they seemed to succeed.
    pub pretended_syscalls: Vec<String>,
    pub enforced_by: LimitEnforcement,
    pub unenforced: Vec<Limit>,
    pub fault_stats: Vec<FaultStats>,
    /// Why a fork of the interpreter would not be a private copy.
    pub unforkable_state: Vec<String>,
    /// Why this sandbox must not be used again.
    pub unusable_reason: Option<String>,
}

/// How far a call came, by a byte in the mailbox: the guest's word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum CallPhase {
    #[default]
    Empty,
    Running,
    /// From here on the call has ended.
    ShortReport,
    FullReport,
    Corrupted,
}

impl CallPhase {
    pub(crate) fn from_byte(byte: u8) -> Self {
        let written = [Self::Empty, Self::Running, Self::ShortReport, Self::FullReport];
        written.get(usize::from(byte)).copied().unwrap_or(Self::Corrupted)
    }
}

/// How far the steps of a call came, and what they left in the mailbox: the guest's word.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepProgress {
    pub begun: u32,
    /// The last one had ended, and what it returned was being let go of.
    pub releasing_result: bool,
    /// A length and a report, again and again.
    pub entries: Vec<u8>,
}

/// What the init killed the call for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum KillReason {
    Deadline,
    Cpu,
    Memory,
    Disk,
    /// A fault, before its time was up.
    EarlyKill,
}

/// The beginning of a stream and how much there was.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CapturedStream {
    pub bytes: Vec<u8>,
    pub total_bytes: u64,
}

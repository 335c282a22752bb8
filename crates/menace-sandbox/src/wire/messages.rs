//! The messages between the host and init.

use std::path::PathBuf;

use menace_model::{
    CallConditions, CallLimits, FaultStats, Limit, LimitEnforcement, PolicyViolation, SandboxSpec,
    TouchedFiles,
};
use serde::{Deserialize, Serialize};

use crate::Tier;
use crate::cgroup::InheritedCgroupFile;
use crate::harness::HarnessContents;
use crate::wire::marshal::MarshalValue;

/// Everything init needs to build a sandbox. Descriptors are sent with it: the packed harness, the
/// files of the control group, and the namespaces of [`InitConfig::needs_owner_namespaces`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct InitConfig {
    pub tier: Tier,
    /// The user that init becomes on the host's side; set when Menace runs as root.
    pub switch_to: Option<UserIdentity>,
    /// The repository's path on the host.
    pub repo: PathBuf,
    pub python: PythonProgram,
    /// Directories and files of the host that Python needs; mounted read-only under the same path.
    pub readable_paths: Vec<PathBuf>,
    /// What the harness descriptor contains.
    pub harness: HarnessContents,
    /// Module and import path in it are not set yet: they follow with the import.
    pub spec: SandboxSpec,
    pub cgroup_files: Option<Vec<InheritedCgroupFile>>,
    /// The directory for the copy of the repository where mounts are not possible.
    pub workspace: Option<PathBuf>,
    pub escape_probe: Option<EscapeProbe>,
}

/// Which Python is started, and which one it is for the guest: absolute paths, or paths below the
/// repository, wherever that is inside.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PythonProgram {
    /// What is executed.
    pub program: PathBuf,
    /// What `sys.executable` says.
    pub sys_executable: PathBuf,
    /// The directory of the virtual environment.
    pub venv_dir: Option<PathBuf>,
    /// The repository has no part in what `site` runs.
    pub site_excludes_repository: bool,
}

impl InitConfig {
    /// Whether two user namespaces are sent along, for id-mapped mounts: one that maps the
    /// repository's owner, and one for everything else.
    pub(crate) fn needs_owner_namespaces(&self) -> bool {
        self.switch_to.is_some() && self.tier.has_namespaces()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UserIdentity {
    pub uid: u32,
    pub gid: u32,
}

/// What the sandbox must fail to reach before it is used.
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
    /// A message that init forwards to the harness unchanged; there is no report.
    Forward(Vec<u8>),
    Import(InitRequest),
    Call(InitRequest),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct InitRequest {
    pub request_number: u64,
    pub limits: CallLimits,
    pub conditions: CallConditions,
    /// The seed of everything random that happens to the call.
    pub seed: u64,
    /// Whether the session's next call goes to its other sandbox, so that this one has time to
    /// prepare the call after next.
    pub warms_fork: bool,
    /// The message for the harness, forwarded unchanged.
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum FromInitMessage {
    Ready(SandboxReady),
    Report(Box<InitReport>),
    /// The sandbox could not be built, or init itself failed during a request.
    Failed(String),
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SandboxReady {
    /// The repository's path as the guest sees it.
    pub repo: String,
    /// Protections that this machine lacks, for the notes of each outcome.
    pub notes: Vec<String>,
}

/// What init observed of a call or an import.
///
/// Untrusted, since the guest can write or choose them: the mailbox (`report_state` to `mailbox`,
/// `reported_violations`, `unlisted_reported_violations`, `steps`), `stack_dumps`,
/// `unforkable_state`, what is in `outside_accesses`, the output, and the names of files and
/// processes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct InitReport {
    pub report_state: ReportState,
    pub mailbox_request_number: u64,
    pub mailbox: Vec<u8>,
    /// Violations that the interpreter's audit hook reported, one entry each.
    pub reported_violations: Vec<Vec<u8>>,
    /// Accesses to files outside of the sandbox: what was attempted, and the path.
    pub outside_accesses: Vec<(String, String)>,
    /// How many more of those there were than are kept.
    pub unlisted_accesses: u64,
    /// How many more violations there were than are kept: those that init saw, and those that the
    /// guest's interpreter saw.
    pub unlisted_violations: u64,
    pub unlisted_reported_violations: u64,
    /// Set for a call with steps.
    pub steps: Option<StepProgress>,
    /// Stacks that `faulthandler` wrote at a crash or on request; untrusted, since the guest's
    /// interpreter writes them.
    pub stack_dumps: Vec<u8>,
    /// The wait status, also of a process that init killed; nothing where no process was started,
    /// or its status was lost.
    pub status: Option<i32>,
    /// It did not end as the harness ends a call or an import: what it reported last is not true.
    pub ended_irregularly: bool,
    pub killed: Option<KillReason>,
    /// The call had reported nothing by its deadline; what came later does not count. Used within
    /// init only.
    #[serde(skip)]
    pub is_past_deadline: bool,
    /// The error with which the fork failed.
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
    /// System calls that were answered with success but not made.
    pub pretended_syscalls: Vec<String>,
    pub enforced_by: LimitEnforcement,
    pub unenforced: Vec<Limit>,
    pub notes: Vec<String>,
    pub fault_stats: Vec<FaultStats>,
    /// What the import left that a fork would share or lose: threads, sockets, pipes.
    pub unforkable_state: Vec<String>,
    /// Why this sandbox must not be used again.
    pub unusable_reason: Option<String>,
}

impl InitReport {
    /// The violations that the harness reported: kind and detail of each.
    pub(crate) fn parse_reported_violations(&self) -> impl Iterator<Item = (String, String)> {
        self.reported_violations.iter().filter_map(|bytes| {
            let reported = MarshalValue::parse(bytes).ok()?;
            let [what, detail] = reported.items() else { return None };
            Some((what.as_text()?, detail.as_text()?))
        })
    }

    /// Whether init or the guest's interpreter saw a violation of this kind.
    pub(crate) fn has_violation(&self, kind: &str) -> bool {
        self.violations.iter().any(|violation| violation.kind == kind)
            || self.parse_reported_violations().any(|(what, _)| what == kind)
    }
}

/// The kinds of violation of a guest that lies, and of an import that changed the harness.
pub(crate) const FORGED_REPORT: &str = "forged_report";
pub(crate) const PATCHED_HARNESS: &str = "patched_harness";

/// How far a call came, from a byte in the mailbox; untrusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum ReportState {
    #[default]
    Empty,
    Running,
    /// From here on the section has ended: it has returned, or raised.
    ShortReport,
    FullReport,
    Corrupted,
}

impl ReportState {
    pub(crate) fn from_byte(byte: u8) -> Self {
        let written = [Self::Empty, Self::Running, Self::ShortReport, Self::FullReport];
        written.get(usize::from(byte)).copied().unwrap_or(Self::Corrupted)
    }
}

/// How far the steps of a call came, and their reports in the mailbox; untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepProgress {
    pub begun: u32,
    /// The last begun step had ended, and its result was being released.
    pub releasing_result: bool,
    /// Pairs of a length and a step report.
    pub entries: Vec<u8>,
}

/// Why init killed the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum KillReason {
    Deadline,
    Cpu,
    Memory,
    Disk,
    /// The `timeout` fault, before the deadline.
    EarlyKill,
}

/// The beginning of an output stream, and its full length.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CapturedStream {
    pub bytes: Vec<u8>,
    pub total_bytes: u64,
}

//! The outcome of a call.
//!
//! Everything from the guest is untrusted text: bounded, never evaluated, and to be escaped before
//! it is shown on a terminal.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use crate::{CallStepReport, FaultMode, Limit, LimitEnforcement, Value, Verdict};

/// How a call, or one step of it, ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    pub verdict: Verdict,
    /// A sentence that explains the verdict, where the word alone is not clear.
    pub reason: Option<String>,
    /// The last stage that was reached.
    pub stage: CallStage,
    /// The returned value. In a step it is truncated more than in a call, and only small values
    /// have a typed copy.
    pub value: Option<ReturnedValue>,
    pub exception: Option<RaisedException>,
}

impl CallResult {
    /// A result with verdict and stage only.
    pub fn new(verdict: Verdict, stage: CallStage) -> Self {
        Self { verdict, reason: None, stage, value: None, exception: None }
    }
}

/// Everything known about one call once it is over.
///
/// Dereferences to its result, so that `outcome.verdict` is the verdict of the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Flattened in JSON.
    #[serde(flatten)]
    pub result: CallResult,
    pub exit: ProcessExit,
    pub stdout: StreamOutput,
    pub stderr: StreamOutput,
    pub runtime_metrics: RuntimeMetrics,
    pub files: TouchedFiles,
    #[serde(alias = "left")]
    pub leaked: LeakedResources,
    #[serde(alias = "changed")]
    pub state_changes: StateChanges,
    /// Attempts that the policy forbids.
    pub violations: Vec<PolicyViolation>,
    pub enforced_by: LimitEnforcement,
    /// Limits that were requested and that nothing on this machine can enforce.
    pub unenforced: Vec<Limit>,
    /// For each requested fault, how often it was injected.
    #[serde(alias = "felt")]
    pub fault_stats: Vec<FaultStats>,
    /// The result of a concurrency burst, when one was requested.
    pub burst: Option<BurstReport>,
    /// Requests to upstreams and their answers, when upstreams were mocked.
    pub upstream: Option<UpstreamReport>,
    /// Lines and branches of the repository that were reached, when requested.
    pub coverage: Option<CallCoverage>,
    /// The result of each step of a shared-process run, up to the one that ended the process. The
    /// verdict then says whether all steps were made, whatever they raised; every other field
    /// concerns all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<CallStepReport>,
    /// Where code of the repository was when the call was killed, or when a generator was
    /// abandoned.
    #[serde(alias = "stood", default, skip_serializing_if = "Option::is_none")]
    pub hang_location: Option<HangLocation>,
    /// Remarks: what could not be described, what was truncated.
    pub notes: Vec<String>,
}

impl Outcome {
    /// An outcome with verdict and stage only.
    pub fn new(verdict: Verdict, stage: CallStage) -> Self {
        Self::of_result(CallResult::new(verdict, stage))
    }

    /// An outcome with a result only.
    pub fn of_result(result: CallResult) -> Self {
        Self {
            result,
            exit: ProcessExit::default(),
            stdout: StreamOutput::default(),
            stderr: StreamOutput::default(),
            runtime_metrics: RuntimeMetrics::default(),
            files: TouchedFiles::default(),
            leaked: LeakedResources::default(),
            state_changes: StateChanges::default(),
            violations: Vec::new(),
            enforced_by: LimitEnforcement::new(),
            unenforced: Vec::new(),
            fault_stats: Vec::new(),
            burst: None,
            upstream: None,
            coverage: None,
            steps: Vec::new(),
            hang_location: None,
            notes: Vec::new(),
        }
    }
}

impl Deref for Outcome {
    type Target = CallResult;

    fn deref(&self) -> &CallResult {
        &self.result
    }
}

impl DerefMut for Outcome {
    fn deref_mut(&mut self) -> &mut CallResult {
        &mut self.result
    }
}

/// How often one fault was injected into a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultStats {
    pub mode: FaultMode,
    /// How often the fault could have been injected.
    #[serde(alias = "offered")]
    pub opportunities: u64,
    #[serde(alias = "struck")]
    pub injected: u64,
    /// What the first injection hit, described.
    #[serde(alias = "first")]
    pub first_injected: Option<String>,
    /// Time of the last injection, since the start of the section.
    #[serde(alias = "last_ms")]
    pub last_injected_ms: Option<f64>,
}

/// Where code of the repository was when it crashed or was killed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HangLocation {
    /// Frames that every sample of the stack had in common, innermost last.
    pub frames: Vec<StackFrame>,
    /// Further lines of one function, called by the last of these frames, at which samples were
    /// taken: the lines of a loop, in ascending order.
    #[serde(alias = "among")]
    pub loop_frames: Vec<StackFrame>,
}

/// The result of a concurrency burst, compared with sequential runs of the same call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BurstReport {
    pub threads_spawned: u64,
    pub tasks_spawned: u64,
    pub finished: u64,
    /// Whether some runs never ended.
    pub deadlocked: bool,
    /// Where one of the runs that never ended waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_at: Option<StackFrame>,
    /// Types of exceptions that sequential runs do not raise.
    pub raised: Vec<String>,
    /// How many different results there were.
    pub distinct_results: u64,
    /// Whether a result differs from that of sequential runs.
    pub differs: bool,
}

/// The requests of a call to upstreams, and the answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UpstreamReport {
    pub requests: Vec<UpstreamRequest>,
    /// Requests without a timeout that got no answer, and would have waited for ever.
    pub without_timeout: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamRequest {
    /// `GET http://host/path`, or `tcp host:port`.
    #[serde(alias = "what")]
    pub request: String,
    /// `200`, `503`, `garbage`, `refused`, `silence` …
    pub answer: String,
}

/// The lines and branches that a call reached, by file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CallCoverage {
    pub files: Vec<FileCoverage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileCoverage {
    /// Relative to the repository.
    pub file: String,
    /// In ascending order.
    pub lines: Vec<u32>,
    /// Pairs of lines, from and to, in ascending order.
    pub branches: Vec<(u32, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStage {
    /// The module was being imported.
    Import,
    /// The qualified name was being resolved.
    Resolve,
    /// The receiver was being constructed.
    Construct,
    /// The arguments were being built.
    Arguments,
    Call,
    /// A returned generator, coroutine or context manager was being run to its end.
    Consume,
}

/// What a section returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReturnedValue {
    /// Full name of the type.
    #[serde(rename = "type")]
    pub kind: String,
    pub repr: String,
    pub truncated: bool,
    /// The length, if the value has one.
    pub length: Option<u64>,
    /// 32 hexadecimal digits, which are equal for equal results.
    pub hash: Option<String>,
    /// A typed copy, if the value is small and of plain types.
    pub value: Option<Value>,
    /// Number of items taken from a generator.
    pub items: Option<u64>,
    /// Whether the generator had more items.
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaisedException {
    /// Full name of the type.
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
    /// Full names of its base classes, nearest first.
    pub bases: Vec<String>,
    /// Whether a `raise` statement raised it; `assert`, Python itself and libraries do not count.
    pub explicit: bool,
    /// Frames, innermost last.
    pub frames: Vec<StackFrame>,
    pub errno: Option<i32>,
    /// The exception that this one was raised from, or during.
    pub cause: Option<Box<RaisedException>>,
    /// The exceptions of an exception group.
    pub group: Vec<RaisedException>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackFrame {
    /// Path relative to the repository if it is in there, else absolute.
    pub file: String,
    pub line: u32,
    pub function: String,
    /// Whether the file belongs to the repository.
    #[serde(alias = "own")]
    pub in_repository: bool,
}

/// How the process of the call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ProcessExit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

/// An output stream: its beginning, and its full length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct StreamOutput {
    pub text: String,
    pub bytes: u64,
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct RuntimeMetrics {
    /// Time of the section if the harness reported it, else of the whole call.
    pub wall_ms: f64,
    pub user_cpu_ms: f64,
    pub system_cpu_ms: f64,
    /// From the request to the end of the last process, including the sandbox's own work.
    pub total_ms: f64,
    /// Memory in addition to what the imported module uses.
    pub peak_memory_bytes: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

/// Files that the call created, changed or deleted in the repository, its home and its temporary
/// directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct TouchedFiles {
    pub touched: Vec<TouchedFile>,
    /// Number of these files, which may exceed the list.
    pub total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TouchedFile {
    /// Relative path in the repository, else an absolute path.
    pub path: String,
    #[serde(alias = "what")]
    pub change: FileChangeKind,
    pub bytes: u64,
    /// Hash of the content, 32 hexadecimal digits. `None` for anything but a regular file, for
    /// files above 64 KiB, unreadable or unchanged files and SQLite databases, and beyond the limit
    /// of files.
    pub hash: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    Created,
    Changed,
    Deleted,
}

/// Resources that the call left behind. The sandbox has removed all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct LeakedResources {
    pub threads: Vec<String>,
    pub processes: Vec<String>,
    pub descriptors: Vec<String>,
}

/// State of the interpreter that the call has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct StateChanges {
    pub environment: Vec<String>,
    pub working_directory: Option<String>,
    pub modules_loaded: u64,
    pub signals: Vec<i32>,
    pub recursion_limit: Option<i64>,
    /// Parameters whose default value has changed, which would affect the next call.
    pub defaults: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PolicyViolation {
    /// A `ViolationKind` of the sandbox, such as `file`, `network`, `signal`, `trace` or `mount`;
    /// `processes` for the limit on processes, `forged_report` for a report that contradicts what
    /// init saw, `patched_harness` for an import that changed the guest harness.
    #[serde(alias = "what")]
    pub kind: String,
    pub detail: String,
}

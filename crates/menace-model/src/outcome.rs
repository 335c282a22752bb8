//! What is known about a call once it is over.
//!
//! Everything that comes from the guest is untrusted text: bounded, never evaluated, and to be
//! cleaned of control characters before a terminal sees it.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use crate::{CallStepReport, FaultMode, Limit, LimitEnforcement, Value, Verdict};

/// How a call ended, or one step of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    pub verdict: Verdict,
    /// The verdict in a sentence, when there is more to say than the word does.
    pub reason: Option<String>,
    /// The last stage that was reached.
    pub stage: CallStage,
    /// That of a step is cut shorter than that of a call, with a typed copy only of what is small.
    pub value: Option<ReturnedValue>,
    pub exception: Option<RaisedException>,
}

impl CallResult {
    /// A result of which only verdict and stage are known.
    pub fn new(verdict: Verdict, stage: CallStage) -> Self {
        Self { verdict, reason: None, stage, value: None, exception: None }
    }
}

/// Everything known about one call once it is over.
///
/// Dereferences to its result, so that `outcome.verdict` is the verdict of the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Its fields stand beside the others in JSON.
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
    /// What the call tried that the policy forbids.
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
    /// The result of each section of a shared-process run, up to the one that ended the process.
    /// The verdict then says whether all steps were made, whatever they raised; every other field
    /// is about all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<CallStepReport>,
    /// Where the repository's code was when the call was killed, or when a generator was abandoned.
    #[serde(alias = "stood", default, skip_serializing_if = "Option::is_none")]
    pub hang_location: Option<HangLocation>,
    /// Remarks about this outcome: what could not be described, what was cut.
    pub notes: Vec<String>,
}

impl Outcome {
    /// An outcome of which only verdict and stage are known.
    pub fn new(verdict: Verdict, stage: CallStage) -> Self {
        Self::of_result(CallResult::new(verdict, stage))
    }

    /// An outcome of which only the result is known.
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

/// How often one kind of fault was injected into a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultStats {
    pub mode: FaultMode,
    /// How often the fault could have been injected.
    #[serde(alias = "offered")]
    pub opportunities: u64,
    #[serde(alias = "struck")]
    pub injected: u64,
    /// What the first injection hit, in words.
    #[serde(alias = "first")]
    pub first_injected: Option<String>,
    /// When the last one was injected, after the start of the section.
    #[serde(alias = "last_ms")]
    pub last_injected_ms: Option<f64>,
}

/// Where code was that crashed, or that had to be stopped: frames of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HangLocation {
    /// Frames that every sample of the stack had in common, innermost last.
    pub frames: Vec<StackFrame>,
    /// Further lines of one function, called by the last of these, on which samples were: the lines
    /// of a loop. In ascending order.
    #[serde(alias = "among")]
    pub loop_frames: Vec<StackFrame>,
}

/// The result of a concurrency burst, compared with one run of the same call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BurstReport {
    pub threads_spawned: u64,
    pub tasks_spawned: u64,
    pub finished: u64,
    /// Some runs never ended.
    pub deadlocked: bool,
    /// Where one of those runs waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_at: Option<StackFrame>,
    /// Types of exceptions that a single run does not raise.
    pub raised: Vec<String>,
    /// How many different results there were.
    pub distinct_results: u64,
    /// Some result differs from that of a single run.
    pub differs: bool,
}

/// The requests of a call to upstreams, and their answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UpstreamReport {
    pub requests: Vec<UpstreamRequest>,
    /// Requests without a timeout that got no answer: they would have waited for ever.
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

/// Lines and branches that a call reached, by file.
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
    /// From line to line, in ascending order.
    pub branches: Vec<(u32, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStage {
    /// The module was being imported.
    Import,
    /// The name was being looked up.
    Resolve,
    /// The instance was being built.
    Construct,
    /// The arguments were being built.
    Arguments,
    Call,
    /// A generator, coroutine or context manager was being used up.
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
    /// Length, for what has one.
    pub length: Option<u64>,
    /// Equal for equal results; 32 hexadecimal digits.
    pub hash: Option<String>,
    /// A typed copy, when it is small and of plain types.
    pub value: Option<Value>,
    /// Items taken from a generator.
    pub items: Option<u64>,
    /// The generator had more items than were taken.
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaisedException {
    /// Full name of the type.
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
    /// Full names of the classes that it is derived from, nearest first.
    pub bases: Vec<String>,
    /// A `raise` statement raised it on purpose; `assert`, Python itself and libraries do not
    /// count.
    pub explicit: bool,
    /// Innermost last.
    pub frames: Vec<StackFrame>,
    pub errno: Option<i32>,
    /// The exception that this one was raised from, or during.
    pub cause: Option<Box<RaisedException>>,
    /// What else an exception group holds.
    pub group: Vec<RaisedException>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackFrame {
    /// Relative to the repository when it is in there.
    pub file: String,
    pub line: u32,
    pub function: String,
    /// The file belongs to the repository.
    #[serde(alias = "own")]
    pub in_repository: bool,
}

/// How the process of the call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ProcessExit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

/// A stream: its beginning, and how much there was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct StreamOutput {
    pub text: String,
    pub bytes: u64,
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct RuntimeMetrics {
    /// Of the section only when the harness reported it, else of the whole call.
    pub wall_ms: f64,
    pub user_cpu_ms: f64,
    pub system_cpu_ms: f64,
    /// From the request to the end of the last process: what the sandbox adds is in here.
    pub total_ms: f64,
    /// Beyond what the imported module takes.
    pub peak_memory_bytes: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

/// What the call did to files: the repository, its home, its temporary directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct TouchedFiles {
    pub touched: Vec<TouchedFile>,
    /// How many there were; more than listed when the list was cut.
    pub total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TouchedFile {
    /// Relative for the repository, else absolute.
    pub path: String,
    #[serde(alias = "what")]
    pub change: FileChangeKind,
    pub bytes: u64,
    /// Hash of the content, 32 hexadecimal digits. `None` for what is not a regular file, exceeds
    /// 64 KiB, could not be read, is unchanged or is a SQLite database, and past the limit of
    /// files.
    pub hash: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    Created,
    Changed,
    Deleted,
}

/// What the call left behind. The sandbox has removed all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct LeakedResources {
    pub threads: Vec<String>,
    pub processes: Vec<String>,
    pub descriptors: Vec<String>,
}

/// State of the interpreter that differs from before the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct StateChanges {
    pub environment: Vec<String>,
    pub working_directory: Option<String>,
    pub modules_loaded: u64,
    pub signals: Vec<i32>,
    pub recursion_limit: Option<i64>,
    /// Parameters whose default value is not what it was: the next call would see it.
    pub defaults: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PolicyViolation {
    /// A word of the sandbox's `ViolationKind`, such as `file`, `network`, `signal`, `trace` or
    /// `mount`; `processes` for the limit on processes, `forged_report` for a report that the
    /// facts contradict, `patched_harness` for an import that changed the guest harness.
    #[serde(alias = "what")]
    pub kind: String,
    pub detail: String,
}

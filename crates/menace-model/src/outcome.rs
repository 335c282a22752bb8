//! What is known about a call once it is over.
//!
//! Everything that comes from the guest is untrusted text: bounded, never evaluated, and to be
//! cleaned of control characters before a terminal sees it.

use serde::{Deserialize, Serialize};

use crate::{EnforcedBy, FaultMode, Limit, StepReport, Value, Verdict};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub verdict: Verdict,
    /// The verdict in a sentence, when there is more to say than the word does.
    pub reason: Option<String>,
    /// How far the call came.
    pub stage: Stage,
    pub value: Option<Returned>,
    pub exception: Option<Raised>,
    pub exit: Exit,
    pub stdout: Output,
    pub stderr: Output,
    pub runtime_metrics: RuntimeMetrics,
    pub files: Files,
    pub left: Left,
    pub changed: Changed,
    /// What it tried that the policy forbids.
    pub violations: Vec<Violation>,
    pub enforced_by: EnforcedBy,
    /// Limits that were asked for and that nothing here can hold.
    pub unenforced: Vec<Limit>,
    /// Faults that were asked for, and how often they struck.
    pub felt: Vec<Felt>,
    /// What came of running the section in company of itself.
    pub burst: Option<BurstReport>,
    /// What it asked of others, when there were answers for it.
    pub upstream: Option<UpstreamReport>,
    /// What was reached of the repository's code, when that was asked for.
    pub coverage: Option<Coverage>,
    /// What came of each of several sections that were called together, up to the one that ended the
    /// process. The verdict then says whether all of them were gone through, whatever they raised,
    /// and everything else is about all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepReport>,
    /// Where the repository's code was, of a call that did not live to tell, and of a generator that was not
    /// taken to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stood: Option<Stood>,
    /// Oddities: what could not be described, what was cut.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Nothing happened but this.
    pub fn of(verdict: Verdict, stage: Stage) -> Self {
        Self {
            verdict,
            reason: None,
            stage,
            value: None,
            exception: None,
            exit: Exit::default(),
            stdout: Output::default(),
            stderr: Output::default(),
            runtime_metrics: RuntimeMetrics::default(),
            files: Files::default(),
            left: Left::default(),
            changed: Changed::default(),
            violations: Vec::new(),
            enforced_by: EnforcedBy::new(),
            unenforced: Vec::new(),
            felt: Vec::new(),
            burst: None,
            upstream: None,
            coverage: None,
            steps: Vec::new(),
            stood: None,
            notes: Vec::new(),
        }
    }
}

/// What a call felt of one kind of fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Felt {
    pub mode: FaultMode,
    /// Opportunities that the call gave.
    pub offered: u64,
    pub struck: u64,
    /// What the first strike hit, in words.
    pub first: Option<String>,
    /// When the last one struck, after the start of the section.
    pub last_ms: Option<f64>,
}

/// Where code was that crashed, or that had to be stopped: frames of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stood {
    /// Where it was each time that it was looked at, innermost last.
    pub frames: Vec<Frame>,
    /// Lines of one function, called by the last of these, where it was besides: what goes round is not
    /// always on the same one. In ascending order.
    pub among: Vec<Frame>,
}

/// What came of many runs of a section at once, compared with one run alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BurstReport {
    pub threads_spawned: u64,
    pub tasks_spawned: u64,
    pub finished: u64,
    /// Some never came to an end.
    pub deadlocked: bool,
    /// Where one of these waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_at: Option<Frame>,
    /// Types of the exceptions that a run alone does not raise.
    pub raised: Vec<String>,
    /// How many different results there were.
    pub distinct_results: u64,
    /// Some result is not that of a run alone.
    pub differs: bool,
}

/// What a section asked of others, and what it was told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UpstreamReport {
    pub requests: Vec<Asked>,
    /// How often it would have waited for ever: no answer came, and it had set no timeout.
    pub without_timeout: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// `GET http://host/path`, or `tcp host:port`.
    pub what: String,
    /// `200`, `503`, `garbage`, `refused`, `silence` …
    pub answer: String,
}

/// Lines and branches that a call reached, by file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
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
pub enum Stage {
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
pub struct Returned {
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
pub struct Raised {
    /// Full name of the type.
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
    /// Full names of the classes that it is derived from, nearest first.
    pub bases: Vec<String>,
    /// A `raise` statement raised it: somebody meant it. Not so for `assert` and for what Python or
    /// a library finds by itself.
    pub explicit: bool,
    /// Innermost last.
    pub frames: Vec<Frame>,
    pub errno: Option<i32>,
    /// The exception that this one was raised from, or during.
    pub cause: Option<Box<Raised>>,
    /// What else an exception group holds.
    pub group: Vec<Raised>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Relative to the repository when it is in there.
    pub file: String,
    pub line: u32,
    pub function: String,
    /// The file belongs to the repository.
    pub own: bool,
}

/// How the process of the call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

/// A stream: its beginning, and how much there was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Output {
    pub text: String,
    pub bytes: u64,
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct RuntimeMetrics {
    /// Of the section alone when the harness lived to tell, else of the whole call.
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
pub struct Files {
    pub touched: Vec<Touched>,
    /// How many there were; more than listed when the list was cut.
    pub total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Touched {
    /// Relative for the repository, else absolute.
    pub path: String,
    pub what: FileChange,
    pub bytes: u64,
    /// Of what is in it now, equal for equal content; 32 hexadecimal digits. Nothing for what is no
    /// file, has more than 64 KiB, could not be read, is what it was, or is a database of SQLite; nor
    /// for the rest of very many.
    pub hash: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    Created,
    Changed,
    Deleted,
}

/// What the call left behind; all of it is gone by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Left {
    pub threads: Vec<String>,
    pub processes: Vec<String>,
    pub descriptors: Vec<String>,
}

/// State of the interpreter that differs from before the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Changed {
    pub environment: Vec<String>,
    pub working_directory: Option<String>,
    pub modules_loaded: u64,
    pub signals: Vec<i32>,
    pub recursion_limit: Option<i64>,
    /// Parameters whose default value is not what it was: the next call would see it.
    pub defaults: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Violation {
    /// `file`, `network`, `processes`, or the name of a system call.
    pub what: String,
    pub detail: String,
}

//! What a call has to cope with beside its limits: a bad network, faults, company.
//!
//! Which of it a preset asks for is `menace-scenario`'s business, making it happen the sandbox's.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Everything that makes a call's life hard. The default is an untroubled one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Conditions {
    pub network: Network,
    pub faults: Vec<Fault>,
    /// The section runs in company of itself.
    pub burst: Option<Burst>,
    /// Answers for code that calls out.
    pub upstream: Option<Upstream>,
}

impl Conditions {
    pub fn is_untroubled(&self) -> bool {
        *self == Self::default()
    }
}

/// The link between the call and whomever it talks to; each figure is one way.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Network {
    pub latency_ms: f64,
    /// Latency varies by so much in both directions.
    pub jitter_ms: f64,
    /// Share of packets that get lost, 0 to 1.
    pub loss: f64,
    /// Share of packets that arrive twice, 0 to 1.
    pub duplication: f64,
    pub bits_per_second: Option<u64>,
    /// Who cannot be reached.
    pub partition: Vec<Peer>,
}

impl Network {
    pub fn is_perfect(&self) -> bool {
        *self == Self::default()
    }
}

/// Somebody on the network; what is not given matches all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Peer {
    /// A name or an address.
    pub host: Option<String>,
    pub port: Option<u16>,
}

/// What goes wrong below the section's feet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultMode {
    /// The disk is full, slow, or fails to read.
    Disk,
    /// Bits are flipped in what is written.
    DiskCorruption,
    /// Connections fail, packets get lost, the link is slow.
    Network,
    /// Some hosts or ports cannot be reached.
    NetworkPartition,
    /// Only a share of a processor.
    Cpu,
    /// Moments in which others take the processor.
    CpuSpike,
    /// Allocations fail.
    Memory,
    /// Killed before its time.
    Timeout,
    /// Data has another shape than before.
    SchemaDrift,
    /// Whoever is called refuses, falls silent, or answers nonsense.
    FlakyUpstream,
}

impl FaultMode {
    pub const ALL: [Self; 10] = [
        Self::Disk,
        Self::DiskCorruption,
        Self::Network,
        Self::NetworkPartition,
        Self::Cpu,
        Self::CpuSpike,
        Self::Memory,
        Self::Timeout,
        Self::SchemaDrift,
        Self::FlakyUpstream,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::DiskCorruption => "disk_corruption",
            Self::Network => "network",
            Self::NetworkPartition => "network_partition",
            Self::Cpu => "cpu",
            Self::CpuSpike => "cpu_spike",
            Self::Memory => "memory",
            Self::Timeout => "timeout",
            Self::SchemaDrift => "schema_drift",
            Self::FlakyUpstream => "flaky_upstream",
        }
    }
}

impl fmt::Display for FaultMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One kind of fault and when it strikes; everything else about it comes from the call's seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    pub mode: FaultMode,
    pub when: When,
}

/// An opportunity is a system call, a packet, a moment or a file that the fault could spoil.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// At this opportunity only, counted from one.
    Nth(u64),
    /// At this share of the opportunities, 0 to 1.
    Rate(f64),
}

/// How often the section runs at once, with the same instance and the same arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Burst {
    /// `THREAD_BURST`.
    pub threads: u32,
    /// `ASYNC_TASK_BURST`; for what is async.
    pub tasks: u32,
}

/// Who answers when the section calls out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Upstream {
    /// The first that fits answers.
    pub mocks: Vec<Mock>,
    /// Whoever has no answer of their own gets an empty one; otherwise they cannot be reached.
    pub answer_all: bool,
    /// How a flaky one fails; in any of the ways when not given.
    #[serde(default)]
    pub failure: Option<UpstreamFailure>,
}

impl Upstream {
    /// Everybody answers, with nothing in particular.
    pub fn answering() -> Self {
        Self { answer_all: true, ..Self::default() }
    }
}

/// How a service fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamFailure {
    Refused,
    Reset,
    /// It takes the question and says nothing.
    Silence,
    ServerError,
    BadGateway,
    Unavailable,
    Garbage,
    Truncated,
    Html,
    /// Well-formed, and something else than was asked for.
    WrongShape,
}

impl UpstreamFailure {
    pub const ALL: [Self; 10] = [
        Self::Refused,
        Self::Reset,
        Self::Silence,
        Self::ServerError,
        Self::BadGateway,
        Self::Unavailable,
        Self::Garbage,
        Self::Truncated,
        Self::Html,
        Self::WrongShape,
    ];

    /// As outcomes name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Silence => "silence",
            Self::ServerError => "500",
            Self::BadGateway => "502",
            Self::Unavailable => "503",
            Self::Garbage => "garbage",
            Self::Truncated => "truncated",
            Self::Html => "html",
            Self::WrongShape => "wrong shape",
        }
    }
}

/// A recorded or invented answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mock {
    /// Any when not given.
    pub method: Option<String>,
    /// With `*` for any text.
    pub url: String,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub delay_ms: u64,
    /// How often it answers; always when not given.
    pub times: Option<u32>,
}

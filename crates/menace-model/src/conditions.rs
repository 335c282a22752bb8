//! What a call runs under beside its limits: network conditions, faults, a concurrency burst.
//!
//! `menace-scenario` makes conditions from presets; `menace-sandbox` applies them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Network, faults, burst and upstream of one call. The default is fault-free.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CallConditions {
    pub network: NetworkConditions,
    pub faults: Vec<FaultSpec>,
    /// The section runs several times at once.
    pub burst: Option<ConcurrencyBurst>,
    /// Answers for code that calls out.
    pub upstream: Option<UpstreamConfig>,
}

impl CallConditions {
    pub fn is_fault_free(&self) -> bool {
        *self == Self::default()
    }

    /// What there is of it, for people.
    pub fn describe(&self) -> Vec<String> {
        let Self { network, faults, burst, upstream } = self;
        let mut lines: Vec<String> = Vec::new();
        if let Some(burst) = burst {
            let (threads, tasks) = (burst.threads, burst.tasks);
            lines.push(format!("at once in {threads} threads, {tasks} tasks"));
        }
        lines.extend(faults.iter().map(|fault| format!("fault: {}", fault.mode.as_str())));
        if !network.is_perfect() {
            lines.push(format!("network: {}", network.describe().join(", ")));
        }
        if let Some(failure) = upstream.as_ref().and_then(|upstream| upstream.failure) {
            lines.push(format!("upstream fails: {failure:?}").to_lowercase());
        }
        lines
    }
}

/// The link between the call and its upstreams; each figure is one way.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NetworkConditions {
    pub latency_ms: f64,
    /// Latency varies by so much in both directions.
    pub jitter_ms: f64,
    /// Share of packets that get lost, 0 to 1.
    pub loss: f64,
    /// Share of packets that arrive twice, 0 to 1.
    pub duplication: f64,
    pub bits_per_second: Option<u64>,
    /// Peers that cannot be reached.
    pub partition: Vec<PartitionPeer>,
}

impl NetworkConditions {
    pub fn is_perfect(&self) -> bool {
        *self == Self::default()
    }

    /// What is not perfect about it, for people.
    fn describe(&self) -> Vec<String> {
        let Self { latency_ms, jitter_ms, loss, duplication, bits_per_second, partition } = self;
        let mut lines = Vec::new();
        let mut add = |is_set: bool, words: String| lines.extend(is_set.then_some(words));
        add(*latency_ms > 0.0, format!("{latency_ms:.0} ms latency"));
        add(*jitter_ms > 0.0, format!("{jitter_ms:.0} ms jitter"));
        add(*loss > 0.0, format!("{:.1} % loss", 100.0 * loss));
        add(*duplication > 0.0, format!("{:.1} % duplicated", 100.0 * duplication));
        lines.extend(bits_per_second.map(|bits| format!("{bits} bits per second")));
        for peer in partition {
            let host = peer.host.as_deref().unwrap_or("every host");
            let port = peer.port.map_or(String::new(), |port| format!(":{port}"));
            lines.push(format!("{host}{port} cannot be reached"));
        }
        lines
    }
}

/// A host, a port or both that cannot be reached; what is not given matches all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PartitionPeer {
    /// A name or an address.
    pub host: Option<String>,
    pub port: Option<u16>,
}

/// As users write it: `db.example`, `10.0.0.7:5432`, `[::1]:80` or `:443`.
impl fmt::Display for PartitionPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.host, self.port) {
            (Some(host), Some(port)) if host.contains(':') => write!(f, "[{host}]:{port}"),
            (Some(host), Some(port)) => write!(f, "{host}:{port}"),
            (Some(host), None) => f.write_str(host),
            (None, port) => write!(f, ":{}", port.unwrap_or_default()),
        }
    }
}

crate::named_enum! {
    /// The kinds of faults that the sandbox injects.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FaultMode {
        /// The disk is full, slow, or fails to read.
        Disk = "disk",
        /// Bits are flipped in what is written.
        DiskCorruption = "disk_corruption",
        /// Connections fail, packets get lost, the link is slow.
        Network = "network",
        /// Some hosts or ports cannot be reached.
        NetworkPartition = "network_partition",
        /// Only a share of a processor.
        Cpu = "cpu",
        /// Pauses in which the call gets no processor.
        CpuSpike = "cpu_spike",
        /// Allocations fail.
        Memory = "memory",
        /// The call is killed before its timeout.
        Timeout = "timeout",
        /// Data has another shape than before.
        SchemaDrift = "schema_drift",
        /// An upstream refuses, does not answer, or answers nonsense.
        FlakyUpstream = "flaky_upstream",
    }
}

/// What `FAILURE_MODES` may name: an injected fault, a concurrency burst, or bad inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureMode {
    Fault(FaultMode),
    /// The section runs in several threads or tasks at once.
    ConcurrencySpike,
    /// Inputs that are made to do harm.
    HostileInput,
    /// Inputs that no well-meaning caller passes.
    UserMisuse,
}

impl FailureMode {
    /// In the documented order, which generated presets draw from.
    pub const ALL: [Self; 13] = [
        Self::Fault(FaultMode::Disk),
        Self::Fault(FaultMode::DiskCorruption),
        Self::Fault(FaultMode::Network),
        Self::Fault(FaultMode::NetworkPartition),
        Self::Fault(FaultMode::Cpu),
        Self::Fault(FaultMode::CpuSpike),
        Self::ConcurrencySpike,
        Self::Fault(FaultMode::Memory),
        Self::Fault(FaultMode::Timeout),
        Self::HostileInput,
        Self::UserMisuse,
        Self::Fault(FaultMode::SchemaDrift),
        Self::Fault(FaultMode::FlakyUpstream),
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fault(fault) => fault.as_str(),
            Self::ConcurrencySpike => "concurrency_spike",
            Self::HostileInput => "hostile_input",
            Self::UserMisuse => "user_misuse",
        }
    }
}

impl fmt::Display for FailureMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

crate::named_enum! {
    /// How hard a scenario is on the code.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ScenarioSeverity {
        Low = "low",
        High = "high",
    }
}

impl ScenarioSeverity {
    /// The severity of this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(name.trim()))
    }
}

/// One kind of fault and when it is injected; the rest comes from the call's seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FaultSpec {
    pub mode: FaultMode,
    #[serde(alias = "when")]
    pub trigger: FaultTrigger,
}

/// An opportunity is a system call, a packet, a moment or a file that the fault could hit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultTrigger {
    /// At this opportunity only, counted from one.
    Nth(u64),
    /// At this share of the opportunities, 0 to 1.
    Rate(f64),
}

/// How often the section runs at once, with the same instance and the same arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConcurrencyBurst {
    /// `THREAD_BURST`.
    pub threads: u32,
    /// `ASYNC_TASK_BURST`; for what is async.
    pub tasks: u32,
}

/// What answers when the section calls an upstream.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UpstreamConfig {
    /// The first mock that matches the request answers it.
    pub mocks: Vec<MockResponse>,
    /// Requests that no mock matches get an empty answer; otherwise their host is unreachable.
    pub answer_all: bool,
    /// How a flaky one fails; in any of the ways when not given.
    #[serde(default)]
    pub failure: Option<UpstreamFailure>,
}

impl UpstreamConfig {
    /// Every request gets an empty answer.
    pub fn with_default_answers() -> Self {
        Self { answer_all: true, ..Self::default() }
    }
}

crate::named_enum! {
    /// How a service fails.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum UpstreamFailure {
        Refused = "refused",
        Reset = "reset",
        /// It accepts the request and never answers.
        #[serde(alias = "silence")]
        NoResponse = "silence",
        ServerError = "500",
        BadGateway = "502",
        Unavailable = "503",
        Garbage = "garbage",
        Truncated = "truncated",
        Html = "html",
        /// Well-formed, and something else than was asked for.
        WrongShape = "wrong shape",
    }
}

/// A recorded or invented answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MockResponse {
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

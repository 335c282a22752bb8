//! The conditions of a call beside its limits: network conditions, faults, a concurrency burst.
//!
//! `menace-scenario` derives conditions from presets; `menace-sandbox` applies them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Network, faults, burst and upstream of one call. The default is fault-free.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CallConditions {
    pub network: NetworkConditions,
    pub faults: Vec<FaultSpec>,
    /// Runs the section several times concurrently.
    pub burst: Option<ConcurrencyBurst>,
    /// How requests to upstreams are answered.
    pub upstream: Option<UpstreamConfig>,
}

impl CallConditions {
    pub fn is_fault_free(&self) -> bool {
        *self == Self::default()
    }

    /// Describes each condition in words, for display.
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

/// Conditions of the link between the call and its upstreams; each figure is for one direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NetworkConditions {
    pub latency_ms: f64,
    /// The largest deviation from the latency, in both directions.
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

    /// Describes the properties that are not perfect, for display.
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

/// A host, a port or both that cannot be reached; `None` matches every host or port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PartitionPeer {
    /// A name or an address.
    pub host: Option<String>,
    pub port: Option<u16>,
}

/// The notation for users: `db.example`, `10.0.0.7:5432`, `[::1]:80` or `:443`.
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
        /// The call gets only a share of a processor.
        Cpu = "cpu",
        /// Pauses in which the call gets no processor.
        CpuSpike = "cpu_spike",
        /// Allocations fail.
        Memory = "memory",
        /// The call is killed before its timeout.
        Timeout = "timeout",
        /// Data has another shape than expected.
        SchemaDrift = "schema_drift",
        /// An upstream refuses, does not answer, or answers with garbage.
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
    /// In the documented order; generated presets choose by index.
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
    /// How severe the conditions of a scenario are.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ScenarioSeverity {
        Low = "low",
        High = "high",
    }
}

impl ScenarioSeverity {
    /// The severity of this name, ignoring case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(name.trim()))
    }
}

/// One kind of fault, and when it is injected; the call's seed determines everything else.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FaultSpec {
    pub mode: FaultMode,
    #[serde(alias = "when")]
    pub trigger: FaultTrigger,
}

/// When a fault is injected. An opportunity is a system call, a packet, a moment or a file that the
/// fault could hit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultTrigger {
    /// At this opportunity only, counted from one.
    Nth(u64),
    /// At each opportunity with this probability, 0 to 1.
    Rate(f64),
}

/// How many runs of the section are concurrent, with the same instance and the same arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConcurrencyBurst {
    /// `THREAD_BURST`.
    pub threads: u32,
    /// `ASYNC_TASK_BURST`, for asynchronous sections.
    pub tasks: u32,
}

/// How requests of the section to upstreams are answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UpstreamConfig {
    /// The first mock that matches the request answers it.
    pub mocks: Vec<MockResponse>,
    /// Whether requests that no mock matches get an empty answer; otherwise their host is
    /// unreachable.
    pub answer_all: bool,
    /// How a flaky upstream fails; `None` leaves it to the seed.
    #[serde(default)]
    pub failure: Option<UpstreamFailure>,
}

impl UpstreamConfig {
    /// Answers every request with an empty answer.
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
        /// Accepts the request and never answers.
        #[serde(alias = "silence")]
        NoResponse = "silence",
        ServerError = "500",
        BadGateway = "502",
        Unavailable = "503",
        Garbage = "garbage",
        Truncated = "truncated",
        Html = "html",
        /// Answers with well-formed content of another structure.
        WrongShape = "wrong shape",
    }
}

/// A mocked answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MockResponse {
    /// `None` matches every method.
    pub method: Option<String>,
    /// A pattern in which `*` stands for any text.
    pub url: String,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub delay_ms: u64,
    /// How often it is used; `None` for always.
    pub times: Option<u32>,
}

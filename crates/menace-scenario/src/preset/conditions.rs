//! A preset as the sandbox understands it.

use std::time::Duration;

use menace_model::{
    Burst, Conditions, Fault, FaultMode, Limits, Mock, Network, Peer, Seed, Upstream, When,
};
use menace_settings::{FailureMode, Millis, NetworkPeer, Percent, ScenarioSeverity};

use crate::input::drift::Drift;

use super::{Preset, Values, modes};

const DEFAULT_LEVEL: u8 = 3;

/// What the sandbox around a call must be like: fixed when its interpreter starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isolation {
    /// 1 to 5.
    pub security_level: u8,
    pub safe_mode: bool,
    pub interposed: Interposed,
}

/// Which system calls Menace has to answer itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interposed {
    pub files: bool,
    pub memory: bool,
    pub sockets: bool,
}

impl Preset {
    /// What a call is held to and troubled with; what the preset leaves open comes from the seed.
    pub fn conditions(&self, call_seed: u64) -> (Limits, Conditions) {
        let burst = self.burst();
        let conditions = Conditions {
            network: self.network(Seed(call_seed)),
            faults: self.faults(),
            burst,
            upstream: None,
        };
        let upstream = self.upstream(&conditions);
        (self.limits(burst), Conditions { upstream, ..conditions })
    }

    pub fn isolation(&self) -> Isolation {
        let any = |modes: &[FailureMode]| modes.iter().any(|mode| self.has(*mode));
        let level = self.values.security_level.map(|level| level.get() as u8);
        Isolation {
            security_level: level.unwrap_or(DEFAULT_LEVEL),
            safe_mode: self.values.safe_mode == Some(true),
            interposed: Interposed {
                files: any(&[FailureMode::Disk, FailureMode::DiskCorruption, FailureMode::Timeout]),
                memory: any(&[FailureMode::Memory]),
                sockets: any(&[FailureMode::Network]),
            },
        }
    }

    /// Whether a mode that it has does something beside its other keys.
    pub(super) fn acts(&self, mode: FailureMode) -> bool {
        let of_inputs = modes::implied(mode);
        let is_idle = match mode {
            FailureMode::ConcurrencySpike => self.burst().is_none(),
            // The intensity is the share of hostile inputs; of misuse there is always some.
            FailureMode::HostileInput => self.threat_intensity() <= 0.0,
            _ => false,
        };
        let is_made = of_inputs.is_none_or(|strategy| self.strategies().contains(&strategy));
        self.has(mode) && is_made && !is_idle
    }

    /// How much the schema of arguments and inputs has changed; the share of files and answers is
    /// among the faults.
    pub fn drift(&self) -> Option<Drift> {
        self.has(FailureMode::SchemaDrift).then(|| match self.hardness() {
            ScenarioSeverity::Low => Drift::One,
            ScenarioSeverity::High => Drift::Half,
        })
    }

    /// Of an import that many calls share, under whatever preset: a tight limit of one does not fail
    /// it for all, yet a generous one is meant for it, too.
    pub fn import_limits(&self) -> Limits {
        let (of_call, defaults) = (self.limits(self.burst()), Limits::default());
        Limits {
            timeout_ms: of_call.timeout_ms.max(defaults.timeout_ms),
            cpu_ms: None,
            cpu_share: None,
            memory_bytes: of_call.memory_bytes.max(defaults.memory_bytes),
            disk_bytes: of_call.disk_bytes.max(defaults.disk_bytes),
            // These are the ceilings of all calls too.
            processes: of_call.processes.max(defaults.processes),
            open_files: of_call.open_files.max(defaults.open_files),
            output_bytes: of_call.output_bytes,
            gpus: 0,
        }
    }

    /// Of an import for a single call: it is held to what was asked for, as the call is. What nobody
    /// has set is as in [`Self::import_limits`].
    pub fn own_import_limits(&self) -> Limits {
        let Values { timeout, cpu_limit, memory_limit, disk_limit, .. } = &self.values;
        let (of_call, shared) = (self.limits(self.burst()), self.import_limits());
        Limits {
            timeout_ms: if timeout.is_some() { of_call.timeout_ms } else { shared.timeout_ms },
            cpu_ms: cpu_limit.and(of_call.cpu_ms),
            memory_bytes: memory_limit.map_or(shared.memory_bytes, |_| of_call.memory_bytes),
            disk_bytes: disk_limit.map_or(shared.disk_bytes, |_| of_call.disk_bytes),
            ..shared
        }
    }

    /// Without a word about it, a fault is meant to be felt.
    fn hardness(&self) -> ScenarioSeverity {
        self.severity().unwrap_or(ScenarioSeverity::High)
    }

    fn limits(&self, burst: Option<Burst>) -> Limits {
        let Values {
            timeout,
            cpu_limit,
            memory_limit,
            disk_limit,
            process_limit,
            open_files_limit,
            output_limit,
            gpu_limit,
            ..
        } = &self.values;
        let defaults = Limits::default();
        let processes = process_limit.map_or(defaults.processes, menace_settings::Within::get);
        Limits {
            timeout_ms: timeout.map_or(defaults.timeout_ms, |timeout| millis(timeout.get())),
            cpu_ms: cpu_limit.map(|limit| millis(limit.get())),
            cpu_share: self.cpu_share(),
            memory_bytes: memory_limit.map(|limit| limit.get().bytes()).or(defaults.memory_bytes),
            disk_bytes: disk_limit.map(|limit| limit.get().bytes()).or(defaults.disk_bytes),
            // The burst is Menace's doing, not the section's.
            processes: processes + burst.map_or(0, |burst| burst.threads.into()),
            open_files: open_files_limit.map_or(defaults.open_files, menace_settings::Within::get),
            output_bytes: output_limit.map_or(defaults.output_bytes, |limit| limit.get().bytes()),
            gpus: gpu_limit.map_or(0, menace_settings::Within::get),
        }
    }

    fn cpu_share(&self) -> Option<f64> {
        let given = self.values.cpu_share.map(menace_settings::Processors::count);
        let left = self.has(FailureMode::Cpu).then(|| modes::cpu_share(self.hardness()));
        match (given, left) {
            (Some(given), Some(left)) => Some(given.min(left)),
            (given, left) => given.or(left),
        }
    }

    fn network(&self, seed: Seed) -> Network {
        let Values {
            network_latency_ms, network_jitter_ms, packet_loss, packet_duplication, ..
        } = &self.values;
        let ms = |millis: &Option<Millis>| {
            millis.map_or(0.0, |millis| millis.duration().as_secs_f64() * 1000.0)
        };
        let mut network = Network {
            latency_ms: ms(network_latency_ms),
            jitter_ms: ms(network_jitter_ms),
            loss: packet_loss.map_or(0.0, Percent::fraction),
            duplication: packet_duplication.map_or(0.0, Percent::fraction),
            bits_per_second: self.bits_per_second(seed),
            partition: self.partition().iter().map(peer).collect(),
        };
        if self.has(FailureMode::Network) {
            let (bits, loss) = modes::bad_link(self.hardness());
            network.loss = network.loss.max(loss);
            network.bits_per_second =
                Some(network.bits_per_second.map_or(bits, |given| given.min(bits)));
        }
        network
    }

    /// From the range, by the seed; never above the limit.
    fn bits_per_second(&self, seed: Seed) -> Option<u64> {
        let Values { bandwidth_limit, min_bandwidth, max_bandwidth, .. } = &self.values;
        let limit = bandwidth_limit.map(|rate| rate.get().bits_per_second());
        let min = min_bandwidth.map(|rate| rate.get().bits_per_second());
        let max = max_bandwidth.map(|rate| rate.get().bits_per_second());
        let Some(low) = min.or(max) else { return limit };
        let high = max.or(limit).unwrap_or(low).max(low);
        let mut random = seed.of("bandwidth").random();
        let drawn = low + random.below((high - low).saturating_add(1));
        Some(limit.map_or(drawn, |limit| drawn.min(limit)))
    }

    fn partition(&self) -> &[NetworkPeer] {
        self.values.network_partition.as_deref().unwrap_or_default()
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults: Vec<Fault> = Vec::new();
        for mode in self.failure_modes() {
            let Some((mode, share)) = modes::fault_of(*mode, self.hardness()) else { continue };
            // Peers that were named are cut off, all of them.
            let is_named = mode == FaultMode::NetworkPartition && !self.partition().is_empty();
            let when = When::Rate(if is_named { 1.0 } else { share });
            if !faults.iter().any(|fault| fault.mode == mode) {
                faults.push(Fault { mode, when });
            }
        }
        faults
    }

    fn burst(&self) -> Option<Burst> {
        if !self.has(FailureMode::ConcurrencySpike) {
            return None;
        }
        let (threads, tasks) = modes::burst(self.hardness());
        let threads = self.values.thread_burst.map_or(threads, menace_settings::Within::get) as u32;
        let tasks = self.values.async_task_burst.map_or(tasks, menace_settings::Within::get) as u32;
        (threads > 0 || tasks > 0).then_some(Burst { threads, tasks })
    }

    /// A bad network is felt only by who gets an answer, and in a sandbox nobody else gives one.
    fn upstream(&self, conditions: &Conditions) -> Option<Upstream> {
        let of_network =
            [FaultMode::Network, FaultMode::NetworkPartition, FaultMode::FlakyUpstream];
        let is_bad = !conditions.network.is_perfect()
            || conditions.faults.iter().any(|fault| of_network.contains(&fault.mode));
        let mocks: Option<&[Mock]> = self.mocks.as_deref();
        (is_bad || mocks.is_some()).then(|| Upstream {
            mocks: mocks.unwrap_or_default().to_vec(),
            answer_all: true,
            failure: None,
        })
    }
}

/// Rounded up, so that what is above zero stays so.
fn millis(duration: Duration) -> u64 {
    duration.as_nanos().div_ceil(1_000_000) as u64
}

fn peer(peer: &NetworkPeer) -> Peer {
    Peer { host: peer.host().map(str::to_owned), port: peer.port() }
}

#[cfg(test)]
mod tests {
    use crate::preset::read_one;

    use super::*;

    fn preset(json: &str) -> Preset {
        read_one(json, "test").unwrap()
    }

    fn conditions(json: &str) -> (Limits, Conditions) {
        preset(json).conditions(7)
    }

    #[test]
    fn an_empty_preset_is_an_untroubled_call_under_the_usual_limits() {
        let (limits, conditions) = conditions("{}");
        assert_eq!(limits, Limits::default());
        assert!(conditions.is_untroubled());
        let isolation = preset("{}").isolation();
        assert_eq!((isolation.security_level, isolation.safe_mode), (3, false));
        assert_eq!(isolation.interposed, Interposed::default());
    }

    #[test]
    fn every_limit_arrives() {
        let (limits, _) = conditions(
            r#"{"CPU_LIMIT": "1", "MEMORY_LIMIT": "512Mi", "DISK_LIMIT": "1Gi", "TIMEOUT": 2.5,
                "CPU_SHARE": "50%", "PROCESS_LIMIT": 5, "OPEN_FILES_LIMIT": 20,
                "OUTPUT_LIMIT": "1Ki", "GPU_LIMIT": 2}"#,
        );
        let expected = Limits {
            timeout_ms: 2500,
            cpu_ms: Some(1000),
            cpu_share: Some(0.5),
            memory_bytes: Some(512 << 20),
            disk_bytes: Some(1 << 30),
            processes: 5,
            open_files: 20,
            output_bytes: 1024,
            gpus: 2,
        };
        assert_eq!(limits, expected);
    }

    #[test]
    fn the_network_arrives_in_plain_units_and_somebody_answers_on_it() {
        let (_, found) = conditions(
            r#"{"NETWORK_LATENCY_MS": 12.5, "NETWORK_JITTER_MS": "2", "PACKET_LOSS": "5%",
                "PACKET_DUPLICATION": 1, "BANDWIDTH_LIMIT": "1Mbps",
                "NETWORK_PARTITION": ["db:5432", ":80"]}"#,
        );
        let peer = |host: Option<&str>, port| Peer { host: host.map(str::to_owned), port };
        let expected = Network {
            latency_ms: 12.5,
            jitter_ms: 2.0,
            loss: 0.05,
            duplication: 0.01,
            bits_per_second: Some(1_000_000),
            partition: vec![peer(Some("db"), Some(5432)), peer(None, Some(80))],
        };
        assert_eq!(found.network, expected);
        assert_eq!(
            found.upstream,
            Some(Upstream { mocks: Vec::new(), answer_all: true, failure: None })
        );
    }

    #[test]
    fn a_rate_out_of_a_range_comes_from_the_seed_and_stays_below_the_limit() {
        let range = r#"{"MIN_BANDWIDTH": "100kbps", "MAX_BANDWIDTH": "900kbps"}"#;
        let rate = |json: &str, seed| preset(json).conditions(seed).1.network.bits_per_second;
        let rates: Vec<u64> = (0..50).filter_map(|seed| rate(range, seed)).collect();
        assert!(rates.iter().all(|rate| (100_000..=900_000).contains(rate)), "{rates:?}");
        assert!(rates.iter().any(|rate| *rate != rates[0]));
        assert_eq!(rate(range, 3), rate(range, 3));
        let limited = r#"{"MIN_BANDWIDTH": "100kbps", "MAX_BANDWIDTH": "900kbps",
            "BANDWIDTH_LIMIT": "50kbps"}"#;
        assert_eq!(rate(limited, 1), Some(50_000));
        assert_eq!(rate(r#"{"MAX_BANDWIDTH": "7kbps"}"#, 1), Some(7000));
        assert_eq!(rate(r#"{"MIN_BANDWIDTH": "7kbps"}"#, 1), Some(7000));
    }

    #[test]
    fn every_fault_mode_arrives_and_high_strikes_more_often_than_low() {
        for mode in FaultMode::ALL {
            let rate = |severity: &str| {
                let json =
                    format!(r#"{{"FAILURE_MODES": "{mode}", "SCENARIO_SEVERITY": "{severity}"}}"#);
                match conditions(&json).1.faults.as_slice() {
                    [Fault { mode: found, when: When::Rate(share) }] if *found == mode => *share,
                    other => panic!("{mode}: {other:?}"),
                }
            };
            assert!(rate("low") < rate("high"), "{mode}");
        }
    }

    #[test]
    fn without_a_severity_faults_strike_as_under_high() {
        let (unsaid, high) = (
            conditions(r#"{"FAILURE_MODES": "disk,cpu,network,concurrency_spike"}"#),
            conditions(
                r#"{"FAILURE_MODES": "disk,cpu,network,concurrency_spike", "SCENARIO_SEVERITY": "high"}"#,
            ),
        );
        assert_eq!(unsaid, high);
    }

    #[test]
    fn modes_lower_what_there_is_and_never_raise_it() {
        let low = r#""SCENARIO_SEVERITY": "low""#;
        let (limits, found) = conditions(&format!(r#"{{"FAILURE_MODES": "cpu,network", {low}}}"#));
        assert_eq!(limits.cpu_share, Some(0.5));
        assert_eq!((found.network.bits_per_second, found.network.loss), (Some(1_000_000), 0.02));
        let (limits, found) = conditions(&format!(
            r#"{{"FAILURE_MODES": "cpu,network", "CPU_SHARE": 0.1, "BANDWIDTH_LIMIT": "1kbps",
                "PACKET_LOSS": 50, {low}}}"#
        ));
        assert_eq!(limits.cpu_share, Some(0.1));
        assert_eq!((found.network.bits_per_second, found.network.loss), (Some(1000), 0.5));
    }

    #[test]
    fn peers_that_are_named_are_cut_off_for_sure() {
        let named = r#"{"FAILURE_MODES": "network_partition", "NETWORK_PARTITION": "db"}"#;
        assert_eq!(conditions(named).1.faults[0].when, When::Rate(1.0));
        let found = conditions(r#"{"NETWORK_PARTITION": "db"}"#).1;
        assert_eq!((found.network.partition.len(), found.faults.len()), (1, 0));
    }

    #[test]
    fn a_burst_has_its_numbers_and_room_for_its_threads() {
        let (limits, found) = conditions(
            r#"{"FAILURE_MODES": "concurrency_spike", "THREAD_BURST": 200, "ASYNC_TASK_BURST": 3}"#,
        );
        assert_eq!(found.burst, Some(Burst { threads: 200, tasks: 3 }));
        assert_eq!(limits.processes, 264);
        let (limits, found) =
            conditions(r#"{"FAILURE_MODES": "concurrency_spike", "SCENARIO_SEVERITY": "low"}"#);
        assert_eq!((found.burst, limits.processes), (Some(Burst { threads: 8, tasks: 32 }), 72));
        assert_eq!(conditions(r#"{"THREAD_BURST": 9}"#).1.burst, None);
    }

    #[test]
    fn the_sandbox_is_asked_for_what_the_modes_need() {
        let interposed = |mode: &str| {
            let json = format!(r#"{{"FAILURE_MODES": "{mode}"}}"#);
            let Interposed { files, memory, sockets } = preset(&json).isolation().interposed;
            (files, memory, sockets)
        };
        for mode in FailureMode::ALL {
            let expected = match mode {
                FailureMode::Disk | FailureMode::DiskCorruption | FailureMode::Timeout => {
                    (true, false, false)
                }
                FailureMode::Memory => (false, true, false),
                FailureMode::Network => (false, false, true),
                FailureMode::NetworkPartition
                | FailureMode::FlakyUpstream
                | FailureMode::SchemaDrift
                | FailureMode::Cpu
                | FailureMode::CpuSpike
                | FailureMode::ConcurrencySpike
                | FailureMode::HostileInput
                | FailureMode::UserMisuse => (false, false, false),
            };
            assert_eq!(interposed(mode.as_str()), expected, "{mode}");
        }
    }

    #[test]
    fn answers_are_on_when_asked_for_even_with_none_to_give() {
        let upstream = |json: &str| conditions(json).1.upstream;
        assert_eq!(upstream(r#"{"SAFE_MODE": 1}"#), None);
        assert!(upstream(r#"{"NETWORK_MOCKS": []}"#).is_some());
        assert!(upstream(r#"{"FAILURE_MODES": "flaky_upstream"}"#).is_some());
        let given = upstream(r#"{"NETWORK_MOCKS": [{"url": "*", "status": 404}]}"#).unwrap();
        assert_eq!(given.mocks[0].status, 404);
    }

    #[test]
    fn a_tight_limit_does_not_fail_the_import_and_a_wide_one_helps_it() {
        let import = preset(
            r#"{"TIMEOUT": "1", "CPU_LIMIT": 1, "CPU_SHARE": 0.1, "MEMORY_LIMIT": "4Gi",
                "OPEN_FILES_LIMIT": 20, "PROCESS_LIMIT": 500}"#,
        )
        .import_limits();
        let defaults = Limits::default();
        assert_eq!(import.timeout_ms, defaults.timeout_ms);
        assert_eq!((import.cpu_ms, import.cpu_share), (None, None));
        assert_eq!(import.memory_bytes, Some(4 << 30));
        assert_eq!((import.open_files, import.processes), (defaults.open_files, 500));
    }

    #[test]
    fn the_import_of_a_single_call_is_held_to_what_was_asked_for() {
        let tight = preset(
            r#"{"TIMEOUT": "1", "CPU_LIMIT": 0.5, "MEMORY_LIMIT": "64Mi", "DISK_LIMIT": "1Mi"}"#,
        )
        .own_import_limits();
        assert_eq!((tight.timeout_ms, tight.cpu_ms), (1000, Some(500)));
        assert_eq!((tight.memory_bytes, tight.disk_bytes), (Some(64 << 20), Some(1 << 20)));
        assert_eq!(preset("{}").own_import_limits(), preset("{}").import_limits());
    }

    #[test]
    fn modes_imply_ways_to_make_inputs_unless_the_key_says_otherwise() {
        use menace_settings::StubStrategy::{Hostile, Misuse, Random};
        let strategies = |json: &str| preset(json).strategies();
        let both = r#"{"FAILURE_MODES": "user_misuse,disk,hostile_input"}"#;
        assert_eq!(strategies(both), [Misuse, Hostile]);
        let other = r#"{"FAILURE_MODES": "hostile_input", "SANDBOX_STUB_STRATEGY": "random"}"#;
        assert_eq!(strategies(other), [Random]);
        assert_eq!(strategies(r#"{"FAILURE_MODES": "disk"}"#), []);
        assert!((preset("{}").threat_intensity() - 0.5).abs() < f64::EPSILON);
    }
}

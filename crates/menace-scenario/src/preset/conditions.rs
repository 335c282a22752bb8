//! From a preset to the limits and conditions of a call.

use std::time::Duration;

use menace_model::{
    CallConditions, CallConfinement, CallLimits, ConcurrencyBurst, FailureMode, FaultMode,
    FaultSpec, FaultTrigger, MockResponse, NetworkConditions, PartitionPeer, ScenarioSeverity,
    SecurityLevel, Seed, UpstreamConfig,
};
use menace_settings::{BoundedInteger, MillisDuration, PercentShare};

use crate::input::drift::SchemaDrift;

use super::{Preset, PresetValues, failure_modes};

/// The level of a setting; the strictest one if the setting had a larger range.
pub(super) fn to_security_level(setting: BoundedInteger<1, 5>) -> SecurityLevel {
    SecurityLevel::try_from(setting.get() as u8).unwrap_or(SecurityLevel::STRICTEST)
}

impl Preset {
    /// Limits and conditions of a call; ranges are drawn from the seed.
    pub fn limits_and_conditions(&self, call_seed: u64) -> (CallLimits, CallConditions) {
        let burst = self.burst();
        let conditions = CallConditions {
            network: self.network(Seed(call_seed)),
            faults: self.faults(),
            burst,
            upstream: None,
        };
        let upstream = self.upstream(&conditions);
        (self.limits(burst), CallConditions { upstream, ..conditions })
    }

    pub fn confinement(&self) -> CallConfinement {
        let level = self.values.security_level.map(to_security_level);
        CallConfinement {
            security_level: level.unwrap_or(CallConfinement::DEFAULT.security_level),
            safe_mode: self.values.safe_mode == Some(true),
        }
    }

    /// Has the mode an effect, given the other keys?
    pub(super) fn mode_has_effect(&self, mode: FailureMode) -> bool {
        let strategy = failure_modes::implied_strategy(mode);
        let is_idle = match mode {
            FailureMode::ConcurrencySpike => self.burst().is_none(),
            // The intensity is the share of hostile inputs; some misuse is always made.
            FailureMode::HostileInput => self.threat_intensity() <= 0.0,
            _ => false,
        };
        let is_made = strategy.is_none_or(|strategy| self.strategies().contains(&strategy));
        self.has_mode(mode) && is_made && !is_idle
    }

    /// The schema drift of arguments. The share of drifted files and answers is among the faults.
    pub fn drift(&self) -> Option<SchemaDrift> {
        self.has_mode(FailureMode::Fault(FaultMode::SchemaDrift)).then(|| {
            match self.effective_severity() {
                ScenarioSeverity::Low => SchemaDrift::OneKey,
                ScenarioSeverity::High => SchemaDrift::HalfOfKeys,
            }
        })
    }

    /// Limits of an import that calls under several presets share: never below the defaults, so
    /// that a tight limit of one preset does not fail the import for all.
    pub fn import_limits(&self) -> CallLimits {
        let of_call = self.limits(self.burst());
        let defaults = CallLimits::default();
        CallLimits {
            timeout_ms: of_call.timeout_ms.max(defaults.timeout_ms),
            cpu_ms: None,
            cpu_share: None,
            memory_bytes: of_call.memory_bytes.max(defaults.memory_bytes),
            disk_bytes: of_call.disk_bytes.max(defaults.disk_bytes),
            // These limit all calls as well.
            processes: of_call.processes.max(defaults.processes),
            open_files: of_call.open_files.max(defaults.open_files),
            output_bytes: of_call.output_bytes,
            gpus: 0,
        }
    }

    /// Limits of an import for a single call: those of the preset. Limits that are not set are as
    /// in [`Self::import_limits`].
    pub fn unshared_import_limits(&self) -> CallLimits {
        let PresetValues { timeout, cpu_limit, memory_limit, disk_limit, .. } = &self.values;
        let of_call = self.limits(self.burst());
        let shared = self.import_limits();
        CallLimits {
            timeout_ms: if timeout.is_some() { of_call.timeout_ms } else { shared.timeout_ms },
            cpu_ms: cpu_limit.and(of_call.cpu_ms),
            memory_bytes: memory_limit.map_or(shared.memory_bytes, |_| of_call.memory_bytes),
            disk_bytes: disk_limit.map_or(shared.disk_bytes, |_| of_call.disk_bytes),
            ..shared
        }
    }

    /// Without a severity, faults are as under `high`.
    fn effective_severity(&self) -> ScenarioSeverity {
        self.severity().unwrap_or(ScenarioSeverity::High)
    }

    fn limits(&self, burst: Option<ConcurrencyBurst>) -> CallLimits {
        let PresetValues {
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
        let defaults = CallLimits::default();
        let processes =
            process_limit.map_or(defaults.processes, menace_settings::BoundedInteger::get);
        CallLimits {
            timeout_ms: timeout
                .map_or(defaults.timeout_ms, |timeout| round_up_to_millis(timeout.get())),
            cpu_ms: cpu_limit.map(|limit| round_up_to_millis(limit.get())),
            cpu_share: self.cpu_share(),
            memory_bytes: memory_limit.map(|limit| limit.get().bytes()).or(defaults.memory_bytes),
            disk_bytes: disk_limit.map(|limit| limit.get().bytes()).or(defaults.disk_bytes),
            // The threads of a burst do not count as the section's.
            processes: processes + burst.map_or(0, |burst| burst.threads.into()),
            open_files: open_files_limit
                .map_or(defaults.open_files, menace_settings::BoundedInteger::get),
            output_bytes: output_limit.map_or(defaults.output_bytes, |limit| limit.get().bytes()),
            gpus: gpu_limit.map_or(0, menace_settings::BoundedInteger::get),
        }
    }

    fn cpu_share(&self) -> Option<f64> {
        let preset_share = self.values.cpu_share.map(menace_settings::ProcessorCount::count);
        let left = self
            .has_mode(FailureMode::Fault(FaultMode::Cpu))
            .then(|| failure_modes::reduced_cpu_share(self.effective_severity()));
        match (preset_share, left) {
            (Some(given), Some(left)) => Some(given.min(left)),
            (given, left) => given.or(left),
        }
    }

    fn network(&self, seed: Seed) -> NetworkConditions {
        let PresetValues {
            network_latency_ms,
            network_jitter_ms,
            packet_loss,
            packet_duplication,
            ..
        } = &self.values;
        let ms = |millis: &Option<MillisDuration>| {
            millis.map_or(0.0, |millis| millis.duration().as_secs_f64() * 1000.0)
        };
        let mut network = NetworkConditions {
            latency_ms: ms(network_latency_ms),
            jitter_ms: ms(network_jitter_ms),
            loss: packet_loss.map_or(0.0, PercentShare::fraction),
            duplication: packet_duplication.map_or(0.0, PercentShare::fraction),
            bits_per_second: self.bits_per_second(seed),
            partition: self.partition().to_vec(),
        };
        if self.has_mode(FailureMode::Fault(FaultMode::Network)) {
            let (bits, loss) = failure_modes::degraded_link(self.effective_severity());
            network.loss = network.loss.max(loss);
            network.bits_per_second =
                Some(network.bits_per_second.map_or(bits, |given| given.min(bits)));
        }
        network
    }

    /// A rate of the range, drawn from the seed; never above the limit.
    fn bits_per_second(&self, seed: Seed) -> Option<u64> {
        let PresetValues { bandwidth_limit, min_bandwidth, max_bandwidth, .. } = &self.values;
        let limit = bandwidth_limit.map(|rate| rate.get().bits_per_second());
        let min = min_bandwidth.map(|rate| rate.get().bits_per_second());
        let max = max_bandwidth.map(|rate| rate.get().bits_per_second());
        let Some(low) = min.or(max) else { return limit };
        let high = max.or(limit).unwrap_or(low).max(low);
        let mut random = seed.derive("bandwidth").rng();
        let drawn = low + random.next_below((high - low).saturating_add(1));
        Some(limit.map_or(drawn, |limit| drawn.min(limit)))
    }

    fn partition(&self) -> &[PartitionPeer] {
        self.values.network_partition.as_deref().unwrap_or_default()
    }

    fn faults(&self) -> Vec<FaultSpec> {
        let mut faults: Vec<FaultSpec> = Vec::new();
        for mode in self.failure_modes() {
            let Some((mode, share)) =
                failure_modes::fault_with_rate(*mode, self.effective_severity())
            else {
                continue;
            };
            // Named peers are always cut off.
            let is_named = mode == FaultMode::NetworkPartition && !self.partition().is_empty();
            let when = FaultTrigger::Rate(if is_named { 1.0 } else { share });
            if !faults.iter().any(|fault| fault.mode == mode) {
                faults.push(FaultSpec { mode, trigger: when });
            }
        }
        faults
    }

    pub fn burst(&self) -> Option<ConcurrencyBurst> {
        if !self.has_mode(FailureMode::ConcurrencySpike) {
            return None;
        }
        let (threads, tasks) = failure_modes::default_burst(self.effective_severity());
        let threads =
            self.values.thread_burst.map_or(threads, menace_settings::BoundedInteger::get) as u32;
        let tasks =
            self.values.async_task_burst.map_or(tasks, menace_settings::BoundedInteger::get) as u32;
        (threads > 0 || tasks > 0).then_some(ConcurrencyBurst { threads, tasks })
    }

    /// Network conditions need an upstream that answers: the sandbox has no other one.
    fn upstream(&self, conditions: &CallConditions) -> Option<UpstreamConfig> {
        let network_faults =
            [FaultMode::Network, FaultMode::NetworkPartition, FaultMode::FlakyUpstream];
        let is_bad = !conditions.network.is_perfect()
            || conditions.faults.iter().any(|fault| network_faults.contains(&fault.mode));
        let mocks: Option<&[MockResponse]> = self.mocks.as_deref();
        (is_bad || mocks.is_some()).then(|| UpstreamConfig {
            mocks: mocks.unwrap_or_default().to_vec(),
            answer_all: true,
            failure: None,
        })
    }
}

/// Rounded up, so that a positive duration stays positive.
fn round_up_to_millis(duration: Duration) -> u64 {
    duration.as_nanos().div_ceil(1_000_000) as u64
}

#[cfg(test)]
mod tests {
    use crate::preset::read_single_preset;

    use menace_model::SyscallInterposition;

    use super::*;

    fn preset(json: &str) -> Preset {
        read_single_preset(json, "test").unwrap()
    }

    fn conditions(json: &str) -> (CallLimits, CallConditions) {
        preset(json).limits_and_conditions(7)
    }

    #[test]
    fn an_empty_preset_has_no_faults_and_the_default_limits() {
        let (limits, conditions) = conditions("{}");
        assert_eq!(limits, CallLimits::default());
        assert!(conditions.is_fault_free());
        let CallConfinement { security_level, safe_mode } = preset("{}").confinement();
        assert_eq!((security_level.get(), safe_mode), (3, false));
        assert!(SyscallInterposition::for_faults(&conditions.faults).is_empty());
    }

    #[test]
    fn every_limit_key_sets_its_limit() {
        let (limits, _) = conditions(
            r#"{"CPU_LIMIT": "1", "MEMORY_LIMIT": "512Mi", "DISK_LIMIT": "1Gi", "TIMEOUT": 2.5,
                "CPU_SHARE": "50%", "PROCESS_LIMIT": 5, "OPEN_FILES_LIMIT": 20,
                "OUTPUT_LIMIT": "1Ki", "GPU_LIMIT": 2}"#,
        );
        let expected = CallLimits {
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
    fn network_keys_are_converted_and_an_upstream_answers() {
        let (_, found) = conditions(
            r#"{"NETWORK_LATENCY_MS": 12.5, "NETWORK_JITTER_MS": "2", "PACKET_LOSS": "5%",
                "PACKET_DUPLICATION": 1, "BANDWIDTH_LIMIT": "1Mbps",
                "NETWORK_PARTITION": ["db:5432", ":80"]}"#,
        );
        let peer = |host: Option<&str>, port| PartitionPeer { host: host.map(str::to_owned), port };
        let expected = NetworkConditions {
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
            Some(UpstreamConfig { mocks: Vec::new(), answer_all: true, failure: None })
        );
    }

    #[test]
    fn a_bandwidth_range_is_drawn_from_the_seed_and_capped_by_the_limit() {
        let range = r#"{"MIN_BANDWIDTH": "100kbps", "MAX_BANDWIDTH": "900kbps"}"#;
        let rate =
            |json: &str, seed| preset(json).limits_and_conditions(seed).1.network.bits_per_second;
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
    fn every_fault_mode_is_injected_more_often_at_high_than_at_low() {
        for mode in FaultMode::ALL {
            let rate = |severity: &str| {
                let json =
                    format!(r#"{{"FAILURE_MODES": "{mode}", "SCENARIO_SEVERITY": "{severity}"}}"#);
                match conditions(&json).1.faults.as_slice() {
                    [FaultSpec { mode: found, trigger: FaultTrigger::Rate(share) }]
                        if *found == mode =>
                    {
                        *share
                    }
                    other => panic!("{mode}: {other:?}"),
                }
            };
            assert!(rate("low") < rate("high"), "{mode}");
        }
    }

    #[test]
    fn without_a_severity_faults_are_as_under_high() {
        let (unsaid, high) = (
            conditions(r#"{"FAILURE_MODES": "disk,cpu,network,concurrency_spike"}"#),
            conditions(
                r#"{"FAILURE_MODES": "disk,cpu,network,concurrency_spike",
                    "SCENARIO_SEVERITY": "high"}"#,
            ),
        );
        assert_eq!(unsaid, high);
    }

    #[test]
    fn modes_lower_limits_and_never_raise_them() {
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
    fn named_peers_are_always_cut_off() {
        let named = r#"{"FAILURE_MODES": "network_partition", "NETWORK_PARTITION": "db"}"#;
        assert_eq!(conditions(named).1.faults[0].trigger, FaultTrigger::Rate(1.0));
        let found = conditions(r#"{"NETWORK_PARTITION": "db"}"#).1;
        assert_eq!((found.network.partition.len(), found.faults.len()), (1, 0));
    }

    #[test]
    fn a_burst_has_its_numbers_and_its_threads_raise_the_process_limit() {
        let (limits, found) = conditions(
            r#"{"FAILURE_MODES": "concurrency_spike", "THREAD_BURST": 200, "ASYNC_TASK_BURST": 3}"#,
        );
        assert_eq!(found.burst, Some(ConcurrencyBurst { threads: 200, tasks: 3 }));
        assert_eq!(limits.processes, 264);
        let (limits, found) =
            conditions(r#"{"FAILURE_MODES": "concurrency_spike", "SCENARIO_SEVERITY": "low"}"#);
        assert_eq!(
            (found.burst, limits.processes),
            (Some(ConcurrencyBurst { threads: 8, tasks: 32 }), 72)
        );
        assert_eq!(conditions(r#"{"THREAD_BURST": 9}"#).1.burst, None);
    }

    #[test]
    fn the_sandbox_is_asked_for_what_the_modes_need() {
        let interposed = |mode: &str| {
            let json = format!(r#"{{"FAILURE_MODES": "{mode}"}}"#);
            let SyscallInterposition { files, memory, sockets } =
                SyscallInterposition::for_faults(&conditions(&json).1.faults);
            (files, memory, sockets)
        };
        for mode in FailureMode::ALL {
            let expected = match mode {
                FailureMode::Fault(
                    FaultMode::Disk | FaultMode::DiskCorruption | FaultMode::Timeout,
                ) => (true, false, false),
                FailureMode::Fault(FaultMode::Memory) => (false, true, false),
                FailureMode::Fault(FaultMode::Network) => (false, false, true),
                FailureMode::Fault(
                    FaultMode::NetworkPartition
                    | FaultMode::FlakyUpstream
                    | FaultMode::SchemaDrift
                    | FaultMode::Cpu
                    | FaultMode::CpuSpike,
                )
                | FailureMode::ConcurrencySpike
                | FailureMode::HostileInput
                | FailureMode::UserMisuse => (false, false, false),
            };
            assert_eq!(interposed(mode.as_str()), expected, "{mode}");
        }
    }

    #[test]
    fn an_empty_list_of_mocks_enables_the_upstream() {
        let upstream = |json: &str| conditions(json).1.upstream;
        assert_eq!(upstream(r#"{"SAFE_MODE": 1}"#), None);
        assert!(upstream(r#"{"NETWORK_MOCKS": []}"#).is_some());
        assert!(upstream(r#"{"FAILURE_MODES": "flaky_upstream"}"#).is_some());
        let given = upstream(r#"{"NETWORK_MOCKS": [{"url": "*", "status": 404}]}"#).unwrap();
        assert_eq!(given.mocks[0].status, 404);
    }

    #[test]
    fn import_limits_are_at_least_the_defaults() {
        let import = preset(
            r#"{"TIMEOUT": "1", "CPU_LIMIT": 1, "CPU_SHARE": 0.1, "MEMORY_LIMIT": "4Gi",
                "OPEN_FILES_LIMIT": 20, "PROCESS_LIMIT": 500}"#,
        )
        .import_limits();
        let defaults = CallLimits::default();
        assert_eq!(import.timeout_ms, defaults.timeout_ms);
        assert_eq!((import.cpu_ms, import.cpu_share), (None, None));
        assert_eq!(import.memory_bytes, Some(4 << 30));
        assert_eq!((import.open_files, import.processes), (defaults.open_files, 500));
    }

    #[test]
    fn the_import_of_a_single_call_has_the_limits_of_the_preset() {
        let tight = preset(
            r#"{"TIMEOUT": "1", "CPU_LIMIT": 0.5, "MEMORY_LIMIT": "64Mi", "DISK_LIMIT": "1Mi"}"#,
        )
        .unshared_import_limits();
        assert_eq!((tight.timeout_ms, tight.cpu_ms), (1000, Some(500)));
        assert_eq!((tight.memory_bytes, tight.disk_bytes), (Some(64 << 20), Some(1 << 20)));
        assert_eq!(preset("{}").unshared_import_limits(), preset("{}").import_limits());
    }

    #[test]
    fn modes_imply_input_strategies_unless_the_key_is_set() {
        use menace_model::InputStrategy::{Hostile, Misuse, Random};
        let strategies = |json: &str| preset(json).strategies();
        let both = r#"{"FAILURE_MODES": "user_misuse,disk,hostile_input"}"#;
        assert_eq!(strategies(both), [Misuse, Hostile]);
        let other = r#"{"FAILURE_MODES": "hostile_input", "SANDBOX_STUB_STRATEGY": "random"}"#;
        assert_eq!(strategies(other), [Random]);
        assert_eq!(strategies(r#"{"FAILURE_MODES": "disk"}"#), []);
        assert!((preset("{}").threat_intensity() - 0.5).abs() < f64::EPSILON);
    }
}

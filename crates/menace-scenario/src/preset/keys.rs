//! Every key of a preset: adding one here, beside its setting, is all it takes to add a key.
//!
//! Meaning, type and range are those of the setting of the same name, in `menace-settings`.

use std::time::Duration;

use menace_settings::{
    Bandwidth, DurationFrom, FailureMode, JsonRecords, Millis, NetworkPeer, OsType, Percent,
    Positive, Processors, ScenarioSeverity, Size, SizeUpTo, StubStrategy, VmSettings, Within,
};

use super::key::keys;

keys! {
    scenario_name: String = "SCENARIO_NAME" in presets.scenario_name {
        default: "the names of its profiles, joined by `+`",
        generated: "`random_1`, `random_2` …",
        held_by: "changes nothing: results are filed under it",
    }
    scenario_severity: ScenarioSeverity = "SCENARIO_SEVERITY" in presets.scenario_severity {
        default: "faults strike as under `high`",
        generated: "either, with failure modes",
        held_by: "the faults",
    }
    cpu_limit: Positive<Duration> = "CPU_LIMIT" in limits.cpu_limit {
        default: "none",
        generated: "0.5, 1, 2 or 4 s",
        held_by: "`rlimit`, `monitor`",
    }
    memory_limit: Positive<Size> = "MEMORY_LIMIT" in limits.memory_limit {
        default: "`512Mi`",
        generated: "64Mi to 1Gi",
        held_by: "`cgroup_v2` or `cgroup_v1`, `rlimit`, `monitor`",
    }
    disk_limit: Positive<Size> = "DISK_LIMIT" in limits.disk_limit {
        default: "`256Mi`",
        generated: "16Mi to 512Mi",
        held_by: "`tmpfs_size`; `rlimit` and `monitor` in the `landlock` tier",
    }
    timeout: DurationFrom<1> = "TIMEOUT" in limits.timeout {
        default: "10 s",
        generated: "2, 5, 10 or 30 s",
        held_by: "`monitor`",
    }
    cpu_share: Processors = "CPU_SHARE" in limits.cpu_share {
        default: "none",
        generated: "0.25, 0.5 or 1, now and then",
        held_by: "`cgroup_v2` or `cgroup_v1`, else `freezer`",
    }
    process_limit: Within<0, { 1 << 22 }> = "PROCESS_LIMIT" in limits.process_limit {
        default: "64; threads of a burst come on top",
        generated: "–",
        held_by: "`cgroup_v2` or `cgroup_v1`, else `rlimit`",
    }
    open_files_limit: Within<16, { 1 << 20 }> = "OPEN_FILES_LIMIT" in limits.open_files_limit {
        default: "1024",
        generated: "–",
        held_by: "`rlimit`",
    }
    output_limit: SizeUpTo<{ 16 << 20 }> = "OUTPUT_LIMIT" in limits.output_limit {
        default: "`64Ki`",
        generated: "–",
        held_by: "`monitor`",
    }
    gpu_limit: Within<0, 128> = "GPU_LIMIT" in limits.gpu_limit {
        default: "none",
        generated: "0 or 1, with `SANDBOX_DOCKER`",
        held_by: "containers; told when there are none",
    }
    network_latency_ms: Millis = "NETWORK_LATENCY_MS" in network.latency_ms {
        default: "0",
        generated: "0, 10, 50, 100, 200 or 500; no network keys at level 4",
        held_by: "`nfqueue`; `harness` for stubbed answers",
    }
    network_jitter_ms: Millis = "NETWORK_JITTER_MS" in network.jitter_ms {
        default: "0",
        generated: "0 to half of the latency",
        held_by: "`nfqueue`; `harness` for stubbed answers",
    }
    packet_loss: Percent = "PACKET_LOSS" in network.packet_loss {
        default: "0",
        generated: "0 to 10",
        held_by: "`nfqueue`; `harness` for stubbed answers",
    }
    packet_duplication: Percent = "PACKET_DUPLICATION" in network.packet_duplication {
        default: "0",
        generated: "0 to 5",
        held_by: "`nfqueue`",
    }
    bandwidth_limit: Positive<Bandwidth> = "BANDWIDTH_LIMIT" in network.bandwidth_limit {
        default: "none",
        generated: "64kbps to 100Mbps, or else the range below",
        held_by: "`nfqueue`; `harness` for stubbed answers",
    }
    min_bandwidth: Positive<Bandwidth> = "MIN_BANDWIDTH" in network.min_bandwidth {
        default: "none",
        generated: "64kbps to 10Mbps",
        held_by: "as `BANDWIDTH_LIMIT`, which caps it",
    }
    max_bandwidth: Positive<Bandwidth> = "MAX_BANDWIDTH" in network.max_bandwidth {
        default: "none",
        generated: "up to ten times the lowest",
        held_by: "as `BANDWIDTH_LIMIT`, which caps it",
    }
    network_partition: Vec<NetworkPeer> = "NETWORK_PARTITION" in network.partition {
        default: "by the seed, under `network_partition`",
        generated: "–",
        held_by: "`nfqueue`; `harness` for stubbed answers",
    }
    network_mocks: JsonRecords = "NETWORK_MOCKS" in network.mocks {
        default: "none",
        generated: "–",
        held_by: "`harness`",
    }
    safe_mode: bool = "SAFE_MODE" in limits.safe_mode {
        default: "`0`",
        generated: "–",
        held_by: "seccomp",
    }
    security_level: Within<1, 5> = "SECURITY_LEVEL" in limits.security_level {
        default: "3",
        generated: "1 to 4",
        held_by: "namespaces, seccomp, Landlock: see [sandbox.md](sandbox.md#security-levels)",
    }
    threat_intensity: Percent = "THREAT_INTENSITY" in limits.threat_intensity {
        default: "50",
        generated: "10 to 100, with hostile inputs or misuse",
        held_by: "the inputs",
    }
    stub_strategy: Vec<StubStrategy> = "SANDBOX_STUB_STRATEGY" in stubs.strategy {
        default: "what the failure modes imply, else all",
        generated: "by the failure modes",
        held_by: "the inputs",
    }
    failure_modes: Vec<FailureMode> = "FAILURE_MODES" in limits.failure_modes {
        default: "none",
        generated: "none, one or two",
        held_by: "see the failure modes",
    }
    thread_burst: Within<0, 1024> = "THREAD_BURST" in limits.thread_burst {
        default: "under `concurrency_spike` 32, at `low` 8",
        generated: "2 to 64",
        held_by: "`harness`",
    }
    async_task_burst: Within<0, 65536> = "ASYNC_TASK_BURST" in limits.async_task_burst {
        default: "under `concurrency_spike` 128, at `low` 32",
        generated: "8 to 256",
        held_by: "`harness`",
    }
    os_type: OsType = "OS_TYPE" in limits.os_type {
        default: "`linux`",
        generated: "`linux`, and those with an image in `VM_SETTINGS`",
        held_by: "`linux` is met; others need virtual machines, told when there are none",
    }
    container_image: String = "CONTAINER_IMAGE" in limits.container_image {
        default: "none",
        generated: "never: there is no container backend yet",
        held_by: "containers; told when there are none",
    }
    vm_settings: VmSettings = "VM_SETTINGS" in limits.vm_settings {
        default: "none",
        generated: "never: there is no backend of virtual machines yet",
        held_by: "virtual machines; told when there are none",
    }
}

/// The key of this name.
pub fn key(name: &str) -> Option<&'static super::Key> {
    KEYS.iter().find(|key| key.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_setting_and_every_setting_of_calls_has_a_key() {
        for key in KEYS {
            assert!(key.setting().is_some(), "{}", key.name);
        }
        let limits = menace_settings::declared::Limits::DECLARATIONS;
        let network = menace_settings::declared::Network::DECLARATIONS;
        for declared in limits.iter().chain(network) {
            let is_place = declared.name == "SANDBOX_NETWORK_RECORDINGS";
            assert_eq!(key(declared.name).is_none(), is_place, "{}", declared.name);
        }
    }
}

//! Every key of a preset: one entry here, beside its setting, adds a key.
//!
//! Meaning, type and range are those of the setting of the same name, in `menace-settings`.

use std::time::Duration;

use menace_model::{FailureMode, InputStrategy, PartitionPeer, ScenarioSeverity};
use menace_settings::{
    BoundedInteger, BoundedSize, ByteSize, GuestOsType, JsonRecords, MillisDuration,
    MinimumDuration, NetworkBandwidth, ParseRefusal, PercentShare, PositiveAmount, ProcessorCount,
    SettingDeclaration, SettingType, VmSettings, declarations,
};
use serde_json::Value as Json;

/// A key of a preset; its meaning is that of the setting of the same name.
#[derive(Debug)]
pub struct PresetKey {
    pub name: &'static str,
    /// The value for calls when the key is not set.
    pub default: &'static str,
    /// The values that the generator draws.
    pub generated: &'static str,
    /// The mechanism that applies it, in the words of an outcome's `enforced_by` if it is listed
    /// there.
    pub enforced_by: &'static str,
    pub(super) read: fn(&mut PresetValues, &str) -> Result<(), ParseRefusal>,
    pub(super) write: fn(&PresetValues) -> Option<Json>,
    /// Gives the second values the value of the first.
    pub(super) copy: fn(&PresetValues, &mut PresetValues),
}

impl PresetKey {
    /// The setting of the same name, which overrides the preset.
    pub fn setting(&self) -> Option<&'static SettingDeclaration> {
        declarations().find(|declared| declared.name == self.name)
    }

    /// The value as JSON, if it is set.
    pub fn value_json(&self, values: &PresetValues) -> Option<Json> {
        (self.write)(values)
    }

    /// The value as short text, for tables.
    pub fn value_text(&self, values: &PresetValues) -> Option<String> {
        Some(match self.value_json(values)? {
            Json::String(text) => text,
            Json::Array(items) if items.iter().all(Json::is_string) => {
                items.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        })
    }
}

/// How a value is written in a preset: scalars as text, lists as lists.
pub(super) trait ToPresetJson {
    fn to_preset_json(&self) -> Json;
}

macro_rules! written_as_text {
    ($($kind:ty),+ $(,)?) => {
        $(impl ToPresetJson for $kind {
            fn to_preset_json(&self) -> Json {
                self.show().map_or(Json::Null, Json::String)
            }
        })+
    };
}

written_as_text! {
    PositiveAmount<ByteSize>, PositiveAmount<NetworkBandwidth>, ProcessorCount, MillisDuration,
    GuestOsType, ScenarioSeverity, String, bool,
}

impl<const LOW: u64, const HIGH: u64> ToPresetJson for BoundedInteger<LOW, HIGH> {
    fn to_preset_json(&self) -> Json {
        Json::String(self.get().to_string())
    }
}

impl<const BYTES: u64> ToPresetJson for BoundedSize<BYTES> {
    fn to_preset_json(&self) -> Json {
        Json::String(self.get().to_string())
    }
}

/// Seconds without a unit, which other readers of presets expect.
impl ToPresetJson for PositiveAmount<std::time::Duration> {
    fn to_preset_json(&self) -> Json {
        seconds_json(self.get())
    }
}

impl<const MILLIS: u64> ToPresetJson for MinimumDuration<MILLIS> {
    fn to_preset_json(&self) -> Json {
        seconds_json(self.get())
    }
}

fn seconds_json(duration: std::time::Duration) -> Json {
    let text = format!("{}.{:09}", duration.as_secs(), duration.subsec_nanos());
    Json::String(text.trim_end_matches('0').trim_end_matches('.').to_owned())
}

impl ToPresetJson for PercentShare {
    fn to_preset_json(&self) -> Json {
        Json::String(self.percent().to_string())
    }
}

impl<T: SettingType> ToPresetJson for Vec<T> {
    fn to_preset_json(&self) -> Json {
        self.iter().filter_map(T::show).collect()
    }
}

impl ToPresetJson for VmSettings {
    fn to_preset_json(&self) -> Json {
        VmSettings::json(self)
    }
}

impl ToPresetJson for JsonRecords {
    fn to_preset_json(&self) -> Json {
        self.0.clone()
    }
}

/// Declares the keys. Each entry has a field, its type, the key, the setting of that name, and its
/// documentation: the value for calls when it is not set, the values that the generator draws, and
/// the mechanism that applies it.
macro_rules! keys {
    ($(
        $field:ident: $kind:ty = $name:literal in $group:ident.$setting:ident:
        $default:literal, $generated:literal, $enforced_by:literal;
    )+) => {
        /// The values of a preset by key; each is in its own range.
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct PresetValues {
            $(#[doc = concat!("`", $name, "`")] pub $field: Option<$kind>,)+
        }

        impl PresetValues {
            /// The values of the settings that apply to calls: those of the user, or those of an
            /// untrusted checkout.
            pub(super) fn from_settings(
                settings: &menace_settings::Settings,
                from_checkout: bool,
            ) -> Self {
                Self {
                    $($field: Some(&settings.$group.$setting)
                        .filter(|found| found.is_from_checkout == from_checkout)
                        .and_then(|found| found.value.clone()),)+
                }
            }

            /// These values, completed by those of the other where there is none.
            pub(super) fn or_else_values(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)+ }
            }
        }

        /// Every key of a preset, in the order in which they are written.
        pub static PRESET_KEYS: &[$crate::preset::PresetKey] = &[$($crate::preset::PresetKey {
            name: $name,
            default: $default,
            generated: $generated,
            enforced_by: $enforced_by,
            read: |values, text| {
                let context = menace_settings::ParseContext::default();
                let value = <$kind as menace_settings::SettingType>::parse(text, &context)?;
                values.$field = Some(value);
                Ok(())
            },
            write: |values| {
                values.$field.as_ref().map($crate::preset::keys::ToPresetJson::to_preset_json)
            },
            copy: |from, to| to.$field.clone_from(&from.$field),
        }),+];
    };
}

keys! {
    scenario_name: String = "SCENARIO_NAME" in presets.scenario_name:
        "the names of its profiles, joined by `+`", "`random_1`, `random_2` …",
        "changes nothing: results are filed under it";
    scenario_severity: ScenarioSeverity = "SCENARIO_SEVERITY" in presets.scenario_severity:
        "faults are as under `high`", "either, with failure modes", "the faults";
    cpu_limit: PositiveAmount<Duration> = "CPU_LIMIT" in limits.cpu_limit:
        "none", "0.5, 1, 2 or 4 s", "`rlimit`, `monitor`";
    memory_limit: PositiveAmount<ByteSize> = "MEMORY_LIMIT" in limits.memory_limit:
        "`512Mi`", "64Mi to 1Gi", "`cgroup_v2` or `cgroup_v1`, `rlimit`, `monitor`";
    disk_limit: PositiveAmount<ByteSize> = "DISK_LIMIT" in limits.disk_limit:
        "`256Mi`", "16Mi to 512Mi", "`tmpfs_size`; `rlimit` and `monitor` in the `landlock` tier";
    timeout: MinimumDuration<1> = "TIMEOUT" in limits.timeout:
        "10 s", "2, 5, 10 or 30 s", "`monitor`";
    cpu_share: ProcessorCount = "CPU_SHARE" in limits.cpu_share:
        "none", "0.25, 0.5 or 1, now and then", "`cgroup_v2` or `cgroup_v1`, else `freezer`";
    process_limit: BoundedInteger<0, { 1 << 22 }> = "PROCESS_LIMIT" in limits.process_limit:
        "64; threads of a burst come on top", "–", "`cgroup_v2` or `cgroup_v1`, else `rlimit`";
    open_files_limit: BoundedInteger<16, { 1 << 20 }> = "OPEN_FILES_LIMIT"
        in limits.open_files_limit:
        "1024", "–", "`rlimit`";
    output_limit: BoundedSize<{ 16 << 20 }> = "OUTPUT_LIMIT" in limits.output_limit:
        "`64Ki`", "–", "`monitor`";
    gpu_limit: BoundedInteger<0, 128> = "GPU_LIMIT" in limits.gpu_limit:
        "none", "never", "not implemented yet: needs containers";
    network_latency_ms: MillisDuration = "NETWORK_LATENCY_MS" in network.latency_ms:
        "0", "0, 10, 50, 100, 200 or 500; no network keys at level 4",
        "`nfqueue`; `harness` for mocked answers";
    network_jitter_ms: MillisDuration = "NETWORK_JITTER_MS" in network.jitter_ms:
        "0", "0 to half of the latency", "`nfqueue`; `harness` for mocked answers";
    packet_loss: PercentShare = "PACKET_LOSS" in network.packet_loss:
        "0", "0 to 10", "`nfqueue`; `harness` for mocked answers";
    packet_duplication: PercentShare = "PACKET_DUPLICATION" in network.packet_duplication:
        "0", "0 to 5", "`nfqueue`";
    bandwidth_limit: PositiveAmount<NetworkBandwidth> = "BANDWIDTH_LIMIT"
        in network.bandwidth_limit:
        "none", "64kbps to 100Mbps, or else the range below",
        "`nfqueue`; `harness` for mocked answers";
    min_bandwidth: PositiveAmount<NetworkBandwidth> = "MIN_BANDWIDTH" in network.min_bandwidth:
        "none", "64kbps to 10Mbps", "as `BANDWIDTH_LIMIT`, which caps it";
    max_bandwidth: PositiveAmount<NetworkBandwidth> = "MAX_BANDWIDTH" in network.max_bandwidth:
        "none", "up to ten times the lowest", "as `BANDWIDTH_LIMIT`, which caps it";
    network_partition: Vec<PartitionPeer> = "NETWORK_PARTITION" in network.partition:
        "by the seed, under `network_partition`", "–", "`nfqueue`; `harness` for mocked answers";
    network_mocks: JsonRecords = "NETWORK_MOCKS" in network.mocks:
        "none", "–", "`harness`";
    safe_mode: bool = "SAFE_MODE" in limits.safe_mode:
        "`0`", "–", "seccomp";
    security_level: BoundedInteger<1, 5> = "SECURITY_LEVEL" in limits.security_level:
        "3", "1 to 4",
        "namespaces, seccomp, Landlock: see [sandbox.md](sandbox.md#security-levels)";
    threat_intensity: PercentShare = "THREAT_INTENSITY" in limits.threat_intensity:
        "50", "10 to 100, with hostile inputs or misuse", "the inputs";
    stub_strategy: Vec<InputStrategy> = "SANDBOX_STUB_STRATEGY" in stubs.strategy:
        "what the failure modes imply, else all", "by the failure modes", "the inputs";
    failure_modes: Vec<FailureMode> = "FAILURE_MODES" in limits.failure_modes:
        "none", "none, one or two", "see the failure modes";
    thread_burst: BoundedInteger<0, 1024> = "THREAD_BURST" in limits.thread_burst:
        "under `concurrency_spike` 32, at `low` 8", "2 to 64", "`harness`";
    async_task_burst: BoundedInteger<0, 65536> = "ASYNC_TASK_BURST" in limits.async_task_burst:
        "under `concurrency_spike` 128, at `low` 32", "8 to 256", "`harness`";
    os_type: GuestOsType = "OS_TYPE" in limits.os_type:
        "`linux`", "`linux`",
        "`linux` always; others are not implemented yet: they need virtual machines";
    container_image: String = "CONTAINER_IMAGE" in limits.container_image:
        "none", "never", "not implemented yet: needs containers";
    vm_settings: VmSettings = "VM_SETTINGS" in limits.vm_settings:
        "none", "never", "not implemented yet: needs virtual machines";
}

/// The key of this name.
pub fn find_key(name: &str) -> Option<&'static super::PresetKey> {
    PRESET_KEYS.iter().find(|key| key.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_setting_and_every_setting_of_calls_has_a_key() {
        for key in PRESET_KEYS {
            assert!(key.setting().is_some(), "{}", key.name);
        }
        let limits = menace_settings::declared::LimitSettings::DECLARATIONS;
        let network = menace_settings::declared::NetworkSettings::DECLARATIONS;
        for declared in limits.iter().chain(network) {
            let is_place = declared.name == "SANDBOX_NETWORK_RECORDINGS";
            assert_eq!(find_key(declared.name).is_none(), is_place, "{}", declared.name);
        }
    }
}

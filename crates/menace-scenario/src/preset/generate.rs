//! Generates presets: from profiles, from the seed, or from both.
//!
//! Settings win over profiles, and profiles over random values. Every key is drawn whether it is
//! used or not, so that a setting changes its own key and no other.

use std::time::Duration;

use menace_model::{FailureMode, FaultMode, ScenarioSeverity, SecurityLevel, Seed, SeededRng};
use menace_settings::{
    BoundedInteger, ByteSize, GuestOsType, MillisDuration, MinimumDuration, NetworkBandwidth,
    PercentShare, PositiveAmount, ProcessorCount,
};

use crate::config::ConfigError;

use super::conditions::to_security_level;
use super::profiles::merge_profiles;
use super::{CallSettings, Preset, PresetOrigin, PresetProfile, PresetValues};

const DEFAULT_PRESET_COUNT: u32 = 3;

const BYTES_PER_MIB: u64 = 1 << 20;
const CPU_LIMIT_CHOICES_MS: [u64; 4] = [500, 1000, 2000, 4000];
const MEMORY_CHOICES_MIB: [u64; 5] = [64, 128, 256, 512, 1024];
const DISK_CHOICES_MIB: [u64; 6] = [16, 32, 64, 128, 256, 512];
const TIMEOUT_CHOICES_MS: [u64; 4] = [2000, 5000, 10_000, 30_000];
const CPU_SHARE_CHOICES: [f64; 3] = [0.25, 0.5, 1.0];
const LATENCY_CHOICES_MS: [u64; 6] = [0, 10, 50, 100, 200, 500];
const PACKET_LOSS_CHOICES_PERCENT: [f64; 5] = [0.0, 0.5, 1.0, 5.0, 10.0];
const DUPLICATION_CHOICES_PERCENT: [f64; 4] = [0.0, 0.5, 1.0, 5.0];
const BANDWIDTH_CHOICES_KBPS: [u64; 6] = [64, 256, 1000, 5000, 20_000, 100_000];
const MIN_BANDWIDTH_CHOICES_KBPS: [u64; 5] = [64, 256, 1000, 5000, 10_000];
/// Level 5 would stop most code.
const SECURITY_LEVEL_CHOICES: [u64; 4] = [1, 2, 3, 4];
/// Numbers of failure modes, with equal probability.
const MODE_COUNT_CHOICES: [usize; 6] = [0, 0, 1, 1, 1, 2];

/// The profiles, the count and the seed of generated presets.
#[derive(Debug, Clone, Default)]
pub struct PresetRequest<'a> {
    pub profiles: Vec<&'a PresetProfile>,
    /// Without a count, each profile is used unchanged, at each of its severities.
    pub count: Option<u32>,
    pub settings: CallSettings,
    /// The profiles are the canonical ones, not a choice of the user.
    pub canonical: bool,
}

/// Generates presets; the same seed gives the same ones.
pub fn generate_presets(
    request: &PresetRequest<'_>,
    seed: Seed,
) -> Result<Vec<Preset>, ConfigError> {
    if request.count.is_none() && !request.profiles.is_empty() {
        let origin =
            if request.canonical { PresetOrigin::Canonical } else { PresetOrigin::Profile };
        let mut presets = Vec::new();
        for profile in &request.profiles {
            let made = profile.to_presets_with_settings(&request.settings, origin)?;
            presets.extend(made.into_iter().map(log_generated));
        }
        return Ok(presets);
    }
    let count = request.count.unwrap_or(DEFAULT_PRESET_COUNT);
    (0..count)
        .map(|index| {
            generate_preset(request, seed.derive("presets").derive_nth(index.into()), index)
        })
        .collect()
}

fn generate_preset(
    request: &PresetRequest<'_>,
    seed: Seed,
    index: u32,
) -> Result<Preset, ConfigError> {
    let random_values = draw_values(request, &mut seed.rng());
    let settings = &request.settings;
    let values = if request.profiles.is_empty() {
        let scenario_name = Some(format!("random_{}", index + 1));
        let random_values = PresetValues { scenario_name, ..random_values };
        settings.layered_over_random(PresetValues::default(), random_values)
    } else {
        // `high` first, for requests of a single preset.
        let by_turn =
            if index.is_multiple_of(2) { ScenarioSeverity::High } else { ScenarioSeverity::Low };
        let severity = settings.scenario_severity().unwrap_or(by_turn);
        let profiles = merge_profiles(&request.profiles, severity);
        settings.layered_over_random(profiles, random_values)
    };
    Preset::new(values, PresetOrigin::Generated, "generated").map(log_generated)
}

fn log_generated(preset: Preset) -> Preset {
    tracing::debug!(
        target: "menace_scenario::preset",
        preset = preset.name(),
        origin = preset.origin.as_str(),
        keys = serde_json::to_string(&preset).unwrap_or_default(),
        "made a preset"
    );
    preset
}

/// Random limits and network, and failure modes if no profile gives any.
fn draw_values(request: &PresetRequest<'_>, random: &mut SeededRng) -> PresetValues {
    let mut values = PresetValues {
        cpu_limit: PositiveAmount::new(Duration::from_millis(pick_one(
            random,
            &CPU_LIMIT_CHOICES_MS,
        ))),
        memory_limit: PositiveAmount::new(ByteSize::from_bytes(
            pick_one(random, &MEMORY_CHOICES_MIB) * BYTES_PER_MIB,
        )),
        disk_limit: PositiveAmount::new(ByteSize::from_bytes(
            pick_one(random, &DISK_CHOICES_MIB) * BYTES_PER_MIB,
        )),
        timeout: Some(MinimumDuration::clamped_from_below(Duration::from_millis(pick_one(
            random,
            &TIMEOUT_CHOICES_MS,
        )))),
        security_level: Some(BoundedInteger::clamp_to_range(pick_one(
            random,
            &SECURITY_LEVEL_CHOICES,
        ))),
        // The only system for which there is a backend; drawn so that a seed keeps its presets.
        os_type: Some(pick_one(random, &[GuestOsType::Linux])),
        ..PresetValues::default()
    };
    let share = pick_one(random, &CPU_SHARE_CHOICES);
    if random.chance(0.25) {
        values.cpu_share = ProcessorCount::new(share);
    }
    // Stands for a number of GPUs, which no backend provides; drawn so that a seed keeps its
    // presets.
    random.next_below(2);
    let network = draw_network(random);
    draw_faults(&mut values, random, request.profiles.is_empty());
    let level = values.security_level.map(to_security_level);
    let is_strict = level.is_some_and(|level| !level.allows_network());
    if is_strict && !may_need_network(request, &values) {
        return values;
    }
    if is_strict {
        let strictest = SecurityLevel::STRICTEST_WITH_NETWORK.get().into();
        values.security_level = Some(BoundedInteger::clamp_to_range(strictest));
    }
    values.or_else_values(network)
}

/// Do failure modes need sockets? Any profile may.
fn may_need_network(request: &PresetRequest<'_>, values: &PresetValues) -> bool {
    let network_modes = [
        FailureMode::Fault(FaultMode::Network),
        FailureMode::Fault(FaultMode::NetworkPartition),
        FailureMode::Fault(FaultMode::FlakyUpstream),
    ];
    let mut modes = values.failure_modes.iter().flatten();
    !request.profiles.is_empty() || modes.any(|mode| network_modes.contains(mode))
}

fn draw_network(random: &mut SeededRng) -> PresetValues {
    let latency = pick_one(random, &LATENCY_CHOICES_MS);
    let jitter = random.next_below(latency / 2 + 1);
    let (loss, duplication) = (
        pick_one(random, &PACKET_LOSS_CHOICES_PERCENT),
        pick_one(random, &DUPLICATION_CHOICES_PERCENT),
    );
    let kbps = |kbps: u64| PositiveAmount::new(NetworkBandwidth::from_bits_per_second(kbps * 1000));
    let (limit, lowest) =
        (pick_one(random, &BANDWIDTH_CHOICES_KBPS), pick_one(random, &MIN_BANDWIDTH_CHOICES_KBPS));
    let highest = lowest * (1 + random.next_below(10));
    let mut values = PresetValues {
        network_latency_ms: Some(MillisDuration::from_millis(latency)),
        network_jitter_ms: Some(MillisDuration::from_millis(jitter)),
        packet_loss: PercentShare::new(loss),
        packet_duplication: PercentShare::new(duplication),
        ..PresetValues::default()
    };
    if random.chance(0.5) {
        values.bandwidth_limit = kbps(limit);
    } else {
        (values.min_bandwidth, values.max_bandwidth) = (kbps(lowest), kbps(highest));
    }
    values
}

fn draw_faults(values: &mut PresetValues, random: &mut SeededRng, are_wanted: bool) {
    let mut modes = FailureMode::ALL.to_vec();
    random.shuffle(&mut modes);
    modes.truncate(pick_one(random, &MODE_COUNT_CHOICES));
    let severity = pick_one(random, &[ScenarioSeverity::Low, ScenarioSeverity::High]);
    let (threads, tasks) = (2 + random.next_below(63), 8 + random.next_below(249));
    let threat = 10 * (1 + random.next_below(10));
    if !are_wanted || modes.is_empty() {
        return;
    }
    values.scenario_severity = Some(severity);
    if modes.contains(&FailureMode::ConcurrencySpike) {
        values.thread_burst = Some(BoundedInteger::clamp_to_range(threads));
        values.async_task_burst = Some(BoundedInteger::clamp_to_range(tasks));
    }
    let strategies: Vec<_> =
        modes.iter().filter_map(|mode| super::failure_modes::implied_strategy(*mode)).collect();
    if !strategies.is_empty() {
        values.threat_intensity = PercentShare::new(threat as f64);
        values.stub_strategy = Some(strategies);
    }
    values.failure_modes = Some(modes);
}

/// A random item of a list that is never empty.
fn pick_one<T: Copy>(random: &mut SeededRng, from: &[T]) -> T {
    random.pick(from).copied().unwrap_or(from[0])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::preset::{
        CANONICAL_PROFILES, PRESET_KEYS, ProfileCatalog, read_presets, read_single_preset,
    };

    use super::*;

    fn settings(json: &str) -> CallSettings {
        read_single_preset(json, "test").unwrap().values().clone().into()
    }

    #[test]
    fn the_same_seed_makes_the_same_presets_and_another_makes_others() {
        let wanted = PresetRequest { count: Some(5), ..PresetRequest::default() };
        let made = |seed| generate_presets(&wanted, Seed(seed)).unwrap();
        assert_eq!(made(1), made(1));
        assert_ne!(made(1), made(2));
        let first = |count| {
            generate_presets(&PresetRequest { count, ..PresetRequest::default() }, Seed(1)).unwrap()
        };
        assert_eq!(first(Some(2)), first(Some(5))[..2]);
        assert_eq!(first(None).len(), 3);
    }

    #[test]
    fn generated_presets_can_be_read_and_have_no_key_without_effect() {
        let wanted = PresetRequest { count: Some(1000), ..PresetRequest::default() };
        let made = generate_presets(&wanted, Seed(7)).unwrap();
        let text = serde_json::to_string(&made).unwrap();
        let again = read_presets(&text, "made.json", PresetOrigin::Generated).unwrap();
        assert_eq!(again, made);
        for preset in &made {
            assert_eq!(
                preset.find_ineffective_keys(),
                [],
                "{}",
                serde_json::to_string(preset).unwrap()
            );
        }
    }

    #[test]
    fn every_generated_key_and_every_mode_is_drawn() {
        let wanted = PresetRequest { count: Some(1000), ..PresetRequest::default() };
        let made = generate_presets(&wanted, Seed(7)).unwrap();
        for key in PRESET_KEYS {
            let is_drawn = made.iter().any(|preset| key.value_json(preset.values()).is_some());
            let is_documented = key.generated != "–" && !key.generated.starts_with("never");
            assert_eq!(is_drawn, is_documented, "{}", key.name);
        }
        let modes: BTreeSet<FailureMode> =
            made.iter().flat_map(|preset| preset.failure_modes().to_vec()).collect();
        assert_eq!(modes.len(), FailureMode::ALL.len());
    }

    #[test]
    fn settings_of_backends_that_do_not_exist_change_nothing() {
        let make = |json: &str| {
            let wanted = PresetRequest {
                count: Some(50),
                settings: settings(json),
                ..PresetRequest::default()
            };
            generate_presets(&wanted, Seed(3)).unwrap()
        };
        let images = r#"{"VM_SETTINGS": {"windows_image": "w", "macos_image": "m"}}"#;
        for (with, without) in make(images).iter().zip(make("{}")) {
            let mut back = with.values().clone();
            back.vm_settings = None;
            assert_eq!(&back, without.values());
        }
    }

    #[test]
    fn profiles_without_a_count_are_taken_unchanged() {
        let profiles = ProfileCatalog::built_in();
        let wanted = PresetRequest {
            profiles: profiles.get_all(CANONICAL_PROFILES, "test").unwrap(),
            ..PresetRequest::default()
        };
        let made = generate_presets(&wanted, Seed(1)).unwrap();
        assert_eq!(made, generate_presets(&wanted, Seed(2)).unwrap());
        assert_eq!(made.len(), 8);
    }

    #[test]
    fn a_severity_of_the_settings_picks_the_level() {
        let profiles = ProfileCatalog::built_in();
        let made = |severity: &str, count| {
            let wanted = PresetRequest {
                profiles: profiles.get_all(["concurrency_spike"], "test").unwrap(),
                settings: settings(&format!(r#"{{"SCENARIO_SEVERITY": "{severity}"}}"#)),
                count,
                ..PresetRequest::default()
            };
            let made = generate_presets(&wanted, Seed(1)).unwrap();
            let threads = |preset: &Preset| preset.values().thread_burst.unwrap().get();
            made.iter().map(threads).collect::<Vec<u64>>()
        };
        assert_eq!((made("low", None), made("high", None)), (vec![8], vec![32]));
        assert_eq!((made("low", Some(2)), made("high", Some(2))), (vec![8, 8], vec![32, 32]));
    }

    #[test]
    fn canonical_profiles_have_the_canonical_origin() {
        let profiles = ProfileCatalog::built_in();
        let wanted = PresetRequest {
            profiles: profiles.get_all(CANONICAL_PROFILES, "test").unwrap(),
            canonical: true,
            ..PresetRequest::default()
        };
        let made = generate_presets(&wanted, Seed(1)).unwrap();
        assert!(made.iter().all(|preset| preset.origin == PresetOrigin::Canonical));
    }

    #[test]
    fn profiles_win_over_random_values_and_settings_over_both() {
        let profiles = ProfileCatalog::built_in();
        let wanted = PresetRequest {
            profiles: profiles.get_all(["hostile_input", "concurrency_spike"], "test").unwrap(),
            count: Some(2),
            settings: settings(r#"{"CPU_LIMIT": 7, "THREAD_BURST": 5}"#),
            ..PresetRequest::default()
        };
        let made = generate_presets(&wanted, Seed(1)).unwrap();
        for (preset, tasks) in made.iter().zip([128, 32]) {
            let values = preset.values();
            assert_eq!(preset.name(), "hostile_input+concurrency_spike");
            assert_eq!(
                preset.failure_modes(),
                [FailureMode::HostileInput, FailureMode::ConcurrencySpike]
            );
            assert_eq!(values.cpu_limit, PositiveAmount::new(Duration::from_secs(7)));
            assert_eq!(values.thread_burst, Some(BoundedInteger::clamp_to_range(5)));
            assert_eq!(values.async_task_burst, Some(BoundedInteger::clamp_to_range(tasks)));
            assert!(values.memory_limit.is_some(), "chance fills the rest");
            assert_eq!(preset.find_ineffective_keys(), []);
        }
    }

    #[test]
    fn a_setting_changes_its_own_key_and_no_other() {
        let make = |json: &str| {
            let wanted = PresetRequest { settings: settings(json), ..PresetRequest::default() };
            generate_presets(&wanted, Seed(3)).unwrap()
        };
        for (with, without) in make(r#"{"CPU_LIMIT": 99}"#).iter().zip(make("{}")) {
            let mut back = with.values().clone();
            back.cpu_limit = without.values().cpu_limit;
            assert_eq!(&back, without.values());
        }
    }
}

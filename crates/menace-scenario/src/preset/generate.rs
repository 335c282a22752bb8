//! Makes presets: from profiles as they are, from chance, or from both.
//!
//! What settings say wins over profiles, and those win over chance. Every key is drawn whether it is
//! used or not, so that a setting changes its own key and no other.

use std::time::Duration;

use menace_model::{Random, Seed};
use menace_settings::{
    Bandwidth, DurationFrom, FailureMode, Millis, OsType, Percent, Positive, Processors,
    ScenarioSeverity, Size, Within,
};

use crate::Problems;

use super::profiles::merged;
use super::{Preset, PresetOrigin, Profile, Values};

/// How many presets there are when nobody says.
const COUNT: u32 = 3;

const MIB: u64 = 1 << 20;
const CPU_MS: [u64; 4] = [500, 1000, 2000, 4000];
const MEMORY: [u64; 5] = [64 * MIB, 128 * MIB, 256 * MIB, 512 * MIB, 1024 * MIB];
const DISK: [u64; 6] = [16 * MIB, 32 * MIB, 64 * MIB, 128 * MIB, 256 * MIB, 512 * MIB];
const TIMEOUT_MS: [u64; 4] = [2000, 5000, 10_000, 30_000];
const CPU_SHARES: [f64; 3] = [0.25, 0.5, 1.0];
const LATENCY_MS: [u64; 6] = [0, 10, 50, 100, 200, 500];
const LOSS: [f64; 5] = [0.0, 0.5, 1.0, 5.0, 10.0];
const DUPLICATION: [f64; 4] = [0.0, 0.5, 1.0, 5.0];
const KBPS: [u64; 6] = [64, 256, 1000, 5000, 20_000, 100_000];
const LOWEST_KBPS: [u64; 5] = [64, 256, 1000, 5000, 10_000];
/// From the least strict to the one that forbids sockets; the last would stop most code.
const LEVELS: [u64; 4] = [1, 2, WITH_SOCKETS, WITHOUT_SOCKETS];
/// The strictest level at which there is a network to make bad, and the next.
const WITH_SOCKETS: u64 = 3;
const WITHOUT_SOCKETS: u64 = 4;
/// Of six presets, how many have no failure mode, one, two.
const MODES_OF_SIX: [usize; 6] = [0, 0, 1, 1, 1, 2];

/// What is wanted of the generator.
#[derive(Debug, Clone, Default)]
pub struct Wanted<'a> {
    pub profiles: Vec<&'a Profile>,
    /// Without it, profiles are taken as they are, at each of their severities.
    pub count: Option<u32>,
    /// What the settings say about calls.
    pub settings: Values,
    /// The profiles are the canonical ones, and nobody's choice.
    pub canonical: bool,
    /// Calls can be run in containers.
    pub containers: bool,
}

/// Makes them; the same seed makes the same.
pub fn generate(wanted: &Wanted<'_>, seed: Seed) -> Result<Vec<Preset>, Problems> {
    if wanted.count.is_none() && !wanted.profiles.is_empty() {
        let origin = if wanted.canonical { PresetOrigin::Canonical } else { PresetOrigin::Profile };
        let mut presets = Vec::new();
        for profile in &wanted.profiles {
            let made = profile.presets_under(&wanted.settings, origin)?;
            presets.extend(made.into_iter().map(told));
        }
        return Ok(presets);
    }
    let count = wanted.count.unwrap_or(COUNT);
    (0..count).map(|index| one(wanted, seed.of("presets").nth(index.into()), index)).collect()
}

fn one(wanted: &Wanted<'_>, seed: Seed, index: u32) -> Result<Preset, Problems> {
    let chance = drawn(wanted, &mut seed.random());
    let values = if wanted.profiles.is_empty() {
        Values { scenario_name: Some(format!("random_{}", index + 1)), ..chance }
    } else {
        // The harder one first: whoever wants a single preset wants to see something break.
        let by_turn =
            if index.is_multiple_of(2) { ScenarioSeverity::High } else { ScenarioSeverity::Low };
        let severity = wanted.settings.scenario_severity.unwrap_or(by_turn);
        merged(&wanted.profiles, severity).over(chance)
    };
    let values = wanted.settings.clone().over(values);
    Preset::new(values, PresetOrigin::Generated, "generated").map(told)
}

fn told(preset: Preset) -> Preset {
    tracing::debug!(
        target: "menace_scenario::preset",
        preset = preset.name(),
        origin = preset.origin.as_str(),
        keys = serde_json::to_string(&preset).unwrap_or_default(),
        "made a preset"
    );
    preset
}

/// Limits and a network by chance, and failure modes where no profile gives any.
fn drawn(wanted: &Wanted<'_>, random: &mut Random) -> Values {
    let mut values = Values {
        cpu_limit: Positive::new(Duration::from_millis(pick(random, &CPU_MS))),
        memory_limit: Positive::new(Size::from_bytes(pick(random, &MEMORY))),
        disk_limit: Positive::new(Size::from_bytes(pick(random, &DISK))),
        timeout: Some(DurationFrom::at_least(Duration::from_millis(pick(random, &TIMEOUT_MS)))),
        security_level: Some(Within::clamped(pick(random, &LEVELS))),
        os_type: Some(pick(random, &systems(&wanted.settings))),
        ..Values::default()
    };
    let share = pick(random, &CPU_SHARES);
    if random.chance(0.25) {
        values.cpu_share = Processors::new(share);
    }
    let gpus = random.below(2);
    if wanted.containers {
        values.gpu_limit = Some(Within::clamped(gpus));
    }
    let network = network(random);
    faults(&mut values, random, wanted.profiles.is_empty());
    let is_strict = values.security_level.is_some_and(|level| level.get() >= WITHOUT_SOCKETS);
    if is_strict && !may_need_network(wanted, &values) {
        return values;
    }
    if is_strict {
        values.security_level = Some(Within::clamped(WITH_SOCKETS));
    }
    values.or(network)
}

/// Its modes do, and any profile may: without sockets they would be no trial.
fn may_need_network(wanted: &Wanted<'_>, values: &Values) -> bool {
    let of_network =
        [FailureMode::Network, FailureMode::NetworkPartition, FailureMode::FlakyUpstream];
    let mut modes = values.failure_modes.iter().flatten();
    !wanted.profiles.is_empty() || modes.any(|mode| of_network.contains(mode))
}

fn network(random: &mut Random) -> Values {
    let latency = pick(random, &LATENCY_MS);
    let jitter = random.below(latency / 2 + 1);
    let (loss, duplication) = (pick(random, &LOSS), pick(random, &DUPLICATION));
    let kbps = |kbps: u64| Positive::new(Bandwidth::from_bits_per_second(kbps * 1000));
    let (limit, lowest) = (pick(random, &KBPS), pick(random, &LOWEST_KBPS));
    let highest = lowest * (1 + random.below(10));
    let mut values = Values {
        network_latency_ms: Some(Millis::from_millis(latency)),
        network_jitter_ms: Some(Millis::from_millis(jitter)),
        packet_loss: Percent::new(loss),
        packet_duplication: Percent::new(duplication),
        ..Values::default()
    };
    if random.chance(0.5) {
        values.bandwidth_limit = kbps(limit);
    } else {
        (values.min_bandwidth, values.max_bandwidth) = (kbps(lowest), kbps(highest));
    }
    values
}

fn faults(values: &mut Values, random: &mut Random, are_wanted: bool) {
    let mut modes = FailureMode::ALL.to_vec();
    random.shuffle(&mut modes);
    modes.truncate(pick(random, &MODES_OF_SIX));
    let severity = pick(random, &[ScenarioSeverity::Low, ScenarioSeverity::High]);
    let (threads, tasks) = (2 + random.below(63), 8 + random.below(249));
    let threat = 10 * (1 + random.below(10));
    if !are_wanted || modes.is_empty() {
        return;
    }
    values.scenario_severity = Some(severity);
    if modes.contains(&FailureMode::ConcurrencySpike) {
        values.thread_burst = Some(Within::clamped(threads));
        values.async_task_burst = Some(Within::clamped(tasks));
    }
    let strategies: Vec<_> = modes.iter().filter_map(|mode| super::modes::implied(*mode)).collect();
    if !strategies.is_empty() {
        values.threat_intensity = Percent::new(threat as f64);
        values.stub_strategy = Some(strategies);
    }
    values.failure_modes = Some(modes);
}

/// Linux, and what there is an image for.
fn systems(settings: &Values) -> Vec<OsType> {
    let images = settings.vm_settings.as_ref();
    let has = |key: &str| images.is_some_and(|images| images.get(key).is_some());
    [
        (true, OsType::Linux),
        (has("windows_image"), OsType::Windows),
        (has("macos_image"), OsType::Macos),
    ]
    .into_iter()
    .filter_map(|(has, system)| has.then_some(system))
    .collect()
}

/// One of the constants above, of which there is always a first.
fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    random.pick(from).copied().unwrap_or(from[0])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::preset::{CANONICAL, KEYS, Profiles, read, read_one};

    use super::*;

    fn settings(json: &str) -> Values {
        read_one(json, "test").unwrap().values().clone()
    }

    #[test]
    fn the_same_seed_makes_the_same_presets_and_another_makes_others() {
        let wanted = Wanted { count: Some(5), ..Wanted::default() };
        let made = |seed| generate(&wanted, Seed(seed)).unwrap();
        assert_eq!(made(1), made(1));
        assert_ne!(made(1), made(2));
        let first = |count| generate(&Wanted { count, ..Wanted::default() }, Seed(1)).unwrap();
        assert_eq!(first(Some(2)), first(Some(5))[..2]);
        assert_eq!(first(None).len(), 3);
    }

    #[test]
    fn what_is_made_can_be_read_and_has_no_key_without_effect() {
        let wanted = Wanted { count: Some(1000), ..Wanted::default() };
        let made = generate(&wanted, Seed(7)).unwrap();
        let text = serde_json::to_string(&made).unwrap();
        let again = read(&text, "made.json", PresetOrigin::Generated).unwrap();
        assert_eq!(again, made);
        for preset in &made {
            assert_eq!(preset.oddities(), [], "{}", serde_json::to_string(preset).unwrap());
        }
    }

    #[test]
    fn every_key_of_the_generator_and_every_mode_is_drawn_in_time() {
        let wanted = Wanted {
            count: Some(1000),
            containers: true,
            settings: settings(r#"{"VM_SETTINGS": {"windows_image": "w", "macos_image": "m"}}"#),
            ..Wanted::default()
        };
        let made = generate(&wanted, Seed(7)).unwrap();
        for key in KEYS {
            let is_drawn = made.iter().any(|preset| key.json(preset.values()).is_some());
            let is_told = key.generated != "–" && !key.generated.starts_with("never");
            assert_eq!(is_drawn, is_told || key.name == "VM_SETTINGS", "{}", key.name);
        }
        let modes: BTreeSet<FailureMode> =
            made.iter().flat_map(|preset| preset.failure_modes().to_vec()).collect();
        assert_eq!(modes.len(), FailureMode::ALL.len());
        let systems: BTreeSet<_> = made.iter().filter_map(|one| one.values().os_type).collect();
        assert_eq!(systems.len(), 3);
    }

    #[test]
    fn profiles_without_a_count_are_taken_as_they_are() {
        let profiles = Profiles::built_in();
        let wanted =
            Wanted { profiles: profiles.all(CANONICAL, "test").unwrap(), ..Wanted::default() };
        let made = generate(&wanted, Seed(1)).unwrap();
        assert_eq!(made, generate(&wanted, Seed(2)).unwrap());
        assert_eq!(made.len(), 8);
    }

    #[test]
    fn a_severity_of_the_settings_picks_the_level() {
        let profiles = Profiles::built_in();
        let made = |severity: &str, count| {
            let wanted = Wanted {
                profiles: profiles.all(["concurrency_spike"], "test").unwrap(),
                settings: settings(&format!(r#"{{"SCENARIO_SEVERITY": "{severity}"}}"#)),
                count,
                ..Wanted::default()
            };
            let made = generate(&wanted, Seed(1)).unwrap();
            let threads = |preset: &Preset| preset.values().thread_burst.unwrap().get();
            made.iter().map(threads).collect::<Vec<u64>>()
        };
        assert_eq!((made("low", None), made("high", None)), (vec![8], vec![32]));
        assert_eq!((made("low", Some(2)), made("high", Some(2))), (vec![8, 8], vec![32, 32]));
    }

    #[test]
    fn canonical_profiles_are_told_as_such() {
        let profiles = Profiles::built_in();
        let wanted = Wanted {
            profiles: profiles.all(CANONICAL, "test").unwrap(),
            canonical: true,
            ..Wanted::default()
        };
        let made = generate(&wanted, Seed(1)).unwrap();
        assert!(made.iter().all(|preset| preset.origin == PresetOrigin::Canonical));
    }

    #[test]
    fn profiles_are_merged_over_chance_and_settings_over_both() {
        let profiles = Profiles::built_in();
        let wanted = Wanted {
            profiles: profiles.all(["hostile_input", "concurrency_spike"], "test").unwrap(),
            count: Some(2),
            settings: settings(r#"{"CPU_LIMIT": 7, "THREAD_BURST": 5}"#),
            ..Wanted::default()
        };
        let made = generate(&wanted, Seed(1)).unwrap();
        for (preset, tasks) in made.iter().zip([128, 32]) {
            let values = preset.values();
            assert_eq!(preset.name(), "hostile_input+concurrency_spike");
            assert_eq!(
                preset.failure_modes(),
                [FailureMode::HostileInput, FailureMode::ConcurrencySpike]
            );
            assert_eq!(values.cpu_limit, Positive::new(Duration::from_secs(7)));
            assert_eq!(values.thread_burst, Some(Within::clamped(5)));
            assert_eq!(values.async_task_burst, Some(Within::clamped(tasks)));
            assert!(values.memory_limit.is_some(), "chance fills the rest");
            assert_eq!(preset.oddities(), []);
        }
    }

    #[test]
    fn a_setting_changes_its_own_key_and_no_other() {
        let make = |json: &str| {
            let wanted = Wanted { settings: settings(json), ..Wanted::default() };
            generate(&wanted, Seed(3)).unwrap()
        };
        for (with, without) in make(r#"{"CPU_LIMIT": 99}"#).iter().zip(make("{}")) {
            let mut back = with.values().clone();
            back.cpu_limit = without.values().cpu_limit;
            assert_eq!(&back, without.values());
        }
    }
}

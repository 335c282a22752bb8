//! Which presets a cycle has, and whether a scenario still has the preset of earlier cycles.
//!
//! A name does not identify a preset: another seed generates other presets under the same names,
//! and preset files are edited. A scenario whose preset has changed has no delta.

use std::collections::BTreeMap;

use menace_scenario::ConfigError;
use menace_scenario::preset::{Preset, PresetSelection};
use menace_track::{CycleScores, RoiHistory};
use serde_json::Value;

use crate::cycle::PlannedScenario;

/// The presets of a cycle. Cycles take preset files in turns; generated presets are the same in
/// every cycle, since unchanged code must have no deltas.
pub(super) fn for_cycle(
    selection: &PresetSelection<'_>,
    cycle: u32,
) -> Result<Vec<Preset>, ConfigError> {
    selection.presets(if selection.files.is_empty() { 0 } else { cycle as usize })
}

/// Key in the history: fingerprints of the presets, by scenario.
const PRESETS_KEY: &str = "scenario_presets";

/// By name of the scenario, all severities together; equal presets have equal fingerprints.
pub(super) fn fingerprints(scenarios: &[PlannedScenario]) -> BTreeMap<String, String> {
    let mut hashers: BTreeMap<&str, blake3::Hasher> = BTreeMap::new();
    for scenario in scenarios {
        let hasher = hashers.entry(&scenario.name).or_default();
        hasher.update(format!("{:?}\n", scenario.preset.values()).as_bytes());
    }
    let hex = |hasher: blake3::Hasher| hasher.finalize().to_hex()[..16].to_owned();
    hashers.into_iter().map(|(name, hasher)| (name.to_owned(), hex(hasher))).collect()
}

/// Removes the deltas of scenarios that had another preset before.
pub(super) fn clear_changed_deltas(
    scores: &mut CycleScores,
    history: &RoiHistory,
    fingerprints: &BTreeMap<String, String>,
) {
    let stored = history.extra_fields.get(PRESETS_KEY);
    for (name, scored) in &mut scores.scenarios {
        let before = stored.and_then(|stored| stored.get(name)).and_then(Value::as_str);
        // Histories of older versions have no fingerprints.
        if before.is_some_and(|before| fingerprints.get(name).is_none_or(|now| now != before)) {
            scored.roi_delta = None;
        }
    }
}

pub(super) fn record(history: &mut RoiHistory, fingerprints: &BTreeMap<String, String>) {
    let stored = history.extra_fields.entry(PRESETS_KEY).or_insert_with(|| serde_json::json!({}));
    let Some(stored) = stored.as_object_mut() else { return };
    for (name, fingerprint) in fingerprints {
        stored.insert(name.clone(), fingerprint.as_str().into());
    }
}

#[cfg(test)]
mod tests {
    use menace_track::ScoredMetrics;

    use super::*;

    fn with_fingerprint(fingerprint: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("random_1".to_owned(), fingerprint.to_owned())])
    }

    #[test]
    fn a_scenario_under_another_preset_has_no_delta() {
        let mut history = RoiHistory::default();
        let delta = |history: &RoiHistory, fingerprint: &str| {
            let random = ScoredMetrics { roi_delta: Some(0.1), ..ScoredMetrics::default() };
            let scenarios = BTreeMap::from([("random_1".to_owned(), random)]);
            let mut scores = CycleScores { scenarios, ..CycleScores::default() };
            clear_changed_deltas(&mut scores, history, &with_fingerprint(fingerprint));
            scores.scenarios["random_1"].roi_delta
        };
        assert_eq!(delta(&history, "a"), Some(0.1), "no fingerprint is stored yet");
        record(&mut history, &with_fingerprint("a"));
        assert_eq!(delta(&history, "a"), Some(0.1));
        assert_eq!(delta(&history, "b"), None);
        record(&mut history, &with_fingerprint("b"));
        assert_eq!(delta(&history, "b"), Some(0.1));
    }
}

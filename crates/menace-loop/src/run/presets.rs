//! Which presets a cycle has; a delta is told of a scenario whose preset is the one that it was.
//!
//! Names say little: another seed generates other presets under the same ones, and files are edited.

use std::collections::BTreeMap;

use menace_scenario::Problems;
use menace_scenario::preset::{Choice, Preset};
use menace_track::{CycleReport, History};
use serde_json::Value;

use crate::cycle::Scenario;

/// The presets of a cycle. Files take turns. What is generated stays, or unchanged code would have deltas.
pub(super) fn of_cycle(choice: &Choice<'_>, cycle: u32) -> Result<Vec<Preset>, Problems> {
    choice.presets(if choice.files.is_empty() { 0 } else { cycle as usize })
}

/// Under this key the history remembers the presets of the scenarios, as numbers.
const PRESETS: &str = "scenario_presets";

/// By name, equal for equal presets: severities together.
pub(super) fn marks(scenarios: &[Scenario]) -> BTreeMap<String, String> {
    let mut hashers: BTreeMap<&str, blake3::Hasher> = BTreeMap::new();
    for scenario in scenarios {
        let hasher = hashers.entry(&scenario.name).or_default();
        hasher.update(format!("{:?}\n", scenario.preset.values()).as_bytes());
    }
    let mark = |hasher: blake3::Hasher| hasher.finalize().to_hex()[..16].to_owned();
    hashers.into_iter().map(|(name, hasher)| (name.to_owned(), mark(hasher))).collect()
}

/// Takes away the deltas of scenarios that were something else before.
pub(super) fn forget_others(
    report: &mut CycleReport,
    history: &History,
    marks: &BTreeMap<String, String>,
) {
    let known = history.others.get(PRESETS);
    for (name, scored) in &mut report.scenarios {
        let before = known.and_then(|known| known.get(name)).and_then(Value::as_str);
        // Histories of older programs do not say what they were.
        if before.is_some_and(|before| marks.get(name).is_none_or(|now| now != before)) {
            scored.roi_delta = None;
        }
    }
}

pub(super) fn remember(history: &mut History, marks: &BTreeMap<String, String>) {
    let known = history.others.entry(PRESETS).or_insert_with(|| serde_json::json!({}));
    let Some(known) = known.as_object_mut() else { return };
    for (name, mark) in marks {
        known.insert(name.clone(), mark.as_str().into());
    }
}

#[cfg(test)]
mod tests {
    use menace_track::Scored;

    use super::*;

    fn marked(mark: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("random_1".to_owned(), mark.to_owned())])
    }

    #[test]
    fn a_scenario_under_another_preset_has_no_delta() {
        let mut history = History::default();
        let delta = |history: &History, mark: &str| {
            let scored = Scored { roi_delta: Some(0.1), ..Scored::default() };
            let scenarios = BTreeMap::from([("random_1".to_owned(), scored)]);
            let mut report = CycleReport { scenarios, ..CycleReport::default() };
            forget_others(&mut report, history, &marked(mark));
            report.scenarios["random_1"].roi_delta
        };
        assert_eq!(delta(&history, "a"), Some(0.1), "nothing is known of what it was");
        remember(&mut history, &marked("a"));
        assert_eq!(delta(&history, "a"), Some(0.1));
        assert_eq!(delta(&history, "b"), None);
        remember(&mut history, &marked("b"));
        assert_eq!(delta(&history, "b"), Some(0.1));
    }
}

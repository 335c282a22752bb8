//! Merging of `PresetValues`.

use menace_model::{FailureMode, InputStrategy};
use serde_json::Value as Json;

use menace_settings::JsonRecords;

use super::{PRESET_KEYS, PresetKey, PresetValues};

impl PresetValues {
    /// Merges both, key by key; these values have priority. If only one bound of a bandwidth range
    /// is set here, the other bound is adjusted.
    #[must_use]
    pub fn layered_over(self, below: Self) -> Self {
        let own_min = self.min_bandwidth;
        let own_max = self.max_bandwidth;
        let mut both = self.or_else_values(below);
        if both.min_bandwidth > both.max_bandwidth && both.max_bandwidth.is_some() {
            match (own_min, own_max) {
                (None, Some(max)) => both.min_bandwidth = Some(max),
                (Some(min), None) => both.max_bandwidth = Some(min),
                // Both bounds come from one source: `Preset::new` reports the contradiction.
                _ => {}
            }
        }
        both
    }

    /// Merges two profiles of one preset: lists are joined, the more severe number wins, other keys
    /// are taken from these values.
    #[must_use]
    pub fn merged_with(self, earlier: Self) -> Self {
        let joined = Self {
            scenario_name: match (&earlier.scenario_name, &self.scenario_name) {
                (Some(first), Some(second)) => Some(format!("{first}+{second}")),
                (first, second) => first.clone().or_else(|| second.clone()),
            },
            scenario_severity: earlier.scenario_severity.max(self.scenario_severity),
            failure_modes: union_lists(earlier.failure_modes.as_ref(), self.failure_modes.as_ref()),
            stub_strategy: union_lists(earlier.stub_strategy.as_ref(), self.stub_strategy.as_ref()),
            network_partition: union_lists(
                earlier.network_partition.as_ref(),
                self.network_partition.as_ref(),
            ),
            network_mocks: concatenate_records(
                self.network_mocks.as_ref(),
                earlier.network_mocks.as_ref(),
            ),
            threat_intensity: match (earlier.threat_intensity, self.threat_intensity) {
                (Some(first), Some(second)) if first > second => Some(first),
                (first, second) => second.or(first),
            },
            thread_burst: earlier.thread_burst.max(self.thread_burst),
            async_task_burst: earlier.async_task_burst.max(self.async_task_burst),
            ..Self::default()
        };
        joined.or_else_values(self.layered_over(earlier))
    }

    /// Adds failure modes and strategies, if these values have some.
    #[must_use]
    pub(super) fn with_modes_and_strategies(
        mut self,
        modes: &[FailureMode],
        strategies: &[InputStrategy],
    ) -> Self {
        if let Some(own) = &self.failure_modes {
            self.failure_modes = union_lists(Some(&modes.to_vec()), Some(own));
        }
        if let Some(own) = &self.stub_strategy {
            self.stub_strategy = union_lists(Some(&strategies.to_vec()), Some(own));
        }
        self
    }

    /// The part that also applies to the baseline: no failure modes, no adversarial strategies.
    #[must_use]
    pub fn baseline_part(&self) -> Self {
        let mut values = Self { failure_modes: None, ..self.clone() };
        if let Some(strategies) = &mut values.stub_strategy {
            strategies.retain(|strategy| !strategy.is_adversarial());
        }
        values.stub_strategy = values.stub_strategy.filter(|strategies| !strategies.is_empty());
        values
    }

    /// Are only name, severity and empty lists set?
    pub fn has_no_effect(&self) -> bool {
        let naming = ["SCENARIO_NAME", "SCENARIO_SEVERITY"];
        // An empty list of mocks has an effect: every request gets an empty answer.
        let says = |key: &PresetKey| match key.value_json(self) {
            Some(Json::Array(items)) => !items.is_empty() || key.name == "NETWORK_MOCKS",
            value => value.is_some(),
        };
        !PRESET_KEYS.iter().any(|key| !naming.contains(&key.name) && says(key))
    }
}

/// Items of both lists, each once, in the order of their first occurrence.
fn union_lists<T: Clone + PartialEq>(
    first: Option<&Vec<T>>,
    second: Option<&Vec<T>>,
) -> Option<Vec<T>> {
    let mut all: Option<Vec<T>> = None;
    for item in first.into_iter().chain(second).flatten() {
        let all = all.get_or_insert_default();
        if !all.contains(item) {
            all.push(item.clone());
        }
    }
    all.or_else(|| first.or(second).cloned())
}

/// The first fitting answer wins, so the first list goes first.
fn concatenate_records(
    first: Option<&JsonRecords>,
    second: Option<&JsonRecords>,
) -> Option<JsonRecords> {
    let items = |records: &JsonRecords| match &records.0 {
        Json::Array(items) => items.clone(),
        one => vec![one.clone()],
    };
    match (first, second) {
        (Some(first), Some(second)) => {
            Some(JsonRecords(Json::Array([items(first), items(second)].concat())))
        }
        (first, second) => first.or(second).cloned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::preset::read_single_preset;

    use super::*;

    fn values(json: &str) -> PresetValues {
        read_single_preset(json, "test").unwrap().values().clone()
    }

    fn text(values: &PresetValues) -> String {
        serde_json::to_string(values).unwrap()
    }

    #[test]
    fn profiles_of_one_preset_are_merged() {
        let first = values(
            r#"{"SCENARIO_NAME": "a", "FAILURE_MODES": "disk,cpu", "THREAD_BURST": 8,
                "CPU_LIMIT": 1, "THREAT_INTENSITY": 90, "SCENARIO_SEVERITY": "high",
                "NETWORK_MOCKS": [{"url": "a"}]}"#,
        );
        let second = values(
            r#"{"SCENARIO_NAME": "b", "FAILURE_MODES": "memory,disk", "THREAD_BURST": 4,
                "CPU_LIMIT": 2, "THREAT_INTENSITY": 30, "SCENARIO_SEVERITY": "low",
                "NETWORK_MOCKS": {"url": "b"}}"#,
        );
        assert_eq!(
            text(&second.merged_with(first)),
            concat!(
                r#"{"SCENARIO_NAME":"a+b","SCENARIO_SEVERITY":"high","CPU_LIMIT":"2","#,
                r#""NETWORK_MOCKS":[{"url":"b"},{"url":"a"}],"THREAT_INTENSITY":"90","#,
                r#""FAILURE_MODES":["disk","cpu","memory"],"THREAD_BURST":"8"}"#
            )
        );
    }

    #[test]
    fn a_bandwidth_range_follows_the_bound_that_wins() {
        let preset = values(r#"{"MIN_BANDWIDTH": "1Mbps", "MAX_BANDWIDTH": "2Mbps"}"#);
        let lower = values(r#"{"MAX_BANDWIDTH": "5kbps"}"#).layered_over(preset.clone());
        assert_eq!(text(&lower), r#"{"MIN_BANDWIDTH":"5kbps","MAX_BANDWIDTH":"5kbps"}"#);
        let higher = values(r#"{"MIN_BANDWIDTH": "9Mbps"}"#).layered_over(preset);
        assert_eq!(text(&higher), r#"{"MIN_BANDWIDTH":"9Mbps","MAX_BANDWIDTH":"9Mbps"}"#);
    }

    #[test]
    fn the_baseline_part_has_no_failure_modes() {
        let set = values(
            r#"{"CPU_LIMIT": 2, "FAILURE_MODES": "disk",
                "SANDBOX_STUB_STRATEGY": "hostile,smart"}"#,
        );
        let baseline = r#"{"CPU_LIMIT":"2","SANDBOX_STUB_STRATEGY":["smart"]}"#;
        assert_eq!(text(&set.baseline_part()), baseline);
        assert_eq!(text(&values(r#"{"SANDBOX_STUB_STRATEGY": "misuse"}"#).baseline_part()), "{}");
    }

    #[test]
    fn a_name_is_no_change() {
        assert!(values(r#"{"SCENARIO_NAME": "x", "SCENARIO_SEVERITY": "low"}"#).has_no_effect());
        assert!(!values(r#"{"SAFE_MODE": 0}"#).has_no_effect());
    }

    #[test]
    fn an_empty_list_has_no_effect_except_for_mocks() {
        assert!(values(r#"{"FAILURE_MODES": [], "NETWORK_PARTITION": [""]}"#).has_no_effect());
        assert!(!values(r#"{"NETWORK_MOCKS": []}"#).has_no_effect());
    }
}

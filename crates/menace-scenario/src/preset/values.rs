//! Values of several places brought together.

use serde_json::Value as Json;

use menace_settings::{FailureMode, JsonRecords, StubStrategy};

use crate::input::Strategy;

use super::{KEYS, Key, Values};

impl Values {
    /// Key by key these win. Where one bound of a range of rates does, the other gives way.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        let (own_min, own_max) = (self.min_bandwidth, self.max_bandwidth);
        let mut both = self.or(below);
        if both.min_bandwidth > both.max_bandwidth && both.max_bandwidth.is_some() {
            match (own_min, own_max) {
                (None, Some(max)) => both.min_bandwidth = Some(max),
                (Some(min), None) => both.max_bandwidth = Some(min),
                // Both of one place: whoever wrote them has to hear of it.
                _ => {}
            }
        }
        both
    }

    /// Both at once, as for two profiles of one preset: lists are joined, the harder figure wins,
    /// and for the rest these do.
    #[must_use]
    pub fn with(self, earlier: Self) -> Self {
        let joined = Self {
            scenario_name: match (&earlier.scenario_name, &self.scenario_name) {
                (Some(first), Some(second)) => Some(format!("{first}+{second}")),
                (first, second) => first.clone().or_else(|| second.clone()),
            },
            scenario_severity: earlier.scenario_severity.max(self.scenario_severity),
            failure_modes: union(earlier.failure_modes.as_ref(), self.failure_modes.as_ref()),
            stub_strategy: union(earlier.stub_strategy.as_ref(), self.stub_strategy.as_ref()),
            network_partition: union(
                earlier.network_partition.as_ref(),
                self.network_partition.as_ref(),
            ),
            network_mocks: concatenated(
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
        joined.or(self.over(earlier))
    }

    /// Where these name failure modes or ways to make inputs, others are there as well.
    #[must_use]
    pub(super) fn beside(mut self, modes: &[FailureMode], strategies: &[StubStrategy]) -> Self {
        if let Some(own) = &self.failure_modes {
            self.failure_modes = union(Some(&modes.to_vec()), Some(own));
        }
        if let Some(own) = &self.stub_strategy {
            self.stub_strategy = union(Some(&strategies.to_vec()), Some(own));
        }
        self
    }

    /// What of it holds for the control, too: no failure mode, and nothing that no well-meaning caller
    /// passes.
    #[must_use]
    pub fn in_peace(&self) -> Self {
        let mut values = Self { failure_modes: None, ..self.clone() };
        if let Some(strategies) = &mut values.stub_strategy {
            strategies.retain(|strategy| !Strategy::from(*strategy).is_bad());
        }
        values.stub_strategy = values.stub_strategy.filter(|strategies| !strategies.is_empty());
        values
    }

    /// It says nothing but what it is called, and what its lists would hold if they held anything.
    pub fn changes_nothing(&self) -> bool {
        let naming = ["SCENARIO_NAME", "SCENARIO_SEVERITY"];
        // An empty list of answers is an answer: everybody gets an empty one.
        let says = |key: &Key| match key.json(self) {
            Some(Json::Array(items)) => !items.is_empty() || key.name == "NETWORK_MOCKS",
            value => value.is_some(),
        };
        !KEYS.iter().any(|key| !naming.contains(&key.name) && says(key))
    }
}

/// What is in both stands where it stood first.
fn union<T: Clone + PartialEq>(first: Option<&Vec<T>>, second: Option<&Vec<T>>) -> Option<Vec<T>> {
    let mut all: Option<Vec<T>> = None;
    for item in first.into_iter().chain(second).flatten() {
        let all = all.get_or_insert_default();
        if !all.contains(item) {
            all.push(item.clone());
        }
    }
    all.or_else(|| first.or(second).cloned())
}

/// The first that fits answers, so what comes first wins.
fn concatenated(first: Option<&JsonRecords>, second: Option<&JsonRecords>) -> Option<JsonRecords> {
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
    use crate::preset::read_one;

    use super::*;

    fn values(json: &str) -> Values {
        read_one(json, "test").unwrap().values().clone()
    }

    fn text(values: &Values) -> String {
        serde_json::to_string(values).unwrap()
    }

    #[test]
    fn profiles_of_one_preset_add_up() {
        let first = values(
            r#"{"SCENARIO_NAME": "a", "FAILURE_MODES": "disk,cpu", "THREAD_BURST": 8, "CPU_LIMIT": 1,
                "THREAT_INTENSITY": 90, "SCENARIO_SEVERITY": "high",
                "NETWORK_MOCKS": [{"url": "a"}]}"#,
        );
        let second = values(
            r#"{"SCENARIO_NAME": "b", "FAILURE_MODES": "memory,disk", "THREAD_BURST": 4,
                "CPU_LIMIT": 2, "THREAT_INTENSITY": 30, "SCENARIO_SEVERITY": "low",
                "NETWORK_MOCKS": {"url": "b"}}"#,
        );
        insta::assert_snapshot!(text(&second.with(first)), @r#"{"SCENARIO_NAME":"a+b","SCENARIO_SEVERITY":"high","CPU_LIMIT":"2","NETWORK_MOCKS":[{"url":"b"},{"url":"a"}],"THREAT_INTENSITY":"90","FAILURE_MODES":["disk","cpu","memory"],"THREAD_BURST":"8"}"#);
    }

    #[test]
    fn a_range_of_rates_follows_the_bound_that_wins() {
        let preset = values(r#"{"MIN_BANDWIDTH": "1Mbps", "MAX_BANDWIDTH": "2Mbps"}"#);
        let lower = values(r#"{"MAX_BANDWIDTH": "5kbps"}"#).over(preset.clone());
        assert_eq!(text(&lower), r#"{"MIN_BANDWIDTH":"5kbps","MAX_BANDWIDTH":"5kbps"}"#);
        let higher = values(r#"{"MIN_BANDWIDTH": "9Mbps"}"#).over(preset);
        assert_eq!(text(&higher), r#"{"MIN_BANDWIDTH":"9Mbps","MAX_BANDWIDTH":"9Mbps"}"#);
    }

    #[test]
    fn the_control_has_no_part_in_trouble() {
        let set = values(
            r#"{"CPU_LIMIT": 2, "FAILURE_MODES": "disk", "SANDBOX_STUB_STRATEGY": "hostile,smart"}"#,
        );
        let peace = r#"{"CPU_LIMIT":"2","SANDBOX_STUB_STRATEGY":["smart"]}"#;
        assert_eq!(text(&set.in_peace()), peace);
        assert_eq!(text(&values(r#"{"SANDBOX_STUB_STRATEGY": "misuse"}"#).in_peace()), "{}");
    }

    #[test]
    fn a_name_is_no_change() {
        assert!(values(r#"{"SCENARIO_NAME": "x", "SCENARIO_SEVERITY": "low"}"#).changes_nothing());
        assert!(!values(r#"{"SAFE_MODE": 0}"#).changes_nothing());
    }

    #[test]
    fn an_empty_list_is_no_change_unless_it_is_of_answers() {
        assert!(values(r#"{"FAILURE_MODES": [], "NETWORK_PARTITION": [""]}"#).changes_nothing());
        assert!(!values(r#"{"NETWORK_MOCKS": []}"#).changes_nothing());
    }
}

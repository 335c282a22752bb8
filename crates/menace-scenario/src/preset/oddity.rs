//! What is allowed in a preset and yet changes nothing.

use std::fmt;

use serde::Serialize;

use menace_settings::{FailureMode, Millis, Percent, StubStrategy};

use super::{Preset, Values};

/// A key without effect, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Oddity {
    /// None when it is about the whole preset.
    pub key: Option<&'static str>,
    pub why: &'static str,
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key {
            Some(key) => write!(f, "{key}: {}", self.why),
            None => f.write_str(self.why),
        }
    }
}

/// The one scenario that is meant to change nothing, by both of its names.
const CONTROL: [&str; 2] = ["normal", "baseline"];
/// From here on there are no packets: sockets are refused.
const WITHOUT_SOCKETS: u8 = 4;

impl Preset {
    /// Every key that has no effect beside the others.
    pub fn oddities(&self) -> Vec<Oddity> {
        let Values {
            thread_burst,
            async_task_burst,
            threat_intensity,
            failure_modes,
            network_partition,
            stub_strategy,
            ..
        } = &self.values;
        let mut found = Vec::new();
        let mut odd = |is_odd: bool, key: &'static str, why: &'static str| {
            if is_odd {
                found.push(Oddity { key: Some(key), why });
            }
        };
        let spikes = self.has(FailureMode::ConcurrencySpike);
        let no_spike = "it has no effect without `concurrency_spike` in FAILURE_MODES";
        odd(thread_burst.is_some() && !spikes, "THREAD_BURST", no_spike);
        odd(async_task_burst.is_some() && !spikes, "ASYNC_TASK_BURST", no_spike);
        let alone = "one at a time is no company: nothing runs beside it";
        let one_thread = thread_burst.is_some_and(|burst| burst.get() == 1);
        let one_task = async_task_burst.is_some_and(|burst| burst.get() == 1);
        odd(spikes && one_thread, "THREAD_BURST", alone);
        odd(spikes && one_task, "ASYNC_TASK_BURST", alone);
        let strategies = self.strategies();
        let is_threat = [StubStrategy::Hostile, StubStrategy::Misuse]
            .iter()
            .any(|strategy| strategies.contains(strategy));
        odd(
            threat_intensity.is_some() && !is_threat,
            "THREAT_INTENSITY",
            "it has no effect without `hostile_input` or `user_misuse` in FAILURE_MODES, or those \
             ways to make inputs",
        );
        let is_hostile = strategies.contains(&StubStrategy::Hostile);
        odd(
            is_hostile && self.threat_intensity() <= 0.0,
            "THREAT_INTENSITY",
            "it is the share of hostile inputs: at 0 there are none",
        );
        odd(
            spikes && !self.acts(FailureMode::ConcurrencySpike),
            "FAILURE_MODES",
            "`concurrency_spike` has no effect where THREAD_BURST and ASYNC_TASK_BURST are both 0",
        );
        odd(is_empty(failure_modes.as_ref()), "FAILURE_MODES", "it is empty: no fault strikes");
        odd(
            is_empty(network_partition.as_ref()),
            "NETWORK_PARTITION",
            "it names nobody: everybody can be reached",
        );
        odd(
            is_empty(stub_strategy.as_ref()),
            "SANDBOX_STUB_STRATEGY",
            "it is empty: all ways to make inputs are used",
        );
        for mode in [FailureMode::HostileInput, FailureMode::UserMisuse] {
            odd(
                self.has(mode)
                    && super::modes::implied(mode).is_some_and(|way| !strategies.contains(&way)),
                "FAILURE_MODES",
                "`hostile_input` and `user_misuse` have no effect where SANDBOX_STUB_STRATEGY leaves \
                 their ways to make inputs out",
            );
        }
        let isolation = self.isolation();
        if isolation.safe_mode || isolation.security_level >= WITHOUT_SOCKETS {
            for key in self.network_keys() {
                odd(
                    true,
                    key,
                    "there are no packets without sockets (SAFE_MODE, or SECURITY_LEVEL of 4 and \
                     above): at most stubbed answers feel it",
                );
            }
        }
        odd(
            self.values.network_jitter_ms > self.values.network_latency_ms,
            "NETWORK_JITTER_MS",
            "it is above NETWORK_LATENCY_MS: no packet arrives before it was sent",
        );
        for key in self.unmet() {
            odd(true, key, "it needs a container or a virtual machine; calls run without");
        }
        if self.values.changes_nothing() && !CONTROL.contains(&self.name()) {
            found.push(Oddity { key: None, why: "this preset changes nothing" });
        }
        found
    }

    /// Keys that make the network of this call worse.
    fn network_keys(&self) -> Vec<&'static str> {
        let Values {
            network_latency_ms,
            network_jitter_ms,
            packet_loss,
            packet_duplication,
            bandwidth_limit,
            min_bandwidth,
            max_bandwidth,
            network_partition,
            ..
        } = &self.values;
        let takes = |millis: &Option<Millis>| millis.is_some_and(|it| !it.duration().is_zero());
        let strikes = |share: &Option<Percent>| share.is_some_and(|it| it.percent() > 0.0);
        [
            (takes(network_latency_ms), "NETWORK_LATENCY_MS"),
            (takes(network_jitter_ms), "NETWORK_JITTER_MS"),
            (strikes(packet_loss), "PACKET_LOSS"),
            (strikes(packet_duplication), "PACKET_DUPLICATION"),
            (bandwidth_limit.is_some(), "BANDWIDTH_LIMIT"),
            (min_bandwidth.is_some(), "MIN_BANDWIDTH"),
            (max_bandwidth.is_some(), "MAX_BANDWIDTH"),
            (network_partition.as_ref().is_some_and(|it| !it.is_empty()), "NETWORK_PARTITION"),
        ]
        .into_iter()
        .filter_map(|(is_given, key)| is_given.then_some(key))
        .collect()
    }
}

fn is_empty<T>(list: Option<&Vec<T>>) -> bool {
    list.is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use crate::preset::read_one;

    fn odd(json: &str) -> Vec<&'static str> {
        let oddities = read_one(json, "test").unwrap().oddities();
        oddities.into_iter().map(|oddity| oddity.key.unwrap_or("all of it")).collect()
    }

    #[test]
    fn keys_without_effect_are_named() {
        for (json, expected) in [
            (
                r#"{"THREAD_BURST": 1, "ASYNC_TASK_BURST": 1}"#,
                &["THREAD_BURST", "ASYNC_TASK_BURST"][..],
            ),
            (r#"{"THREAD_BURST": 2, "FAILURE_MODES": "concurrency_spike"}"#, &[]),
            (r#"{"THREAD_BURST": 1, "FAILURE_MODES": "concurrency_spike"}"#, &["THREAD_BURST"]),
            (
                r#"{"ASYNC_TASK_BURST": 1, "FAILURE_MODES": "concurrency_spike"}"#,
                &["ASYNC_TASK_BURST"],
            ),
            (r#"{"THREAT_INTENSITY": 1}"#, &["THREAT_INTENSITY"]),
            (r#"{"THREAT_INTENSITY": 1, "SANDBOX_STUB_STRATEGY": "smart,misuse"}"#, &[]),
            (r#"{"PACKET_DUPLICATION": 1, "SAFE_MODE": 1}"#, &["PACKET_DUPLICATION"]),
            (r#"{"PACKET_DUPLICATION": 1, "SECURITY_LEVEL": 4}"#, &["PACKET_DUPLICATION"]),
            (r#"{"PACKET_DUPLICATION": 1}"#, &[]),
            (r#"{"PACKET_LOSS": 0, "NETWORK_LATENCY_MS": 0, "SAFE_MODE": 1}"#, &[]),
            (
                r#"{"PACKET_LOSS": 1, "NETWORK_LATENCY_MS": 2, "NETWORK_JITTER_MS": 1,
                    "BANDWIDTH_LIMIT": "1Mbps", "MIN_BANDWIDTH": "1kbps", "MAX_BANDWIDTH": "2kbps",
                    "NETWORK_PARTITION": "db", "SECURITY_LEVEL": 5}"#,
                &[
                    "NETWORK_LATENCY_MS",
                    "NETWORK_JITTER_MS",
                    "PACKET_LOSS",
                    "BANDWIDTH_LIMIT",
                    "MIN_BANDWIDTH",
                    "MAX_BANDWIDTH",
                    "NETWORK_PARTITION",
                ],
            ),
            (r#"{"NETWORK_JITTER_MS": 1}"#, &["NETWORK_JITTER_MS"]),
            (r#"{"NETWORK_JITTER_MS": 1, "NETWORK_LATENCY_MS": 1}"#, &[]),
            (r#"{"GPU_LIMIT": 1, "OS_TYPE": "macos"}"#, &["GPU_LIMIT", "OS_TYPE"]),
            (r#"{"GPU_LIMIT": 0, "OS_TYPE": "linux"}"#, &[]),
            (
                r#"{"FAILURE_MODES": "concurrency_spike", "THREAD_BURST": 0, "ASYNC_TASK_BURST": 0}"#,
                &["FAILURE_MODES"],
            ),
            (r#"{"FAILURE_MODES": "concurrency_spike", "THREAD_BURST": 0}"#, &[]),
            (r#"{"FAILURE_MODES": []}"#, &["FAILURE_MODES", "all of it"]),
            (r#"{"NETWORK_PARTITION": [""]}"#, &["NETWORK_PARTITION", "all of it"]),
            (r#"{"NETWORK_PARTITION": [""], "SAFE_MODE": 1}"#, &["NETWORK_PARTITION"]),
            (r#"{"FAILURE_MODES": "hostile_input", "THREAT_INTENSITY": 0}"#, &["THREAT_INTENSITY"]),
            (r#"{"FAILURE_MODES": "user_misuse", "THREAT_INTENSITY": 0}"#, &[]),
            (
                r#"{"FAILURE_MODES": "hostile_input", "SANDBOX_STUB_STRATEGY": "random"}"#,
                &["FAILURE_MODES"],
            ),
            ("{}", &["all of it"]),
            (r#"{"SCENARIO_NAME": "mine"}"#, &["all of it"]),
            (r#"{"SCENARIO_NAME": "normal"}"#, &[]),
        ] {
            assert_eq!(odd(json), expected, "{json}");
        }
    }
}

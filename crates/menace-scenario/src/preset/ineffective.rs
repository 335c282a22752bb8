//! Keys and conditions of a preset that have no effect.

use std::fmt;

use menace_model::{
    CallConditions, CallStage, FailureMode, InputStrategy, Limit, NetworkConditions, Outcome,
};
use menace_settings::{MillisDuration, PercentShare};
use serde::Serialize;

use super::{Preset, PresetValues};

/// A key without effect, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IneffectiveKey {
    /// `None` for the whole preset.
    pub key: Option<&'static str>,
    pub reason: &'static str,
}

impl fmt::Display for IneffectiveKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key {
            Some(key) => write!(f, "{key}: {}", self.reason),
            None => f.write_str(self.reason),
        }
    }
}

/// Both names of the scenario that has no conditions by design.
const BASELINE_NAMES: [&str; 2] = ["normal", "baseline"];

impl Preset {
    /// Keys without effect, given the other keys.
    pub fn find_ineffective_keys(&self) -> Vec<IneffectiveKey> {
        let PresetValues {
            thread_burst,
            async_task_burst,
            threat_intensity,
            failure_modes,
            network_partition,
            stub_strategy,
            ..
        } = &self.values;
        let mut found = Vec::new();
        let mut report = |is_ineffective: bool, key: &'static str, why: &'static str| {
            if is_ineffective {
                found.push(IneffectiveKey { key: Some(key), reason: why });
            }
        };
        let spikes = self.has_mode(FailureMode::ConcurrencySpike);
        let no_spike = "it has no effect without `concurrency_spike` in FAILURE_MODES";
        report(thread_burst.is_some() && !spikes, "THREAD_BURST", no_spike);
        report(async_task_burst.is_some() && !spikes, "ASYNC_TASK_BURST", no_spike);
        let single_run_reason = "one run is no burst: nothing runs beside it";
        let one_thread = thread_burst.is_some_and(|burst| burst.get() == 1);
        let one_task = async_task_burst.is_some_and(|burst| burst.get() == 1);
        report(spikes && one_thread, "THREAD_BURST", single_run_reason);
        report(spikes && one_task, "ASYNC_TASK_BURST", single_run_reason);
        let strategies = self.strategies();
        let is_threat = [InputStrategy::Hostile, InputStrategy::Misuse]
            .iter()
            .any(|strategy| strategies.contains(strategy));
        report(
            threat_intensity.is_some() && !is_threat,
            "THREAT_INTENSITY",
            "it has no effect without `hostile_input` or `user_misuse` in FAILURE_MODES, or these \
             ways to make inputs",
        );
        let is_hostile = strategies.contains(&InputStrategy::Hostile);
        report(
            is_hostile && self.threat_intensity() <= 0.0,
            "THREAT_INTENSITY",
            "it is the share of hostile inputs: at 0 there are none",
        );
        report(
            spikes && !self.mode_has_effect(FailureMode::ConcurrencySpike),
            "FAILURE_MODES",
            "`concurrency_spike` has no effect where THREAD_BURST and ASYNC_TASK_BURST are both 0",
        );
        report(
            is_empty(failure_modes.as_ref()),
            "FAILURE_MODES",
            "it is empty: no fault is injected",
        );
        report(
            is_empty(network_partition.as_ref()),
            "NETWORK_PARTITION",
            "it names no peer: all peers can be reached",
        );
        report(
            is_empty(stub_strategy.as_ref()),
            "SANDBOX_STUB_STRATEGY",
            "it is empty: all ways to make inputs are used",
        );
        for mode in [FailureMode::HostileInput, FailureMode::UserMisuse] {
            report(
                self.has_mode(mode)
                    && super::failure_modes::implied_strategy(mode)
                        .is_some_and(|way| !strategies.contains(&way)),
                "FAILURE_MODES",
                "`hostile_input` and `user_misuse` have no effect where SANDBOX_STUB_STRATEGY \
                 leaves their ways to make inputs out",
            );
        }
        let confinement = self.confinement();
        if confinement.safe_mode || !confinement.security_level.allows_network() {
            for key in self.network_keys() {
                report(
                    true,
                    key,
                    "there are no packets without sockets (SAFE_MODE, or SECURITY_LEVEL of 4 and \
                     above): at most mocked answers are affected",
                );
            }
        }
        report(
            self.values.network_jitter_ms > self.values.network_latency_ms,
            "NETWORK_JITTER_MS",
            "it is above NETWORK_LATENCY_MS: no packet arrives before it was sent",
        );
        for key in self.unsupported_keys() {
            report(
                true,
                key,
                "it needs a container or a virtual machine, which are not implemented yet; calls \
                 run without",
            );
        }
        if self.values.has_no_effect() && !BASELINE_NAMES.contains(&self.name()) {
            found.push(IneffectiveKey { key: None, reason: "this preset changes nothing" });
        }
        found
    }

    /// Keys that degrade the network of a call.
    fn network_keys(&self) -> Vec<&'static str> {
        let PresetValues {
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
        let takes =
            |millis: &Option<MillisDuration>| millis.is_some_and(|it| !it.duration().is_zero());
        let is_positive = |share: &Option<PercentShare>| share.is_some_and(|it| it.percent() > 0.0);
        [
            (takes(network_latency_ms), "NETWORK_LATENCY_MS"),
            (takes(network_jitter_ms), "NETWORK_JITTER_MS"),
            (is_positive(packet_loss), "PACKET_LOSS"),
            (is_positive(packet_duplication), "PACKET_DUPLICATION"),
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

/// Conditions of the call that the outcome reports neither as enforced nor as unenforced.
pub fn find_unreported_limits(asked: &CallConditions, outcome: &Outcome) -> Vec<Limit> {
    // Conditions apply to the call; this outcome ended before it.
    if outcome.stage == CallStage::Import {
        return Vec::new();
    }
    let is_reported = |limit: &Limit| {
        outcome.enforced_by.contains_key(limit) || outcome.unenforced.contains(limit)
    };
    requested_limits(asked).into_iter().filter(|limit| !is_reported(limit)).collect()
}

fn requested_limits(asked: &CallConditions) -> Vec<Limit> {
    let CallConditions { network, faults, burst, upstream } = asked;
    let NetworkConditions { latency_ms, jitter_ms, loss, duplication, bits_per_second, partition } =
        network;
    let mut limits: Vec<Limit> = [
        (*latency_ms > 0.0, Limit::NetworkLatency),
        (*jitter_ms > 0.0, Limit::NetworkJitter),
        (*loss > 0.0, Limit::PacketLoss),
        (*duplication > 0.0, Limit::PacketDuplication),
        (bits_per_second.is_some(), Limit::Bandwidth),
        (!partition.is_empty(), Limit::Partition),
        (burst.is_some(), Limit::Burst),
        (upstream.is_some(), Limit::Upstream),
    ]
    .into_iter()
    .filter_map(|(is_asked, limit)| is_asked.then_some(limit))
    .collect();
    limits.extend(faults.iter().map(|fault| Limit::from(fault.mode)));
    limits
}

#[cfg(test)]
mod tests {
    use menace_model::{LimitMechanism, Verdict};

    use super::*;
    use crate::preset::read_single_preset;

    fn ineffective_key_names(json: &str) -> Vec<&'static str> {
        let ineffective = read_single_preset(json, "test").unwrap().find_ineffective_keys();
        ineffective.into_iter().map(|found| found.key.unwrap_or("all of it")).collect()
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
                r#"{"FAILURE_MODES": "concurrency_spike", "THREAD_BURST": 0,
                    "ASYNC_TASK_BURST": 0}"#,
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
            assert_eq!(ineffective_key_names(json), expected, "{json}");
        }
    }

    #[test]
    fn unreported_conditions_are_found() {
        let json = r#"{"FAILURE_MODES": "disk,concurrency_spike", "NETWORK_LATENCY_MS": 5}"#;
        let (_, asked) = read_single_preset(json, "test").unwrap().limits_and_conditions(0);
        let mut outcome = Outcome::new(Verdict::Returned, CallStage::Call);
        let all = [Limit::NetworkLatency, Limit::Burst, Limit::Upstream, Limit::FaultDisk];
        assert_eq!(find_unreported_limits(&asked, &outcome), all);
        outcome.enforced_by.insert(Limit::NetworkLatency, vec![LimitMechanism::Nfqueue]);
        outcome.unenforced.push(Limit::FaultDisk);
        outcome.enforced_by.insert(Limit::Burst, vec![LimitMechanism::Harness]);
        assert_eq!(find_unreported_limits(&asked, &outcome), [Limit::Upstream]);
        outcome.stage = CallStage::Import;
        assert_eq!(find_unreported_limits(&asked, &outcome), []);
    }
}

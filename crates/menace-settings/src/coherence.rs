//! Checks that need more than one setting.

use crate::{Settings, SettingsError};

/// Finds settings that contradict each other although each is valid.
pub(crate) fn find_inconsistencies(settings: &Settings) -> Vec<SettingsError> {
    let mut problems = Vec::new();
    let (agent, ports) = (&settings.agent, &settings.ports);
    for (cert, has_cert, key, has_key) in [
        (
            "VISUAL_AGENT_SSL_CERT",
            agent.ssl_cert.value.is_some(),
            "VISUAL_AGENT_SSL_KEY",
            agent.ssl_key.value.is_some(),
        ),
        (
            "DASHBOARD_SSL_CERT",
            ports.ssl_cert.value.is_some(),
            "DASHBOARD_SSL_KEY",
            ports.ssl_key.value.is_some(),
        ),
    ] {
        match (has_cert, has_key) {
            (true, false) => problems.push(SettingsError::Incomplete { first: cert, second: key }),
            (false, true) => problems.push(SettingsError::Incomplete { first: key, second: cert }),
            _ => {}
        }
    }
    let network = &settings.network;
    if let (Some(min), Some(max)) = (*network.min_bandwidth, *network.max_bandwidth)
        && min > max
    {
        problems
            .push(SettingsError::OutOfOrder { smaller: "MIN_BANDWIDTH", larger: "MAX_BANDWIDTH" });
    }
    let alignment = &settings.alignment;
    if alignment.warning_threshold.value > alignment.failure_threshold.value {
        problems.push(SettingsError::OutOfOrder {
            smaller: "ALIGNMENT_WARNING_THRESHOLD",
            larger: "ALIGNMENT_FAILURE_THRESHOLD",
        });
    }
    problems
}

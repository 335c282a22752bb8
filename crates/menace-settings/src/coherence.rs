//! Checks that need more than one setting.

use crate::{Settings, SettingsError};

/// What does not fit together although each value is fine by itself.
pub(crate) fn problems(settings: &Settings) -> Vec<SettingsError> {
    let mut problems = Vec::new();
    let (cert, key) = ("VISUAL_AGENT_SSL_CERT", "VISUAL_AGENT_SSL_KEY");
    match (&settings.agent.ssl_cert.value, &settings.agent.ssl_key.value) {
        (Some(_), None) => problems.push(SettingsError::Incomplete { first: cert, second: key }),
        (None, Some(_)) => problems.push(SettingsError::Incomplete { first: key, second: cert }),
        _ => {}
    }
    let network = &settings.network;
    if let (Some(min), Some(max)) = (*network.min_bandwidth, *network.max_bandwidth)
        && min > max
    {
        problems
            .push(SettingsError::Disordered { smaller: "MIN_BANDWIDTH", larger: "MAX_BANDWIDTH" });
    }
    let alignment = &settings.alignment;
    if alignment.warning_threshold.value > alignment.failure_threshold.value {
        problems.push(SettingsError::Disordered {
            smaller: "ALIGNMENT_WARNING_THRESHOLD",
            larger: "ALIGNMENT_FAILURE_THRESHOLD",
        });
    }
    problems
}

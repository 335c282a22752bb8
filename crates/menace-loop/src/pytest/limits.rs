//! Failures that no pytest file can show: their faults, networks and services need Menace.

use menace_model::{
    CallConditions, Failure, FaultMode, FaultSpec, NetworkConditions, WeaknessKind,
};

/// Why no test can show it.
pub(super) fn unexportable_reason(failure: &Failure) -> Option<String> {
    let CallConditions { network, faults, burst, upstream } = &failure.call.conditions;
    let own_faults: &[FaultMode] = match failure.kind {
        WeaknessKind::PartialWrite | WeaknessKind::SilentFailure => &[FaultMode::Disk],
        WeaknessKind::UncheckedResponse | WeaknessKind::NoTimeout => &[FaultMode::FlakyUpstream],
        _ => &[],
    };
    // A fault that was never injected has no part in the failure.
    let is_idle = |mode| {
        failure.outcome.fault_stats.iter().any(|stats| stats.mode == mode && stats.injected == 0)
    };
    let matters = |fault: &&FaultSpec| !own_faults.contains(&fault.mode) && !is_idle(fault.mode);
    let without = format!("unless `menace shrink {}` finds it without", failure.id);
    if let Some(fault) = faults.iter().find(matters) {
        let mode = fault.mode;
        return Some(format!("it was seen with the fault `{mode}`, which no test has, {without}"));
    }
    if *network != NetworkConditions::default() {
        return Some(format!("it was seen on a bad network, which no test has, {without}"));
    }
    let is_concurrent = matches!(failure.kind, WeaknessKind::Race | WeaknessKind::Deadlock);
    if burst.is_some() != is_concurrent {
        return Some(format!(
            "it was seen in a concurrency burst, which its test has not, {without}"
        ));
    }
    let uses_network =
        matches!(failure.kind, WeaknessKind::UncheckedResponse | WeaknessKind::NoTimeout);
    let asked = failure.outcome.upstream.iter().flat_map(|asked| &asked.requests);
    let asked: Vec<&str> = asked.map(|asked| asked.request.as_str()).collect();
    if asked.iter().any(|what| what.contains("https://")) {
        return Some("it talks to a service over TLS, which a test cannot replace".to_owned());
    }
    if !uses_network && !asked.is_empty() {
        return Some("it shows only with the replies of a service".to_owned());
    }
    if uses_network && upstream.as_ref().is_some_and(|upstream| !upstream.mocks.is_empty()) {
        return Some("it shows only with recorded replies".to_owned());
    }
    None
}

//! What cannot be shown without Menace: faults, networks and services that a test does not have.

use menace_model::{Conditions, Failure, Fault, FaultMode, Network, WeaknessKind};

/// Why no test can show it.
pub(super) fn why_not(failure: &Failure) -> Option<String> {
    let Conditions { network, faults, burst, upstream } = &failure.call.conditions;
    let own_faults: &[FaultMode] = match failure.kind {
        WeaknessKind::PartialWrite | WeaknessKind::SilentFailure => &[FaultMode::Disk],
        WeaknessKind::UncheckedResponse | WeaknessKind::NoTimeout => &[FaultMode::FlakyUpstream],
        _ => &[],
    };
    // A fault that never struck is no part of what was seen.
    let is_idle =
        |mode| failure.outcome.felt.iter().any(|felt| felt.mode == mode && felt.struck == 0);
    let matters = |fault: &&Fault| !own_faults.contains(&fault.mode) && !is_idle(fault.mode);
    let without = format!("unless `menace shrink {}` finds it without", failure.id);
    if let Some(fault) = faults.iter().find(matters) {
        let mode = fault.mode;
        return Some(format!("it was seen with the fault `{mode}`, which no test has, {without}"));
    }
    if *network != Network::default() {
        return Some(format!("it was seen on a bad network, which no test has, {without}"));
    }
    let in_company = matches!(failure.kind, WeaknessKind::Race | WeaknessKind::Deadlock);
    if burst.is_some() != in_company {
        return Some(format!("it was seen in company, which its test has not, {without}"));
    }
    let talks = matches!(failure.kind, WeaknessKind::UncheckedResponse | WeaknessKind::NoTimeout);
    let asked = failure.outcome.upstream.iter().flat_map(|asked| &asked.requests);
    let asked: Vec<&str> = asked.map(|asked| asked.what.as_str()).collect();
    if asked.iter().any(|what| what.contains("https://")) {
        return Some("it talks to a service over TLS, which a test cannot stand in for".to_owned());
    }
    if !talks && !asked.is_empty() {
        return Some("it shows with the answers of a service only".to_owned());
    }
    if talks && upstream.as_ref().is_some_and(|upstream| !upstream.mocks.is_empty()) {
        return Some("it shows with recorded answers only".to_owned());
    }
    None
}

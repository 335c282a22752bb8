//! Short ways to read an outcome; what is not as it has to be is a failure.

use menace_model::{FaultMode, FaultStats, Limit, LimitMechanism, Outcome, Value, Verdict};

use crate::bench::items;

/// What a call returned.
pub(crate) fn returned(outcome: &Outcome) -> &Value {
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    outcome.value.as_ref().and_then(|value| value.value.as_ref()).expect("a plain value")
}

pub(crate) fn number(value: &Value) -> f64 {
    match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        other => panic!("not a number: {other:?}"),
    }
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    items(value).iter().map(number).collect()
}

/// The stats of one kind of fault.
pub(crate) fn fault_stats(outcome: &Outcome, mode: FaultMode) -> &FaultStats {
    let found = outcome.fault_stats.iter().find(|stats| stats.mode == mode);
    found.unwrap_or_else(|| panic!("nothing of {mode}: {:?}", outcome.fault_stats))
}

/// Opportunities and injections.
pub(crate) fn opportunities_and_injections(outcome: &Outcome, mode: FaultMode) -> (u64, u64) {
    let stats = fault_stats(outcome, mode);
    assert_eq!(stats.injected > 0, stats.first_injected.is_some(), "{stats:?}");
    assert_eq!(stats.injected > 0, stats.last_injected_ms.is_some(), "{stats:?}");
    (stats.opportunities, stats.injected)
}

pub(crate) fn is_enforced_by(outcome: &Outcome, limit: Limit, mechanism: LimitMechanism) -> bool {
    outcome.enforced_by.get(&limit).is_some_and(|by| by.contains(&mechanism))
}

/// Within a fifth of what was asked for.
pub(crate) fn assert_near(measured: f64, asked: f64, what: &str) {
    assert!((asked * 0.8..asked * 1.2).contains(&measured), "{what}: {measured} for {asked}");
}

/// Nothing was requested, and nothing is reported.
pub(crate) fn assert_fault_free(outcome: &Outcome) {
    assert_eq!((outcome.fault_stats.as_slice(), outcome.unenforced.as_slice()), (&[][..], &[][..]));
    let reports = (&outcome.burst, &outcome.upstream, &outcome.coverage);
    assert_eq!(reports, (&None, &None, &None), "{outcome:#?}");
}

//! Short ways to read an outcome; what is not as it has to be is a failure.

use menace_model::{FaultMode, Felt, Limit, Mechanism, Outcome, Value, Verdict};

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

/// What it felt of one kind of fault.
pub(crate) fn felt(outcome: &Outcome, mode: FaultMode) -> &Felt {
    let found = outcome.felt.iter().find(|felt| felt.mode == mode);
    found.unwrap_or_else(|| panic!("nothing of {mode}: {:?}", outcome.felt))
}

/// Opportunities and strikes.
pub(crate) fn strikes(outcome: &Outcome, mode: FaultMode) -> (u64, u64) {
    let felt = felt(outcome, mode);
    assert_eq!(felt.struck > 0, felt.first.is_some(), "{felt:?}");
    assert_eq!(felt.struck > 0, felt.last_ms.is_some(), "{felt:?}");
    (felt.offered, felt.struck)
}

pub(crate) fn is_held_by(outcome: &Outcome, limit: Limit, mechanism: Mechanism) -> bool {
    outcome.enforced_by.get(&limit).is_some_and(|by| by.contains(&mechanism))
}

/// Within a fifth of what was asked for.
pub(crate) fn assert_near(measured: f64, asked: f64, what: &str) {
    assert!((asked * 0.8..asked * 1.2).contains(&measured), "{what}: {measured} for {asked}");
}

/// Nothing was asked for, and nothing is told.
pub(crate) fn assert_in_peace(outcome: &Outcome) {
    assert_eq!((outcome.felt.as_slice(), outcome.unenforced.as_slice()), (&[][..], &[][..]));
    let told = (&outcome.burst, &outcome.upstream, &outcome.coverage);
    assert_eq!(told, (&None, &None, &None), "{outcome:#?}");
}

//! How long a round trip takes under each scenario, measured inside of a sandbox.
//!
//! The Python half is `round_trip.py`, put into the copy of the repository for the time of the call.

use std::collections::BTreeMap;

use menace_model::{Call, FixtureFile, Fixtures, How, Limits, ModuleRef, Target, Value, Verdict};
use menace_sandbox::{SandboxError, WarmSpec};

use super::plan::{Plan, Scenario};
use crate::calls::{Caller, job};

const SOURCE: &str = include_str!("round_trip.py");
const MODULE: &str = "_menace_round_trip";
const FILE: &str = "_menace_round_trip.py";
/// One trip over the worst network that a preset may ask for.
const TIMEOUT_MS: u64 = 20_000;

/// In milliseconds, by the number of the scenario; nothing for those in which nothing came back.
pub(crate) fn round_trips(
    plan: &Plan<'_>,
    caller: &Caller<'_>,
) -> Result<BTreeMap<usize, f64>, SandboxError> {
    let all = plan.scenarios.iter().enumerate();
    let (numbers, jobs): (Vec<usize>, Vec<_>) = all
        .filter(|(_, scenario)| has_network(scenario))
        .map(|(number, scenario)| {
            let spec = scenario.spec(&WarmSpec::new(None));
            (number, job(&spec, call(scenario)))
        })
        .unzip();
    let outcomes = caller.make(jobs, |_, _| {})?;
    let mut trips = BTreeMap::new();
    for (number, outcome) in numbers.into_iter().zip(outcomes) {
        let returned = outcome.filter(|outcome| outcome.verdict == Verdict::Returned);
        let value = returned.and_then(|outcome| outcome.value).and_then(|value| value.value);
        if let Some(Value::Float(ms)) = value {
            trips.insert(number, ms);
        }
    }
    Ok(trips)
}

/// The baseline, and those that make the network worse.
fn has_network(scenario: &Scenario) -> bool {
    let network = scenario.preset.conditions(0).1.network;
    scenario.is_baseline || network != menace_model::Network::default()
}

fn call(scenario: &Scenario) -> Call {
    let module = ModuleRef { name: MODULE.to_owned(), path: Some(FILE.to_owned()) };
    let target = Target { module, qualname: "connect_ms".to_owned(), how: How::Function };
    let file = FixtureFile { path: FILE.to_owned(), content: SOURCE.as_bytes().to_vec() };
    let (_, mut conditions) = scenario.preset.conditions(0);
    // Of the network alone: what else troubles calls is not asked.
    conditions.faults.clear();
    conditions.burst = None;
    conditions.upstream = None;
    Call {
        limits: Limits { timeout_ms: TIMEOUT_MS, ..Limits::default() },
        conditions,
        confinement: scenario.confinement(),
        fixtures: Fixtures { files: vec![file], environment: Vec::new() },
        ..Call::new(target)
    }
}

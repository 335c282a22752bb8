//! Network round trips under each scenario, measured inside of a sandbox.
//!
//! The Python half is `round_trip.py`, a fixture file of the call.

use std::collections::BTreeMap;

use menace_model::{
    Call, CallFixtures, CallLimits, CallTarget, FixtureFile, ModuleRef, TargetKind, Value, Verdict,
};
use menace_sandbox::{SandboxError, SandboxSpec};

use super::plan::{CyclePlan, PlannedScenario};
use crate::calls::{CallRunner, build_job};

const SOURCE: &str = include_str!("round_trip.py");
const MODULE: &str = "_menace_round_trip";
const FILE: &str = "_menace_round_trip.py";
/// Enough for a round trip over the slowest network of any preset.
const TIMEOUT_MS: u64 = 20_000;

/// Milliseconds by the position of the scenario; none where no answer came back.
pub(crate) fn measure_round_trips(
    plan: &CyclePlan<'_>,
    runner: &CallRunner<'_>,
) -> Result<BTreeMap<usize, f64>, SandboxError> {
    let all = plan.scenarios.iter().enumerate();
    let (numbers, jobs): (Vec<usize>, Vec<_>) = all
        .filter(|(_, scenario)| has_network(scenario))
        .map(|(number, scenario)| {
            let spec = scenario.spec(&SandboxSpec::new(None));
            (number, build_job(&spec, call(scenario)))
        })
        .unzip();
    let outcomes = runner.make(jobs, |_, _| {})?;
    let mut trips = BTreeMap::new();
    for (number, outcome) in numbers.into_iter().zip(outcomes) {
        let returned = outcome.filter(|outcome| outcome.verdict == Verdict::Returned);
        let value = returned.and_then(|outcome| outcome.result.value).and_then(|value| value.value);
        if let Some(Value::Float(ms)) = value {
            trips.insert(number, ms);
        }
    }
    Ok(trips)
}

/// The baseline, and scenarios with network conditions of their own.
fn has_network(scenario: &PlannedScenario) -> bool {
    let network = scenario.preset.limits_and_conditions(0).1.network;
    scenario.is_baseline || network != menace_model::NetworkConditions::default()
}

fn call(scenario: &PlannedScenario) -> Call {
    let module = ModuleRef { name: MODULE.to_owned(), path: Some(FILE.to_owned()) };
    let target =
        CallTarget { module, qualname: "connect_ms".to_owned(), kind: TargetKind::Function };
    let file = FixtureFile { path: FILE.to_owned(), content: SOURCE.as_bytes().to_vec() };
    let (_, mut conditions) = scenario.preset.limits_and_conditions(0);
    // The network alone: other faults are left out.
    conditions.faults.clear();
    conditions.burst = None;
    conditions.upstream = None;
    Call {
        limits: CallLimits { timeout_ms: TIMEOUT_MS, ..CallLimits::default() },
        conditions,
        confinement: scenario.confinement(),
        fixtures: CallFixtures { files: vec![file], environment: Vec::new() },
        ..Call::new(target)
    }
}

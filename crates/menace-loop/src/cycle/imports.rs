//! Imports every module in a sandbox of its own, before its sections are called.
//!
//! A module that cannot be imported is one [`ImportFailure`]; its sections are not called.

use std::collections::BTreeMap;

use menace_model::{Call, CallTarget, Outcome, SectionId, TargetKind, Verdict};
use menace_sandbox::{SandboxError, SandboxSpec};
use menace_scenario::judge::{
    Candidate, CandidateRerun, ConfirmedFinding, find_import_weakness, import_error, rerun_call,
};
use menace_track::CallTally;

use super::breadth::{BreadthPhase, SectionState};
use super::observer::{CompletedCall, CycleStage, RunEvent, RunObserver};
use super::plan::IMPORT_TIMEOUT_MS;
use crate::calls::CallRunner;

/// A module that cannot be imported: it failed twice.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportFailure {
    /// Path below the repository.
    pub module: String,
    /// The top level of the module.
    pub section: SectionId,
    /// The cause on one line.
    pub why: String,
    /// The package that is not installed, where that is the cause: then it is no finding.
    pub missing: Option<String>,
    pub finding: ConfirmedFinding,
}

/// The imports of all modules, in the order of the plan.
#[derive(Debug, Default)]
pub(super) struct ImportResult {
    /// Verdicts of all imports, including repeated ones.
    pub verdicts: Vec<Verdict>,
    /// Tallies by the top level of the module.
    pub tallies: BTreeMap<SectionId, CallTally>,
    pub failures: Vec<ImportFailure>,
}

impl<'a> BreadthPhase<'a, '_> {
    /// Imports the modules of all sections under the baseline, and failing ones a second time: a
    /// busy machine, or a file that does not always exist, may have caused it. `None` if the
    /// deadline passed before.
    pub(super) fn import_modules(
        &self,
        section_states: &mut [SectionState<'a>],
        observer: &mut dyn RunObserver,
    ) -> Result<Option<ImportResult>, SandboxError> {
        let mut modules: BTreeMap<&str, usize> = BTreeMap::new();
        for (section, planned) in self.plan.sections.iter().enumerate() {
            modules.entry(&planned.module.path).or_insert(section);
        }
        let calls = modules.len();
        observer.on_event(RunEvent::StageBegan { stage: CycleStage::Imports, calls });
        let imports: Vec<PendingImport> =
            modules.into_values().map(|section| self.plan_import(section)).collect();
        let label = self.plan.scenarios[0].label();
        let Some(mut outcomes) = make_imports(self.runner, &imports, Some(&label), observer)?
        else {
            return Ok(None);
        };
        let made = imports.iter().zip(&outcomes).enumerate();
        let candidates: Vec<(usize, Candidate)> = made
            .filter_map(|(position, (import, outcome))| {
                let weakness = find_import_weakness(outcome)?;
                Some((position, Candidate::new(weakness, &import.call, outcome)))
            })
            .collect();
        let rerun = |(position, candidate): &(usize, Candidate)| {
            // The lines that it reaches are counted.
            let call = Call { coverage: true, ..rerun_call(&candidate.call) };
            PendingImport { call, ..imports[*position].clone() }
        };
        let reruns: Vec<PendingImport> = candidates.iter().map(rerun).collect();
        let runner = self.runner.for_reruns();
        let Some(rerun_outcomes) = make_imports(&runner, &reruns, None, observer)? else {
            return Ok(None);
        };
        let mut result = ImportResult::default();
        for ((position, candidate), outcome) in candidates.into_iter().zip(rerun_outcomes) {
            let rerun = CandidateRerun::judge_import(rerun_call(&candidate.call), outcome.clone());
            let first = std::mem::replace(&mut outcomes[position], outcome);
            result.verdicts.push(first.verdict);
            let section = imports[position].section.clone();
            let finding = candidate.confirm(rerun);
            result.failures.extend(finding.map(|finding| ImportFailure::new(section, finding)));
        }
        for (PendingImport { section, call, .. }, outcome) in imports.into_iter().zip(outcomes) {
            result.verdicts.push(outcome.verdict);
            result.tallies.entry(section).or_default().add(&call, &outcome, false);
        }
        for (planned, state) in self.plan.sections.iter().zip(section_states) {
            let path = &planned.module.path;
            state.has_failed_import = result.failures.iter().any(|one| one.module == *path);
        }
        Ok(Some(result))
    }

    /// The import of a section's module.
    fn plan_import(&self, section: usize) -> PendingImport {
        let planned = &self.plan.sections[section];
        let baseline = &self.plan.scenarios[0];
        let module = planned.target.module.clone();
        let target = CallTarget { module, qualname: String::new(), kind: TargetKind::Module };
        let mut call = Call { coverage: true, ..planned.build_call(baseline, 0, None) };
        call.step.target = target;
        call.limits.timeout_ms = call.limits.timeout_ms.max(IMPORT_TIMEOUT_MS);
        let spec = SandboxSpec { module: None, ..baseline.spec(&planned.spec) };
        let section = SectionId::new(&planned.module.path, SectionId::TOP_LEVEL);
        PendingImport { section, call, spec }
    }
}

#[derive(Debug, Clone)]
struct PendingImport {
    section: SectionId,
    call: Call,
    spec: SandboxSpec,
}

/// `None` if the deadline passed before all imports were made.
fn make_imports(
    runner: &CallRunner<'_>,
    imports: &[PendingImport],
    scenario: Option<&str>,
    observer: &mut dyn RunObserver,
) -> Result<Option<Vec<Outcome>>, SandboxError> {
    let jobs = imports.iter().map(|one| crate::calls::build_job(&one.spec, one.call.clone()));
    let outcomes = runner.make(jobs.collect(), |position, outcome| {
        let PendingImport { section, call, .. } = &imports[position];
        observer.on_event(RunEvent::CallCompleted(CompletedCall {
            section,
            scenario,
            number: 0,
            is_counted: true,
            call,
            outcome,
        }));
    })?;
    Ok(outcomes.into_iter().collect())
}

impl ImportFailure {
    fn new(section: SectionId, finding: ConfirmedFinding) -> Self {
        let why = import_error(&finding.outcome).unwrap_or_default();
        let missing = missing_package(&finding.outcome);
        Self { module: section.path().to_owned(), section, why, missing, finding }
    }
}

/// The package that an import did not find, where that ended the call.
pub(super) fn missing_package(outcome: &Outcome) -> Option<String> {
    let raised = outcome.exception.as_ref()?;
    if raised.kind != "ModuleNotFoundError" || outcome.verdict == Verdict::Returned {
        return None;
    }
    quoted_package(&raised.message)
}

/// `name` of `No module named 'name.part'`.
fn quoted_package(message: &str) -> Option<String> {
    let name = message.split('\'').nth(1)?;
    Some(name.split('.').next().unwrap_or(name).to_owned())
}

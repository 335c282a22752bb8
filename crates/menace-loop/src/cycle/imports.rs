//! Imports every module alone, before anything of it is called.
//!
//! A module that cannot be imported is told once, with what it lacks; its sections are not called.

use std::collections::BTreeMap;

use menace_model::{Call, How, Outcome, SectionId, Target, Verdict};
use menace_sandbox::{SandboxError, WarmSpec};

use super::grid::{Grid, Standing};
use super::plan::IMPORT_MS;
use super::seen::Seen;
use super::watch::{Called, Stage, Watch};
use crate::calls::Caller;

/// A module that cannot be imported.
#[derive(Debug, Clone, PartialEq)]
pub struct Shut {
    /// Path below the repository.
    pub module: String,
    /// The top level of the module.
    pub section: SectionId,
    /// What happened, on one line.
    pub why: String,
    /// A package that is not installed; then it is nobody's fault here.
    pub missing: Option<String>,
    pub call: Call,
    pub outcome: Outcome,
}

impl<'a> Grid<'a, '_> {
    /// Imports the modules of all subjects under the baseline, and those that fail a second time.
    /// `seen` hears of each, in the order of the plan; none when the time was up first.
    pub(super) fn imports(
        &self,
        standings: &mut [Standing<'a>],
        watch: &mut dyn Watch,
        seen: &mut Seen,
    ) -> Result<Option<Vec<Shut>>, SandboxError> {
        let mut modules: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, subject) in self.plan.subjects.iter().enumerate() {
            modules.entry(&subject.module.path).or_insert(at);
        }
        watch.begins(Stage::Imports, modules.len());
        let imports: Vec<Import> = modules.into_values().map(|at| self.import(at)).collect();
        let label = self.plan.scenarios[0].label();
        let Some(mut outcomes) = import(self.caller, &imports, Some(&label), watch)? else {
            return Ok(None);
        };
        // A machine may be busy for a moment, and files may be there only sometimes.
        let failed = |at: &usize| outcomes[*at].verdict != Verdict::Returned;
        let suspects: Vec<usize> = (0..imports.len()).filter(failed).collect();
        let again: Vec<Import> = suspects.iter().map(|&at| imports[at].clone()).collect();
        let Some(second) = import(&self.caller.patient(), &again, None, watch)? else {
            return Ok(None);
        };
        for (at, outcome) in suspects.into_iter().zip(second) {
            let first = std::mem::replace(&mut outcomes[at], outcome);
            seen.count(&first);
        }
        let mut shut = Vec::new();
        for (Import { section, call, .. }, outcome) in imports.into_iter().zip(outcomes) {
            seen.count(&outcome);
            seen.imports.entry(section.clone()).or_default().add(&call, &outcome, false);
            if outcome.verdict != Verdict::Returned {
                shut.push(Shut::new(section, call, outcome));
            }
        }
        for (at, subject) in self.plan.subjects.iter().enumerate() {
            standings[at].is_shut = shut.iter().any(|one| one.module == subject.module.path);
        }
        Ok(Some(shut))
    }

    /// The import of a subject's module.
    fn import(&self, at: usize) -> Import {
        let (subject, baseline) = (&self.plan.subjects[at], &self.plan.scenarios[0]);
        let module = subject.target.module.clone();
        let target = Target { module, qualname: String::new(), how: How::Module };
        let mut call = Call { target, coverage: true, ..subject.call(baseline, 0, None) };
        call.limits.timeout_ms = call.limits.timeout_ms.max(IMPORT_MS);
        let spec = WarmSpec { module: None, ..baseline.spec(&subject.spec) };
        let section = SectionId::new(&subject.module.path, SectionId::TOP_LEVEL);
        Import { section, call, spec }
    }
}

#[derive(Debug, Clone)]
struct Import {
    section: SectionId,
    call: Call,
    spec: WarmSpec,
}

/// None when the time was up before all were made.
fn import(
    caller: &Caller<'_>,
    imports: &[Import],
    scenario: Option<&str>,
    watch: &mut dyn Watch,
) -> Result<Option<Vec<Outcome>>, SandboxError> {
    let jobs = imports.iter().map(|one| crate::calls::job(&one.spec, one.call.clone()));
    let outcomes = caller.make(jobs.collect(), |position, outcome| {
        let Import { section, call, .. } = &imports[position];
        watch.called(Called { section, scenario, number: 0, counts: true, call, outcome });
    })?;
    Ok(outcomes.into_iter().collect())
}

impl Shut {
    fn new(section: SectionId, call: Call, outcome: Outcome) -> Self {
        let raised = outcome.exception.as_ref();
        let why = match (raised, &outcome.reason) {
            (Some(raised), _) => {
                let message = raised.message.lines().next().unwrap_or_default();
                format!("{}: {message}", bare(&raised.kind))
            }
            (None, Some(reason)) => reason.clone(),
            (None, None) => outcome.verdict.to_string(),
        };
        let missing = missing_package(&outcome);
        Self { module: section.path().to_owned(), section, why, missing, call, outcome }
    }
}

/// The package that was not found, where that is what ended it.
pub(super) fn missing_package(outcome: &Outcome) -> Option<String> {
    let raised = outcome.exception.as_ref()?;
    if bare(&raised.kind) != "ModuleNotFoundError" || outcome.verdict == Verdict::Returned {
        return None;
    }
    quoted(&raised.message)
}

fn bare(kind: &str) -> &str {
    kind.strip_prefix("builtins.").unwrap_or(kind)
}

/// The name in `No module named 'name.part'`, without its parts.
fn quoted(message: &str) -> Option<String> {
    let name = message.split('\'').nth(1)?;
    Some(name.split('.').next().unwrap_or(name).to_owned())
}

//! Imports every module alone, before anything of it is called.
//!
//! A module that cannot be imported is told once, with what it lacks; its sections are not called.

use std::collections::BTreeMap;

use menace_model::{Call, How, Outcome, SectionId, Target, Verdict};
use menace_sandbox::{SandboxError, WarmSpec};

use super::grid::{Grid, Standing};
use super::watch::{Called, Stage, Watch};

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
    /// Imports the modules of all subjects under the baseline. `done` hears of each, in the order of
    /// the plan; none when the time was up first.
    pub(super) fn imports(
        &self,
        standings: &mut [Standing<'a>],
        watch: &mut dyn Watch,
        done: &mut dyn FnMut(&SectionId, &Call, &Outcome),
    ) -> Result<Option<Vec<Shut>>, SandboxError> {
        let mut modules: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, subject) in self.plan.subjects.iter().enumerate() {
            modules.entry(&subject.module.path).or_insert(at);
        }
        let firsts: Vec<usize> = modules.values().copied().collect();
        watch.begins(Stage::Imports, firsts.len());
        let baseline = &self.plan.scenarios[0];
        let mut calls = Vec::new();
        let mut jobs = Vec::new();
        for &at in &firsts {
            let subject = &self.plan.subjects[at];
            let module = subject.target.module.clone();
            let target = Target { module, qualname: String::new(), how: How::Module };
            let call = Call { target, coverage: true, ..subject.call(baseline, 0, None) };
            let spec = baseline.spec(&subject.spec);
            let spec = WarmSpec { module: None, ..spec };
            jobs.push(crate::calls::job(&spec, call.clone()));
            let section = SectionId::new(&subject.module.path, SectionId::TOP_LEVEL);
            calls.push((section, call));
        }
        let label = baseline.label();
        let outcomes = self.caller.make(jobs, |position, outcome| {
            let (section, call) = &calls[position];
            let scenario = Some(label.as_str());
            watch.called(Called { section, scenario, number: 0, counts: true, call, outcome });
        })?;
        let Some(outcomes) = outcomes.into_iter().collect::<Option<Vec<Outcome>>>() else {
            return Ok(None);
        };
        let mut shut = Vec::new();
        for ((section, call), outcome) in calls.into_iter().zip(outcomes) {
            done(&section, &call, &outcome);
            if outcome.verdict != Verdict::Returned {
                shut.push(Shut::new(section, call, outcome));
            }
        }
        for (at, subject) in self.plan.subjects.iter().enumerate() {
            standings[at].is_shut = shut.iter().any(|one| one.module == subject.module.path);
        }
        Ok(Some(shut))
    }
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
        let missing = raised.filter(|raised| bare(&raised.kind) == "ModuleNotFoundError");
        let missing = missing.and_then(|raised| quoted(&raised.message));
        Self { module: section.path().to_owned(), section, why, missing, call, outcome }
    }
}

fn bare(kind: &str) -> &str {
    kind.strip_prefix("builtins.").unwrap_or(kind)
}

/// The name in `No module named 'name.part'`, without its parts.
fn quoted(message: &str) -> Option<String> {
    let name = message.split('\'').nth(1)?;
    Some(name.split('.').next().unwrap_or(name).to_owned())
}

//! Triage: candidates of the breadth phase → reruns → findings → failures.
//!
//! Whether an outcome shows a weakness, and whether a rerun confirms it, is decided by
//! `menace_scenario::judge`. Findings of imports and of the depth phase, whose candidates are rerun
//! there, are reported here, too.
//! Invariant: a weakness that only one call has shown is never reported as a finding.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::{Call, Failure, FailureId, Section};
use menace_sandbox::SandboxError;
use menace_scenario::judge::{Candidate, CandidateRerun, ConfirmedFinding, rerun_call};

use super::breadth::{BreadthPhase, EvaluatedCall, SectionState};
use super::imports::ImportFailure;
use super::observer::{CompletedCall, RunEvent, RunObserver, ShownOccurrence};
use super::plan::{BASELINE, CellIndex, CyclePlan};
use super::result::MissingPackage;
use crate::failure::{FailureEvidence, SourceLineCache};

/// A candidate that waits for its rerun.
#[derive(Debug)]
struct QueuedCandidate {
    cell: CellIndex,
    candidate: Candidate,
    occurrences: Vec<CandidateOccurrence>,
}

/// A call of a cell that showed the candidate's weakness.
#[derive(Debug, Clone, Copy)]
struct CandidateOccurrence {
    cell: CellIndex,
    number: usize,
}

/// A candidate after its rerun.
#[derive(Debug, Default)]
struct ResolvedCandidate {
    /// `None` if the rerun did not confirm the candidate.
    failure: Option<FailureId>,
    /// Calls that showed the weakness after that.
    new_occurrences: Vec<CandidateOccurrence>,
}

/// Candidates by the id that the failure would have.
#[derive(Debug, Default)]
struct CandidateQueue {
    waiting: BTreeMap<FailureId, QueuedCandidate>,
    /// The deadline came before their rerun.
    unconfirmed: BTreeSet<FailureId>,
    resolved: BTreeMap<FailureId, ResolvedCandidate>,
}

impl CandidateQueue {
    fn add(&mut self, id: FailureId, candidate: QueuedCandidate) {
        if let Some(resolved) = self.resolved.get_mut(&id) {
            resolved.new_occurrences.extend(candidate.occurrences);
        } else if let Some(waiting) = self.waiting.get_mut(&id) {
            waiting.occurrences.extend(candidate.occurrences);
        } else {
            self.waiting.insert(id, candidate);
        }
    }

    /// Takes the waiting candidates, in the order of their sections.
    fn take_waiting(&mut self) -> Vec<(FailureId, QueuedCandidate)> {
        let mut waiting: Vec<(FailureId, QueuedCandidate)> =
            std::mem::take(&mut self.waiting).into_iter().collect();
        waiting.sort_by_key(|(_, candidate)| candidate.cell.section);
        waiting
    }

    /// Confirmed failures with the calls that showed them since the last time.
    fn take_new_occurrences(&mut self) -> Vec<(FailureId, Vec<CandidateOccurrence>)> {
        let resolved = self.resolved.values_mut().filter(|one| !one.new_occurrences.is_empty());
        let taken = resolved.filter_map(|one| {
            let occurrences = std::mem::take(&mut one.new_occurrences);
            Some((one.failure.clone()?, occurrences))
        });
        taken.collect()
    }
}

#[derive(Debug)]
pub(super) struct Triage<'a, 'p> {
    plan: &'p CyclePlan<'a>,
    lines: &'p SourceLineCache,
    candidates: CandidateQueue,
}

/// The results of reruns.
#[derive(Debug, Default)]
pub(super) struct TriageResult {
    /// Failures with their number of occurrences.
    pub failures: Vec<(Failure, u64)>,
    /// Further occurrences of failures that were confirmed before.
    pub new_occurrences: Vec<(FailureId, u64)>,
    /// Packages that are not installed, instead of the failures that this caused.
    pub missing_packages: Vec<MissingPackage>,
}

/// A confirmed finding, and where it was found.
#[derive(Debug)]
pub(super) struct LocatedFinding<'f> {
    pub section: &'f Section,
    pub scenario: &'f str,
    pub finding: ConfirmedFinding,
    /// The number of the call that confirmed it, where it has one.
    pub rerun: Option<usize>,
    /// Calls that showed it.
    pub occurrences: usize,
}

impl<'a, 'p> Triage<'a, 'p> {
    pub(super) fn new(plan: &'p CyclePlan<'a>, lines: &'p SourceLineCache) -> Self {
        Self { plan, lines, candidates: CandidateQueue::default() }
    }

    /// Adds the weakness of a call, where it shows one, to the candidates.
    pub(super) fn add_candidate(&mut self, evaluated: &EvaluatedCall) {
        let EvaluatedCall { cell, number, call, outcome, weakness } = evaluated;
        let Some(weakness) = weakness else { return };
        let section = self.plan.sections[cell.section].section;
        let scenario = &self.plan.scenarios[cell.scenario].name;
        let evidence = FailureEvidence { section, weakness, call, outcome, scenario };
        let candidate = Candidate::new(weakness.clone(), call, outcome);
        let occurrences = vec![CandidateOccurrence { cell: *cell, number: *number }];
        let queued = QueuedCandidate { cell: *cell, candidate, occurrences };
        self.candidates.add(evidence.failure_id(self.lines), queued);
    }

    /// Reruns all candidates, also for a short time after the deadline.
    pub(super) fn confirm_candidates(
        &mut self,
        phase: &BreadthPhase<'_, '_>,
        section_states: &[SectionState<'_>],
        observer: &mut dyn RunObserver,
    ) -> Result<TriageResult, SandboxError> {
        let candidates = self.candidates.take_waiting();
        let reruns: Vec<Call> =
            candidates.iter().map(|(_, one)| rerun_call(&one.candidate.call)).collect();
        let jobs = candidates.iter().zip(&reruns);
        let jobs = jobs.map(|((_, queued), rerun)| phase.job(queued.cell, rerun.clone()));
        let outcomes = phase.runner.for_reruns().make(jobs.collect(), |position, outcome| {
            let section = candidates[position].1.cell.section;
            observer.on_event(RunEvent::CallCompleted(CompletedCall {
                section: &self.plan.sections[section].section.id,
                scenario: None,
                number: position,
                is_counted: false,
                call: &reruns[position],
                outcome,
            }));
        })?;
        let mut result = TriageResult::default();
        let rerun = candidates.into_iter().zip(reruns).zip(outcomes).enumerate();
        for (number, (((id, queued), call), outcome)) in rerun {
            let Some(outcome) = outcome else {
                self.candidates.unconfirmed.insert(id);
                continue;
            };
            self.candidates.unconfirmed.remove(&id);
            let QueuedCandidate { cell, candidate, occurrences } = queued;
            let state = &section_states[cell.section];
            let baseline = state.baseline_of(&call);
            let rerun = CandidateRerun::judge(call, outcome, &state.oracle_context, baseline);
            let failure = candidate.confirm(rerun).and_then(|finding| {
                let located = LocatedFinding {
                    section: self.plan.sections[cell.section].section,
                    scenario: &self.plan.scenarios[cell.scenario].label(),
                    finding,
                    rerun: Some(number),
                    occurrences: occurrences.len(),
                };
                self.report(located, observer, &mut result)
            });
            if let Some(failure) = &failure {
                self.report_occurrences(failure, &occurrences, observer);
            }
            // The rerun may have failed on another line, which makes it another failure.
            for name in failure.clone().into_iter().chain([id]) {
                self.candidates.resolved.entry(name).or_default().failure.clone_from(&failure);
            }
        }
        for (id, occurrences) in self.candidates.take_new_occurrences() {
            self.report_occurrences(&id, &occurrences, observer);
            result.new_occurrences.push((id, occurrences.len() as u64));
        }
        Ok(result)
    }

    /// Reports a finding as a failure; none where a package that is not installed caused it.
    pub(super) fn report(
        &self,
        located: LocatedFinding<'_>,
        observer: &mut dyn RunObserver,
        result: &mut TriageResult,
    ) -> Option<FailureId> {
        let LocatedFinding { section, scenario, finding, rerun, occurrences } = located;
        let ConfirmedFinding { weakness, call, outcome } = &finding;
        if let Some(missing) = self.plan.missing_package(section, outcome) {
            result.missing_packages.push(missing);
            return None;
        }
        let evidence = FailureEvidence { section, weakness, call, outcome, scenario };
        let failure = evidence.to_failure(self.lines);
        observer.on_event(RunEvent::FindingConfirmed(&failure));
        if let Some(number) = rerun {
            observer.on_event(RunEvent::OccurrenceShown(ShownOccurrence {
                section: &failure.section,
                scenario: None,
                number,
                failure: &failure.id,
            }));
        }
        let id = failure.id.clone();
        result.failures.push((failure, occurrences as u64));
        Some(id)
    }

    fn report_occurrences(
        &self,
        failure: &FailureId,
        occurrences: &[CandidateOccurrence],
        observer: &mut dyn RunObserver,
    ) {
        for CandidateOccurrence { cell, number } in occurrences {
            observer.on_event(RunEvent::OccurrenceShown(ShownOccurrence {
                section: &self.plan.sections[cell.section].section.id,
                scenario: Some(&self.plan.scenarios[cell.scenario].label()),
                number: *number,
                failure,
            }));
        }
    }

    /// Candidates that had no rerun.
    pub(super) fn unconfirmed_count(&self) -> usize {
        self.candidates.unconfirmed.len() + self.candidates.waiting.len()
    }

    /// Reports modules that failed to import twice, unless a package is missing.
    pub(super) fn report_import_failures(
        &self,
        failures: &mut [ImportFailure],
        observer: &mut dyn RunObserver,
    ) -> TriageResult {
        let mut result = TriageResult::default();
        for import in failures {
            import.missing.take_if(|missing| self.plan.packages.contains(missing.as_str()));
            let section = self.plan.top_level(&import.module);
            let (None, Some(section)) = (&import.missing, section) else { continue };
            let located = LocatedFinding {
                section,
                scenario: BASELINE,
                finding: import.finding.clone(),
                rerun: None,
                occurrences: 1,
            };
            self.report(located, observer, &mut result);
        }
        result
    }
}

//! The fault stage: good inputs again, in concurrency bursts, with a failing disk, with failing
//! upstreams.

use menace_model::{
    CallConditions, ConcurrencyBurst, FaultMode, FaultSpec, FaultTrigger, Outcome, UpstreamFailure,
    Value, Verdict,
};

use super::probe::{PlannedProbe, ProbePurpose};
use crate::input::CallInput;
use crate::judge::{BaselineOutcome, raised_on_purpose};

pub(super) const FAULT_ROUNDS: usize = 3;

/// Small enough for the scheduler of the harness, which tries out thread orders.
const PROBE_BURST: ConcurrencyBurst = ConcurrencyBurst { threads: 6, tasks: 6 };
/// Opportunities of a fault that are tried one after the other.
const MAX_SWEPT_OPPORTUNITIES: u64 = 12;
/// Later than the last opportunity: counts the opportunities without injecting a fault.
const NEVER_TRIGGER: FaultTrigger = FaultTrigger::Nth(u64::MAX);
/// Concurrent runs conflict when each of them takes most of a resource: counts are multiplied by
/// these.
const COUNT_SCALE_FACTORS: [i64; 6] = [10, 100, 1000, 10_000, 100_000, 1_000_000];

#[derive(Debug)]
pub(super) struct FaultStage {
    uses_network: bool,
    /// Conditions of the baseline calls.
    baseline_conditions: CallConditions,
    subjects: Vec<FaultSubject>,
    /// Opportunities per subject and fault mode, from the first call with that fault.
    fault_opportunities: Vec<(usize, FaultMode, u64)>,
}

/// Why an input is repeated under faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultSubjectReason {
    /// The first input that returned.
    FirstReturned,
    WritesFiles,
    /// It sent a request and raised.
    FailedAfterRequest,
    /// The section refused it: does a refusal leave the state unchanged?
    Refused,
    /// Its counts are as large as the section accepts.
    LargeCounts,
}

#[derive(Debug)]
struct FaultSubject {
    reason: FaultSubjectReason,
    input: CallInput,
    seed: u64,
    /// Outcome of the same input without faults.
    baseline: BaselineOutcome,
    /// Another seed gave another result.
    is_nondeterministic: bool,
}

impl FaultStage {
    pub(super) fn new(uses_network: bool, baseline_conditions: CallConditions) -> Self {
        Self {
            uses_network,
            baseline_conditions,
            subjects: Vec::new(),
            fault_opportunities: Vec::new(),
        }
    }

    pub(super) fn record_outcome(&mut self, probe: &PlannedProbe, outcome: &Outcome) {
        match probe.purpose {
            ProbePurpose::Baseline => self.consider_subject(probe, outcome),
            ProbePurpose::OtherSeed => {
                let subject = self.subjects.iter_mut().find(|one| one.input == probe.input);
                if let Some(subject) = subject {
                    subject.is_nondeterministic |=
                        result_hash(outcome) != subject.baseline.hash.as_deref();
                }
            }
            // Only the input with the largest counts stays.
            ProbePurpose::LargerCounts if outcome.verdict == Verdict::Returned => {
                self.subjects.retain(|subject| subject.reason != FaultSubjectReason::LargeCounts);
                self.add_subject(FaultSubjectReason::LargeCounts, probe, outcome);
            }
            ProbePurpose::Faults => self.count_opportunities(probe, outcome),
            _ => {}
        }
    }

    /// Records the opportunities of each fault.
    fn count_opportunities(&mut self, probe: &PlannedProbe, outcome: &Outcome) {
        let Some(at) = self.subjects.iter().position(|one| one.input == probe.input) else {
            return;
        };
        for stats in &outcome.fault_stats {
            let same = |(one, mode, _): &(usize, FaultMode, u64)| (*one, *mode) == (at, stats.mode);
            if !self.fault_opportunities.iter().any(same) {
                self.fault_opportunities.push((at, stats.mode, stats.opportunities));
            }
        }
    }

    /// Keeps the first input for each reason.
    fn consider_subject(&mut self, probe: &PlannedProbe, outcome: &Outcome) {
        let writes = !outcome.files.touched.is_empty();
        let is_first_writer = !self.subjects.iter().any(|subject| subject.baseline.has_touched);
        let returned = outcome.verdict == Verdict::Returned;
        let has_requested =
            outcome.upstream.as_ref().is_some_and(|upstream| !upstream.requests.is_empty());
        let because = [
            (FaultSubjectReason::FirstReturned, returned),
            (FaultSubjectReason::WritesFiles, returned && writes && is_first_writer),
            (
                FaultSubjectReason::FailedAfterRequest,
                has_requested && outcome.verdict == Verdict::Raised,
            ),
            (FaultSubjectReason::Refused, raised_on_purpose(outcome)),
        ];
        let fitting = because.into_iter().filter(|(_, fits)| *fits);
        let new =
            |because: &FaultSubjectReason| !self.subjects.iter().any(|one| one.reason == *because);
        let because = fitting.map(|(because, _)| because).find(new);
        let known = self.subjects.iter().any(|one| one.input == probe.input);
        if let (Some(because), false) = (because, known) {
            self.add_subject(because, probe, outcome);
        }
    }

    fn add_subject(&mut self, reason: FaultSubjectReason, probe: &PlannedProbe, outcome: &Outcome) {
        self.subjects.push(FaultSubject {
            reason,
            input: probe.input.clone(),
            seed: probe.seed,
            baseline: BaselineOutcome::from(outcome),
            is_nondeterministic: false,
        });
    }

    /// The baseline outcome of the input of a probe under faults.
    pub(super) fn baseline_of(&self, probe: &PlannedProbe) -> Option<&BaselineOutcome> {
        let is_faulty = matches!(probe.purpose, ProbePurpose::Faults | ProbePurpose::Confirm);
        let subject = self.subjects.iter().find(|one| one.input == probe.input);
        subject.filter(|_| is_faulty).map(|subject| &subject.baseline)
    }

    pub(super) fn plan_round(&self, round: usize) -> Vec<PlannedProbe> {
        let mut probes = Vec::new();
        for (at, subject) in self.subjects.iter().enumerate() {
            match round {
                0 => self.push_first_round(subject, &mut probes),
                1 => self.push_second_round(subject, &mut probes),
                _ => self.push_fault_sweep(at, subject, &mut probes),
            }
        }
        probes
    }

    /// The first probes of a subject: another seed, counting of fault opportunities, larger counts.
    fn push_first_round(&self, subject: &FaultSubject, probes: &mut Vec<PlannedProbe>) {
        if subject.baseline.verdict != Verdict::Returned {
            return;
        }
        let (input, seed) = (subject.input.clone(), subject.seed ^ 1);
        probes.push(self.baseline_probe(input, ProbePurpose::OtherSeed, seed));
        if subject.baseline.has_touched {
            for mode in [FaultMode::Disk, FaultMode::Timeout] {
                probes.push(self.probe_with_fault(subject, mode, NEVER_TRIGGER));
            }
        }
        if subject.reason == FaultSubjectReason::FirstReturned && subject.input.receiver.is_some() {
            let stretched = COUNT_SCALE_FACTORS
                .iter()
                .filter_map(|factor| scale_counts(&subject.input, *factor));
            let probe =
                |input| self.baseline_probe(input, ProbePurpose::LargerCounts, subject.seed);
            probes.extend(stretched.map(probe));
        }
    }

    fn push_second_round(&self, subject: &FaultSubject, probes: &mut Vec<PlannedProbe>) {
        let is_nondeterministic = self.subjects.iter().any(|subject| subject.is_nondeterministic);
        if !is_nondeterministic && subject.reason != FaultSubjectReason::FailedAfterRequest {
            let mut concurrent =
                self.baseline_probe(subject.input.clone(), ProbePurpose::Faults, subject.seed);
            concurrent.conditions.burst = Some(PROBE_BURST);
            probes.push(concurrent);
        }
        let may_request = matches!(
            subject.reason,
            FaultSubjectReason::FirstReturned | FaultSubjectReason::FailedAfterRequest
        );
        if self.uses_network && may_request {
            for failure in UpstreamFailure::ALL {
                let mut probe = self.probe_with_fault(
                    subject,
                    FaultMode::FlakyUpstream,
                    FaultTrigger::Rate(1.0),
                );
                if let Some(upstream) = &mut probe.conditions.upstream {
                    upstream.failure = Some(failure);
                }
                probes.push(probe);
            }
        }
    }

    /// One probe per opportunity of each fault.
    fn push_fault_sweep(&self, at: usize, subject: &FaultSubject, probes: &mut Vec<PlannedProbe>) {
        for &(_, mode, offered) in self.fault_opportunities.iter().filter(|(one, ..)| *one == at) {
            if matches!(mode, FaultMode::Disk | FaultMode::Timeout) {
                for nth in 1..=offered.min(MAX_SWEPT_OPPORTUNITIES) {
                    probes.push(self.probe_with_fault(subject, mode, FaultTrigger::Nth(nth)));
                }
            }
        }
    }

    fn probe_with_fault(
        &self,
        subject: &FaultSubject,
        mode: FaultMode,
        when: FaultTrigger,
    ) -> PlannedProbe {
        let mut probe =
            self.baseline_probe(subject.input.clone(), ProbePurpose::Faults, subject.seed);
        probe.conditions.faults = vec![FaultSpec { mode, trigger: when }];
        probe
    }

    fn baseline_probe(&self, input: CallInput, purpose: ProbePurpose, seed: u64) -> PlannedProbe {
        PlannedProbe {
            conditions: self.baseline_conditions.clone(),
            ..PlannedProbe::new(input, purpose, seed)
        }
    }
}

/// The input with its counts multiplied; none without counts.
fn scale_counts(input: &CallInput, factor: i64) -> Option<CallInput> {
    let mut input = input.clone();
    let mut changed = false;
    let kwargs = input.kwargs.iter_mut().map(|(_, value)| value);
    for value in input.args.iter_mut().chain(kwargs) {
        if let Value::Int(number) = value
            && *number > 0
        {
            *number = number.saturating_mul(factor);
            changed = true;
        }
    }
    changed.then_some(input)
}

fn result_hash(outcome: &Outcome) -> Option<&str> {
    outcome.value.as_ref()?.hash.as_deref()
}

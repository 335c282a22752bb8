//! Exploring: which calls of a section to make next.
//!
//! Calls come in generations: the outcomes of one decide the next. Making the calls belongs to
//! `menace-loop`. Budgets are counted in calls, never in seconds. Invariant: the same seed and the
//! same outcomes give the same calls, in the same order.

mod budget;
mod corpus;
mod fault_stage;
mod probe;
mod scaling;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use menace_model::{
    Call, CallConditions, CallTarget, InputIntent, Outcome, Section, Seed, UpstreamConfig, Verdict,
};

use crate::input::drift::SchemaDrift;
use crate::input::{CallInput, InputGenerator, LearnedHints, history};
use crate::judge::{
    Candidate, CandidateRerun, ConfirmedFinding, OracleContext, SectionWeakness, WeaknessKind,
    rerun_call,
};

pub use budget::{ExploreBudget, redistribute_mutations};
pub use probe::CallDefaults;

use budget::MutationBudget;
use corpus::{CoverageSampling, InputCorpus};
use fault_stage::FaultStage;
use probe::{PlannedProbe, ProbePurpose};
use scaling::ScalingStage;

/// Rounds of new inputs for a section that never returned.
const MAX_RETRY_ROUNDS: usize = 3;
const INPUTS_PER_RETRY_ROUND: usize = 24;

/// A candidate, and the probe whose call showed it.
#[derive(Debug)]
struct ExploreCandidate {
    probe: PlannedProbe,
    candidate: Candidate,
}

/// Explores one section.
#[derive(Debug)]
pub struct Explorer<'a> {
    oracle_context: OracleContext<'a>,
    target: CallTarget,
    defaults: CallDefaults,
    inputs: InputGenerator<'a>,
    budget: ExploreBudget,
    seed: Seed,
    /// The stage of the last generation.
    stage: ExploreStage,
    /// The calls of the last generation, in the order of their outcomes.
    pending_probes: Vec<PlannedProbe>,
    /// Further calls of the same stage, planned for the next generation.
    deferred_probes: Vec<PlannedProbe>,
    corpus: InputCorpus,
    coverage_sampling: CoverageSampling,
    mutation_budget: MutationBudget,
    scaling: ScalingStage,
    fault_stage: FaultStage,
    candidates: Vec<ExploreCandidate>,
    findings: Vec<ConfirmedFinding>,
    verdicts: BTreeSet<Verdict>,
    calls: usize,
    /// The last generation reached new lines or found a weakness.
    was_productive: bool,
}

/// The purpose of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExploreStage {
    Start,
    /// Valid and boundary inputs.
    Baseline,
    /// More of them, while no call has returned.
    BaselineRetry(usize),
    Attack,
    /// Mutations of the corpus.
    Mutate(usize),
    Faults(usize),
    Scale(usize),
    /// Many equal calls in one process.
    LeakCheck,
    /// Reruns of the candidates.
    Confirm,
    Done,
}

impl ExploreStage {
    /// Stages whose inputs do not depend on coverage.
    fn is_baseline_stage(self) -> bool {
        matches!(self, Self::Baseline | Self::BaselineRetry(_) | Self::Attack)
    }
}

impl<'a> Explorer<'a> {
    pub fn new(
        section: &'a Section,
        target: CallTarget,
        mut defaults: CallDefaults,
        inputs: InputGenerator<'a>,
        budget: ExploreBudget,
        seed: Seed,
    ) -> Self {
        let uses_network = inputs.uses_network();
        if uses_network && defaults.conditions.upstream.is_none() {
            // With answers the section gets further than its first connection.
            defaults.conditions.upstream = Some(UpstreamConfig::with_default_answers());
        }
        Self {
            oracle_context: OracleContext::new(section),
            coverage_sampling: CoverageSampling::new(defaults.has_cheap_coverage),
            fault_stage: FaultStage::new(uses_network, defaults.conditions.clone()),
            target,
            defaults,
            inputs,
            budget,
            seed: seed.derive(section.id.as_str()),
            stage: ExploreStage::Start,
            pending_probes: Vec::new(),
            deferred_probes: Vec::new(),
            corpus: InputCorpus::default(),
            mutation_budget: MutationBudget::default(),
            scaling: ScalingStage::default(),
            candidates: Vec::new(),
            findings: Vec::new(),
            verdicts: BTreeSet::new(),
            calls: 0,
            was_productive: true,
        }
    }

    pub fn section(&self) -> &'a Section {
        self.oracle_context.section()
    }

    pub fn findings(&self) -> &[ConfirmedFinding] {
        &self.findings
    }

    /// Inputs for the next run as lines of a history file; the best comes last.
    pub fn reusable_input_lines(&self) -> Vec<String> {
        let section = &self.section().id;
        let kept = self.corpus.returned_inputs().into_iter();
        kept.filter_map(|(input, lines)| {
            history::format_line(section, input, Verdict::Returned, lines)
        })
        .collect()
    }

    /// Number of calls planned so far.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// All verdicts so far.
    pub fn verdicts(&self) -> &BTreeSet<Verdict> {
        &self.verdicts
    }

    /// The next generation of calls; empty when exploring is done.
    pub fn next_generation(&mut self) -> Vec<Call> {
        self.pending_probes = std::mem::take(&mut self.deferred_probes);
        while self.pending_probes.is_empty() && self.stage != ExploreStage::Done {
            self.stage = self.next_stage();
            self.pending_probes = self.plan_stage();
        }
        if self.stage.is_baseline_stage() {
            self.coverage_sampling.choose_traced(&mut self.pending_probes);
        }
        self.calls += self.pending_probes.len();
        self.pending_probes
            .iter()
            .map(|probe| probe.to_call(&self.target, &self.defaults))
            .collect()
    }

    /// Does the last generation measure time? The number of its calls depends on the machine, so
    /// they are not part of what a seed reproduces.
    pub fn is_timing(&self) -> bool {
        matches!(self.stage, ExploreStage::Scale(_))
    }

    pub fn is_done(&self) -> bool {
        self.stage == ExploreStage::Done
    }

    /// Should this section be explored before others? Not while it waits for mutations of other
    /// sections.
    pub fn is_productive(&self) -> bool {
        !self.is_done() && self.was_productive && !self.needs_more_mutations()
    }

    /// Skips to the reruns of the candidates, because the time is over.
    pub fn skip_to_confirmation(&mut self) {
        // The stage before the confirmation.
        self.stage = ExploreStage::LeakCheck;
        self.deferred_probes.clear();
    }

    /// Number of candidates that were not rerun yet.
    pub fn unconfirmed_count(&self) -> usize {
        self.candidates.len()
    }

    /// Adds the outcomes of the last generation to the hints of all sections. To be called before
    /// [`Explorer::record_outcomes`].
    pub fn record_hints(&self, outcomes: &[Option<Outcome>], learned_hints: &mut LearnedHints) {
        if self.is_timing() {
            return;
        }
        for (probe, outcome) in self.pending_probes.iter().zip(outcomes) {
            if let Some(outcome) = outcome
                && probe.is_baseline(&self.defaults.conditions)
            {
                self.inputs.record_hints(learned_hints, &probe.input, outcome);
            }
        }
    }

    /// Uses the learned hints for further inputs.
    pub fn apply_hints(&mut self, learned_hints: &Arc<LearnedHints>) {
        self.inputs.apply_hints(learned_hints);
    }

    /// Records the outcomes of the last generation, in its order; none for calls that were not
    /// made.
    pub fn record_outcomes(&mut self, outcomes: &[Option<Outcome>]) {
        let probes = std::mem::take(&mut self.pending_probes);
        let made = probes.len();
        let weaknesses_before = self.candidates.len() + self.findings.len();
        for (probe, outcome) in probes.into_iter().zip(outcomes) {
            let Some(outcome) = outcome else { continue };
            self.verdicts.insert(outcome.verdict);
            self.record_outcome(probe, outcome);
        }
        let has_new_lines = self.corpus.take_has_new();
        self.was_productive =
            has_new_lines || self.candidates.len() + self.findings.len() > weaknesses_before;
        if let ExploreStage::Mutate(_) = self.stage {
            self.mutation_budget.record_generation(made, has_new_lines);
        }
    }

    fn plan_stage(&mut self) -> Vec<PlannedProbe> {
        match self.stage {
            ExploreStage::Start | ExploreStage::Done => Vec::new(),
            ExploreStage::Baseline => {
                let seed = self.seed.derive("inputs");
                let mut probes =
                    self.generate_probes(self.budget.inputs, seed, |intent| !is_attack(intent));
                let first = probes.len();
                for input in self
                    .inputs
                    .boundary_inputs(self.budget.boundary_inputs, self.seed.derive("edges"))
                {
                    self.push_probe(&mut probes, input);
                }
                for input in self
                    .inputs
                    .source_word_inputs(self.budget.word_inputs, self.seed.derive("words"))
                {
                    self.push_probe(&mut probes, input);
                }
                if let Some(input) = self.inputs.largest_counts(self.seed.derive("largest")) {
                    self.push_probe(&mut probes, input);
                }
                if first > 0 {
                    // The coverage of the first calls decides whether these are traced.
                    self.deferred_probes = probes.split_off(first);
                }
                probes
            }
            ExploreStage::BaselineRetry(_) if self.verdicts.contains(&Verdict::Returned) => {
                Vec::new()
            }
            ExploreStage::BaselineRetry(round) => {
                let seed = self.seed.derive("again").derive_nth(round as u64);
                self.generate_probes(INPUTS_PER_RETRY_ROUND, seed, |intent| !is_attack(intent))
            }
            ExploreStage::Attack => {
                let mut probes =
                    self.generate_probes(self.budget.inputs, self.seed.derive("inputs"), is_attack);
                for input in self.inputs.attack_inputs(self.seed.derive("attack")) {
                    self.push_probe(&mut probes, input);
                }
                self.push_drifted(&mut probes);
                probes
            }
            ExploreStage::Mutate(generation) => self.mutate_corpus(generation),
            ExploreStage::Faults(round) => self.fault_stage.plan_round(round),
            ExploreStage::Scale(round) => {
                if round == 0 {
                    self.scaling
                        .set_attacks(self.inputs.growing_inputs(self.seed.derive("growing")));
                }
                let mut probes =
                    self.scaling.plan_round(round, self.corpus.best_for(scaling::can_grow));
                for probe in &mut probes {
                    probe.conditions = self.baseline_conditions();
                }
                probes
            }
            ExploreStage::LeakCheck => {
                // All sizes are measured by now, steep ones more than once.
                let steepest = self.scaling.findings().into_iter().next();
                self.findings.extend(steepest.map(|(weakness, probe, outcome)| ConfirmedFinding {
                    weakness,
                    call: probe.to_call(&self.target, &self.defaults),
                    outcome: outcome.clone(),
                }));
                self.leak_check_probes()
            }
            ExploreStage::Confirm => {
                let purpose = ProbePurpose::Confirm;
                let probes = self.candidates.iter().map(|one| one.probe.clone());
                probes.map(|probe| PlannedProbe { purpose, ..probe }).collect()
            }
        }
    }

    fn next_stage(&mut self) -> ExploreStage {
        match self.stage {
            ExploreStage::Start => ExploreStage::Baseline,
            ExploreStage::Baseline => ExploreStage::BaselineRetry(0),
            ExploreStage::BaselineRetry(round) if round + 1 < MAX_RETRY_ROUNDS => {
                ExploreStage::BaselineRetry(round + 1)
            }
            ExploreStage::BaselineRetry(_) => ExploreStage::Attack,
            ExploreStage::Attack => ExploreStage::Mutate(0),
            ExploreStage::Mutate(generation) => {
                if self.mutation_budget.may_continue(&self.budget) && !self.has_enough_weaknesses()
                {
                    ExploreStage::Mutate(generation + 1)
                } else {
                    self.mutation_budget.finish();
                    ExploreStage::Faults(0)
                }
            }
            ExploreStage::Faults(round) if round + 1 < fault_stage::FAULT_ROUNDS => {
                ExploreStage::Faults(round + 1)
            }
            ExploreStage::Faults(_) => ExploreStage::Scale(0),
            ExploreStage::Scale(round) if round + 1 < scaling::SCALING_ROUNDS => {
                ExploreStage::Scale(round + 1)
            }
            ExploreStage::Scale(_) => ExploreStage::LeakCheck,
            ExploreStage::LeakCheck => ExploreStage::Confirm,
            ExploreStage::Confirm | ExploreStage::Done => ExploreStage::Done,
        }
    }

    fn has_enough_weaknesses(&self) -> bool {
        self.findings.len() + self.candidates.len() >= self.budget.enough_weaknesses
    }

    /// The best input without files, called many times in one process.
    fn leak_check_probes(&self) -> Vec<PlannedProbe> {
        let best = self.corpus.best_for(|input| input.fixtures.is_empty());
        let keep = |input: &CallInput| PlannedProbe {
            repeats: probe::LEAK_PROBE_REPEATS,
            conditions: self.baseline_conditions(),
            ..PlannedProbe::new(input.clone(), ProbePurpose::LeakCheck, 1)
        };
        best.filter(|input| input.fixtures.is_empty()).map(keep).into_iter().collect()
    }

    fn baseline_conditions(&self) -> CallConditions {
        self.defaults.conditions.clone()
    }

    fn generate_probes(
        &mut self,
        count: usize,
        seed: Seed,
        wanted: impl Fn(InputIntent) -> bool,
    ) -> Vec<PlannedProbe> {
        let mut probes = Vec::new();
        for input in self.inputs.take(count, seed) {
            if wanted(input.intent) {
                self.push_probe(&mut probes, input);
            }
        }
        probes
    }

    fn mutate_corpus(&mut self, generation: usize) -> Vec<PlannedProbe> {
        let seed = self.seed.derive("mutate").derive_nth(generation as u64);
        let mut random = seed.rng();
        let mut probes = Vec::new();
        for index in 0..self.mutation_budget.generation_size(&self.budget) {
            let Some(parent) = self.corpus.pick(&mut random) else { break };
            let input = self.inputs.mutate_input(parent, seed.derive_nth(index as u64));
            self.push_probe(&mut probes, input);
        }
        if probes.is_empty() {
            self.mutation_budget.record_generation(0, false);
        }
        probes
    }

    /// Adds the best input with drifted data.
    fn push_drifted(&mut self, probes: &mut Vec<PlannedProbe>) {
        let Some(input) = self.corpus.best().cloned() else { return };
        for index in 0..self.budget.drifted_inputs {
            let seed = self.seed.derive("drift").derive_nth(index);
            let how = if index % 2 == 0 { SchemaDrift::OneKey } else { SchemaDrift::HalfOfKeys };
            if let Some(input) = self.inputs.drift_input(&input, how, seed) {
                self.push_probe(probes, input);
            }
        }
    }

    fn push_probe(&mut self, probes: &mut Vec<PlannedProbe>, input: CallInput) {
        let seed = self.seed.derive_nth(self.calls as u64 + probes.len() as u64).0;
        let mut probe = PlannedProbe::new(input, ProbePurpose::Baseline, seed);
        if probe.input.strategy.follows_types() {
            self.oracle_context.record_declared(&probe.to_call(&self.target, &self.defaults));
        }
        probe.coverage = true;
        probe.conditions = self.baseline_conditions();
        if !probes.iter().any(|other| other.input == probe.input) {
            probes.push(probe);
        }
    }

    fn record_outcome(&mut self, probe: PlannedProbe, outcome: &Outcome) {
        let call = probe.to_call(&self.target, &self.defaults);
        if probe.purpose == ProbePurpose::Confirm {
            self.confirm_candidate(call, outcome);
            return;
        }
        if let ProbePurpose::Scale { size, .. } = probe.purpose {
            self.scaling.record_outcome(&probe, size, outcome);
            if matches!(outcome.verdict, Verdict::TimedOut | Verdict::Crashed)
                && let Some(weakness) = self.judge_probe(&call, &probe, outcome)
            {
                self.add_candidate(weakness, probe, &call, outcome);
            }
            return;
        }
        if probe.purpose == ProbePurpose::LeakCheck {
            // The duration of so many calls says nothing about one call.
            let found = self.judge_probe(&call, &probe, outcome);
            if let Some(weakness) = found.filter(|found| found.kind == WeaknessKind::Leak) {
                self.add_candidate(weakness, probe, &call, outcome);
            }
            return;
        }
        let is_baseline = probe.is_baseline(&self.defaults.conditions);
        self.oracle_context.record_outcome(&call, outcome, is_baseline);
        self.fault_stage.record_outcome(&probe, outcome);
        if let Some(weakness) = self.judge_probe(&call, &probe, outcome) {
            self.add_candidate(weakness, probe.clone(), &call, outcome);
        }
        if is_baseline {
            let is_traced = probe.coverage;
            let has_new_lines = self.corpus.add_if_new(probe.input, outcome);
            if is_traced {
                self.coverage_sampling.record_traced_call(has_new_lines);
            }
        }
    }

    fn judge_probe(
        &self,
        call: &Call,
        probe: &PlannedProbe,
        outcome: &Outcome,
    ) -> Option<SectionWeakness> {
        self.oracle_context.find_weakness(call, outcome, self.fault_stage.baseline_of(probe))
    }

    /// Keeps one candidate per kind and place.
    fn add_candidate(
        &mut self,
        weakness: SectionWeakness,
        probe: PlannedProbe,
        call: &Call,
        outcome: &Outcome,
    ) {
        let mut candidates = self.candidates.iter().map(|one| &one.candidate.weakness);
        if !candidates.any(|known| is_same_weakness(known, &weakness)) && !self.has_found(&weakness)
        {
            let candidate = Candidate::new(weakness, call, outcome);
            self.candidates.push(ExploreCandidate { probe, candidate });
        }
    }

    fn has_found(&self, weakness: &SectionWeakness) -> bool {
        self.findings.iter().any(|finding| is_same_weakness(&finding.weakness, weakness))
    }

    fn confirm_candidate(&mut self, call: Call, outcome: &Outcome) {
        let is_its_rerun = |one: &ExploreCandidate| rerun_call(&one.candidate.call) == call;
        let Some(at) = self.candidates.iter().position(is_its_rerun) else { return };
        let ExploreCandidate { probe, candidate } = self.candidates.remove(at);
        let baseline = self.fault_stage.baseline_of(&probe);
        let rerun = CandidateRerun::judge(call, outcome.clone(), &self.oracle_context, baseline);
        let finding = candidate.confirm(rerun);
        self.findings.extend(finding.filter(|finding| !self.has_found(&finding.weakness)));
    }
}

/// Same kind of weakness in the same place.
fn is_same_weakness(one: &SectionWeakness, other: &SectionWeakness) -> bool {
    one.kind == other.kind && one.place == other.place
}

fn is_attack(intent: InputIntent) -> bool {
    matches!(intent, InputIntent::Hostile | InputIntent::Misuse)
}

//! Assesses findings: which of them a maintainer would take for bugs, and which are one and the
//! same.
//!
//! | module | what is in it |
//! |---|---|
//! | `confidence` | signs for and against a finding → a number in [0, 1] and its reasons |
//! | `severity` | kind and exposure → a number in [0, 1], and the common weakness |
//! | `lift` | findings of internal sections → findings of the public ones that call them |
//! | `proof` | the exported test of a finding, run in a plain interpreter |
//! | `root` | findings with the same cause → the one that is shown |
//!
//! The rules are described in docs/weaknesses.md. Invariant: apart from `proof` and `lift` pure;
//! equal findings, proofs and sources give equal assessments.

mod confidence;
mod lift;
mod proof;
mod root;
mod severity;

use std::collections::{BTreeMap, HashMap};

use menace_model::{AnalyzedModule, Failure, FailureId, FindingAssessment, Section};
use menace_scenario::domain::InputDomain;
use menace_scenario::input::RepositoryFacts;
use menace_source::{Analysis, RepositoryExposure};

use menace_sandbox::SandboxError;

use crate::calls::CallRunner;
use crate::run::CycleEngine;

use confidence::{FindingSigns, rate_confidence};
pub(crate) use lift::LiftedFinding;

use lift::FindingLifter;
use proof::{ProofResult, prove};
use root::group_by_root;
use severity::{common_weakness, rate_severity};

/// Less likely findings are not proved: nothing would show them.
const MIN_PROVED_CONFIDENCE: f64 = 0.25;
/// The most findings that are proved in a cycle.
const MAX_PROOFS: usize = 200;
/// For a finding that no test can show, or that there was no time to prove.
const UNPROVED_FACTOR: f64 = 0.8;

/// What assessments are based on beside the findings.
#[derive(Debug)]
pub(crate) struct FindingAssessor<'a> {
    analysis: &'a Analysis,
    facts: &'a RepositoryFacts<'a>,
    exposure: &'a RepositoryExposure,
    lifter: FindingLifter<'a>,
    sections: HashMap<&'a str, (&'a AnalyzedModule, &'a Section)>,
}

impl<'a> FindingAssessor<'a> {
    pub(crate) fn new(engine: &CycleEngine<'a>, exposure: &'a RepositoryExposure) -> Self {
        let CycleEngine { request, surveyed, facts, lines, .. } = *engine;
        let analysis = request.analysis;
        let modules = analysis.modules.iter();
        let sections = modules.flat_map(|module| {
            module.sections.iter().map(move |section| (section.id.as_str(), (module, section)))
        });
        let lifter = FindingLifter::new(
            analysis,
            surveyed,
            facts,
            exposure,
            (request.input_settings, lines, request.seed),
        );
        Self { analysis, facts, exposure, lifter, sections: sections.collect() }
    }

    /// Tries to show findings of internal sections through public ones.
    pub(crate) fn lift<'f>(
        &self,
        failures: impl IntoIterator<Item = &'f Failure>,
        runner: &CallRunner<'_>,
    ) -> Result<Vec<LiftedFinding>, SandboxError> {
        let failures: Vec<&Failure> = failures.into_iter().collect();
        self.lifter.lift(&failures, runner)
    }

    /// Assesses all findings of a cycle. Those that may be shown are proved first; of those with
    /// the same root one is shown.
    pub(crate) fn assess<'f>(
        &self,
        failures: impl IntoIterator<Item = &'f Failure>,
        runner: &CallRunner<'_>,
    ) -> Result<BTreeMap<FailureId, FindingAssessment>, SandboxError> {
        let failures: Vec<&Failure> = failures.into_iter().collect();
        let mut assessments: Vec<FindingAssessment> =
            failures.iter().map(|failure| self.assess_one(failure)).collect();
        self.prove_likely(&failures, &mut assessments, runner)?;
        group_by_root(&failures, &mut assessments);
        let ids = failures.into_iter().map(|failure| failure.id.clone());
        Ok(ids.zip(assessments).collect())
    }

    /// Runs the exported tests of the findings that may be shown, the likeliest first.
    fn prove_likely(
        &self,
        failures: &[&Failure],
        assessments: &mut [FindingAssessment],
        runner: &CallRunner<'_>,
    ) -> Result<(), SandboxError> {
        let mut likely: Vec<usize> = (0..failures.len())
            .filter(|index| assessments[*index].confidence >= MIN_PROVED_CONFIDENCE)
            .collect();
        likely
            .sort_by(|one, other| assessments[*other].rank().total_cmp(&assessments[*one].rank()));
        likely.truncate(MAX_PROOFS);
        let chosen: Vec<&Failure> = likely.iter().map(|index| failures[*index]).collect();
        let results = prove(&chosen, self.analysis, runner)?;
        for (index, result) in likely.into_iter().zip(results) {
            let FindingAssessment { confidence, reasons, .. } = &mut assessments[index];
            match result {
                ProofResult::Shown => {}
                ProofResult::NotShown => {
                    *confidence = 0.0;
                    reasons.insert(0, "its own exported test does not show it".to_owned());
                }
                ProofResult::Unknown(why) => {
                    *confidence *= UNPROVED_FACTOR;
                    reasons.push(format!("not proved outside of Menace: {why}"));
                }
            }
        }
        Ok(())
    }

    /// The docstring of the innermost section around a line.
    fn docstring_at(&self, file: &str, line: u32) -> Option<&'a str> {
        let module = self.analysis.modules.iter().find(|module| module.path == file)?;
        let around = module.sections.iter().filter(|one| (one.line..=one.end_line).contains(&line));
        around.max_by_key(|section| section.line)?.docstring.as_deref()
    }

    fn assess_one(&self, failure: &Failure) -> FindingAssessment {
        let exposure = self.exposure.of(&failure.section);
        let known = self.sections.get(failure.section.as_str());
        let raised = failure.outcome.exception.iter().flat_map(|exception| &exception.frames);
        let own = raised.filter(|frame| frame.in_repository);
        let docstrings: Vec<&str> =
            own.filter_map(|frame| self.docstring_at(&frame.file, frame.line)).collect();
        let signs = FindingSigns {
            failure,
            docstrings: &docstrings,
            exposure,
            module: known.map(|(module, _)| *module),
            section: known.map(|(_, section)| *section),
            domain: &InputDomain::of_call(self.facts, &failure.section, &failure.call),
        };
        let (confidence, reasons) = rate_confidence(&signs);
        FindingAssessment {
            confidence,
            severity: rate_severity(failure, exposure),
            exposure,
            reasons,
            cwe: common_weakness(failure),
            duplicate_of: None,
            ways_in: Vec::new(),
        }
    }
}

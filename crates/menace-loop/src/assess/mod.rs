//! Assesses findings: which of them a maintainer would take for bugs, and which are one and the
//! same.
//!
//! | module | what is in it |
//! |---|---|
//! | `confidence` | signs for and against a finding → a number in [0, 1] and its reasons |
//! | `severity` | kind and exposure → a number in [0, 1], and the common weakness |
//! | `root` | findings with the same cause → the one that is shown |
//!
//! The rules are described in docs/weaknesses.md. Invariant: pure; equal findings and sources give
//! equal assessments.

mod confidence;
mod root;
mod severity;

use std::collections::{BTreeMap, HashMap};

use menace_model::{AnalyzedModule, Failure, FailureId, FindingAssessment, Section};
use menace_scenario::domain::InputDomain;
use menace_scenario::input::RepositoryFacts;
use menace_source::{Analysis, RepositoryExposure};

use confidence::{FindingSigns, rate_confidence};
use root::group_by_root;
use severity::{common_weakness, rate_severity};

/// What assessments are based on beside the findings.
#[derive(Debug)]
pub struct FindingAssessor<'a> {
    facts: &'a RepositoryFacts<'a>,
    exposure: RepositoryExposure,
    sections: HashMap<&'a str, (&'a AnalyzedModule, &'a Section)>,
}

impl<'a> FindingAssessor<'a> {
    pub fn new(analysis: &'a Analysis, facts: &'a RepositoryFacts<'a>) -> Self {
        let modules = analysis.modules.iter();
        let sections = modules.flat_map(|module| {
            module.sections.iter().map(move |section| (section.id.as_str(), (module, section)))
        });
        Self { facts, exposure: analysis.exposure(), sections: sections.collect() }
    }

    /// Assesses all findings of a cycle. Of those with the same root one is shown.
    pub fn assess<'f>(
        &self,
        failures: impl IntoIterator<Item = &'f Failure>,
    ) -> BTreeMap<FailureId, FindingAssessment> {
        let failures: Vec<&Failure> = failures.into_iter().collect();
        let mut assessments: Vec<FindingAssessment> =
            failures.iter().map(|failure| self.assess_one(failure)).collect();
        group_by_root(&failures, &mut assessments);
        let ids = failures.into_iter().map(|failure| failure.id.clone());
        ids.zip(assessments).collect()
    }

    fn assess_one(&self, failure: &Failure) -> FindingAssessment {
        let exposure = self.exposure.of(&failure.section);
        let known = self.sections.get(failure.section.as_str());
        let signs = FindingSigns {
            failure,
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

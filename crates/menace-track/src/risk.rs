//! Ranks modules and sections by risk, with the reasons.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::{SectionId, StaticFinding};
use serde::{Deserialize, Serialize};

use crate::measure::text_metrics::finding_weight;
use crate::{ConfirmedFailure, MeasuredScenario, ModuleFacts, TalliedCell};

/// The probability that a finding of the greatest weight is a real, reachable problem.
const WORST_FINDING_PROBABILITY: f64 = 0.5;
const MAX_FINDING_WEIGHT: f64 = 9.0;

/// A module or section that should be looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Risk {
    /// Path of the module.
    pub module: String,
    /// None for the module as a whole.
    pub section: Option<SectionId>,
    /// From 0 to 1: the probability of a problem × its severity.
    pub score: f64,
    /// Short reasons, most probable first.
    pub reasons: Vec<String>,
}

/// Reasons for a risk, each with the probability that it is a real problem.
#[derive(Default)]
struct RiskReasons(Vec<(f64, String)>);

impl RiskReasons {
    fn add(&mut self, probability: f64, reason: String) {
        if probability > 0.0 {
            self.0.push((probability, reason));
        }
    }

    fn into_risk(mut self, module: &ModuleFacts, section: Option<&SectionId>) -> Option<Risk> {
        self.0.sort_by(|one, two| two.0.total_cmp(&one.0).then_with(|| one.1.cmp(&two.1)));
        let innocent: f64 = self.0.iter().map(|(probability, _)| 1.0 - probability).product();
        (!self.0.is_empty()).then(|| Risk {
            module: module.path.clone(),
            section: section.cloned(),
            score: (1.0 - innocent) * module.severity.clamp(0.0, 1.0),
            reasons: self.0.into_iter().map(|(_, reason)| reason).collect(),
        })
    }
}

/// Flags of modules and sections, highest score first.
pub fn find_risks(
    modules: &[ModuleFacts],
    scenarios: &[MeasuredScenario],
    cells: &[TalliedCell],
    failures: &[ConfirmedFailure],
) -> Vec<Risk> {
    let mut bad: BTreeMap<&SectionId, (u64, u64)> = BTreeMap::new();
    for cell in cells {
        let is_baseline = scenarios.get(cell.scenario).is_some_and(|scenario| scenario.is_baseline);
        let (seen, asked) = bad.entry(&cell.section).or_default();
        *seen +=
            cell.tally.attributed + if is_baseline { cell.tally.unattributed_crashes } else { 0 };
        *asked += cell.tally.reached_calls();
    }
    let mut confirmed: BTreeMap<&SectionId, BTreeSet<_>> = BTreeMap::new();
    for failure in failures {
        confirmed.entry(&failure.section).or_default().insert((failure.kind, &failure.id));
    }
    let mut risks = Vec::new();
    for module in modules {
        let mut of_module = RiskReasons::default();
        for finding in &module.findings {
            of_module.add(finding_probability(finding), describe_finding(finding));
        }
        let mut weak = 0_u32;
        for section in &module.sections {
            let mut charges = RiskReasons::default();
            let within = module
                .findings
                .iter()
                .filter(|finding| (section.start_line..=section.end_line).contains(&finding.line));
            for finding in within {
                charges.add(finding_probability(finding), describe_finding(finding));
            }
            let (seen, asked) = bad.get(&section.id).copied().unwrap_or_default();
            if asked > 0 {
                let reason = format!("{seen} of {asked} calls went wrong");
                charges.add((seen as f64 / asked as f64).min(1.0), reason);
            }
            let known = confirmed.get(&section.id);
            for (kind, id) in known.into_iter().flatten() {
                charges.add(0.5, format!("failure {id}: {kind}"));
            }
            if seen > 0 || known.is_some() {
                weak += 1;
            }
            risks.extend(charges.into_risk(module, Some(&section.id)));
        }
        if weak > 0 {
            let all = module.sections.len();
            let reason = format!("{weak} of {all} sections fail");
            of_module.add(f64::from(weak) / all as f64, reason);
        }
        risks.extend(of_module.into_risk(module, None));
    }
    risks.sort_by(|one, two| {
        two.score
            .total_cmp(&one.score)
            .then_with(|| one.module.cmp(&two.module))
            .then_with(|| one.section.cmp(&two.section))
    });
    risks
}

fn finding_probability(finding: &StaticFinding) -> f64 {
    finding_weight(finding) / MAX_FINDING_WEIGHT * WORST_FINDING_PROBABILITY
}

fn describe_finding(finding: &StaticFinding) -> String {
    format!("{} at line {}: {}", finding.rule, finding.line, finding.message)
}

#[cfg(test)]
mod tests {
    use menace_model::{
        Call, CallStage, CallTarget, CodeMetrics, FailureId, FindingConfidence, FindingSeverity,
        ModuleRef, Outcome, TargetKind, Verdict, WeaknessKind,
    };

    use super::*;
    use crate::series::assert_close;
    use crate::{CallTally, SectionFacts};

    fn module(path: &str, severity: f64) -> ModuleFacts {
        let section = |name: &str, start_line| SectionFacts {
            id: SectionId::new(path, name),
            start_line,
            end_line: start_line + 9,
            fan_in: 0,
            lines: None,
        };
        ModuleFacts {
            path: path.to_owned(),
            name: path.to_owned(),
            code_metrics: CodeMetrics::default(),
            findings: Vec::new(),
            lints: 0,
            fan_in: 0,
            severity,
            sections: vec![section("first", 1), section("second", 11)],
            source_change_size: None,
        }
    }

    fn tally_of_verdicts(verdicts: &[(Verdict, bool)]) -> CallTally {
        let module = ModuleRef { name: "a".to_owned(), path: None };
        let target =
            CallTarget { module, qualname: "first".to_owned(), kind: TargetKind::Function };
        let call = Call::new(target);
        let mut tally = CallTally::default();
        for (verdict, attributed) in verdicts {
            tally.add(&call, &Outcome::new(*verdict, CallStage::Call), *attributed);
        }
        tally
    }

    #[test]
    fn findings_bad_calls_and_failures_are_charged_and_ranked() {
        let (mut grave, light) = (module("a.py", 1.0), module("b.py", 0.1));
        grave.findings.push(StaticFinding {
            rule: "B602".to_owned(),
            severity: FindingSeverity::High,
            confidence: FindingConfidence::High,
            line: 12,
            message: "shell".to_owned(),
        });
        let scenarios = [MeasuredScenario {
            name: "normal".to_owned(),
            severity: None,
            is_baseline: true,
            is_adverse: false,
            round_trip_ms: None,
        }];
        let cell = |section: SectionId, verdicts: &[(Verdict, bool)]| TalliedCell {
            section,
            scenario: 0,
            tally: tally_of_verdicts(verdicts),
        };
        let cells = [
            cell(
                grave.sections[0].id.clone(),
                &[
                    (Verdict::Raised, true),
                    (Verdict::TimedOut, false),
                    (Verdict::Raised, false),
                    (Verdict::Returned, false),
                ],
            ),
            cell(light.sections[0].id.clone(), &[(Verdict::Raised, false)]),
        ];
        let failures = [ConfirmedFailure {
            id: FailureId("f1".to_owned()),
            section: grave.sections[0].id.clone(),
            scenario: "normal".to_owned(),
            kind: WeaknessKind::Hang,
        }];
        let risks = find_risks(&[grave, light], &scenarios, &cells, &failures);
        let subjects: Vec<_> = risks
            .iter()
            .map(|risk| risk.section.as_ref().map_or(risk.module.as_str(), SectionId::as_str))
            .collect();
        assert_eq!(subjects, ["a.py", "a.py::first", "a.py::second"], "nothing is said of b.py");
        assert_close(risks[1].score, 0.75);
        assert_eq!(risks[1].reasons, ["2 of 4 calls went wrong", "failure f1: hang"]);
        assert_eq!(risks[2].reasons, ["B602 at line 12: shell"]);
        assert_eq!(risks[0].reasons, ["1 of 2 sections fail", "B602 at line 12: shell"]);
    }
}

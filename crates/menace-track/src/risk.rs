//! Which modules and sections to look at first, and why.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::{Finding, SectionId};
use serde::{Deserialize, Serialize};

use crate::measure::of_text::weight;
use crate::{Cell, Confirmed, ModuleFacts, Scenario};

/// A finding of the worst kind is true and reachable in every second case.
const WORST_FINDING: f64 = 0.5;
const WORST_WEIGHT: f64 = 9.0;

/// A module, or one of its sections, with something against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskFlag {
    /// Path.
    pub module: String,
    /// None for the module as a whole.
    pub section: Option<SectionId>,
    /// From 0 to 1: how likely something is wrong × how bad that would be.
    pub score: f64,
    /// Each in a few words, gravest first.
    pub reasons: Vec<String>,
}

/// What can be said against something: how likely each is a real problem, and what it is.
#[derive(Default)]
struct Charges(Vec<(f64, String)>);

impl Charges {
    fn add(&mut self, probability: f64, reason: String) {
        if probability > 0.0 {
            self.0.push((probability, reason));
        }
    }

    fn flag(mut self, module: &ModuleFacts, section: Option<&SectionId>) -> Option<RiskFlag> {
        self.0.sort_by(|one, two| two.0.total_cmp(&one.0).then_with(|| one.1.cmp(&two.1)));
        let innocent: f64 = self.0.iter().map(|(probability, _)| 1.0 - probability).product();
        (!self.0.is_empty()).then(|| RiskFlag {
            module: module.path.clone(),
            section: section.cloned(),
            score: (1.0 - innocent) * module.severity.clamp(0.0, 1.0),
            reasons: self.0.into_iter().map(|(_, reason)| reason).collect(),
        })
    }
}

/// Flags of modules and sections, gravest first.
pub fn risk_flags(
    modules: &[ModuleFacts],
    scenarios: &[Scenario],
    cells: &[Cell],
    failures: &[Confirmed],
) -> Vec<RiskFlag> {
    let mut bad: BTreeMap<&SectionId, (u64, u64)> = BTreeMap::new();
    for cell in cells {
        let is_baseline = scenarios.get(cell.scenario).is_some_and(|scenario| scenario.is_baseline);
        let (seen, asked) = bad.entry(&cell.section).or_default();
        *seen += cell.tally.blamed + if is_baseline { cell.tally.hurt } else { 0 };
        *asked += cell.tally.asked();
    }
    let mut confirmed: BTreeMap<&SectionId, BTreeSet<_>> = BTreeMap::new();
    for failure in failures {
        confirmed.entry(&failure.section).or_default().insert((failure.kind, &failure.id));
    }
    let mut flags = Vec::new();
    for module in modules {
        let mut of_module = Charges::default();
        for finding in &module.findings {
            of_module.add(probability(finding), told(finding));
        }
        let mut weak = 0_u32;
        for section in &module.sections {
            let mut charges = Charges::default();
            let within = module
                .findings
                .iter()
                .filter(|finding| (section.start_line..=section.end_line).contains(&finding.line));
            for finding in within {
                charges.add(probability(finding), told(finding));
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
            flags.extend(charges.flag(module, Some(&section.id)));
        }
        if weak > 0 {
            let all = module.sections.len();
            let reason = format!("{weak} of {all} sections fail");
            of_module.add(f64::from(weak) / all as f64, reason);
        }
        flags.extend(of_module.flag(module, None));
    }
    flags.sort_by(|one, two| {
        two.score
            .total_cmp(&one.score)
            .then_with(|| one.module.cmp(&two.module))
            .then_with(|| one.section.cmp(&two.section))
    });
    flags
}

fn probability(finding: &Finding) -> f64 {
    weight(finding) / WORST_WEIGHT * WORST_FINDING
}

fn told(finding: &Finding) -> String {
    format!("{} at line {}: {}", finding.rule, finding.line, finding.message)
}

#[cfg(test)]
mod tests {
    use menace_model::{
        Call, Confidence, FailureId, How, ModuleRef, Numbers, Outcome, Severity, Stage, Target,
        Verdict, WeaknessKind,
    };

    use super::*;
    use crate::series::assert_close;
    use crate::{SectionFacts, Tally};

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
            numbers: Numbers::default(),
            findings: Vec::new(),
            lints: 0,
            fan_in: 0,
            severity,
            sections: vec![section("first", 1), section("second", 11)],
            patch_complexity: None,
        }
    }

    fn called(verdicts: &[(Verdict, bool)]) -> Tally {
        let module = ModuleRef { name: "a".to_owned(), path: None };
        let target = Target { module, qualname: "first".to_owned(), how: How::Function };
        let call = Call::new(target);
        let mut tally = Tally::default();
        for (verdict, blamed) in verdicts {
            tally.add(&call, &Outcome::of(*verdict, Stage::Call), *blamed);
        }
        tally
    }

    #[test]
    fn findings_bad_calls_and_failures_are_charged_and_ranked() {
        let (mut grave, light) = (module("a.py", 1.0), module("b.py", 0.1));
        grave.findings.push(Finding {
            rule: "B602".to_owned(),
            severity: Severity::High,
            confidence: Confidence::High,
            line: 12,
            message: "shell".to_owned(),
        });
        let scenarios = [Scenario {
            name: "normal".to_owned(),
            severity: None,
            is_baseline: true,
            is_trouble: false,
            round_trip_ms: None,
        }];
        let cell = |section: SectionId, verdicts: &[(Verdict, bool)]| Cell {
            section,
            scenario: 0,
            tally: called(verdicts),
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
        let failures = [Confirmed {
            id: FailureId("f1".to_owned()),
            section: grave.sections[0].id.clone(),
            scenario: "normal".to_owned(),
            kind: WeaknessKind::Hang,
        }];
        let flags = risk_flags(&[grave, light], &scenarios, &cells, &failures);
        let subjects: Vec<_> = flags
            .iter()
            .map(|flag| flag.section.as_ref().map_or(flag.module.as_str(), SectionId::as_str))
            .collect();
        assert_eq!(subjects, ["a.py", "a.py::first", "a.py::second"], "nothing is said of b.py");
        assert_close(flags[1].score, 0.75);
        assert_eq!(flags[1].reasons, ["2 of 4 calls went wrong", "failure f1: hang"]);
        assert_eq!(flags[2].reasons, ["B602 at line 12: shell"]);
        assert_eq!(flags[0].reasons, ["1 of 2 sections fail", "B602 at line 12: shell"]);
    }
}

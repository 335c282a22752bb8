//! Gathers what the cycles of a run found, and makes the report of it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use menace_model::{Failure, FailureId, ModuleReport, SectionId, Seed, Verdict};
use menace_scenario::preset::{MissingScenarios, Preset, gaps};
use menace_store::{Candidate, CandidateStatus, Notice, RunId};
use menace_track::Scored;

use super::decide::{Flown, Pilots};
use super::keep::Keep;
use super::known::Known;
use super::worth::Worth;
use super::{Run, RunError};
use crate::cycle::{Lacking, Missed, Plan, Seen, Shut, Watch, is_simpler};
use crate::decided::Decided;
use crate::report::{
    CoverageReport, FailureReport, ModuleRow, NotCovered, NotImportable, RunReport, ScenarioReport,
    Unreachable, VERSION,
};

/// What is known so far.
#[derive(Debug)]
pub(super) struct Told {
    seed: Seed,
    warnings: Vec<String>,
    /// How many of them were passed on.
    said: usize,
    cycles: usize,
    sections: BTreeSet<SectionId>,
    called: BTreeSet<SectionId>,
    unreachable: BTreeMap<SectionId, String>,
    shut: BTreeMap<String, Shut>,
    lacking: BTreeSet<Lacking>,
    calls: u64,
    timing_calls: u64,
    verdicts: BTreeMap<Verdict, u64>,
    /// With how often they were seen, and whether they are new.
    failures: BTreeMap<FailureId, (Failure, u64, bool)>,
    not_covered: BTreeMap<String, Missed>,
    /// Calls by scenario, of the last cycle.
    scenario_calls: BTreeMap<String, u64>,
    /// Which module went through which scenario in the last cycle, as its plan numbers them.
    ran: BTreeSet<(String, usize)>,
    last: Option<Worth>,
    troubles: Vec<String>,
    flagged: BTreeSet<String>,
    /// Files that are no Python, with the reason.
    unreadable: Vec<NotImportable>,
    /// Modules that were left out, as they were worth last.
    left_out: Vec<LeftOut>,
    /// After the last cycle.
    decided: Option<Decided>,
}

/// A module that no cycle calls any more.
#[derive(Debug)]
pub(super) struct LeftOut {
    pub path: String,
    /// ROI and RAROI; none of one that was never called.
    pub worth: Option<(f64, f64)>,
}

impl Told {
    pub(super) fn new(seed: Seed, warnings: impl Iterator<Item = String>) -> Self {
        Self {
            seed,
            warnings: warnings.collect(),
            said: 0,
            cycles: 0,
            sections: BTreeSet::new(),
            called: BTreeSet::new(),
            unreachable: BTreeMap::new(),
            shut: BTreeMap::new(),
            lacking: BTreeSet::new(),
            calls: 0,
            timing_calls: 0,
            verdicts: BTreeMap::new(),
            failures: BTreeMap::new(),
            not_covered: BTreeMap::new(),
            scenario_calls: BTreeMap::new(),
            ran: BTreeSet::new(),
            last: None,
            troubles: Vec::new(),
            flagged: BTreeSet::new(),
            unreadable: Vec::new(),
            left_out: Vec::new(),
            decided: None,
        }
    }

    pub(super) fn decide(&mut self, decided: Decided) {
        self.decided = Some(decided);
    }

    /// Looks more closely at who is on the border after the last cycle.
    pub(super) fn pilot(&mut self, pilots: &Pilots<'_>, keep: &Keep) -> Result<(), RunError> {
        let last = self.last.take();
        let Flown { candidates, evidence } = pilots.fly(last.as_ref(), keep, self)?;
        self.last = last;
        match &mut self.decided {
            Some(decided) => {
                decided.borderline = candidates;
                decided.borderline_evidence = evidence;
            }
            // All modules were left out: there is no other place to tell it.
            None => {
                for candidate in candidates {
                    self.warn(tried_in_words(&candidate));
                }
            }
        }
        Ok(())
    }

    pub(super) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Passes on what was not said yet.
    pub(super) fn say(&mut self, view: &mut dyn Watch) {
        for warning in &self.warnings[self.said..] {
            view.warned(warning);
        }
        self.said = self.warnings.len();
    }

    /// A file that could not be understood.
    pub(super) fn unreadable(&mut self, module: &ModuleReport) {
        let Some(error) = &module.error else { return };
        let line = error.line.map_or(String::new(), |line| format!("line {line}: "));
        let why = format!("{line}{}", error.reason);
        self.unreadable.push(NotImportable { module: module.path.clone(), why, missing: None });
    }

    /// Modules that are left out now; one that the last cycle still called is none of them.
    pub(super) fn left_out(&mut self, mut modules: Vec<LeftOut>) {
        let last = self.last.as_ref();
        modules.retain(|module| {
            let called = last.and_then(|worth| worth.report.modules.get(&module.path));
            called.and_then(Scored::value).is_none()
        });
        if !modules.is_empty() {
            let count = match modules.len() {
                1 => "1 module".to_owned(),
                count => format!("{count} modules"),
            };
            self.warn(format!(
                "left out because their gains have faded: {count}; --reset-flags begins again"
            ));
        }
        self.left_out = modules;
    }

    /// What the store has to say.
    pub(super) fn notice(&mut self, notices: &[Notice]) {
        for notice in notices {
            self.warn(notice.to_string());
        }
    }

    /// Nothing was left out for want of time.
    pub(super) fn is_whole(&self) -> bool {
        self.not_covered.is_empty()
    }

    pub(super) fn cycle(&mut self, plan: &Plan<'_>, seen: Seen, mut worth: Worth, known: &Known) {
        self.cycles += 1;
        self.sections.extend(plan.subjects.iter().map(|subject| subject.section.id.clone()));
        self.sections.extend(plan.closed.iter().map(|closed| closed.section.clone()));
        for closed in &plan.closed {
            self.unreachable.insert(closed.section.clone(), closed.why.clone());
        }
        self.called.extend(worth.cells.iter().map(|cell| cell.section.clone()));
        self.called.extend(seen.imports.keys().cloned());
        for shut in seen.shut {
            for subject in plan.subjects.iter().filter(|one| one.module.path == shut.module) {
                let id = subject.section.id.clone();
                if id != shut.section {
                    let why = format!("its module cannot be imported: {}", shut.why);
                    self.unreachable.insert(id, why);
                }
            }
            self.shut.insert(shut.module.clone(), shut);
        }
        self.lacking.extend(seen.lacking);
        self.calls += seen.calls;
        self.timing_calls += seen.timing_calls;
        for (verdict, count) in seen.verdicts {
            *self.verdicts.entry(verdict).or_default() += count;
        }
        self.note_failures(seen.failures, known);
        for (what, missed) in seen.not_covered {
            self.miss(&what, missed);
        }
        self.scenario_calls.clear();
        self.ran.clear();
        // They are stored by now, and the next cycle has as many.
        worth.measured.cells = Vec::new();
        for cell in std::mem::take(&mut worth.cells).into_iter().filter(|cell| cell.tally.calls > 0)
        {
            let name = &plan.scenarios[cell.scenario].name;
            *self.scenario_calls.entry(name.clone()).or_default() += cell.tally.calls;
            self.ran.insert((cell.section.path().to_owned(), cell.scenario));
        }
        self.troubles = seen.company.map(|company| company.troubles).unwrap_or_default();
        self.flagged.extend(worth.faded.iter().cloned());
        self.last = Some(worth);
    }

    /// Failures that were met without a cycle.
    pub(super) fn fail(&mut self, seen: Seen, known: &Known) {
        self.note_failures(seen.failures, known);
    }

    fn note_failures(&mut self, failures: BTreeMap<FailureId, (Failure, u64)>, known: &Known) {
        for (id, (failure, count)) in failures {
            let new = known.is_new(&id);
            match self.failures.entry(id) {
                Entry::Vacant(free) => drop(free.insert((failure, count, new))),
                Entry::Occupied(mut known) => {
                    let (told, times, _) = known.get_mut();
                    *times += count;
                    if is_simpler(&failure, told) {
                        *told = failure;
                    }
                }
            }
        }
    }

    /// There was no time for so many.
    pub(super) fn miss(&mut self, what: &str, missed: Missed) {
        if missed.count > 0 {
            self.not_covered.entry(what.to_owned()).or_default().add(missed);
        }
    }

    /// Every module has to have gone through every canonical scenario.
    pub(super) fn check_scenarios(&self, plan: &Plan<'_>, run: &Run<'_>) -> Result<(), RunError> {
        let ran = self.ran.iter();
        let ran: Vec<(&str, &Preset)> =
            ran.map(|(path, number)| (path.as_str(), &plan.scenarios[*number].preset)).collect();
        let modules: BTreeSet<&str> = plan
            .subjects
            .iter()
            .filter(|subject| subject.target.how != menace_model::How::Module)
            .map(|subject| subject.module.path.as_str())
            .filter(|path| !self.shut.contains_key(*path))
            .collect();
        let gaps = gaps(modules, &ran, run.choice.profiles)?;
        if gaps.is_empty() { Ok(()) } else { Err(MissingScenarios(gaps).into()) }
    }

    pub(super) fn report(self, id: &RunId, elapsed: Duration) -> RunReport {
        let called = self.called.iter().filter(|id| self.sections.contains(*id)).count();
        let mut report = RunReport {
            version: VERSION,
            run_id: id.0.clone(),
            status: if self.is_whole() { "finished" } else { "cut_short" }.to_owned(),
            seed: self.seed.0,
            elapsed_s: elapsed.as_secs_f64(),
            cycles: self.cycles,
            sections: self.sections.len(),
            calls: self.calls,
            timing_calls: self.timing_calls,
            coverage: CoverageReport {
                called,
                unreachable: self.unreachable.len(),
                lines: self.last.as_ref().map_or(0.0, |worth| worth.lines),
            },
            verdicts: self.verdicts,
            roi: f64::NAN,
            roi_delta: None,
            scenarios: Vec::new(),
            modules: Vec::new(),
            failures: self
                .failures
                .values()
                .map(|(failure, count, new)| FailureReport::new(failure, *count, *new))
                .collect(),
            worst_scenario: None,
            synergy: BTreeMap::new(),
            discrepancies: self.troubles,
            not_importable: self
                .shut
                .into_values()
                .map(|Shut { module, why, missing, .. }| NotImportable { module, why, missing })
                .chain(self.lacking.into_iter().map(lacking))
                .chain(self.unreadable)
                .collect(),
            unreachable: self
                .unreachable
                .into_iter()
                .map(|(section, why)| Unreachable { section, why })
                .collect(),
            not_covered: self
                .not_covered
                .into_iter()
                .map(|(what, Missed { count: sections, ids })| NotCovered {
                    what,
                    sections,
                    ids: ids.into_iter().collect(),
                })
                .collect(),
            warnings: self.warnings,
            decided: self.decided,
        };
        report.failures.sort_by(|one, other| {
            let order = |failure: &FailureReport| (!failure.new, failure.section.clone());
            order(one).cmp(&order(other)).then_with(|| one.id.cmp(&other.id))
        });
        if let Some(worth) = self.last {
            add_worth(&mut report, &worth, &self.scenario_calls, &self.flagged);
        }
        report.modules.extend(self.left_out.into_iter().filter_map(|LeftOut { path, worth }| {
            let (roi, raroi) = worth?;
            Some(ModuleRow {
                path,
                roi,
                roi_delta: None,
                raroi,
                metrics: BTreeMap::new(),
                risk_flags: Vec::new(),
                flagged: true,
            })
        }));
        report
    }
}

/// The module itself can be imported, and some of its functions cannot do without.
fn lacking(Lacking { module, package }: Lacking) -> NotImportable {
    let why = format!("ModuleNotFoundError: No module named '{package}', which functions import");
    NotImportable { module, why, missing: Some(package) }
}

fn tried_in_words(candidate: &Candidate) -> String {
    let became = match candidate.status {
        CandidateStatus::Pending => "waits for a micro-pilot",
        CandidateStatus::Promoted => "was promoted by a micro-pilot",
        CandidateStatus::Terminated => "was terminated by a micro-pilot",
    };
    format!("{} is on the border and {became}", candidate.workflow_id)
}

fn add_worth(
    report: &mut RunReport,
    worth: &Worth,
    calls: &BTreeMap<String, u64>,
    flagged: &BTreeSet<String>,
) {
    let found = &worth.report;
    report.roi = found.run.value().unwrap_or(f64::NAN);
    report.roi_delta = found.run.roi_delta;
    report.scenarios = found
        .scenarios
        .iter()
        .filter_map(|(name, scored)| {
            Some(ScenarioReport {
                name: name.clone(),
                roi: scored.value()?,
                roi_delta: scored.roi_delta,
                calls: calls.get(name).copied().unwrap_or_default(),
                metrics: numbers(scored),
            })
        })
        .collect();
    // Among one there is no worst.
    let is_only_one = report.scenarios.len() < 2;
    report.worst_scenario = found.worst_scenario().filter(|_| !is_only_one).map(str::to_owned);
    report.modules = found
        .modules
        .iter()
        .filter_map(|(path, scored)| {
            Some(ModuleRow {
                path: path.clone(),
                roi: scored.value()?,
                roi_delta: scored.roi_delta,
                raroi: scored.raroi.unwrap_or_default(),
                metrics: numbers(scored),
                risk_flags: worth.risks_of(path).into_iter().map(told).collect(),
                flagged: flagged.contains(path),
            })
        })
        .collect();
    report.modules.sort_by(|one, other| {
        one.raroi.total_cmp(&other.raroi).then_with(|| one.path.cmp(&other.path))
    });
    if let Some(synergy) = &found.synergy {
        report.synergy =
            synergy.metrics.iter().map(|(name, value)| (name.to_owned(), value)).collect();
    }
    let told = worth.discrepancies.iter().map(|one| format!("{}: {}", one.subject, one.sentence));
    report.discrepancies.extend(told);
}

fn numbers(scored: &Scored) -> BTreeMap<String, f64> {
    scored.metrics.iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// `cart.py::add: 2 of 8 calls went wrong`.
fn told(flag: &menace_track::RiskFlag) -> String {
    let reasons = flag.reasons.join("; ");
    match &flag.section {
        Some(section) => format!("{}: {reasons}", section.qualname()),
        None => reasons,
    }
}

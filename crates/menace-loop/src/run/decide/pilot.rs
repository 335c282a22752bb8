//! Workflows on the border: put aside, and tried in small.
//!
//! Who is on the border is told by `menace-track`, the file is kept by `menace-store`. A micro-pilot is a
//! small cycle over one module: every scenario, few calls, no depth. Invariant: a pilot changes no history, and
//! one that was cut short decides nothing.

use std::collections::BTreeMap;

use menace_model::{ModuleReport, Section, Seed};
use menace_scenario::input::Facts;
use menace_scenario::preset::Values;
use menace_settings::MicropilotMode;
use menace_store::{BorderlineBucket, Candidate, CandidateStatus, SeenOnBorder};
use menace_track::stats::evidence::Decision;
use menace_track::{Border, Cycle, Extras, Tracker, measure, score};

use super::super::keep::{Keep, source_of};
use super::super::telling::Told;
use super::super::worth::{Worth, cells, confirmed_in, facts, scenarios};
use super::super::{Run, RunError};
use crate::calls::Caller;
use crate::cycle::{self, Extent, Plan, Wanted, Wish};
use crate::failure::Lines;
use crate::survey::Surveyed;

const FILE: &str = "borderline_bucket.jsonl";
/// Inputs of a section under each scenario.
const CALLS_PER_CELL: usize = 2;

/// What pilots are made with.
pub(in crate::run) struct Pilots<'p> {
    pub run: &'p Run<'p>,
    pub surveyed: &'p Surveyed<'p>,
    pub facts: &'p Facts<'p>,
    pub caller: &'p Caller<'p>,
    pub lines: &'p Lines,
}

/// One module.
#[derive(Debug)]
struct Only<'a> {
    wanted: &'a dyn Wanted,
    path: &'a str,
}

impl Wanted for Only<'_> {
    fn has_module(&self, module: &ModuleReport) -> bool {
        module.path == self.path && self.wanted.has_module(module)
    }

    fn has_path(&self, path: &str) -> bool {
        path == self.path && self.wanted.has_path(path)
    }

    fn has(&self, module: &ModuleReport, section: &Section) -> bool {
        module.path == self.path && self.wanted.has(module, section)
    }
}

/// Who is on the border, and how far each was from it when this run looked last.
#[derive(Debug, Default)]
pub(in crate::run) struct Flown {
    pub candidates: Vec<Candidate>,
    pub evidence: BTreeMap<String, Decision>,
}

/// What a pilot measured.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Measured {
    raroi: f64,
    confidence: f64,
}

impl Pilots<'_> {
    /// Puts aside who is on the border after the last cycle, if there was one, and tries whoever waits where
    /// that is wanted. Gives all candidates that this run has to do with.
    pub(in crate::run) fn fly(
        &self,
        last: Option<&Worth>,
        keep: &Keep,
        told: &mut Told,
    ) -> Result<Flown, RunError> {
        let risk = &self.run.settings.risk;
        let mode = risk.micropilot_mode.value;
        if mode == MicropilotMode::Off {
            return Ok(Flown::default());
        }
        let border = Border {
            raroi: risk.borderline_raroi_threshold.value,
            confidence: risk.borderline_confidence_threshold.value.get(),
        };
        let bucket = BorderlineBucket::new(&self.run.data_dir.join(FILE));
        let tracker = Tracker::new(keep.peek(told)?);
        let mut touched = BTreeMap::new();
        let measured = last.filter(|last| last.is_whole);
        for (path, scored) in measured.iter().flat_map(|last| &last.report.modules) {
            let Some(raroi) = scored.raroi else { continue };
            let confidence = tracker.workflow_confidence(path);
            let decision = border.judge(raroi, confidence);
            if !decision.is_yes() {
                let confidence = confidence.unwrap_or_default();
                let source = source_of(self.run.repository, path);
                let seen = SeenOnBorder { raroi, confidence, source: &source };
                let notice = bucket.put(path, seen)?;
                told.notice(notice.as_slice());
                touched.insert(path.clone(), decision);
            }
        }
        if mode == MicropilotMode::Auto || self.run.process_borderline {
            self.try_waiting(&bucket, border, &tracker, &mut touched, told)?;
        }
        let (mut candidates, notice) = bucket.candidates()?;
        told.notice(notice.as_slice());
        candidates.retain(|candidate| touched.contains_key(&candidate.workflow_id));
        Ok(Flown { candidates, evidence: touched })
    }

    fn try_waiting(
        &self,
        bucket: &BorderlineBucket,
        border: Border,
        tracker: &Tracker,
        touched: &mut BTreeMap<String, Decision>,
        told: &mut Told,
    ) -> Result<(), RunError> {
        let (candidates, notice) = bucket.candidates()?;
        told.notice(notice.as_slice());
        let waiting = candidates.iter().filter(|one| one.status == CandidateStatus::Pending);
        for Candidate { workflow_id, .. } in waiting {
            if self.caller.is_late() {
                break;
            }
            let Some(measured) = self.pilot(workflow_id, tracker)? else { continue };
            let Measured { raroi, confidence } = measured;
            let decision = border.judge(raroi, Some(confidence));
            let status = if decision.is_yes() {
                CandidateStatus::Promoted
            } else {
                CandidateStatus::Terminated
            };
            tracing::debug!(workflow_id, raroi, confidence, ?status, "micro-pilot");
            let source = source_of(self.run.repository, workflow_id);
            let seen = SeenOnBorder { raroi, confidence, source: &source };
            let notice = bucket.settle(workflow_id, seen, status)?;
            told.notice(notice.as_slice());
            touched.insert(workflow_id.clone(), decision);
        }
        Ok(())
    }

    /// None where the module is not there, is not wanted, or there was no time.
    fn pilot(&self, path: &str, tracker: &Tracker) -> Result<Option<Measured>, RunError> {
        let run = self.run;
        let chance: Seed = run.seed.of("micro-pilot").of(path);
        let values = Values::of_settings(run.settings);
        let wanted = Only { wanted: run.wanted, path };
        let wish = Wish {
            presets: run.choice.presets(0)?,
            profiles: run.choice.profiles,
            keywords: run.keywords,
            settings: &values,
            inputs: run.inputs,
            recordings: &run.choice.recordings,
            seed: chance,
            wanted: &wanted,
        };
        let plan = Plan::new(run.analysis, self.surveyed, &wish)?;
        if plan.subjects.is_empty() {
            return Ok(None);
        }
        let extent = Extent {
            calls_per_cell: CALLS_PER_CELL,
            depth: None,
            seed: chance,
            inputs: run.inputs,
        };
        let mut seen = cycle::run(&plan, self.facts, self.caller, &extent, self.lines, &mut ())?;
        if !seen.not_covered.is_empty() {
            return Ok(None);
        }
        let scenarios = scenarios(&plan, &seen);
        let modules = facts(run, &plan);
        let failures = confirmed_in(&seen);
        let cells = cells(&plan, &mut seen);
        let profile = &run.yardstick.profile;
        let measured = measure(&Cycle {
            scenarios: &scenarios,
            modules: &modules,
            cells: &cells,
            failures: &failures,
            prices: profile.prices(),
            budget: profile.budget(),
            extras: &Extras::default(),
        });
        let report = score(&measured, &modules, profile, tracker);
        let scored = report.modules.get(path);
        Ok(scored.and_then(|scored| {
            let (roi, raroi) = (scored.value()?, scored.raroi?);
            Some(Measured { raroi, confidence: tracker.confidence_with(path, roi) })
        }))
    }
}

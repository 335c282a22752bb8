//! Files that later runs go on from: `roi_history.json`, `synergy_history.db`, `metrics.db`, flags.
//!
//! Invariant: a history is read, added to and written under its lock, so that runs that share a data
//! directory do not lose each other's cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use menace_store::files::{self, Loaded, Lock};
use menace_store::{
    Cell, CellKey, Flags, Measurement, Metrics, ModuleRecord, RunId, RunWriter, ScenarioRecord,
    SectionRecord, SynergyHistory,
};
use menace_track::predict::Models;
use menace_track::{History, Tracker, signature};

use super::telling::{LeftOut, Told};
use super::worth::Worth;
use super::{Run, RunError, now_ms};
use crate::cycle::{Plan, Seen};

/// Under this key the history remembers the source of flagged modules.
pub(super) const SOURCES: &str = "flagged_sources";
/// Others hold the lock for as long as it takes to write a file.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Keep {
    directory: PathBuf,
    run: RunId,
    recover: bool,
    synergy: SynergyHistory,
    metrics: Metrics,
    /// What forecasts were made with after the last cycle serves before the next, too.
    models: Models,
    /// What reading and writing the history of this cycle took so far.
    spent: Duration,
}

impl Keep {
    pub(super) fn open(run: &Run<'_>, told: &mut Told) -> Result<Self, RunError> {
        let directory = run.data_dir.to_owned();
        let path = directory.join("synergy_history.db");
        let (synergy, notices) = if run.recover {
            SynergyHistory::recover(&path)?
        } else {
            SynergyHistory::open(&path)?
        };
        told.notice(&notices);
        if !notices.is_empty() {
            advise(&path, told)?;
        }
        let (metrics, notices) = Metrics::open(&directory.join("metrics.db"))?;
        told.notice(&notices);
        let (id, recover, models) = (run.id.clone(), run.recover, Models::default());
        let spent = Duration::ZERO;
        let keep = Self { directory, run: id, recover, synergy, metrics, models, spent };
        if run.reset_flags {
            for flags in keep.flags() {
                let (_, notice) = flags.reset()?;
                told.notice(notice.as_slice());
            }
        }
        // Damage is told before anything is called: whoever wants to recover need not wait.
        keep.peek(told)?;
        Ok(keep)
    }

    fn flags(&self) -> [Flags; 2] {
        ["roi.flags", "entropy.flags"].map(|name| Flags::new(&self.directory.join(name)))
    }

    fn history_path(&self) -> PathBuf {
        self.directory.join("roi_history.json")
    }

    /// Paths of modules that are left out: flagged, and not changed since.
    pub(super) fn flagged(
        &self,
        run: &Run<'_>,
        told: &mut Told,
    ) -> Result<BTreeSet<String>, RunError> {
        let mut all = BTreeSet::new();
        for flags in self.flags() {
            let (modules, notice) = flags.modules()?;
            told.notice(notice.as_slice());
            all.extend(modules);
        }
        if all.is_empty() {
            return Ok(all);
        }
        let known = self.peek(told)?.others.remove(SOURCES).unwrap_or_default();
        all.retain(|path| match known.get(path).and_then(serde_json::Value::as_str) {
            Some(source) => source == source_of(run.repository, path),
            // Flagged by hand.
            None => true,
        });
        Ok(all)
    }

    /// Modules that are left out, as they were worth when they were called last.
    pub(super) fn left_out(
        &self,
        run: &Run<'_>,
        told: &mut Told,
    ) -> Result<Vec<LeftOut>, RunError> {
        let flagged = self.flagged(run, told)?;
        let modules = &run.analysis.modules;
        let wanted = |path: &&String| {
            modules.iter().any(|module| module.path == **path && run.wanted.has_module(module))
        };
        let flagged: Vec<&String> = flagged.iter().filter(wanted).collect();
        if flagged.is_empty() {
            return Ok(Vec::new());
        }
        let history = self.peek(told)?;
        let last = |histories: &BTreeMap<String, Vec<f64>>, path: &str| {
            histories.get(path).and_then(|values| values.last()).copied()
        };
        let left = flagged.into_iter().map(|path| {
            let roi = last(&history.module_roi, path);
            let worth = roi.map(|roi| (roi, last(&history.module_raroi, path).unwrap_or(roi)));
            LeftOut { path: path.clone(), worth }
        });
        Ok(left.collect())
    }

    /// Marks modules whose gains have faded.
    pub(super) fn flag<'m>(
        &self,
        modules: impl IntoIterator<Item = &'m str>,
        told: &mut Told,
    ) -> Result<(), RunError> {
        let [roi, _] = self.flags();
        told.notice(roi.add(modules)?.as_slice());
        Ok(())
    }

    /// The history as it is now.
    pub(super) fn peek(&self, told: &mut Told) -> Result<History, RunError> {
        let path = self.history_path();
        let _lock = Lock::acquire(&path, PATIENCE)?;
        read(&path, self.recover, told)
    }

    /// Reads the history, lets `update` add to it, and writes it, all under its lock.
    pub(super) fn update<T>(
        &mut self,
        told: &mut Told,
        update: impl FnOnce(&mut Tracker, &mut Told) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let path = self.history_path();
        let began = Instant::now();
        let _lock = Lock::acquire(&path, PATIENCE)?;
        let history = read(&path, self.recover, told)?;
        self.spent += began.elapsed();
        let mut tracker = Tracker::with_models(history, std::mem::take(&mut self.models));
        let result = update(&mut tracker, told)?;
        let (history, models) = tracker.into_parts();
        self.models = models;
        let began = Instant::now();
        if let Some(notice) = files::save(&path, &history)? {
            told.warn(notice.to_string());
        }
        self.spent += began.elapsed();
        Ok(result)
    }

    /// Stores what a cycle was worth.
    pub(super) fn remember(
        &mut self,
        writer: &RunWriter,
        cycle: u32,
        plan: &Plan<'_>,
        seen: &Seen,
        worth: &Worth,
    ) -> Result<(), RunError> {
        let began = Instant::now();
        store(writer, cycle, plan, seen, worth)?;
        // What was cut short compares with nothing, here as little as in the other histories.
        if worth.is_whole {
            self.remember_numbers(cycle, worth)?;
        }
        let took = std::mem::take(&mut self.spent) + began.elapsed();
        tracing::debug!(histories_ms = took.as_secs_f64() * 1e3, "histories are written");
        Ok(())
    }

    fn remember_numbers(&mut self, cycle: u32, worth: &Worth) -> Result<(), RunError> {
        let at_ms = now_ms();
        let mut all = Vec::new();
        let mut add = |scenario: &str, module: &str, metrics: &menace_track::Metrics| {
            all.extend(metrics.iter().map(|(name, value)| Measurement {
                at_ms,
                run: self.run.clone(),
                cycle,
                scenario: scenario.to_owned(),
                module: module.to_owned(),
                name: name.to_owned(),
                value,
            }));
        };
        add("", "", &worth.report.run.metrics);
        for (name, scored) in &worth.report.scenarios {
            add(name, "", &scored.metrics);
        }
        for (path, scored) in &worth.report.modules {
            add("", path, &scored.metrics);
        }
        for (name, synergy) in &worth.report.scenario_synergy {
            add(name, "", &synergy.metrics);
        }
        if let Some(synergy) = &worth.report.synergy {
            add("", "", &synergy.metrics);
            self.synergy.append(&[numbers(&synergy.metrics)])?;
        }
        self.metrics.record(&all)?;
        Ok(())
    }
}

/// Cells, sections, modules and scenarios.
fn store(
    writer: &RunWriter,
    cycle: u32,
    plan: &Plan<'_>,
    seen: &Seen,
    worth: &Worth,
) -> Result<(), RunError> {
    for (cell, measured) in worth.cells.iter().zip(&worth.measured.cells) {
        let scenario = &plan.scenarios[cell.scenario];
        writer.cell(Cell {
            key: CellKey { cycle, section: cell.section.clone(), scenario: scenario.label() },
            severity: scenario.severity.map(|severity| severity.as_str().to_owned()),
            calls: Some(cell.tally.calls),
            verdicts: cell.tally.verdicts.clone(),
            roi: worth.roi(&measured.metrics),
            metrics: numbers(&measured.metrics),
        })?;
    }
    for subject in &plan.subjects {
        let id = &subject.section.id;
        let scored = worth.report.sections.get(id);
        writer.section(SectionRecord {
            cycle,
            section: id.clone(),
            signature: Some(format!("{:016x}", signature(subject.section))),
            roi: scored.and_then(menace_track::Scored::value),
            raroi: scored.and_then(|scored| scored.raroi),
            metrics: scored.map(|scored| numbers(&scored.metrics)).unwrap_or_default(),
            unreachable: None,
        })?;
    }
    for closed in &plan.closed {
        writer.section(SectionRecord {
            cycle,
            section: closed.section.clone(),
            signature: None,
            roi: None,
            raroi: None,
            metrics: menace_store::Numbers::new(),
            unreachable: Some(closed.why.clone()),
        })?;
    }
    for (path, scored) in &worth.report.modules {
        writer.module(ModuleRecord {
            cycle,
            path: path.clone(),
            roi: scored.value(),
            raroi: scored.raroi,
            metrics: numbers(&scored.metrics),
            flagged: worth.faded.contains(path),
            risk_flags: serde_json::to_value(worth.risks_of(path)).unwrap_or_default(),
        })?;
    }
    for (name, scored) in &worth.report.scenarios {
        writer.scenario(ScenarioRecord {
            cycle,
            scenario: name.clone(),
            severity: None,
            roi: scored.value(),
            roi_delta: scored.roi_delta,
            metrics: numbers(&scored.metrics),
        })?;
    }
    for (failure, count) in seen.failures.values().filter(|(_, count)| *count > 1) {
        // The first sight was written when it was confirmed.
        writer.failure(failure, now_ms(), count - 1)?;
    }
    writer.flush()?;
    Ok(())
}

fn read(path: &Path, recover: bool, told: &mut Told) -> Result<History, RunError> {
    if recover {
        let (history, notices) = files::recover(path)?;
        told.notice(&notices);
        return Ok(history.unwrap_or_default());
    }
    Ok(match files::load(path)? {
        Loaded::Fine(history) => history,
        Loaded::Missing => History::default(),
        Loaded::Corrupt(notice) => {
            told.notice(&[notice]);
            advise(path, told)?;
            History::default()
        }
    })
}

/// What was damaged may have a copy that is not.
fn advise(path: &Path, told: &mut Told) -> Result<(), RunError> {
    if files::has_copy(path)? {
        told.warn(format!("--recover goes back to the last good copy of `{}`", path.display()));
    }
    Ok(())
}

/// Equal for equal files; empty for what cannot be read.
pub(super) fn source_of(repository: &Path, module: &str) -> String {
    let hash = |bytes: Vec<u8>| blake3::hash(&bytes).to_hex()[..16].to_owned();
    std::fs::read(repository.join(module)).map(hash).unwrap_or_default()
}

fn numbers(metrics: &menace_track::Metrics) -> menace_store::Numbers {
    metrics.iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::Seed;
    use menace_track::stats::forecast::Outlook;

    #[test]
    fn a_model_is_kept_from_one_update_of_the_history_to_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let (synergy, _) = SynergyHistory::open(&directory.path().join("synergy.db")).unwrap();
        let (metrics, _) = Metrics::open(&directory.path().join("metrics.db")).unwrap();
        let mut keep = Keep {
            directory: directory.path().to_owned(),
            run: RunId("r-1".to_owned()),
            recover: false,
            synergy,
            metrics,
            models: Models::default(),
            spent: Duration::ZERO,
        };
        let told = &mut Told::new(Seed(0), std::iter::empty());
        keep.update(told, |tracker, _| {
            let values = (0..20_u32).map(|step| f64::from(step * 7 % 11) / 11.0);
            tracker.history_mut().roi_history = values.collect();
            tracker.forecast(Outlook::default());
            Ok(())
        })
        .unwrap();
        let chosen = keep.update(told, |tracker, _| {
            tracker.forecast(Outlook::default());
            Ok(tracker.models_chosen())
        });
        assert_eq!(chosen.unwrap(), 1);
    }
}

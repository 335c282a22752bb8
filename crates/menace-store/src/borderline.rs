//! `borderline_bucket.jsonl`: modules that are not good enough to keep, and not bad enough to
//! drop.
//!
//! `menace-track` decides which modules are borderline, and what follows from a micro-pilot.
//! Invariant: a module has one line, with at most [`MAX_RAROI_VALUES`] values.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::StoreNotice;
use crate::database::LOCK_TIMEOUT;
use crate::files::{FileLock, StoreFileResult, move_aside, read_lines, write_atomic};

/// The most values of RAROI that are kept of a module.
const MAX_RAROI_VALUES: usize = 10;

/// One borderline module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BorderlineModule {
    #[serde(rename = "workflow_id")]
    pub module: String,
    /// Its last values of RAROI, oldest first.
    pub raroi: Vec<f64>,
    /// The confidence in its returns; 0 if it is not known.
    pub confidence: f64,
    pub status: BorderlineStatus,
    /// The hash of its source when a micro-pilot promoted or terminated it; `None` before that, and
    /// in files of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Whether a module still needs a micro-pilot, and what the last one decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BorderlineStatus {
    /// It needs a micro-pilot.
    Pending,
    /// The micro-pilot met both thresholds.
    Promoted,
    /// The micro-pilot did not meet both thresholds.
    Terminated,
}

/// The measured values of a module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BorderlineMeasurement<'s> {
    pub raroi: f64,
    /// `None` when there are too few cycles.
    pub confidence: Option<f64>,
    /// The hash of its source.
    pub source_hash: &'s str,
}

/// The file `borderline_bucket.jsonl`.
#[derive(Debug, Clone)]
pub struct BorderlineBucket {
    path: PathBuf,
}

impl BorderlineBucket {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// All modules, in the order of the file. If some lines cannot be read, a copy of the file is
    /// kept under another name.
    pub fn modules(&self) -> StoreFileResult<(Vec<BorderlineModule>, Option<StoreNotice>)> {
        let (modules, damaged) = read_lines::<BorderlineModule>(&self.path)?;
        let Some(line) = damaged.first() else { return Ok((modules, None)) };
        let to = move_aside(&self.path, "corrupt", &[])?;
        self.write(&modules)?;
        let why = format!("line {line} is no borderline module");
        Ok((modules, Some(StoreNotice::MovedAside { path: self.path.clone(), to, why })))
    }

    /// Adds a measurement of a borderline module, which then needs a micro-pilot. After one, it
    /// needs another only when its source has changed (terminated), or when its RAROI is below all
    /// recorded values (promoted); otherwise nothing is changed.
    pub fn add_measurement(
        &self,
        module: &str,
        measurement: BorderlineMeasurement<'_>,
    ) -> StoreFileResult<Option<StoreNotice>> {
        self.update_module(module, |entry| {
            if entry.needs_pilot(measurement) {
                entry.add_measurement(measurement);
                entry.status = BorderlineStatus::Pending;
                entry.source = None;
            }
        })
    }

    /// Records the result of a micro-pilot.
    pub fn record_pilot_result(
        &self,
        module: &str,
        measurement: BorderlineMeasurement<'_>,
        status: BorderlineStatus,
    ) -> StoreFileResult<Option<StoreNotice>> {
        self.update_module(module, |entry| {
            entry.add_measurement(measurement);
            entry.status = status;
            entry.source = Some(measurement.source_hash.to_owned());
        })
    }

    fn update_module(
        &self,
        module: &str,
        change: impl FnOnce(&mut BorderlineModule),
    ) -> StoreFileResult<Option<StoreNotice>> {
        let _lock = FileLock::acquire(&self.path, LOCK_TIMEOUT)?;
        let (mut modules, notice) = self.modules()?;
        if let Some(known) = modules.iter_mut().find(|one| one.module == module) {
            change(known);
        } else {
            let mut entry = BorderlineModule {
                module: module.to_owned(),
                raroi: Vec::new(),
                confidence: 0.0,
                status: BorderlineStatus::Pending,
                source: None,
            };
            change(&mut entry);
            modules.push(entry);
        }
        self.write(&modules)?;
        Ok(notice)
    }

    fn write(&self, modules: &[BorderlineModule]) -> StoreFileResult<()> {
        let mut text = Vec::new();
        for entry in modules {
            let line = serde_json::to_vec(entry).map_err(|source| {
                crate::files::StoreFileError::NotSerializable { path: self.path.clone(), source }
            })?;
            text.extend(line);
            text.push(b'\n');
        }
        write_atomic(&self.path, &text)
    }
}

impl BorderlineModule {
    fn needs_pilot(&self, measurement: BorderlineMeasurement<'_>) -> bool {
        match self.status {
            BorderlineStatus::Pending => true,
            BorderlineStatus::Terminated => self.source.as_deref() != Some(measurement.source_hash),
            BorderlineStatus::Promoted => self.raroi.iter().all(|known| measurement.raroi < *known),
        }
    }

    fn add_measurement(&mut self, measurement: BorderlineMeasurement<'_>) {
        // JSON cannot represent other numbers.
        if measurement.raroi.is_finite() {
            self.raroi.push(measurement.raroi);
        }
        let surplus = self.raroi.len().saturating_sub(MAX_RAROI_VALUES);
        self.raroi.drain(..surplus);
        let confidence = measurement.confidence.filter(|confidence| confidence.is_finite());
        self.confidence = confidence.unwrap_or_default();
    }
}

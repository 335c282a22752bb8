//! `borderline_bucket.jsonl`: workflows that are neither good enough to keep nor bad enough to
//! drop.
//!
//! `menace-track` decides which workflows belong there, and their outcome. Invariant: a workflow
//! has one line, and no more values than are looked at.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::StoreNotice;
use crate::database::LOCK_TIMEOUT;
use crate::files::{FileLock, StoreFileResult, move_aside, read_lines, write_atomic};

/// Returns of a candidate that are kept.
const MAX_RAROI_VALUES: usize = 10;

/// One workflow on the border.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BorderlineCandidate {
    pub workflow_id: String,
    /// Its risk-adjusted returns, oldest first.
    pub raroi: Vec<f64>,
    /// 0 where it is not known.
    pub confidence: f64,
    pub status: BorderlineStatus,
    /// The hash of its source when it was settled; none before, and in files of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// What has become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BorderlineStatus {
    /// It waits for a micro-pilot.
    Pending,
    /// The pilot went well.
    Promoted,
    /// It did not.
    Terminated,
}

/// What was measured of a workflow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BorderlineMeasurement<'s> {
    pub raroi: f64,
    /// None where there are too few cycles.
    pub confidence: Option<f64>,
    /// The hash of its source.
    pub source_hash: &'s str,
}

/// The file.
#[derive(Debug, Clone)]
pub struct BorderlineBucket {
    path: PathBuf,
}

impl BorderlineBucket {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// All candidates, in the order of the file. What has lines that are no candidates is kept
    /// aside as it is.
    pub fn candidates(&self) -> StoreFileResult<(Vec<BorderlineCandidate>, Option<StoreNotice>)> {
        let (candidates, damaged) = read_lines::<BorderlineCandidate>(&self.path)?;
        let Some(line) = damaged.first() else { return Ok((candidates, None)) };
        let to = move_aside(&self.path, "corrupt", &[])?;
        self.write(&candidates)?;
        let why = format!("line {line} is no candidate");
        Ok((candidates, Some(StoreNotice::MovedAside { path: self.path.clone(), to, why })))
    }

    /// Puts a workflow aside, or adds to what is known of it; it waits for a pilot from now on. One
    /// that was settled stays so: terminated until its source changes, promoted until it falls
    /// below all that is known of it.
    pub fn add_measurement(
        &self,
        workflow: &str,
        measurement: BorderlineMeasurement<'_>,
    ) -> StoreFileResult<Option<StoreNotice>> {
        self.update_candidate(workflow, |candidate| {
            if candidate.needs_pilot(measurement) {
                candidate.add_measurement(measurement);
                candidate.status = BorderlineStatus::Pending;
                candidate.source = None;
            }
        })
    }

    /// Writes down what came of a pilot.
    pub fn record_pilot_result(
        &self,
        workflow: &str,
        measurement: BorderlineMeasurement<'_>,
        status: BorderlineStatus,
    ) -> StoreFileResult<Option<StoreNotice>> {
        self.update_candidate(workflow, |candidate| {
            candidate.add_measurement(measurement);
            candidate.status = status;
            candidate.source = Some(measurement.source_hash.to_owned());
        })
    }

    fn update_candidate(
        &self,
        workflow: &str,
        change: impl FnOnce(&mut BorderlineCandidate),
    ) -> StoreFileResult<Option<StoreNotice>> {
        let _lock = FileLock::acquire(&self.path, LOCK_TIMEOUT)?;
        let (mut candidates, notice) = self.candidates()?;
        if let Some(known) = candidates.iter_mut().find(|one| one.workflow_id == workflow) {
            change(known);
        } else {
            let mut candidate = BorderlineCandidate {
                workflow_id: workflow.to_owned(),
                raroi: Vec::new(),
                confidence: 0.0,
                status: BorderlineStatus::Pending,
                source: None,
            };
            change(&mut candidate);
            candidates.push(candidate);
        }
        self.write(&candidates)?;
        Ok(notice)
    }

    fn write(&self, candidates: &[BorderlineCandidate]) -> StoreFileResult<()> {
        let mut text = Vec::new();
        for candidate in candidates {
            let line = serde_json::to_vec(candidate).map_err(|source| {
                crate::files::StoreFileError::NotSerializable { path: self.path.clone(), source }
            })?;
            text.extend(line);
            text.push(b'\n');
        }
        write_atomic(&self.path, &text)
    }
}

impl BorderlineCandidate {
    fn needs_pilot(&self, measurement: BorderlineMeasurement<'_>) -> bool {
        match self.status {
            BorderlineStatus::Pending => true,
            BorderlineStatus::Terminated => self.source.as_deref() != Some(measurement.source_hash),
            BorderlineStatus::Promoted => self.raroi.iter().all(|known| measurement.raroi < *known),
        }
    }

    fn add_measurement(&mut self, measurement: BorderlineMeasurement<'_>) {
        // JSON has no other numbers.
        if measurement.raroi.is_finite() {
            self.raroi.push(measurement.raroi);
        }
        let surplus = self.raroi.len().saturating_sub(MAX_RAROI_VALUES);
        self.raroi.drain(..surplus);
        let confidence = measurement.confidence.filter(|confidence| confidence.is_finite());
        self.confidence = confidence.unwrap_or_default();
    }
}

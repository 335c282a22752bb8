//! `borderline_bucket.jsonl`: workflows that are neither good enough to keep nor bad enough to drop.
//!
//! Who belongs there, and what becomes of them, is decided by `menace-track`. Invariant: a workflow has one
//! line, and no more values than are looked at.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Notice;
use crate::database::PATIENCE;
use crate::files::{Lock, Result, move_aside, read_lines, write_atomic};

/// Returns of a candidate that are kept.
const REMEMBERED: usize = 10;

/// One workflow on the border.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    pub workflow_id: String,
    /// Its risk-adjusted returns, oldest first.
    pub raroi: Vec<f64>,
    pub confidence: f64,
    pub status: CandidateStatus,
    /// The hash of its source when it was settled; none before, and in files of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// What has become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateStatus {
    /// It waits for a micro-pilot.
    Pending,
    /// The pilot went well.
    Promoted,
    /// It did not.
    Terminated,
}

/// What was measured of a workflow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen<'s> {
    pub raroi: f64,
    pub confidence: f64,
    /// The hash of its source.
    pub source: &'s str,
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

    /// All candidates, in the order of the file. What has lines that are no candidates is kept aside as it is.
    pub fn candidates(&self) -> Result<(Vec<Candidate>, Option<Notice>)> {
        let (candidates, damaged) = read_lines::<Candidate>(&self.path)?;
        let Some(line) = damaged.first() else { return Ok((candidates, None)) };
        let to = move_aside(&self.path, "corrupt", &[])?;
        self.write(&candidates)?;
        let why = format!("line {line} is no candidate");
        Ok((candidates, Some(Notice::MovedAside { path: self.path.clone(), to, why })))
    }

    /// Puts a workflow aside, or adds to what is known of it; it waits for a pilot from now on. One that was
    /// settled stays so: terminated until its source changes, promoted until it falls below all that is
    /// known of it.
    pub fn put(&self, workflow: &str, seen: Seen<'_>) -> Result<Option<Notice>> {
        self.change(workflow, |candidate| {
            if candidate.waits_again(seen) {
                candidate.see(seen);
                candidate.status = CandidateStatus::Pending;
                candidate.source = None;
            }
        })
    }

    /// Writes down what came of a pilot.
    pub fn settle(
        &self,
        workflow: &str,
        seen: Seen<'_>,
        status: CandidateStatus,
    ) -> Result<Option<Notice>> {
        self.change(workflow, |candidate| {
            candidate.see(seen);
            candidate.status = status;
            candidate.source = Some(seen.source.to_owned());
        })
    }

    fn change(
        &self,
        workflow: &str,
        change: impl FnOnce(&mut Candidate),
    ) -> Result<Option<Notice>> {
        let _lock = Lock::acquire(&self.path, PATIENCE)?;
        let (mut candidates, notice) = self.candidates()?;
        if let Some(known) = candidates.iter_mut().find(|one| one.workflow_id == workflow) {
            change(known);
        } else {
            let mut candidate = Candidate {
                workflow_id: workflow.to_owned(),
                raroi: Vec::new(),
                confidence: 0.0,
                status: CandidateStatus::Pending,
                source: None,
            };
            change(&mut candidate);
            candidates.push(candidate);
        }
        self.write(&candidates)?;
        Ok(notice)
    }

    fn write(&self, candidates: &[Candidate]) -> Result<()> {
        let mut text = Vec::new();
        for candidate in candidates {
            let line = serde_json::to_vec(candidate).map_err(|source| {
                crate::files::Error::Unwritable { path: self.path.clone(), source }
            })?;
            text.extend(line);
            text.push(b'\n');
        }
        write_atomic(&self.path, &text)
    }
}

impl Candidate {
    fn waits_again(&self, seen: Seen<'_>) -> bool {
        match self.status {
            CandidateStatus::Pending => true,
            CandidateStatus::Terminated => self.source.as_deref() != Some(seen.source),
            CandidateStatus::Promoted => self.raroi.iter().all(|known| seen.raroi < *known),
        }
    }

    fn see(&mut self, seen: Seen<'_>) {
        // JSON has no other numbers.
        if seen.raroi.is_finite() {
            self.raroi.push(seen.raroi);
        }
        let surplus = self.raroi.len().saturating_sub(REMEMBERED);
        self.raroi.drain(..surplus);
        self.confidence = if seen.confidence.is_finite() { seen.confidence } else { 0.0 };
    }
}

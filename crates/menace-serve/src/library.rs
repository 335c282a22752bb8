//! What there is to read: the store, page by page, the histories, the settings.
//!
//! Invariant: reading leaves everything as it is. Where nothing was run yet, there is nothing to
//! read, and that is no error: it may come.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use menace_store::{Notice, Numbers, RunId, Store, SynergyReader};
use menace_track::stats::forecast::Forecast;

use crate::error::{Error, Result};
use crate::history::{History, Shelf};
use crate::measured::Measured;
use crate::opened::Opened;
use crate::view::heat::{Heat, heat};
use crate::view::run::Shown;

/// Connections that wait for the next question. More may be open for a moment.
const SPARE: usize = 8;

/// Cycles whose heat is remembered.
const HEATS: usize = 8;

/// Where things are.
#[derive(Debug, Clone)]
pub struct Place {
    pub data_dir: PathBuf,
    /// What `DATABASE_URL` says.
    pub database_url: String,
    /// `roi_history.json`, wherever it is.
    pub history: PathBuf,
    /// `synergy_history.db`, wherever it is.
    pub synergy: PathBuf,
}

impl Place {
    /// Everything below one directory.
    pub fn below(data_dir: &Path, database_url: &str) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            database_url: database_url.to_owned(),
            history: data_dir.join("roi_history.json"),
            synergy: data_dir.join("synergy_history.db"),
        }
    }
}

#[derive(Debug)]
pub struct Library {
    place: Place,
    /// The first connection: it brings the schema up to date.
    root: Mutex<Option<Store>>,
    spare: Mutex<Vec<Store>>,
    shelf: Shelf,
    synergy: Opened<SynergyReader>,
    measured: Measured,
    /// Cycles that were looked at last, the latest at the end: what is over does not change.
    heats: Mutex<Vec<(RunId, u32, Heat)>>,
}

impl Library {
    pub fn new(place: Place) -> Self {
        let shelf = Shelf::new(place.history.clone());
        let synergy = Opened::new(place.synergy.clone());
        let measured = Measured::new(place.data_dir.join("metrics.db"));
        Self {
            place,
            root: Mutex::default(),
            spare: Mutex::default(),
            shelf,
            synergy,
            measured,
            heats: Mutex::default(),
        }
    }

    pub fn data_dir(&self) -> &Path {
        &self.place.data_dir
    }

    /// Asks the store; nothing when there is none yet.
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&Store) -> Result<T>) -> Result<Option<T>> {
        let Some(store) = self.connection()? else { return Ok(None) };
        let answer = question(&store);
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE {
            spare.push(store);
        }
        answer.map(Some)
    }

    /// The same where there must be something.
    pub(crate) fn must<T>(&self, question: impl FnOnce(&Store) -> Result<T>) -> Result<T> {
        self.ask(question)?
            .ok_or_else(|| Error::Nothing("`menace run` has not been used yet".into()))
    }

    /// One to keep; nothing when there is no store yet.
    pub(crate) fn connection(&self) -> Result<Option<Store>> {
        if let Some(store) = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(Some(store));
        }
        let mut root = self.root.lock().unwrap_or_else(PoisonError::into_inner);
        if root.is_none() {
            let Place { data_dir, database_url, .. } = &self.place;
            let Some((store, notices)) = Store::open_existing(data_dir, database_url)? else {
                return Ok(None);
            };
            for notice in notices {
                tracing::warn!("{notice}");
            }
            *root = Some(store);
        }
        root.as_ref().map(Store::reader).transpose().map_err(Error::from)
    }

    /// What scenarios made of modules in the last cycle of a run.
    pub(crate) fn heat(&self, store: &Store, shown: &Shown) -> Result<Heat> {
        let Some(cycle) = shown.cycle else { return Ok(Heat::default()) };
        let run = &shown.run.id;
        let mut heats = self.heats.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, known)) = heats.iter().find(|known| known.0 == *run && known.1 == cycle)
        {
            return Ok(known.clone());
        }
        drop(heats);
        let made = heat(&store.heat(run, cycle)?);
        heats = self.heats.lock().unwrap_or_else(PoisonError::into_inner);
        if heats.len() == HEATS {
            heats.remove(0);
        }
        heats.push((run.clone(), cycle, made.clone()));
        Ok(made)
    }

    pub(crate) fn history(&self) -> Result<Arc<History>> {
        self.shelf.history()
    }

    /// Of ROI, or of a metric.
    pub(crate) fn forecast(&self, metric: Option<&str>) -> Result<Option<Forecast>> {
        self.shelf.forecast(metric)
    }

    /// The latest synergy values of cycles, oldest first.
    pub(crate) fn synergy(&self, limit: u32) -> Result<Vec<Numbers>> {
        let open = |path: &Path| Ok(SynergyReader::open(path)?.map(told));
        let found = self.synergy.ask(open, |history| {
            let (entries, skipped) = history.last(limit)?;
            if let Some(notice) = skipped {
                tracing::debug!("{notice}");
            }
            Ok(entries)
        })?;
        Ok(found.unwrap_or_default())
    }

    /// What training has made of synergy; nothing before it did.
    pub(crate) fn weights(&self) -> Result<Option<serde_json::Value>> {
        let path = self.place.data_dir.join("synergy_weights.json");
        match std::fs::read(&path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Read { path, source }),
        }
    }

    pub(crate) fn measured(&self) -> &Measured {
        &self.measured
    }
}

/// What was opened, once its notice is told.
pub(crate) fn told<T>((opened, notice): (T, Option<Notice>)) -> T {
    if let Some(notice) = notice {
        tracing::warn!("{notice}");
    }
    opened
}

//! The data of pages: the store, the histories, the settings.
//!
//! Invariant: queries change nothing; [`Store::open_existing`] says what opening the store may
//! write. Before the first run there is nothing to read, which is no error: it may come later.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use menace_store::{MetricMap, RunId, Store, StoreNotice, SynergyReader};
use menace_track::stats::forecast::MetricForecast;

use crate::error::{ServeError, ServeResult};
use crate::history::{HistoryCache, RoiHistoryView};
use crate::metrics_db::MetricsDbReader;
use crate::reopen_on_replace::ReopenOnReplace;
use crate::view::heat_map::{HeatMap, heat_map};
use crate::view::run::SelectedRun;

/// Connections that wait for the next question. More may be open for a moment.
const MAX_IDLE_CONNECTIONS: usize = 8;

/// Cycles whose heat is remembered.
const MAX_CACHED_HEAT_MAPS: usize = 8;

/// The locations of the data.
#[derive(Debug, Clone)]
pub struct DataLocations {
    pub data_dir: PathBuf,
    /// The value of `DATABASE_URL`.
    pub database_url: String,
    /// `roi_history.json`, wherever it is.
    pub history: PathBuf,
    /// `synergy_history.db`, wherever it is.
    pub synergy: PathBuf,
}

impl DataLocations {
    /// Everything in one directory.
    pub fn from_data_dir(data_dir: &Path, database_url: &str) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            database_url: database_url.to_owned(),
            history: data_dir.join("roi_history.json"),
            synergy: data_dir.join("synergy_history.db"),
        }
    }
}

#[derive(Debug)]
pub struct DataSource {
    locations: DataLocations,
    /// The first connection: it brings the schema up to date.
    first_connection: Mutex<Option<Store>>,
    idle_connections: Mutex<Vec<Store>>,
    history_cache: HistoryCache,
    synergy: ReopenOnReplace<SynergyReader>,
    metrics_db: MetricsDbReader,
    /// Heat maps of the cycles queried last, the latest at the end: ended cycles do not change.
    heat_maps: Mutex<Vec<(RunId, u32, HeatMap)>>,
}

impl DataSource {
    pub fn new(locations: DataLocations) -> Self {
        let history_cache = HistoryCache::new(locations.history.clone());
        let synergy = ReopenOnReplace::new(locations.synergy.clone());
        let metrics_db = MetricsDbReader::new(locations.data_dir.join("metrics.db"));
        Self {
            locations,
            first_connection: Mutex::default(),
            idle_connections: Mutex::default(),
            history_cache,
            synergy,
            metrics_db,
            heat_maps: Mutex::default(),
        }
    }

    pub fn data_dir(&self) -> &Path {
        &self.locations.data_dir
    }

    /// Queries the store; `None` or a default when there is none yet.
    pub(crate) fn query<T>(
        &self,
        run_query: impl FnOnce(&Store) -> ServeResult<T>,
    ) -> ServeResult<Option<T>> {
        let Some(store) = self.connection()? else { return Ok(None) };
        let answer = run_query(&store);
        let mut spare = self.idle_connections.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < MAX_IDLE_CONNECTIONS {
            spare.push(store);
        }
        answer.map(Some)
    }

    /// Queries the store; an error when there is none.
    pub(crate) fn query_existing<T>(
        &self,
        run_query: impl FnOnce(&Store) -> ServeResult<T>,
    ) -> ServeResult<T> {
        self.query(run_query)?
            .ok_or_else(|| ServeError::NotFound("`menace run` has not been used yet".into()))
    }

    /// A connection for the caller to keep; `None` when there is no store yet.
    pub(crate) fn connection(&self) -> ServeResult<Option<Store>> {
        if let Some(store) =
            self.idle_connections.lock().unwrap_or_else(PoisonError::into_inner).pop()
        {
            return Ok(Some(store));
        }
        let mut root = self.first_connection.lock().unwrap_or_else(PoisonError::into_inner);
        if root.is_none() {
            let DataLocations { data_dir, database_url, .. } = &self.locations;
            let Some((store, notices)) = Store::open_existing(data_dir, database_url)? else {
                return Ok(None);
            };
            for notice in notices {
                tracing::warn!("{notice}");
            }
            *root = Some(store);
        }
        root.as_ref().map(Store::open_reader).transpose().map_err(ServeError::from)
    }

    /// The heat map of modules and scenarios in the last cycle of a run.
    pub(crate) fn heat_map(&self, store: &Store, shown: &SelectedRun) -> ServeResult<HeatMap> {
        let Some(cycle) = shown.cycle else { return Ok(HeatMap::default()) };
        let run = &shown.run.id;
        let mut heats = self.heat_maps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, known)) = heats.iter().find(|known| known.0 == *run && known.1 == cycle)
        {
            return Ok(known.clone());
        }
        drop(heats);
        let made = heat_map(&store.heatmap(run, cycle)?);
        heats = self.heat_maps.lock().unwrap_or_else(PoisonError::into_inner);
        if heats.len() == MAX_CACHED_HEAT_MAPS {
            heats.remove(0);
        }
        heats.push((run.clone(), cycle, made.clone()));
        Ok(made)
    }

    pub(crate) fn history(&self) -> ServeResult<Arc<RoiHistoryView>> {
        self.history_cache.history()
    }

    /// The forecast of ROI, or of a metric.
    pub(crate) fn forecast(&self, metric: Option<&str>) -> ServeResult<Option<MetricForecast>> {
        self.history_cache.forecast(metric)
    }

    /// The latest synergy values of cycles, oldest first.
    pub(crate) fn synergy(&self, limit: u32) -> ServeResult<Vec<MetricMap>> {
        let open = |path: &Path| Ok(SynergyReader::open(path)?.map(log_notice));
        let found = self.synergy.query(open, |history| {
            let (entries, skipped) = history.last_entries(limit)?;
            if let Some(notice) = skipped {
                tracing::debug!("{notice}");
            }
            Ok(entries)
        })?;
        Ok(found.unwrap_or_default())
    }

    /// The synergy weights that training has stored; `None` before that.
    pub(crate) fn weights(&self) -> ServeResult<Option<serde_json::Value>> {
        let path = self.locations.data_dir.join("synergy_weights.json");
        match menace_files::read_file(&path, MAX_WEIGHTS_BYTES) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ServeError::Read { path, source }),
        }
    }

    pub(crate) fn metrics_db(&self) -> &MetricsDbReader {
        &self.metrics_db
    }
}

const MAX_WEIGHTS_BYTES: u64 = 16 << 20;

/// The opened value, after logging its notice.
pub(crate) fn log_notice<T>((opened, notice): (T, Option<StoreNotice>)) -> T {
    if let Some(notice) = notice {
        tracing::warn!("{notice}");
    }
    opened
}

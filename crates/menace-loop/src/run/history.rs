//! The history that later runs continue: `roi_history.json` and the flags of converged modules.
//!
//! Invariant: runs that share a data directory keep each other's cycles. A change is written under
//! the lock of the history, and only to the version that it was computed from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use menace_files::UntrustedDir;
use menace_store::files::{self, FileLock, LoadedFile};
use menace_store::{LOCK_TIMEOUT, ModuleFlagsFile};
use menace_track::predict::ForecastModelCache;
use menace_track::{RoiHistory, Tracker};

use super::warnings::RunWarning;
use super::{RunError, RunRequest};

/// Larger files are not analysed either.
const MAX_MODULE_BYTES: u64 = 64 << 20;

/// Key in the history: hashes of the sources of flagged modules.
const FLAGGED_SOURCES_KEY: &str = "flagged_sources";

#[derive(Debug)]
pub(super) struct HistoryStore {
    directory: PathBuf,
    recover: bool,
    /// Forecast models of the last cycle: the next one continues with them.
    models: ForecastModelCache,
    /// How long reading and writing took since [`Self::take_elapsed`].
    elapsed: Duration,
}

/// A module that cycles leave out.
#[derive(Debug)]
pub(super) struct LeftOutModule {
    pub path: String,
    /// The score in the last cycle that called the module.
    pub last_score: Option<ModuleScore>,
}

/// How a module did in a cycle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ModuleScore {
    pub roi: f64,
    pub raroi: f64,
}

impl HistoryStore {
    /// Checks that the history can be read: damage is reported before the first call.
    pub(super) fn open(request: &RunRequest<'_>) -> Result<(Self, Vec<RunWarning>), RunError> {
        let store = Self::new(request.data_dir, request.recover);
        let mut warnings = Vec::new();
        if request.reset_flags {
            for flags in [store.roi_flags(), store.entropy_flags()] {
                let (_, notice) = flags.reset()?;
                warnings.extend(notice.map(RunWarning::from));
            }
        }
        let (_, history_warnings) = store.read()?;
        warnings.extend(history_warnings);
        Ok((store, warnings))
    }

    fn new(directory: &Path, recover: bool) -> Self {
        Self {
            directory: directory.to_owned(),
            recover,
            models: ForecastModelCache::default(),
            elapsed: Duration::ZERO,
        }
    }

    /// Modules whose gains have converged.
    pub(super) fn roi_flags(&self) -> ModuleFlagsFile {
        ModuleFlagsFile::new(&self.directory.join("roi.flags"))
    }

    /// Modules that have reached their entropy cap.
    pub(super) fn entropy_flags(&self) -> ModuleFlagsFile {
        ModuleFlagsFile::new(&self.directory.join("entropy.flags"))
    }

    fn path(&self) -> PathBuf {
        self.directory.join("roi_history.json")
    }

    /// Paths of flagged modules whose source has not changed since.
    pub(super) fn flagged_modules(
        &self,
        repository: &Path,
    ) -> Result<(BTreeSet<String>, Vec<RunWarning>), RunError> {
        let mut flagged = BTreeSet::new();
        let mut warnings = Vec::new();
        for flags in [self.roi_flags(), self.entropy_flags()] {
            let (modules, notice) = flags.flagged_modules()?;
            warnings.extend(notice.map(RunWarning::from));
            flagged.extend(modules);
        }
        if flagged.is_empty() {
            return Ok((flagged, warnings));
        }
        let (mut history, history_warnings) = self.read()?;
        warnings.extend(history_warnings);
        let sources = history.extra_fields.remove(FLAGGED_SOURCES_KEY).unwrap_or_default();
        flagged.retain(|path| match sources.get(path).and_then(serde_json::Value::as_str) {
            Some(hash) => hash == source_hash(repository, path),
            // The user added the flag to the file.
            None => true,
        });
        Ok((flagged, warnings))
    }

    /// Flagged modules among the selected ones, with the last scores that the history has of them.
    pub(super) fn left_out_modules(
        &self,
        request: &RunRequest<'_>,
    ) -> Result<(Vec<LeftOutModule>, Vec<RunWarning>), RunError> {
        let (mut flagged, mut warnings) = self.flagged_modules(request.repository)?;
        let modules = &request.analysis.modules;
        flagged.retain(|path| {
            modules.iter().any(|module| module.path == *path && request.sections.has_module(module))
        });
        if flagged.is_empty() {
            return Ok((Vec::new(), warnings));
        }
        let (history, history_warnings) = self.read()?;
        warnings.extend(history_warnings);
        let last = |series: &BTreeMap<String, Vec<f64>>, path: &str| {
            series.get(path).and_then(|values| values.last()).copied()
        };
        let left_out = flagged.into_iter().map(|path| {
            let last_score = last(&history.module_roi, &path).map(|roi| {
                let raroi = last(&history.module_raroi, &path).unwrap_or(roi);
                ModuleScore { roi, raroi }
            });
            LeftOutModule { path, last_score }
        });
        Ok((left_out.collect(), warnings))
    }

    /// The history as it is now.
    pub(super) fn read(&self) -> Result<(RoiHistory, Vec<RunWarning>), RunError> {
        let path = self.path();
        let _lock = FileLock::acquire(&path, LOCK_TIMEOUT)?;
        read_history(&path, self.recover)
    }

    /// Applies `change` to the history, and writes it. Returns the changed history, too.
    ///
    /// `before` is the history that [`Self::read`] has returned: `change` works on a copy of it, so
    /// that other runs need not wait. Only if one of them has written meanwhile, it is repeated
    /// with the stored history, under the lock.
    pub(super) fn update<T>(
        &mut self,
        before: &RoiHistory,
        change: impl Fn(&mut Tracker) -> T,
    ) -> Result<(T, RoiHistory, Vec<RunWarning>), RunError> {
        let path = self.path();
        let (mut result, mut history) = self.with_tracker(before.clone(), &change);
        let began = Instant::now();
        let _lock = FileLock::acquire(&path, LOCK_TIMEOUT)?;
        let (current, mut warnings) = read_history(&path, self.recover)?;
        if current != *before {
            (result, history) = self.with_tracker(current, &change);
        }
        warnings.extend(files::save(&path, &history)?.map(RunWarning::from));
        self.elapsed += began.elapsed();
        Ok((result, history, warnings))
    }

    /// Calls a function with a tracker of this history, which reuses the forecast models so far.
    pub(super) fn with_tracker<T>(
        &mut self,
        history: RoiHistory,
        action: impl FnOnce(&mut Tracker) -> T,
    ) -> (T, RoiHistory) {
        let mut tracker = Tracker::with_models(history, std::mem::take(&mut self.models));
        let result = action(&mut tracker);
        let (history, models) = tracker.into_parts();
        self.models = models;
        (result, history)
    }

    /// Flags modules that have converged or have reached their entropy cap. The hashes of their
    /// sources are stored first: a module whose source changes is called again.
    pub(super) fn flag_modules(
        &mut self,
        repository: &Path,
        converged: &BTreeSet<String>,
        entropy_capped: &BTreeSet<String>,
    ) -> Result<Vec<RunWarning>, RunError> {
        if converged.is_empty() && entropy_capped.is_empty() {
            return Ok(Vec::new());
        }
        let flagged = converged.iter().chain(entropy_capped);
        let hashes = flagged.map(|path| (path.clone(), source_hash(repository, path).into()));
        let hashes: Vec<(String, serde_json::Value)> = hashes.collect();
        let (before, mut warnings) = self.read()?;
        let ((), _, update_warnings) = self.update(&before, |tracker| {
            let sources = tracker.extra_fields_mut();
            let sources =
                sources.entry(FLAGGED_SOURCES_KEY).or_insert_with(|| serde_json::json!({}));
            let Some(sources) = sources.as_object_mut() else { return };
            sources.extend(hashes.iter().cloned());
        })?;
        warnings.extend(update_warnings);
        for (file, modules) in
            [(self.roi_flags(), converged), (self.entropy_flags(), entropy_capped)]
        {
            if !modules.is_empty() {
                let notice = file.add(modules.iter().map(String::as_str))?;
                warnings.extend(notice.map(RunWarning::from));
            }
        }
        Ok(warnings)
    }

    /// How long reading and writing the history took since this was called last.
    pub(super) fn take_elapsed(&mut self) -> Duration {
        std::mem::take(&mut self.elapsed)
    }
}

fn read_history(path: &Path, recover: bool) -> Result<(RoiHistory, Vec<RunWarning>), RunError> {
    if recover {
        let (history, notices) = files::recover(path)?;
        let warnings = notices.into_iter().map(RunWarning::from).collect();
        return Ok((history.unwrap_or_default(), warnings));
    }
    Ok(match files::load(path)? {
        LoadedFile::Valid(history) => (history, Vec::new()),
        LoadedFile::Missing => (RoiHistory::default(), Vec::new()),
        LoadedFile::Corrupt(notice) => {
            let mut warnings = vec![RunWarning::from(notice)];
            warnings.extend(restorable_copy(path)?);
            (RoiHistory::default(), warnings)
        }
    })
}

/// Warns where a damaged file has an intact copy.
pub(super) fn restorable_copy(path: &Path) -> Result<Option<RunWarning>, RunError> {
    let has_copy = files::has_restorable_copy(path)?;
    Ok(has_copy.then(|| RunWarning::RestorableCopy(path.to_owned())))
}

/// A module of the repository; the files of the checkout may be anything.
pub(super) fn read_module(repository: &Path, module: &str) -> std::io::Result<Vec<u8>> {
    UntrustedDir::open(repository)?.read(Path::new(module), MAX_MODULE_BYTES)
}

/// Equal for equal files; empty for a file that cannot be read.
pub(super) fn source_hash(repository: &Path, module: &str) -> String {
    let hash = |bytes: Vec<u8>| blake3::hash(&bytes).to_hex()[..16].to_owned();
    read_module(repository, module).map(hash).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use menace_track::stats::forecast::ForecastOptions;

    use super::*;

    #[test]
    fn a_model_is_kept_from_one_update_of_the_history_to_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = HistoryStore::new(directory.path(), false);
        let values = (0..20_u32).map(|step| f64::from(step * 7 % 11) / 11.0);
        let values: Vec<f64> = values.collect();
        let ((), before, _) = store
            .update(&RoiHistory::default(), |tracker| {
                tracker.history_mut().roi_history.clone_from(&values);
                tracker.forecast_roi(ForecastOptions::default());
            })
            .unwrap();
        let chosen = store.update(&before, |tracker| {
            tracker.forecast_roi(ForecastOptions::default());
            tracker.models_chosen()
        });
        assert_eq!(chosen.unwrap().0, 1);
    }

    #[test]
    fn a_change_that_another_run_overtakes_is_repeated_and_both_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let add = |tracker: &mut Tracker, roi: f64| tracker.history_mut().roi_history.push(roi);
        let attempts = Cell::new(0);
        let mut store = HistoryStore::new(directory.path(), false);
        let change = |tracker: &mut Tracker| {
            attempts.set(attempts.get() + 1);
            if attempts.get() == 1 {
                // This would wait for the lock if it were held.
                let mut other = HistoryStore::new(directory.path(), false);
                other.update(&RoiHistory::default(), |tracker| add(tracker, 0.1)).unwrap();
            }
            add(tracker, 0.2);
        };
        let ((), history, _) = store.update(&RoiHistory::default(), change).unwrap();
        assert_eq!(history.roi_history, [0.1, 0.2]);
        assert_eq!(store.read().unwrap().0, history);
        assert_eq!(attempts.get(), 2);
        store.update(&history, |tracker| add(tracker, 0.3)).unwrap();
        assert_eq!(store.read().unwrap().0.roi_history, [0.1, 0.2, 0.3]);
    }
}

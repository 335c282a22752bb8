//! The models that decisions use and train: loaded before a cycle is decided on, replaced after.
//!
//! Invariant: a model that another run has replaced meanwhile is not lost: the cycle is added to
//! that one.

use std::path::{Path, PathBuf};

use menace_store::LOCK_TIMEOUT;
use menace_store::files::{self, FileLock, LoadedFile};
use menace_track::stats::forecast_calibrator::ForecastCalibrator;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::RunError;
use super::super::warnings::RunWarning;
use super::calibration::CALIBRATION_FILE;
use super::foresight::{FORESIGHT_FILE, ForesightTrackers};

/// The files of both models in the data directory.
#[derive(Debug)]
pub(in crate::run) struct DecisionModels {
    pub(super) calibration: ModelFile<ForecastCalibrator>,
    pub(super) foresight: ModelFile<ForesightTrackers>,
}

impl DecisionModels {
    pub(in crate::run) fn load(directory: &Path) -> Result<(Self, Vec<RunWarning>), RunError> {
        let (calibration, warning) = ModelFile::load(directory.join(CALIBRATION_FILE))?;
        let (foresight, other) = ModelFile::load(directory.join(FORESIGHT_FILE))?;
        Ok((Self { calibration, foresight }, warning.into_iter().chain(other).collect()))
    }
}

/// A model, as its file had it.
#[derive(Debug)]
pub(super) struct ModelFile<T> {
    path: PathBuf,
    loaded: Option<T>,
}

impl<T: PartialEq + Serialize + DeserializeOwned> ModelFile<T> {
    /// A damaged file counts as missing, with a warning.
    pub(super) fn load(path: PathBuf) -> Result<(Self, Option<RunWarning>), RunError> {
        let _lock = FileLock::acquire(&path, LOCK_TIMEOUT)?;
        let (loaded, warning) = read(&path)?;
        Ok((Self { path, loaded }, warning))
    }

    pub(super) fn loaded(&self) -> Option<&T> {
        self.loaded.as_ref()
    }

    /// Writes the model that was made from the loaded one; `repeat` makes it from the present file,
    /// if another run has written it meanwhile. With `None` the file is not changed.
    pub(super) fn replace(
        &self,
        model: Option<T>,
        repeat: impl FnOnce(Option<T>) -> Result<Option<T>, RunError>,
    ) -> Result<Option<RunWarning>, RunError> {
        let _lock = FileLock::acquire(&self.path, LOCK_TIMEOUT)?;
        let (current, warning) = read(&self.path)?;
        let model = if current == self.loaded { model } else { repeat(current)? };
        let Some(model) = model else { return Ok(warning) };
        files::save(&self.path, &model)?;
        Ok(warning)
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<(Option<T>, Option<RunWarning>), RunError> {
    Ok(match files::load(path)? {
        LoadedFile::Valid(model) => (Some(model), None),
        LoadedFile::Missing => (None, None),
        LoadedFile::Corrupt(notice) => (None, Some(RunWarning::from(notice))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_another_run_has_replaced_is_not_lost() {
        let directory = tempfile::tempdir().unwrap();
        let load = || ModelFile::<Vec<u32>>::load(directory.path().join("model.json")).unwrap().0;
        let add = |model: Option<Vec<u32>>, cycle: u32| {
            let cycles = model.into_iter().flatten().chain([cycle]);
            Some(cycles.collect::<Vec<u32>>())
        };
        let (one, other) = (load(), load());
        for (file, cycle) in [(other, 1), (one, 2)] {
            let model = add(file.loaded().cloned(), cycle);
            file.replace(model, |current| Ok(add(current, cycle))).unwrap();
        }
        assert_eq!(load().loaded(), Some(&vec![1, 2]));
    }
}

//! The writable layer of a call: a fresh one for each, thrown away afterwards.

use std::path::{Path, PathBuf};

use menace_model::{Files, Limits};

use super::copied::Copied;
use super::overlay::Overlay;
use super::{InitError, paths};

/// Two ways to give a call files of its own.
#[derive(Debug)]
pub(crate) enum Layer {
    /// Mounts: a file system in memory, and overlayfs between it and the repository.
    Overlay(Overlay),
    /// A copy of the repository that is mended after each call.
    Copied(Copied),
}

/// What a call did to its layer.
#[derive(Debug, Default)]
pub(crate) struct Used {
    pub files: Files,
    pub full: bool,
}

impl Layer {
    /// Where the repository is, as the guest sees it.
    pub(crate) fn repo(&self) -> &Path {
        match self {
            Self::Overlay(_) => Path::new(paths::REPO),
            Self::Copied(copied) => copied.repo(),
        }
    }

    /// Where home and temporary directories are, as the guest sees them.
    pub(crate) fn room(&self) -> &Path {
        match self {
            Self::Overlay(_) => Path::new(paths::BOX),
            Self::Copied(copied) => copied.room(),
        }
    }

    pub(crate) fn writable(&self) -> PathBuf {
        match self {
            Self::Overlay(_) => PathBuf::from(paths::WRITABLE),
            Self::Copied(copied) => copied.top().to_owned(),
        }
    }

    /// Makes a fresh layer; to be called when the last one was dropped.
    pub(crate) fn prepare(&mut self) -> Result<(), InitError> {
        match self {
            Self::Overlay(overlay) => overlay.prepare(),
            Self::Copied(copied) => copied.prepare(),
        }
    }

    /// While a call runs there is time to work for the next one.
    pub(crate) fn work_ahead(&mut self) -> Result<(), InitError> {
        match self {
            Self::Overlay(overlay) => overlay.work_ahead(),
            Self::Copied(_) => Ok(()),
        }
    }

    /// Holds the layer to the limits of the call that is about to start.
    pub(crate) fn limit(&mut self, limits: &Limits) -> Result<(), InitError> {
        match self {
            Self::Overlay(overlay) => overlay.limit(limits),
            Self::Copied(_) => Ok(()),
        }
    }

    /// What was done to it.
    pub(crate) fn used(&self) -> Used {
        match self {
            Self::Overlay(overlay) => overlay.used(),
            Self::Copied(copied) => copied.used(),
        }
    }

    /// How many bytes it takes, for the monitor.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Overlay(overlay) => overlay.bytes(),
            Self::Copied(copied) => copied.bytes(),
        }
    }

    /// From now on, every fresh layer starts from what the import of the module left.
    pub(crate) fn keep_import(&mut self) -> Result<(), InitError> {
        match self {
            Self::Overlay(overlay) => overlay.keep_import(),
            Self::Copied(copied) => copied.keep_import(),
        }
    }

    /// Throws the layer away.
    pub(crate) fn discard(&mut self) -> Result<(), InitError> {
        match self {
            Self::Overlay(overlay) => overlay.discard(),
            Self::Copied(_) => Ok(()),
        }
    }
}

//! The writable layer of a call: a fresh one for each, thrown away afterwards.

use std::path::{Path, PathBuf};
use std::time::Instant;

use menace_model::{Files, Limits};

use super::copied::Copied;
use super::overlay::Overlay;
use super::{InitError, paths};
use crate::wire::messages::Killed;

/// Two ways to give a call files of its own.
#[derive(Debug)]
pub(crate) enum Layer {
    /// Mounts: a file system in memory, and overlayfs between it and the repository.
    Overlay(Overlay),
    /// A copy of the repository that is mended after each call.
    Copied(Copied),
}

/// What a call may write when nobody said otherwise.
pub(crate) const WITHOUT_LIMIT: u64 = 1 << 30;
/// What is written is counted in whole blocks.
pub(crate) const BLOCK: u64 = 4096;
/// There may be as many files and directories as blocks, and so many more.
pub(crate) const SPARE_ENTRIES: u64 = 64;

/// What a call did to its layer.
#[derive(Debug, Default)]
pub(crate) struct Used {
    pub files: Files,
    /// It would hold more if it might.
    pub full: bool,
    pub written: Written,
}

/// What was added to a layer and is there now.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    /// Files and directories.
    pub entries: u64,
    pub bytes: u64,
}

impl Written {
    /// More than any limit, and still far from an overflow.
    pub(crate) const UNKNOWN: Self = Self { entries: 1 << 50, bytes: 1 << 50 };

    /// What was added to what there was.
    pub(crate) fn beyond(self, before: Self) -> Self {
        Self {
            entries: self.entries.saturating_sub(before.entries),
            bytes: self.bytes.saturating_sub(before.bytes),
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { entries: self.entries + other.entries, bytes: self.bytes + other.bytes }
    }

    pub(crate) fn exceeds(self, limit: u64) -> bool {
        let limit = in_blocks(limit);
        self.bytes > limit || self.entries > limit / BLOCK + SPARE_ENTRIES
    }
}

/// A limit as it can be held: blocks are whole, and there is at least one.
pub(crate) fn in_blocks(bytes: u64) -> u64 {
    bytes.clamp(1, 1 << 60).next_multiple_of(BLOCK)
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

    /// All that may be written is below this.
    pub(crate) fn writable(&self) -> PathBuf {
        match self {
            Self::Overlay(_) => PathBuf::from(paths::WRITABLE),
            Self::Copied(copied) => copied.top().to_owned(),
        }
    }

    /// What may be written: without mounts, nobody but us may move these directories away.
    pub(crate) fn write_places(&self) -> Vec<PathBuf> {
        match self {
            Self::Overlay(_) => vec![self.writable()],
            Self::Copied(copied) => vec![copied.repo().to_owned(), copied.room().to_owned()],
        }
    }

    /// Makes a fresh layer, in place of the last one.
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
    pub(crate) fn used(&mut self) -> Used {
        match self {
            Self::Overlay(overlay) => overlay.used(),
            Self::Copied(copied) => copied.used(),
        }
    }

    /// How much of its memory is files.
    pub(crate) fn bytes_in_memory(&self, until: Instant) -> u64 {
        match self {
            Self::Overlay(overlay) => overlay.bytes(),
            Self::Copied(copied) if copied.is_in_memory() => copied.written(until).bytes,
            Self::Copied(_) => 0,
        }
    }

    /// The same, at the end.
    pub(crate) fn over(&self, limits: &Limits, used: &Used) -> Option<Killed> {
        let exceeds = |limit| matches!(self, Self::Copied(_)) && used.written.exceeds(limit);
        limits.disk_bytes.is_some_and(exceeds).then_some(Killed::Disk)
    }

    /// Whether more was written than may be; where the kernel sees to that, nobody looks.
    pub(crate) fn exceeds(&self, limit: u64, until: Instant) -> bool {
        match self {
            Self::Overlay(_) => false,
            Self::Copied(copied) => copied.written(until).exceeds(limit),
        }
    }

    /// From now on, every fresh layer starts from what the import of the module left; says why
    /// that cannot be when it is what was left that is in the way. `in_company` of processes or
    /// threads that the import left, there is one call only.
    pub(crate) fn keep_import(&mut self, in_company: bool) -> Result<Option<String>, InitError> {
        match self {
            Self::Overlay(overlay) => overlay.keep_import().map(|()| None),
            Self::Copied(copied) => {
                Ok(copied.keep_import(in_company).err().map(|error| error.to_string()))
            }
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

//! The writable layer of a call: a fresh one for each, thrown away afterwards.

use std::path::{Path, PathBuf};
use std::time::Instant;

use menace_model::{CallLimits, TouchedFiles};

use super::copied_layer::CopiedLayer;
use super::overlay::OverlayLayer;
use super::{InitError, paths};
use crate::wire::messages::KillReason;

/// Two ways to give a call files of its own.
#[derive(Debug)]
pub(crate) enum WritableLayer {
    /// Mounts: a file system in memory, and overlayfs between it and the repository.
    Overlay(OverlayLayer),
    /// A copy of the repository that is restored after each call.
    Copied(CopiedLayer),
}

/// What a call may write without a disk limit.
pub(crate) const DEFAULT_DISK_LIMIT_BYTES: u64 = 1 << 30;
/// What is written is counted in whole blocks.
pub(crate) const BLOCK_BYTES: u64 = 4096;
/// There may be as many files and directories as blocks, and so many more.
pub(crate) const SPARE_ENTRIES: u64 = 64;

/// What a call did to its layer.
#[derive(Debug, Default)]
pub(crate) struct LayerChanges {
    pub files: TouchedFiles,
    /// It would hold more if it might.
    pub is_full: bool,
    pub written: LayerDiskUsage,
}

/// What was added to a layer and is there now.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LayerDiskUsage {
    /// Files and directories.
    pub entries: u64,
    pub bytes: u64,
}

impl LayerDiskUsage {
    /// More than any limit, and still far from an overflow.
    pub(crate) const OVER_ANY_LIMIT: Self = Self { entries: 1 << 50, bytes: 1 << 50 };

    /// What was added to what there was.
    pub(crate) fn minus(self, before: Self) -> Self {
        Self {
            entries: self.entries.saturating_sub(before.entries),
            bytes: self.bytes.saturating_sub(before.bytes),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { entries: self.entries + other.entries, bytes: self.bytes + other.bytes }
    }

    pub(crate) fn exceeds(self, limit: u64) -> bool {
        let limit = round_up_to_blocks(limit);
        self.bytes > limit || self.entries > limit / BLOCK_BYTES + SPARE_ENTRIES
    }
}

/// A limit as it can be held: blocks are whole, and there is at least one.
pub(crate) fn round_up_to_blocks(bytes: u64) -> u64 {
    bytes.clamp(1, 1 << 60).next_multiple_of(BLOCK_BYTES)
}

impl WritableLayer {
    /// Where the repository is, as the guest sees it.
    pub(crate) fn repo(&self) -> &Path {
        match self {
            Self::Overlay(_) => Path::new(paths::REPO_DIR),
            Self::Copied(copied) => copied.repo(),
        }
    }

    /// Where home and temporary directories are, as the guest sees them.
    pub(crate) fn scratch_dir(&self) -> &Path {
        match self {
            Self::Overlay(_) => Path::new(paths::SCRATCH_DIR),
            Self::Copied(copied) => copied.scratch_dir(),
        }
    }

    /// All that may be written is below this.
    pub(crate) fn writable_dir(&self) -> PathBuf {
        match self {
            Self::Overlay(_) => PathBuf::from(paths::WRITABLE_DIR),
            Self::Copied(copied) => copied.top().to_owned(),
        }
    }

    /// What may be written: without mounts, only init may move these directories away.
    pub(crate) fn writable_dirs(&self) -> Vec<PathBuf> {
        match self {
            Self::Overlay(_) => vec![self.writable_dir()],
            Self::Copied(copied) => vec![copied.repo().to_owned(), copied.scratch_dir().to_owned()],
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
    pub(crate) fn stage_next(&mut self) -> Result<(), InitError> {
        match self {
            Self::Overlay(overlay) => overlay.stage_next(),
            Self::Copied(_) => Ok(()),
        }
    }

    /// Holds the layer to the limits of the call that is about to start.
    pub(crate) fn apply_limits(&mut self, limits: &CallLimits) -> Result<(), InitError> {
        match self {
            Self::Overlay(overlay) => overlay.apply_limits(limits),
            Self::Copied(_) => Ok(()),
        }
    }

    /// What was done to it.
    pub(crate) fn collect_changes(&mut self) -> LayerChanges {
        match self {
            Self::Overlay(overlay) => overlay.collect_changes(),
            Self::Copied(copied) => copied.collect_changes(),
        }
    }

    /// How much of its memory is files.
    pub(crate) fn bytes_in_memory(&self, until: Instant) -> u64 {
        match self {
            Self::Overlay(overlay) => overlay.written_bytes(),
            Self::Copied(copied) if copied.is_in_memory() => copied.measure_written(until).bytes,
            Self::Copied(_) => 0,
        }
    }

    /// The same, at the end.
    pub(crate) fn exceeded_at_end(
        &self,
        limits: &CallLimits,
        used: &LayerChanges,
    ) -> Option<KillReason> {
        let exceeds = |limit| matches!(self, Self::Copied(_)) && used.written.exceeds(limit);
        limits.disk_bytes.is_some_and(exceeds).then_some(KillReason::Disk)
    }

    /// Whether more was written than may be; not checked where the kernel enforces it.
    pub(crate) fn exceeds_disk_limit(&self, limit: u64, until: Instant) -> bool {
        match self {
            Self::Overlay(_) => false,
            Self::Copied(copied) => copied.measure_written(until).exceeds(limit),
        }
    }

    /// From now on, every fresh layer starts from what the import of the module left; says why that
    /// is impossible when the files of the import are the reason. With unforkable state (processes
    /// or threads of the import), there is one call only.
    pub(crate) fn keep_import(
        &mut self,
        has_unforkable_state: bool,
    ) -> Result<Option<String>, InitError> {
        match self {
            Self::Overlay(overlay) => overlay.keep_import().map(|()| None),
            Self::Copied(copied) => {
                Ok(copied.keep_import(has_unforkable_state).err().map(|error| error.to_string()))
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

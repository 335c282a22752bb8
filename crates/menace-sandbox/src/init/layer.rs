//! The writable layer of a call: each call gets a fresh one.

use std::path::{Path, PathBuf};
use std::time::Instant;

use menace_model::{CallLimits, TouchedFiles};

use super::copied_layer::CopiedLayer;
use super::overlay::OverlayLayer;
use super::{InitError, paths};
use crate::wire::messages::KillReason;

/// The two ways to give each call files of its own.
#[derive(Debug)]
pub(crate) enum WritableLayer {
    /// A tmpfs, and an overlay of it and the repository.
    Overlay(OverlayLayer),
    /// A copy of the repository that is restored after each call.
    Copied(CopiedLayer),
}

/// Bytes that a call may write without a disk limit.
pub(crate) const DEFAULT_DISK_LIMIT_BYTES: u64 = 1 << 30;
/// Disk limits count whole blocks of this size.
pub(crate) const BLOCK_BYTES: u64 = 4096;
/// A call may make as many files and directories as it may write blocks, and this many more.
pub(crate) const SPARE_ENTRIES: u64 = 64;

/// What a call changed in its layer.
#[derive(Debug, Default)]
pub(crate) struct LayerChanges {
    pub files: TouchedFiles,
    /// Whether the layer is full: the call would have written more.
    pub is_full: bool,
    pub written: LayerDiskUsage,
}

/// Files and bytes that were added to a layer and still exist.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LayerDiskUsage {
    /// Number of files and directories.
    pub entries: u64,
    pub bytes: u64,
}

impl LayerDiskUsage {
    /// Exceeds every limit, and adding to it does not overflow.
    pub(crate) const OVER_ANY_LIMIT: Self = Self { entries: 1 << 50, bytes: 1 << 50 };

    /// Usage added since `before`.
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

/// A limit as it is enforced: in whole blocks, and at least one.
pub(crate) fn round_up_to_blocks(bytes: u64) -> u64 {
    bytes.clamp(1, 1 << 60).next_multiple_of(BLOCK_BYTES)
}

impl WritableLayer {
    /// The repository's path as the guest sees it.
    pub(crate) fn repo(&self) -> &Path {
        match self {
            Self::Overlay(_) => Path::new(paths::REPO_DIR),
            Self::Copied(copied) => copied.repo(),
        }
    }

    /// The scratch directory as the guest sees it.
    pub(crate) fn scratch_dir(&self) -> &Path {
        match self {
            Self::Overlay(_) => Path::new(paths::SCRATCH_DIR),
            Self::Copied(copied) => copied.scratch_dir(),
        }
    }

    /// A directory above everything that the guest may write to.
    pub(crate) fn layer_root(&self) -> PathBuf {
        match self {
            Self::Overlay(_) => PathBuf::from(paths::WRITABLE_DIR),
            Self::Copied(copied) => copied.top().to_owned(),
        }
    }

    /// The directories that the guest may write to. Without mounts they are in a directory that
    /// only init can change, so that the guest cannot move them.
    pub(crate) fn landlock_write_dirs(&self) -> Vec<PathBuf> {
        match self {
            Self::Overlay(_) => vec![self.layer_root()],
            Self::Copied(copied) => vec![copied.repo().to_owned(), copied.scratch_dir().to_owned()],
        }
    }

    /// Puts a fresh layer in place of the last one.
    pub(crate) fn prepare(&mut self) -> Result<(), InitError> {
        match self {
            Self::Overlay(overlay) => overlay.prepare(),
            Self::Copied(copied) => copied.prepare(),
        }
    }

    /// Prepares the next call's layer while a call runs.
    pub(crate) fn stage_next(&mut self) -> Result<(), InitError> {
        match self {
            Self::Overlay(overlay) => overlay.stage_next(),
            Self::Copied(_) => Ok(()),
        }
    }

    /// Applies the disk limit of the call that is about to start.
    pub(crate) fn apply_limits(&mut self, limits: &CallLimits) -> Result<(), InitError> {
        match self {
            Self::Overlay(overlay) => overlay.apply_limits(limits),
            Self::Copied(_) => Ok(()),
        }
    }

    /// Collects what the call changed.
    pub(crate) fn collect_changes(&mut self) -> LayerChanges {
        match self {
            Self::Overlay(overlay) => overlay.collect_changes(),
            Self::Copied(copied) => copied.collect_changes(),
        }
    }

    /// Bytes of the layer that count as memory, because they are on a tmpfs.
    pub(crate) fn bytes_in_memory(&self, until: Instant) -> u64 {
        match self {
            Self::Overlay(overlay) => overlay.written_bytes(),
            Self::Copied(copied) if copied.is_in_memory() => copied.measure_written(until).bytes,
            Self::Copied(_) => 0,
        }
    }

    /// Whether the disk limit was exceeded, judged from the final usage; not checked where the
    /// kernel enforces it.
    pub(crate) fn exceeded_at_end(
        &self,
        limits: &CallLimits,
        used: &LayerChanges,
    ) -> Option<KillReason> {
        let exceeds = |limit| matches!(self, Self::Copied(_)) && used.written.exceeds(limit);
        limits.disk_bytes.is_some_and(exceeds).then_some(KillReason::Disk)
    }

    /// Whether more was written than the limit; not checked where the kernel enforces it.
    pub(crate) fn exceeds_disk_limit(&self, limit: u64, until: Instant) -> bool {
        match self {
            Self::Overlay(_) => false,
            Self::Copied(copied) => copied.measure_written(until).exceeds(limit),
        }
    }

    /// Makes every later layer start from what the import left. Returns the reason when its files
    /// make that impossible. With unforkable state (processes or threads of the import) there is
    /// only one call.
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

    /// Removes the layer.
    pub(crate) fn discard(&mut self) -> Result<(), InitError> {
        match self {
            Self::Overlay(overlay) => overlay.discard(),
            Self::Copied(_) => Ok(()),
        }
    }
}

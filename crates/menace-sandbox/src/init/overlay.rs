//! The writable layer where mounts are possible: a tmpfs of limited size, and overlayfs on the
//! repository.
//!
//! What the import wrote becomes a lower layer like the repository, so that its size costs no call
//! anything. Each layer is one tree of mounts, made and removed where the guest cannot see it.
//!
//! Invariant: the repository and what the import wrote are only ever lower layers, and the guest
//! sees the merged view, never the upper layer itself.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use menace_model::CallLimits;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::{Statvfs, statvfs};

use super::file_changes::{DisplayRoot, FileChangeCollector, UpperLayer};
use super::layer::{
    BLOCK_BYTES, DEFAULT_DISK_LIMIT_BYTES, LayerChanges, LayerDiskUsage, SPARE_ENTRIES,
    round_up_to_blocks,
};
use super::paths::{self, IMPORT_SLOT, LAYER_SLOTS, LayerSlot};
use super::{InitError, InitErrorContext};
use crate::directory::{InaccessiblePolicy, OpenDirectory};
use crate::sys;

/// A call that is shorter cannot open so many files that removing their cache entries takes long.
const MAX_SHORT_CALL_TIME: Duration = Duration::from_millis(50);
/// The most inodes that an empty layer takes, including those that overlayfs adds.
const LAYER_OWN_ENTRIES: u64 = 16;
const LAYER_MOUNT_FLAGS: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV);

#[derive(Debug)]
pub(crate) struct OverlayLayer {
    /// Size of the next layer in bytes.
    size: u64,
    /// The layer that the guest sees.
    current: Option<MountedLayer>,
    /// The layer of the next call, made ahead.
    staged: Option<MountedLayer>,
    /// The layer of the last call, to be unmounted.
    discarded: Option<MountedLayer>,
    imported: ImportChanges,
    /// Inodes and blocks in use at the start of the call.
    usage_at_start: (u64, u64),
    /// When the call began.
    began: Instant,
    /// Whether unmounting the current layer will be fast.
    is_cheap_to_discard: bool,
    writable_repo: bool,
}

/// A layer that is mounted.
#[derive(Debug)]
struct MountedLayer {
    slot: &'static LayerSlot,
    /// How many bytes may be written.
    size: u64,
}

/// Which directories the import wrote to; those of later calls have another lower layer.
#[derive(Debug, Default)]
struct ImportChanges {
    in_repo: bool,
    in_scratch: bool,
}

impl OverlayLayer {
    pub(crate) fn new(writable_repo: bool) -> Self {
        Self {
            size: DEFAULT_DISK_LIMIT_BYTES,
            current: None,
            staged: None,
            discarded: None,
            imported: ImportChanges::default(),
            usage_at_start: (0, 0),
            began: Instant::now(),
            is_cheap_to_discard: false,
            writable_repo,
        }
    }

    /// Puts a fresh layer in place of the last one.
    pub(crate) fn prepare(&mut self) -> Result<(), InitError> {
        if self.current.is_some() {
            self.discard()?;
        }
        self.stage()?;
        if let Some(made) = self.staged.take() {
            let slot = made.slot;
            move_mounts([
                (slot.parked_scratch, paths::SCRATCH_DIR),
                (slot.parked_repo, paths::REPO_DIR),
            ])?;
            self.current = Some(made);
        }
        let now = self.statistics()?;
        self.usage_at_start = (used_inodes(&now), used_blocks(&now));
        self.is_cheap_to_discard = false;
        Ok(())
    }

    /// Unmounts the last layer and makes the next one while a call runs. The time that takes does
    /// not depend on what a guest did.
    pub(crate) fn stage_next(&mut self) -> Result<(), InitError> {
        self.unmount_discarded()?;
        self.stage()
    }

    fn unmount_discarded(&mut self) -> Result<(), InitError> {
        self.discarded.take().map_or(Ok(()), |made| unmount(made.slot))
    }

    fn stage(&mut self) -> Result<(), InitError> {
        if self.staged.is_some() {
            return Ok(());
        }
        let taken =
            [&self.current, &self.discarded].map(|made| made.as_ref().map(|made| made.slot));
        let Some(slot) = LAYER_SLOTS.iter().find(|slot| !taken.contains(&Some(*slot))) else {
            return Err(InitError::Failed("no place is left for a layer".to_owned()));
        };
        let options = format!("mode=0755,{}", tmpfs_size_options(self.size));
        mount(Some("scratch"), slot.top, Some("tmpfs"), LAYER_MOUNT_FLAGS, Some(options.as_str()))
            .with_context(|| "cannot mount the writable layer".to_owned())?;
        self.staged = Some(MountedLayer { slot, size: self.size });
        for directory in
            [slot.upper, slot.work, slot.scratch, slot.parked_repo, slot.parked_scratch]
        {
            create_dir(Path::new(directory))?;
        }
        self.mount_scratch(slot)?;
        let lower = if self.imported.in_repo {
            format!("{}:{}", IMPORT_SLOT.upper, paths::REPO_LOWER_DIR)
        } else {
            paths::REPO_LOWER_DIR.to_owned()
        };
        // An overlay also at level 5: through a bind mount, sockets of the host could be connected
        // to.
        let flags = if self.writable_repo {
            LAYER_MOUNT_FLAGS
        } else {
            LAYER_MOUNT_FLAGS | MsFlags::MS_RDONLY
        };
        let options =
            format!("lowerdir={lower},upperdir={},workdir={},userxattr", slot.upper, slot.work);
        mount(Some("repo"), slot.parked_repo, Some("overlay"), flags, Some(options.as_str()))
            .with_context(|| "cannot mount the repository's layer".to_owned())
    }

    fn mount_scratch(&self, slot: &LayerSlot) -> Result<(), InitError> {
        let mounted = if self.imported.in_scratch {
            create_dir(Path::new(slot.scratch_work))?;
            let options = format!(
                "lowerdir={},upperdir={},workdir={},userxattr",
                IMPORT_SLOT.scratch, slot.scratch, slot.scratch_work
            );
            mount(
                Some("scratch"),
                slot.parked_scratch,
                Some("overlay"),
                LAYER_MOUNT_FLAGS,
                Some(options.as_str()),
            )
        } else {
            for name in paths::SCRATCH_SUBDIRS {
                create_dir(&Path::new(slot.scratch).join(name))?;
            }
            let bind = MsFlags::MS_BIND;
            mount(Some(slot.scratch), slot.parked_scratch, None::<&str>, bind, None::<&str>)
        };
        mounted.with_context(|| "cannot mount home and temporary directories".to_owned())
    }

    pub(crate) fn apply_limits(&mut self, limits: &CallLimits) -> Result<(), InitError> {
        self.began = Instant::now();
        self.size = round_up_to_blocks(limits.disk_bytes.unwrap_or(DEFAULT_DISK_LIMIT_BYTES));
        let Some(made) = &mut self.current else { return Ok(()) };
        if made.size == self.size {
            return Ok(());
        }
        let options = tmpfs_size_options(self.size);
        let flags = MsFlags::MS_REMOUNT | LAYER_MOUNT_FLAGS;
        mount(None::<&str>, made.slot.top, None::<&str>, flags, Some(options.as_str()))
            .with_context(|| format!("cannot limit the writable layer to {} bytes", self.size))?;
        made.size = self.size;
        Ok(())
    }

    pub(crate) fn collect_changes(&mut self) -> LayerChanges {
        let (Some(made), Ok(now)) = (&self.current, self.statistics()) else {
            return LayerChanges::default();
        };
        let written = self.measure_written(&now);
        let full = written.exceeds(made.size);
        self.is_cheap_to_discard =
            written == LayerDiskUsage::default() && self.began.elapsed() < MAX_SHORT_CALL_TIME;
        if self.is_untouched(made.slot, &now) {
            return LayerChanges { is_full: full, written, ..LayerChanges::default() };
        }
        let mut collector = FileChangeCollector::default();
        collector.collect_upper(&UpperLayer {
            top: Path::new(made.slot.upper),
            // Includes what the import wrote, which is still mounted.
            before: Path::new(if self.imported.in_repo {
                IMPORT_SLOT.parked_repo
            } else {
                paths::REPO_LOWER_DIR
            }),
            opaque: false,
            display_root: DisplayRoot::Repo,
        });
        collector.collect_upper(&UpperLayer {
            top: Path::new(made.slot.scratch),
            before: Path::new(if self.imported.in_scratch {
                IMPORT_SLOT.scratch
            } else {
                paths::EMPTY_SCRATCH_DIR
            }),
            opaque: !self.imported.in_scratch,
            display_root: DisplayRoot::Scratch,
        });
        LayerChanges { files: collector.finish(), is_full: full, written }
    }

    pub(crate) fn written_bytes(&self) -> u64 {
        self.statistics().map_or(0, |now| self.measure_written(&now).bytes)
    }

    fn measure_written(&self, now: &Statvfs) -> LayerDiskUsage {
        LayerDiskUsage {
            entries: used_inodes(now).saturating_sub(self.usage_at_start.0),
            bytes: used_blocks(now).saturating_sub(self.usage_at_start.1) * BLOCK_BYTES,
        }
    }

    /// Whether the import wrote nothing. Writing to an upper layer adds an inode or a block, unless
    /// a directory that was made with the layer was removed for it.
    fn is_untouched(&self, slot: &LayerSlot, now: &Statvfs) -> bool {
        let is_there = |name: &&str| {
            let found = fs::symlink_metadata(Path::new(slot.scratch).join(name));
            found.is_ok_and(|found| found.is_dir())
        };
        (used_inodes(now), used_blocks(now)) == self.usage_at_start
            && (self.imported.in_scratch || paths::SCRATCH_SUBDIRS.iter().all(is_there))
    }

    /// Makes every later layer start from what the import wrote to this one.
    pub(crate) fn keep_import(&mut self) -> Result<(), InitError> {
        let now = self.statistics()?;
        let Some(made) = self.park()? else { return Ok(()) };
        let slot = made.slot;
        for place in [slot.parked_repo, slot.parked_scratch] {
            make_read_only(place)?;
        }
        if self.is_untouched(slot, &now) {
            // Unmounted while the first call runs.
            self.discarded = Some(made);
            return Ok(());
        }
        // The layer made ahead lacks what the import wrote.
        if let Some(made) = self.staged.take() {
            unmount(made.slot)?;
        }
        self.imported = (|| {
            let upper = OpenDirectory::open_path(Path::new(slot.upper))?;
            Ok::<_, io::Error>(ImportChanges {
                in_repo: !is_empty(&upper),
                in_scratch: !is_empty_scratch(slot)?,
            })
        })()
        .with_context(|| "cannot look at what the import wrote".to_owned())?;
        move_mounts([(slot.top, IMPORT_SLOT.top)])
    }

    /// Moves the layer to where the guest cannot see it.
    fn park(&mut self) -> Result<Option<MountedLayer>, InitError> {
        self.unmount_discarded()?;
        let made = self.current.take();
        if let Some(MountedLayer { slot, .. }) = &made {
            move_mounts([
                (paths::SCRATCH_DIR, slot.parked_scratch),
                (paths::REPO_DIR, slot.parked_repo),
            ])?;
        }
        Ok(made)
    }

    /// Moves the layer to where the guest cannot see it, to be unmounted while a call runs.
    pub(crate) fn discard(&mut self) -> Result<(), InitError> {
        self.discarded = self.park()?;
        // Unless that is fast, it is unmounted now: a call that runs meanwhile would pay for
        // removing files and cache entries, and the memory would be charged to it.
        if self.is_cheap_to_discard { Ok(()) } else { self.unmount_discarded() }
    }

    fn statistics(&self) -> Result<Statvfs, InitError> {
        let Some(made) = &self.current else {
            return Err(InitError::Failed("no layer is in place".to_owned()));
        };
        statvfs(made.slot.top).with_context(|| "cannot look at the writable layer".to_owned())
    }
}

#[expect(clippy::disallowed_methods, reason = "in a mount of its own, before a guest runs")]
fn create_dir(directory: &Path) -> Result<(), InitError> {
    fs::create_dir(directory).with_context(|| format!("cannot create `{}`", directory.display()))
}

/// Moves mounts, which costs little, unlike making and removing them.
fn move_mounts<const N: usize>(moves: [(&str, &str); N]) -> Result<(), InitError> {
    moves.into_iter().try_for_each(|(from, to)| {
        sys::move_mount(Path::new(from), Path::new(to))
            .with_context(|| format!("cannot move the layer from `{from}` to `{to}`"))
    })
}

/// Unmounts the layer with everything that is mounted in it.
fn unmount(slot: &LayerSlot) -> Result<(), InitError> {
    umount2(slot.top, MntFlags::MNT_DETACH)
        .with_context(|| format!("cannot unmount `{}`", slot.top))
}

/// The zygote's working directory and open files may be in the import's layer: a call that could
/// write there would leave data for the next one.
fn make_read_only(place: &str) -> Result<(), InitError> {
    match sys::make_mount_read_only(Path::new(place)) {
        // The import keeps a file open for writing; the harness reopens it for each call.
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(()),
        result => result.with_context(|| "cannot seal what the import wrote".to_owned()),
    }
}

fn is_empty(directory: &OpenDirectory) -> bool {
    directory.names().is_ok_and(|names| names.is_empty())
}

/// Whether the scratch directory has only the empty directories that were made with the layer.
fn is_empty_scratch(slot: &LayerSlot) -> io::Result<bool> {
    let scratch = OpenDirectory::open_path(Path::new(slot.scratch))?;
    let is_empty_inside = |name: &&str| {
        scratch.open(OsStr::new(name), InaccessiblePolicy::Skip).is_ok_and(|inner| is_empty(&inner))
    };
    let count = scratch.names()?.len();
    Ok(count == paths::SCRATCH_SUBDIRS.len() && paths::SCRATCH_SUBDIRS.iter().all(is_empty_inside))
}

/// One block and one inode more than may be written: a full file system shows that the call tried
/// to exceed its limit.
fn tmpfs_size_options(bytes: u64) -> String {
    let entries = bytes / BLOCK_BYTES + SPARE_ENTRIES;
    format!("size={},nr_inodes={}", bytes + BLOCK_BYTES, entries + LAYER_OWN_ENTRIES + 1)
}

fn used_inodes(now: &Statvfs) -> u64 {
    now.files() - now.files_free()
}

fn used_blocks(now: &Statvfs) -> u64 {
    now.blocks() - now.blocks_free()
}

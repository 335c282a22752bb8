//! A directory of the guest that init restores after each call from what it recorded before.

use std::ffi::OsStr;
use std::io;
use std::time::Instant;

use menace_model::FileChangeKind;

use super::file_changes::{DisplayRoot, FileChangeCollector};
use super::file_hash::FileVersions;
use super::layer::LayerDiskUsage;
use super::tree_copy::{copy_entry, copy_tree};
use super::tree_scan::{self, TOP_DIRECTORY_NUMBER, TreeDifference, TreeScan};
use crate::directory::{InaccessiblePolicy, OpenDirectory};
use crate::discard::discard_in;

/// After this many entries a walk checks the time.
const ENTRIES_PER_CLOCK_CHECK: u64 = 256;

#[derive(Debug)]
pub(super) struct RestorableTree {
    /// The directory that the guest writes to. Opened before the guest ran: its path may lead
    /// elsewhere by now.
    live: OpenDirectory,
    /// A copy of the state to restore, which the guest cannot reach.
    original: OpenDirectory,
    /// The scan of `live` in the state to restore.
    expected: Option<TreeScan>,
}

impl RestorableTree {
    pub(super) fn new(live: OpenDirectory, original: OpenDirectory) -> Self {
        Self { live, original, expected: None }
    }

    pub(super) fn live(&self) -> &OpenDirectory {
        &self.live
    }

    /// Makes the live directory equal to the original. It stays the same inode, since Landlock
    /// rules are tied to it. An error when another process changes it meanwhile.
    pub(super) fn restore(&mut self) -> io::Result<()> {
        self.restore_content()?;
        let mode = self.original.metadata()?.permissions();
        if self.live.metadata()?.permissions() == mode { Ok(()) } else { self.live.set_mode(mode) }
    }

    fn restore_content(&mut self) -> io::Result<()> {
        let Some(expected) = &self.expected else { return self.copy_original() };
        let live = self.live.reopen(InaccessiblePolicy::MakeAccessible)?;
        let Ok(now) = TreeScan::scan(&live, Some(expected)) else {
            // Deeper than can be scanned: everything is removed and copied again.
            live.names()?.iter().try_for_each(|name| discard_in(&live, name))?;
            return self.copy_original().and_then(|()| self.verify_copy());
        };
        let differences = now.differences_since(expected);
        if differences.is_empty() {
            return Ok(());
        }
        self.apply_differences(&differences, expected, restore_entry)?;
        let restored = TreeScan::scan(&live, Some(expected))?;
        if !restored.is_restored(expected, &differences) {
            return Err(concurrent_change_error());
        }
        self.expected = Some(restored);
        Ok(())
    }

    fn copy_original(&mut self) -> io::Result<()> {
        copy_tree(&self.original, &self.live, None, InaccessiblePolicy::MakeAccessible)?;
        self.expected = Some(TreeScan::scan(&self.live, None)?);
        Ok(())
    }

    /// Fails unless the live directory is a complete copy of the original.
    fn verify_copy(&self) -> io::Result<()> {
        let Some(expected) = &self.expected else { return Err(concurrent_change_error()) };
        let original = TreeScan::scan(&self.original, Some(expected))?;
        let differences = original.differences_since(expected);
        if original.is_restored(expected, &differences) {
            Ok(())
        } else {
            Err(concurrent_change_error())
        }
    }

    /// Makes the live directory's state the one to restore. An error when it changes while it is
    /// copied.
    pub(super) fn adopt_live_state(&mut self) -> io::Result<()> {
        let now = TreeScan::scan(&self.live, self.expected.as_ref())?;
        let differences = self
            .expected
            .as_ref()
            .map(|expected| now.differences_since(expected))
            .unwrap_or_default();
        self.apply_differences(&differences, &now, adopt_entry)?;
        let after = TreeScan::scan(&self.live, Some(&now))?;
        if !after.is_unchanged_since(&now) {
            return Err(concurrent_change_error());
        }
        self.original.set_mode(self.live.metadata()?.permissions())?;
        self.expected = Some(after);
        Ok(())
    }

    /// Records the state for comparison only: changes are reported from here on, and the directory
    /// is never restored again.
    pub(super) fn record_live_state(&mut self) -> io::Result<()> {
        self.expected = Some(TreeScan::scan(&self.live, self.expected.as_ref())?);
        Ok(())
    }

    fn apply_differences(
        &self,
        differences: &[TreeDifference<'_>],
        scan: &TreeScan,
        apply: fn(&TreeDifference<'_>, &OpenDirectory, &OpenDirectory) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut live = TreeCursor::at(&self.live, scan, InaccessiblePolicy::MakeAccessible)?;
        let mut original =
            TreeCursor::at(&self.original, scan, InaccessiblePolicy::MakeAccessible)?;
        differences
            .iter()
            .filter(|one| one.topmost)
            .try_for_each(|one| apply(one, live.enter(one.parent)?, original.enter(one.parent)?))
    }

    /// Records changes of the live directory, and returns how much was added.
    pub(super) fn collect_changes(
        &self,
        display_root: DisplayRoot,
        collector: &mut FileChangeCollector,
    ) -> LayerDiskUsage {
        let Some(expected) = &self.expected else { return LayerDiskUsage::default() };
        let Ok(now) = TreeScan::scan(&self.live, Some(expected)) else {
            return LayerDiskUsage::OVER_ANY_LIMIT;
        };
        // Files in directories that cannot be opened have no hash.
        let mut live = TreeCursor::at(&self.live, &now, InaccessiblePolicy::Skip).ok();
        let mut original = TreeCursor::at(&self.original, expected, InaccessiblePolicy::Skip).ok();
        for one in now.differences_since(expected).iter().filter(|one| !one.only_mode) {
            let from = if one.what == FileChangeKind::Deleted { expected } else { &now };
            let enter = |cursor: &mut Option<TreeCursor<'_>>| {
                cursor.as_mut()?.enter(one.parent).ok()?.reopen(InaccessiblePolicy::Skip).ok()
            };
            let is_new = one.what != FileChangeKind::Deleted && one.entry.is_file();
            let hash = if is_new && collector.would_hash(one.entry.size()) {
                let before =
                    if one.what == FileChangeKind::Changed { enter(&mut original) } else { None };
                enter(&mut live).and_then(|now| {
                    let content =
                        FileVersions { now: &now, before: before.as_ref(), name: one.name };
                    collector.hash(content, one.entry.size())
                })
            } else {
                None
            };
            collector.record(
                display_root,
                &from.path(one.parent, one.name),
                one.what,
                one.entry.size(),
                hash,
            );
        }
        now.written.minus(expected.written)
    }

    /// How much was added to the live directory, while processes may write to it. Ends when the
    /// time is over.
    pub(super) fn measure_written(&self, until: Instant) -> LayerDiskUsage {
        let Some(expected) = &self.expected else { return LayerDiskUsage::default() };
        let mut visited = 0_u64;
        let go_on = || {
            visited += 1;
            !visited.is_multiple_of(ENTRIES_PER_CLOCK_CHECK) || Instant::now() < until
        };
        // Deeper than can be walked counts as exceeding every limit.
        let now = tree_scan::measure(&self.live, go_on).unwrap_or(LayerDiskUsage::OVER_ANY_LIMIT);
        now.minus(expected.written)
    }
}

fn concurrent_change_error() -> io::Error {
    io::Error::other("another process changes it meanwhile")
}

fn restore_entry(
    one: &TreeDifference<'_>,
    live: &OpenDirectory,
    original: &OpenDirectory,
) -> io::Result<()> {
    if one.only_mode {
        return set_mode(live, one.name, original.entry_metadata(one.name)?.permissions());
    }
    discard_in(live, one.name)?;
    if one.what == FileChangeKind::Created {
        return Ok(());
    }
    match copy_entry(original, live, one.name) {
        // The entry is of a kind that is not copied, such as a socket.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn adopt_entry(
    one: &TreeDifference<'_>,
    live: &OpenDirectory,
    original: &OpenDirectory,
) -> io::Result<()> {
    if one.only_mode {
        return set_mode(original, one.name, one.entry.mode() & 0o7777);
    }
    discard_in(original, one.name)?;
    if one.what == FileChangeKind::Deleted {
        return Ok(());
    }
    copy_entry(live, original, one.name)
}

fn set_mode(above: &OpenDirectory, name: &OsStr, mode: u32) -> io::Result<()> {
    let mut directory = above.open(name, InaccessiblePolicy::MakeAccessible)?;
    directory.keep_current_mode();
    directory.set_mode(mode)
}

/// Opens directories of a tree in the order of a scan, each from the nearest one that is open.
struct TreeCursor<'a> {
    scan: &'a TreeScan,
    shut: InaccessiblePolicy,
    open_dirs: Vec<(u32, OpenDirectory)>,
}

impl<'a> TreeCursor<'a> {
    fn at(top: &OpenDirectory, scan: &'a TreeScan, shut: InaccessiblePolicy) -> io::Result<Self> {
        Ok(Self { scan, shut, open_dirs: vec![(TOP_DIRECTORY_NUMBER, top.reopen(shut)?)] })
    }

    fn enter(&mut self, number: u32) -> io::Result<&OpenDirectory> {
        let mut names: Vec<(u32, &OsStr)> = Vec::new();
        let mut at = number;
        let depth = loop {
            // Numbers grow with depth, so the list is sorted.
            if let Ok(depth) = self.open_dirs.binary_search_by_key(&at, |(open, _)| *open) {
                break depth;
            }
            let Some((above, name)) = self.scan.location(at) else {
                return Err(io::Error::other("a directory that was not scanned"));
            };
            names.push((at, name));
            at = above;
        };
        self.open_dirs.truncate(depth + 1);
        for (number, name) in names.into_iter().rev() {
            let above = &self.open_dirs[self.open_dirs.len() - 1].1;
            let opened = above.open(name, self.shut)?;
            self.open_dirs.push((number, opened));
        }
        Ok(&self.open_dirs[self.open_dirs.len() - 1].1)
    }
}

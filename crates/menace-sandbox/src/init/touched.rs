//! Which files a call created, changed or deleted, told from its writable layer.

use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use menace_model::{FileChange, Files, Touched};

/// The longest list; the rest is counted.
const LISTED: usize = 1000;
/// Directories beyond this many entries are not entered any more.
const MOST_WALKED: u64 = 1_000_000;

/// Collects what is found.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    files: Files,
}

/// What lies below the directory that is looked at.
#[derive(Debug)]
pub(crate) struct Below {
    /// How the directory is called for people; empty for the repository.
    pub shown_as: String,
    /// The same directory before the call, topmost layer first.
    pub lowers: Vec<PathBuf>,
}

impl Walk {
    /// Goes through the upper layer of a directory.
    pub(crate) fn upper(&mut self, top: &Path, below: &Below) {
        // An explicit stack: a guest can nest directories deeper than a call stack.
        let mut waiting = vec![PathBuf::new()];
        while let Some(inner) = waiting.pop() {
            let Ok(entries) = fs::read_dir(top.join(&inner)) else { continue };
            for entry in entries.flatten() {
                let path = inner.join(entry.file_name());
                let Ok(found) = entry.metadata() else { continue };
                if found.is_dir() {
                    if self.files.total < MOST_WALKED {
                        waiting.push(path.clone());
                    }
                    if lower(below, &path).is_none() {
                        self.note(below, &path, FileChange::Created, 0);
                    }
                    continue;
                }
                let before = lower(below, &path);
                if is_whiteout(&found) {
                    let bytes = before.map_or(0, |before| before.len());
                    self.note(below, &path, FileChange::Deleted, bytes);
                } else {
                    let what =
                        if before.is_some() { FileChange::Changed } else { FileChange::Created };
                    self.note(below, &path, what, found.len());
                }
            }
        }
    }

    /// Notes what lies in a directory beside what is meant to be there.
    pub(crate) fn strays(&mut self, top: &Path, meant: &[&str]) {
        let below = Below { shown_as: top.to_string_lossy().into_owned(), lowers: Vec::new() };
        for entry in fs::read_dir(top).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !meant.iter().any(|meant| name == **meant) {
                let bytes = entry.metadata().map_or(0, |found| found.len());
                self.note(&below, Path::new(&name), FileChange::Created, bytes);
            }
        }
    }

    pub(crate) fn note(&mut self, below: &Below, path: &Path, what: FileChange, bytes: u64) {
        self.files.total += 1;
        if self.files.touched.len() < LISTED {
            let path = Path::new(&below.shown_as).join(path).to_string_lossy().into_owned();
            self.files.touched.push(Touched { path, what, bytes, hash: None });
        }
    }

    pub(crate) fn finish(mut self) -> Files {
        self.files.touched.sort();
        self.files
    }
}

/// How overlayfs says that a file of the lower layer is gone.
fn is_whiteout(found: &Metadata) -> bool {
    found.file_type().is_char_device() && found.rdev() == 0
}

fn lower(below: &Below, path: &Path) -> Option<Metadata> {
    let found =
        below.lowers.iter().find_map(|lower| fs::symlink_metadata(lower.join(path)).ok())?;
    (!is_whiteout(&found)).then_some(found)
}

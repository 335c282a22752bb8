//! Notices: what the user should know although nothing failed. Each has to be displayed.

use std::fmt;
use std::path::PathBuf;

use crate::RunId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreNotice {
    /// A file could not be read, and was kept under another name.
    MovedAside { path: PathBuf, to: PathBuf, why: String },
    /// A database had no content; there was nothing to keep.
    EmptyDatabase { path: PathBuf },
    /// Runs whose process died before it could store how they ended.
    InterruptedRuns { runs: Vec<RunId> },
    /// A history in an older format was imported; its file was kept under another name.
    LegacyImported { path: PathBuf, to: PathBuf, entries: usize },
    /// The last good copy has replaced a file that could not be read.
    RestoredFromBackup { path: PathBuf, backup: PathBuf },
    /// A file that was created anew after damage was replaced by the last good copy.
    Replaced { path: PathBuf, to: PathBuf },
    /// Entries that cannot be parsed; they were left in the file.
    SkippedEntries { path: PathBuf, entries: usize },
    /// A database that cannot be written to has a log, whose content is not visible.
    WalNotRead { path: PathBuf },
}

impl fmt::Display for StoreNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MovedAside { path, to, why } => write!(
                f,
                "`{}` is damaged ({why}): it is kept as `{}`, and a new one is started",
                path.display(),
                to.display()
            ),
            Self::EmptyDatabase { path } => {
                write!(f, "`{}` was empty: it is started anew", path.display())
            }
            Self::InterruptedRuns { runs } => {
                let names: Vec<&str> = runs.iter().map(|run| &*run.0).collect();
                write!(f, "interrupted before the end: {}", names.join(", "))
            }
            Self::LegacyImported { path, to, entries } => write!(
                f,
                "took over {entries} entries from `{}`, which is kept as `{}`",
                path.display(),
                to.display()
            ),
            Self::RestoredFromBackup { path, backup } => write!(
                f,
                "`{}` is the last good copy again, which was kept as `{}`",
                path.display(),
                backup.display()
            ),
            Self::Replaced { path, to } => write!(
                f,
                "`{}` was started anew after damage: that is kept as `{}` now",
                path.display(),
                to.display()
            ),
            Self::WalNotRead { path } => write!(
                f,
                "`{}` may not be written, so the last entries, which are in its log, are not \
                 shown; \
                 copy the directory to see them",
                path.display()
            ),
            Self::SkippedEntries { path, entries } => {
                write!(f, "left out {entries} entries of `{}` that are no numbers", path.display())
            }
        }
    }
}

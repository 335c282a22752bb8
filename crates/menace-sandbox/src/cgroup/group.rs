//! A group: its directories on the host, from the first `mkdir` to the last `rmdir`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::available::Available;
use super::files::GroupFiles;
use super::{Controller, Error, Result, kill, v2};

/// How long a group may take to empty after everything in it was killed.
const PATIENCE: Duration = Duration::from_millis(500);

/// The control group of one sandbox. Dropping it kills what is inside and removes it.
#[derive(Debug)]
pub(crate) struct Group {
    directories: Vec<Directory>,
    files: GroupFiles,
    missing: Vec<(Controller, String)>,
    /// A fork of Menace inherits this value, but not the right to remove the group.
    creator: u32,
}

#[derive(Debug)]
struct Directory {
    path: PathBuf,
    /// Held as long as the owner lives: no other Menace takes the group for a leftover, whatever PID
    /// namespace it looks from.
    _lock: File,
}

impl Group {
    /// Makes a group of that name (see [`super::next_name`]); `None` where there is nothing it could do.
    pub(crate) fn create(available: &Available, name: &str) -> Result<Option<Self>> {
        if available.is_empty() {
            return Ok(None);
        }
        let mut group = Self {
            directories: Vec::new(),
            files: GroupFiles::empty(),
            missing: available.why_not.clone(),
            creator: std::process::id(),
        };
        for place in &available.places {
            let refused = v2::enable(&place.base, &place.to_enable);
            let path = place.base.join(name);
            group.make(&path)?;
            group.files.open(&path, place.version, &place.controllers)?;
            group.missing.extend(refused);
        }
        Ok(Some(group))
    }

    fn make(&mut self, path: &Path) -> Result<()> {
        fs::create_dir(path).map_err(|source| Error::Create { path: path.to_owned(), source })?;
        let lock = File::open(path)
            .and_then(|directory| directory.lock_shared().map(|()| directory))
            .map_err(|source| {
                let _ = fs::remove_dir(path);
                Error::Lock { path: path.to_owned(), source }
            })?;
        self.directories.push(Directory { path: path.to_owned(), _lock: lock });
        Ok(())
    }

    /// The open files, to be used here or inherited by another process.
    pub(crate) fn files(&self) -> &GroupFiles {
        &self.files
    }

    /// To set limits from here.
    #[cfg(test)]
    pub(crate) fn files_mut(&mut self) -> &mut GroupFiles {
        &mut self.files
    }

    /// What this group cannot do, and why.
    pub(crate) fn missing(&self) -> &[(Controller, String)] {
        &self.missing
    }

    /// The directories, one per hierarchy.
    #[cfg(test)]
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.directories.iter().map(|directory| directory.path.as_path())
    }

    /// Removes the group now, to see whether it works; dropping it does the same in silence.
    #[cfg(test)]
    pub(crate) fn remove(mut self) -> Result<()> {
        self.clear()
    }

    fn clear(&mut self) -> Result<()> {
        if self.creator != std::process::id() {
            self.directories.clear();
            return Ok(());
        }
        let mut first = Ok(());
        for directory in self.directories.drain(..).rev() {
            let removed = remove(&directory.path, || {
                self.files.kill_all()?;
                // A process that was attached to some of the hierarchies only.
                self.files.procs().for_each(kill::kill_each);
                Ok(())
            });
            first = first.and(removed);
        }
        first
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Whatever stays is removed by the next start of Menace.
        let _ = self.clear();
    }
}

/// Removes a directory; while processes are in it, kills them and tries again for a short time.
pub(super) fn remove(path: &Path, mut kill: impl FnMut() -> Result<()>) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    let mut pause = Duration::from_micros(50);
    loop {
        match fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < end => {
                kill()?;
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(10));
            }
            Err(source) => {
                return Err(Error::Remove { path: path.to_owned(), source });
            }
        }
    }
}

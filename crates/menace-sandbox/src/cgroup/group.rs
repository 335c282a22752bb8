//! A group: its directories on the host, from the first `mkdir` to the last `rmdir`.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::available::AvailableCgroups;
use super::group_files::CgroupFiles;
use super::{CgroupController, CgroupError, CgroupResult, kill, v2};

/// How long a group may take to empty after everything in it was killed.
const REMOVE_TIMEOUT: Duration = Duration::from_millis(500);

/// The control group of one sandbox. Dropping it kills what is inside and removes it.
#[derive(Debug)]
pub(crate) struct SandboxCgroup {
    directories: Vec<CgroupDirectory>,
    files: CgroupFiles,
    missing: Vec<(CgroupController, String)>,
    /// The process that made the group. A fork of Menace inherits this value, but must not remove
    /// the group.
    creator_pid: u32,
}

#[derive(Debug)]
struct CgroupDirectory {
    path: PathBuf,
    /// Held as long as Menace uses the group: a Menace in another PID namespace, which cannot see
    /// this process, does not take the group for a leftover.
    _lock: File,
}

impl SandboxCgroup {
    /// Makes a group of that name (see [`super::next_name`]); `None` where there is nothing it
    /// could do.
    pub(crate) fn create(available: &AvailableCgroups, name: &str) -> CgroupResult<Option<Self>> {
        if available.is_empty() {
            return Ok(None);
        }
        let mut group = Self {
            directories: Vec::new(),
            files: CgroupFiles::empty(),
            missing: available.missing.clone(),
            creator_pid: std::process::id(),
        };
        for place in &available.locations {
            let refused = v2::enable_controllers(&place.base, &place.to_enable);
            let path = place.base.join(name);
            group.make_directory(&path)?;
            group.files.open(&path, place.version, &place.controllers)?;
            group.missing.extend(refused);
        }
        Ok(Some(group))
    }

    fn make_directory(&mut self, path: &Path) -> CgroupResult<()> {
        // Whatever the mask of the process, no other user can write to it.
        DirBuilder::new()
            .mode(0o755)
            .create(path)
            .map_err(|source| CgroupError::Create { path: path.to_owned(), source })?;
        let lock = File::open(path)
            .and_then(|directory| directory.lock_shared().map(|()| directory))
            .map_err(|source| {
                let _ = fs::remove_dir(path);
                CgroupError::Lock { path: path.to_owned(), source }
            })?;
        self.directories.push(CgroupDirectory { path: path.to_owned(), _lock: lock });
        Ok(())
    }

    /// The open files, to be used here or inherited by another process.
    pub(crate) fn files(&self) -> &CgroupFiles {
        &self.files
    }

    #[cfg(test)]
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Path> {
        self.directories.iter().map(|directory| directory.path.as_path())
    }

    /// The files, to set limits.
    #[cfg(test)]
    pub(crate) fn files_mut(&mut self) -> &mut CgroupFiles {
        &mut self.files
    }

    /// Controllers that this group lacks, each with the reason.
    pub(crate) fn missing_controllers(&self) -> &[(CgroupController, String)] {
        &self.missing
    }

    /// The directories, one per hierarchy.
    #[cfg(test)]
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.directories.iter().map(|directory| directory.path.as_path())
    }

    /// Removes the group and returns the error; dropping it ignores errors.
    #[cfg(test)]
    pub(crate) fn remove(mut self) -> CgroupResult<()> {
        self.remove_directories()
    }

    fn remove_directories(&mut self) -> CgroupResult<()> {
        if self.creator_pid != std::process::id() {
            self.directories.clear();
            return Ok(());
        }
        let mut first = Ok(());
        for directory in self.directories.drain(..).rev() {
            let removed = remove_directory(&directory.path, || {
                self.files.kill_all()?;
                // Processes that are in some of the hierarchies only.
                self.files.procs_files().for_each(kill::kill_each);
                Ok(())
            });
            first = first.and(removed);
        }
        first
    }
}

impl Drop for SandboxCgroup {
    fn drop(&mut self) {
        // The next start of Menace removes what is left.
        let _ = self.remove_directories();
    }
}

/// Removes a directory; while processes are in it, kills them and tries again for a short time.
pub(super) fn remove_directory(
    path: &Path,
    mut kill: impl FnMut() -> CgroupResult<()>,
) -> CgroupResult<()> {
    let end = Instant::now() + REMOVE_TIMEOUT;
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
                return Err(CgroupError::Remove { path: path.to_owned(), source });
            }
        }
    }
}

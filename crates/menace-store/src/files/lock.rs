//! Advisory locks: `<file>.lock`, held by `flock`, as Python's `filelock` does.
//!
//! The kernel releases the lock when the process ends, for whatever reason. The lock file is never
//! removed: otherwise two processes could hold locks on two files of the same name.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use super::{
    StoreFileError, StoreFileResult, append_to_file_name, create_parent_directory, open_or_create,
    read_file,
};

const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// A lock, held until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
    path: PathBuf,
}

impl FileLock {
    /// Locks `file`, which need not exist. After `wait`, the error names the process that holds it.
    pub fn acquire(file: &Path, wait: Duration) -> StoreFileResult<Self> {
        create_parent_directory(file)?;
        let path = append_to_file_name(file, ".lock");
        let mut lock = open_or_create(&path)
            .map_err(|source| StoreFileError::from_io("lock", &path, source))?;
        let started = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if started.elapsed() < wait => {
                    thread::sleep(LOCK_RETRY_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreFileError::Locked {
                        owner: read_owner_pid(&path),
                        path,
                        waited: wait,
                    });
                }
                Err(TryLockError::Error(source)) => {
                    return Err(StoreFileError::from_io("lock", &path, source));
                }
            }
        }
        // The process id is only for messages of other processes: the lock holds even if it cannot
        // be written on a full disk.
        if let Err(error) = lock.set_len(0).and_then(|()| writeln!(lock, "{}", process::id())) {
            tracing::debug!(path = %path.display(), %error, "cannot name the owner of the lock");
        }
        Ok(Self { _file: lock, path })
    }

    /// Path of the lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn read_owner_pid(path: &Path) -> String {
    let text = String::from_utf8(read_file(path).unwrap_or_default()).unwrap_or_default();
    // The content is displayed, so nothing but a number is accepted.
    match text.trim().parse::<u32>() {
        Ok(pid) => pid.to_string(),
        Err(_) => "(unknown)".into(),
    }
}

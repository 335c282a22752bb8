//! Kills everything in a group.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::CgroupResult;
use super::control_file::CgroupFileRole;
use super::group_files::CgroupFiles;

/// A fork bomb is outrun within this time or not at all.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

impl CgroupFiles {
    /// Kills every process of the group, those it is forking included. The caller must not be one
    /// of them. Where there is no `cgroup.kill`, the caller's PID namespace must show the
    /// processes.
    ///
    /// The processes are doomed when this returns; they are gone when the group can be removed.
    pub(crate) fn kill_all(&self) -> CgroupResult<()> {
        if self.write_command(CgroupFileRole::Kill, "1")? {
            return Ok(());
        }
        let frozen = self.write_command(CgroupFileRole::Freezer, "FROZEN")?;
        for procs in self.procs_files() {
            kill_each(procs);
        }
        if frozen {
            self.write_command(CgroupFileRole::Freezer, "THAWED")?;
        }
        Ok(())
    }
}

/// Kills what the file lists until it lists nothing more that was not killed yet.
pub(super) fn kill_each(procs: &File) {
    let myself = std::process::id().cast_signed();
    let mut doomed: Vec<i32> = Vec::new();
    let end = Instant::now() + KILL_TIMEOUT;
    loop {
        let mut found_new = false;
        for pid in read_pids(procs).unwrap_or_default() {
            if pid != myself && !doomed.contains(&pid) {
                found_new = true;
                doomed.push(pid);
                // Gone already is as good as killed. Zero would be our own process group.
                if pid > 0 {
                    let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                }
            }
        }
        if !found_new || Instant::now() > end {
            return;
        }
        thread::yield_now();
    }
}

/// A process of a PID namespace that we cannot see is shown as 0.
pub(super) fn read_pids(procs: &File) -> io::Result<Vec<i32>> {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let length = procs.read_at(&mut buffer, text.len() as u64)?;
        if length == 0 {
            break;
        }
        text.extend_from_slice(&buffer[..length]);
    }
    Ok(String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| line.parse().ok())
        .filter(|&pid| pid > 0)
        .collect())
}

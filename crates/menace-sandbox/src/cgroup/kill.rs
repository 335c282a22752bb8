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

/// For how long a process that forks faster than it is killed is pursued.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

impl CgroupFiles {
    /// Kills every process of the group, also those that are being forked. The caller must not be
    /// in the group. Without `cgroup.kill` the caller's PID namespace must contain the processes.
    ///
    /// The signals are sent when this returns; the processes are gone when the group can be
    /// removed.
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

/// Kills the processes that the file lists, until it lists no new ones.
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
                // A process that is gone already needs no signal. 0 would mean our own process
                // group.
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

/// Reads the process ids. A process of a PID namespace that we cannot see is listed as 0.
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

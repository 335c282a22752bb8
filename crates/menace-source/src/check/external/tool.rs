//! Finds a program, and runs it with a limit on its time and its output.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use menace_files::resolve_named_path;

use thiserror::Error;

/// The most output of one run. A finding takes about a kilobyte.
const MAX_OUTPUT_BYTES: u64 = 256 << 20;
/// The most error output that is kept, for messages.
const MAX_STDERR_BYTES: u64 = 64 << 10;
/// The most bytes of arguments for one run: well below the system's limit, even with a full
/// environment.
const MAX_ARGUMENT_BYTES: usize = if cfg!(windows) { 24 << 10 } else { 96 << 10 };

#[derive(Debug, Error)]
pub(super) enum ScannerToolError {
    #[error("cannot find the directory `{root}`: {source}", root = root.display())]
    RootNotFound { root: PathBuf, source: io::Error },
    #[error("it does not start: {0}")]
    Start(io::Error),
    #[error("it took longer than {} s", .0.as_secs())]
    Timeout(Duration),
    #[error("it printed more than {} MiB", MAX_OUTPUT_BYTES >> 20)]
    OutputTooLarge,
    #[error("it failed with {status}: {said}")]
    Status { status: ExitStatus, said: String },
    #[error("its answer is not what was expected: {0}")]
    InvalidOutput(#[from] serde_json::Error),
    #[error("it does not say which version it is")]
    UnknownVersion,
}

/// The end of the time that all runs of a scan have together.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanDeadline {
    timeout: Duration,
    started: Instant,
}

impl ScanDeadline {
    pub(super) fn after(timeout: Duration) -> Self {
        Self { timeout, started: Instant::now() }
    }

    fn remaining(self) -> Duration {
        self.timeout.saturating_sub(self.started.elapsed())
    }
}

/// The first executable file of that name in `path` and outside of `repository`.
pub(super) fn find_executable(path: &OsStr, name: &str, repository: &Path) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .filter(|directory| {
            !resolve_named_path(directory).is_ok_and(|at| at.starts_with(repository))
        })
        .map(|directory| directory.join(&file))
        .find(|candidate| is_executable(candidate))
}

#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "in a directory of the user's `PATH`")]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// A command that neither the environment of the user nor the directory it starts in can turn
/// into something that writes files.
pub(super) fn build_command(executable: &Path) -> Command {
    let mut command = Command::new(executable);
    if let Some(directory) = executable.parent() {
        command.current_dir(directory);
    }
    for variable in ["RUFF_OUTPUT_FILE", "RUFF_OUTPUT_FORMAT", "RUFF_CONFIG", "RUFF_CACHE_DIR"] {
        command.env_remove(variable);
    }
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONSAFEPATH", "1").env("NO_COLOR", "1");
    // Bandit prints the code it found in the encoding of the terminal otherwise, and can fail.
    command.env("PYTHONUTF8", "1");
    command
}

/// The version that `--version` prints behind the name.
pub(super) fn query_version(
    executable: &Path,
    name: &str,
    deadline: ScanDeadline,
) -> Result<String, ScannerToolError> {
    let answer = run_tool(build_command(executable).arg("--version"), &[0], deadline)?;
    let answer = String::from_utf8_lossy(&answer);
    let mut words = answer.split_whitespace();
    match (words.next(), words.next()) {
        (Some(first), Some(version)) if first == name => Ok(version.to_owned()),
        _ => Err(ScannerToolError::UnknownVersion),
    }
}

/// Splits the paths so that each part fits on a command line.
pub(super) fn split_arguments(paths: &[PathBuf]) -> impl Iterator<Item = &[PathBuf]> {
    let mut rest = paths;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fitting = rest
            .iter()
            .take_while(|path| {
                bytes += path.as_os_str().len() + 1;
                bytes <= MAX_ARGUMENT_BYTES
            })
            .count();
        // A path that is too long by itself is tried nevertheless: the system decides.
        let (chunk, behind) = rest.split_at(fitting.max(1).min(rest.len()));
        rest = behind;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// Runs the command and returns its output, if its exit code is one of `accepted`.
pub(super) fn run_tool(
    command: &mut Command,
    accepted: &[i32],
    deadline: ScanDeadline,
) -> Result<Vec<u8>, ScannerToolError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = ScannerProcess(command.spawn().map_err(ScannerToolError::Start)?);
    let output = read_in_background(child.0.stdout.take(), MAX_OUTPUT_BYTES);
    let errors = read_in_background(child.0.stderr.take(), MAX_STDERR_BYTES);

    let printed = match output.recv_timeout(deadline.remaining()) {
        Ok(printed) => printed,
        Err(RecvTimeoutError::Timeout) => return Err(ScannerToolError::Timeout(deadline.timeout)),
        Err(RecvTimeoutError::Disconnected) => Vec::new(),
    };
    if printed.len() as u64 > MAX_OUTPUT_BYTES {
        return Err(ScannerToolError::OutputTooLarge);
    }
    let status = child.wait(deadline)?;
    if status.code().is_some_and(|code| accepted.contains(&code)) {
        return Ok(printed);
    }
    let said = errors.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let said = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no message");
    Err(ScannerToolError::Status { status, said: said.chars().take(200).collect() })
}

/// Reads a pipe in the background: one byte more than the limit, and drops the rest so that the
/// tool is never stuck on a full pipe.
fn read_in_background(pipe: Option<impl Read + Send + 'static>, limit: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let mut bytes = Vec::new();
        // After an error the part read so far is used; parsing fails if it was cut.
        let _ = pipe.by_ref().take(limit + 1).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
        let _ = io::copy(&mut pipe, &mut io::sink());
    });
    receiver
}

/// A child that does not outlive the scan.
struct ScannerProcess(Child);

impl ScannerProcess {
    /// The output has ended already, so the wait is for the last moments of the process.
    fn wait(&mut self, deadline: ScanDeadline) -> Result<ExitStatus, ScannerToolError> {
        loop {
            if let Some(status) = self.0.try_wait().map_err(ScannerToolError::Start)? {
                return Ok(status);
            }
            if deadline.remaining().is_zero() {
                return Err(ScannerToolError::Timeout(deadline.timeout));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for ScannerProcess {
    fn drop(&mut self) {
        // Both fail only when the process has ended and was waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_split_and_nothing_is_lost() {
        let paths: Vec<PathBuf> =
            (0..5000).map(|at| PathBuf::from(format!("/repository/{at:060}.py"))).collect();
        let parts: Vec<&[PathBuf]> = split_arguments(&paths).collect();
        assert!(parts.len() > 1);
        assert_eq!(parts.concat(), paths);
        assert_eq!(split_arguments(&[]).count(), 0);
    }

    #[test]
    fn a_path_that_is_too_long_stands_alone() {
        let paths = ["x".repeat(MAX_ARGUMENT_BYTES + 1).into(), PathBuf::from("/a.py")];
        assert_eq!(split_arguments(&paths).map(<[_]>::len).collect::<Vec<_>>(), [1, 1]);
    }
}

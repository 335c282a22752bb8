//! Runs an unknown program with a deadline, limited output, and an environment built from scratch.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::InterpreterError;

/// How many bytes of a failing program's standard error are kept.
const MAX_STDERR_BYTES: u64 = 2000;

#[derive(Debug, Clone, Copy)]
pub(super) struct ProgramLimits {
    pub(super) deadline: Duration,
    pub(super) output_bytes: u64,
}

/// Returns the program's standard output, if it succeeded in time.
pub(super) fn run_program(
    program: &Path,
    command: &mut Command,
    input: Vec<u8>,
    limits: ProgramLimits,
) -> Result<Vec<u8>, InterpreterError> {
    let end = Instant::now() + limits.deadline;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A process group of its own, so that processes which a wrapper script started are killed
        // with it.
        .process_group(0)
        .spawn()
        .map_err(|source| InterpreterError::Start { program: program.to_owned(), source })?;
    let streams = ProgramStreams::spawn_readers(&mut child, input, limits.output_bytes);
    let ended = streams.collect(end).and_then(|texts| Some((texts, wait_until(&mut child, end)?)));
    let Some(((stdout, stderr), status)) = ended else {
        kill(&mut child);
        return Err(InterpreterError::Deadline {
            program: program.to_owned(),
            seconds: limits.deadline.as_secs_f64(),
        });
    };
    if stdout.len() as u64 > limits.output_bytes {
        return Err(InterpreterError::TooMuchOutput {
            program: program.to_owned(),
            limit: limits.output_bytes,
        });
    }
    if !status.success() {
        return Err(InterpreterError::Failed {
            program: program.to_owned(),
            status,
            stderr: String::from_utf8_lossy(&stderr).trim().to_owned(),
        });
    }
    Ok(stdout)
}

/// Each stream is read by a thread, which ends with the program.
struct ProgramStreams {
    stdout: mpsc::Receiver<Vec<u8>>,
    stderr: mpsc::Receiver<Vec<u8>>,
}

impl ProgramStreams {
    fn spawn_readers(child: &mut Child, input: Vec<u8>, limit: u64) -> Self {
        if let Some(mut stdin) = child.stdin.take() {
            // Errors are ignored: a program that does not read its input gives a wrong answer.
            thread::spawn(move || stdin.write_all(&input));
        }
        Self {
            stdout: read_in_thread(child.stdout.take(), limit + 1, |_| {}),
            // The rest is discarded, so that the program does not block on a full pipe.
            stderr: read_in_thread(child.stderr.take(), MAX_STDERR_BYTES, |mut rest| {
                let _ = io::copy(&mut rest, &mut io::sink());
            }),
        }
    }

    fn collect(&self, end: Instant) -> Option<(Vec<u8>, Vec<u8>)> {
        let by = |stream: &mpsc::Receiver<Vec<u8>>| {
            stream.recv_timeout(end.saturating_duration_since(Instant::now())).ok()
        };
        Some((by(&self.stdout)?, by(&self.stderr)?))
    }
}

fn read_in_thread<S: Read + Send + 'static>(
    stream: Option<S>,
    limit: u64,
    finish: impl FnOnce(S) + Send + 'static,
) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.by_ref().take(limit).read_to_end(&mut kept);
            finish(stream);
        }
        let _ = send.send(kept);
    });
    receive
}

fn wait_until(child: &mut Child, end: Instant) -> Option<std::process::ExitStatus> {
    let mut pause = Duration::from_micros(50);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < end => {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(5));
            }
            _ => return None,
        }
    }
}

fn kill(child: &mut Child) {
    let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, deadline_ms: u64) -> Result<Vec<u8>, InterpreterError> {
        let limits =
            ProgramLimits { deadline: Duration::from_millis(deadline_ms), output_bytes: 1000 };
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        run_program(Path::new("/bin/sh"), &mut command, b"input".to_vec(), limits)
    }

    #[test]
    fn the_output_of_a_success_is_returned() {
        assert_eq!(shell("cat", 10_000).unwrap(), b"input");
    }

    #[test]
    fn a_failure_tells_what_the_program_complained_about() {
        let error = shell("echo why >&2; exit 3", 10_000).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("why") && text.contains('3'), "{text}");
    }

    #[test]
    fn a_program_that_hangs_dies_with_what_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let pid = directory.path().join("pid");
        let script = format!("sleep 1000 & echo $! > '{}'; wait", pid.display());
        let error = shell(&script, 300).unwrap_err();
        assert!(matches!(error, InterpreterError::Deadline { .. }), "{error}");
        let pid = std::fs::read_to_string(pid).unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        assert!(!stat.is_ok_and(|stat| stat.contains("(sleep) S")));
    }

    #[test]
    fn endless_output_is_cut_off_at_once() {
        let start = Instant::now();
        let error = shell("yes", 10_000).unwrap_err();
        assert!(matches!(error, InterpreterError::TooMuchOutput { limit: 1000, .. }), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_program_that_is_none_cannot_be_started() {
        let limits = ProgramLimits { deadline: Duration::from_secs(10), output_bytes: 1000 };
        let program = Path::new("/nowhere/python");
        let error =
            run_program(program, &mut Command::new(program), Vec::new(), limits).unwrap_err();
        assert!(error.to_string().contains("/nowhere/python"), "{error}");
    }
}

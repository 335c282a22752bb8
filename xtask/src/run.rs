//! Starting other programs, with an error that says which one failed.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The root of the workspace.
pub(crate) fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Where Cargo builds: also the place for what the chores install.
#[expect(clippy::disallowed_methods, reason = "Cargo's own variable, not a setting of Menace")]
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace_root().join("target"), PathBuf::from)
}

/// A program to start in the root of the workspace.
pub(crate) struct ProgramCommand(Command);

pub(crate) fn program<A: AsRef<OsStr>>(
    name: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> ProgramCommand {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(workspace_root());
    ProgramCommand(command)
}

#[expect(clippy::disallowed_methods, reason = "Cargo's own variable, not a setting of Menace")]
pub(crate) fn cargo<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> ProgramCommand {
    program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), arguments)
}

impl ProgramCommand {
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.0.arg(argument);
        self
    }

    pub(crate) fn in_directory(mut self, directory: &Path) -> Self {
        self.0.current_dir(directory);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.0.env_remove(name);
        self
    }

    /// Starts it and fails when it fails.
    pub(crate) fn run(mut self) -> Result<()> {
        let status = self.0.status().with_context(|| format!("cannot start {:?}", self.0))?;
        ensure!(status.success(), "{:?} failed: {status}", self.0);
        Ok(())
    }

    /// Starts it and returns what it prints.
    pub(crate) fn output(mut self) -> Result<String> {
        let command = self.0.stderr(Stdio::inherit());
        let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
        ensure!(output.status.success(), "{command:?} failed: {}", output.status);
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Starts it and returns whether it succeeded and what it said on standard error.
    pub(crate) fn output_and_messages(mut self) -> Result<(bool, String)> {
        let output = self.0.output().with_context(|| format!("cannot start {:?}", self.0))?;
        let messages = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Ok((output.status.success(), messages))
    }

    /// Starts it, shows each line that it prints and hands it to `read`; whether it succeeded.
    #[expect(clippy::print_stdout, reason = "this is the user interface of xtask")]
    pub(crate) fn run_with_lines(mut self, mut read: impl FnMut(&str)) -> Result<bool> {
        let command = self.0.stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let output = child.stdout.take().expect("standard output is piped");
        for line in BufReader::new(output).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            read(&line);
            println!("{line}");
        }
        Ok(child.wait()?.success())
    }

    pub(crate) fn succeeds(mut self) -> bool {
        let quiet = self.0.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    }
}

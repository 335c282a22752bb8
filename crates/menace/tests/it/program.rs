//! Runs the real binary on copies of the fixtures, with an environment that holds nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where a Python is, on machines that have one.
pub(crate) const PYTHON_PATH: (&str, &str) = ("PATH", "/usr/local/bin:/usr/bin:/bin");

/// For commands that start sandboxes: a Python, and no purge, which would find what the tests
/// beside this one have just killed.
pub(crate) const SANDBOX_VARIABLES: [(&str, &str); 2] =
    [PYTHON_PATH, ("MENACE_LIGHT_IMPORTS", "1")];

/// A directory of its own for one test: the working directory of what it runs.
pub(crate) struct TestDirectory {
    directory: tempfile::TempDir,
    /// The cache and the temporary directory of what it runs.
    cache_and_temp: tempfile::TempDir,
}

/// What a run printed, and how it ended.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Asked for by `cargo xtask long`.
#[expect(clippy::disallowed_methods, reason = "not a setting of Menace")]
pub(crate) fn is_long() -> bool {
    std::env::var_os("MENACE_LONG_TESTS").is_some()
}

impl TestDirectory {
    pub(crate) fn new() -> Self {
        let place = Self {
            directory: tempfile::tempdir().unwrap(),
            cache_and_temp: tempfile::tempdir().unwrap(),
        };
        // Guests and other users have business there.
        set_mode(place.cache_and_temp.path(), 0o755);
        for directory in [place.cache_dir(), place.temp_dir()] {
            fs::create_dir(&directory).unwrap();
            set_mode(&directory, 0o1777);
        }
        place
    }

    /// `XDG_CACHE_HOME`.
    pub(crate) fn cache_dir(&self) -> PathBuf {
        self.cache_and_temp.path().join("cache")
    }

    /// `XDG_DATA_HOME`.
    pub(crate) fn data_home(&self) -> PathBuf {
        self.cache_and_temp.path().join("data")
    }

    /// `TMPDIR`.
    pub(crate) fn temp_dir(&self) -> PathBuf {
        self.cache_and_temp.path().join("tmp")
    }

    /// With a copy of a fixture in it.
    pub(crate) fn with_fixture(name: &str) -> Self {
        let place = Self::new();
        place.copy_fixture(name, name);
        place
    }

    pub(crate) fn copy_fixture(&self, name: &str, to: &str) {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
        copy_tree(&fixtures.join(name), &self.path().join(to));
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.with_environment(Command::new(env!("CARGO_BIN_EXE_menace")), arguments)
    }

    pub(crate) fn with_environment(&self, mut command: Command, arguments: &[&str]) -> Command {
        command.args(arguments).current_dir(self.path()).env_clear();
        command.env("XDG_CACHE_HOME", self.cache_dir()).env("TMPDIR", self.temp_dir());
        command.env("XDG_DATA_HOME", self.data_home());
        command
    }

    /// Runs without root: as another user where the tests run as root.
    pub(crate) fn unprivileged_command(&self, arguments: &[&str]) -> Command {
        set_mode(self.path(), 0o777);
        // The build directory may be closed to others.
        let binary = self.path().join("menace");
        fs::copy(env!("CARGO_BIN_EXE_menace"), &binary).unwrap();
        set_mode(&binary, 0o755);
        let mut command = self.with_environment(Command::new(binary), arguments);
        if nix::unistd::geteuid().is_root() {
            command.uid(65534).gid(65534);
        }
        command
    }

    /// As on a machine that gives no isolation: without system call filters there is no tier.
    pub(crate) fn command_without_isolation(&self, arguments: &[&str]) -> Command {
        assert!(nix::unistd::geteuid().is_root(), "only root can hide things: run this as root");
        let hide = "mount -t tmpfs none /proc/sys/kernel/seccomp && exec \"$0\" \"$@\"";
        let menace = ["--mount", "sh", "-c", hide, env!("CARGO_BIN_EXE_menace")];
        self.with_environment(Command::new("unshare"), &[&menace, arguments].concat())
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        CommandOutput::from(self.command(arguments).output().unwrap())
    }

    pub(crate) fn run_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        CommandOutput::from(command.output().unwrap())
    }

    /// Every file below a directory with its content, to see that nothing changed.
    pub(crate) fn files(&self, below: impl AsRef<Path>) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut waiting = vec![self.path().join(below)];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path);
                } else {
                    let content = fs::read(&path).unwrap();
                    files.push((path, content));
                }
            }
        }
        files.sort();
        files
    }
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl CommandOutput {
    /// The output as JSON; the run must have succeeded.
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, Some(0), "{}", self.err);
        serde_json::from_str(&self.out).unwrap()
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

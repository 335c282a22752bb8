//! Resolves the shims by which pyenv, asdf, mise and rye choose a Python: running Python through
//! one costs more than many calls.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use menace_files::UntrustedDir;

use super::run::{self, ProgramLimits};
use super::{InterpreterError, InterpreterSearch};

const SHIM_LIMITS: ProgramLimits =
    ProgramLimits { deadline: Duration::from_secs(10), output_bytes: 16 << 10 };

const MAX_VERSION_FILE_BYTES: u64 = 64 << 10;

const EXECUTABLE_SCRIPT: &str = "import sys; sys.stdout.write(sys.executable)";

#[derive(Debug)]
pub(super) struct ShimAnswer {
    pub(super) executable: PathBuf,
    pub(super) warning: Option<String>,
}

/// Runs the shim in the repository, whose `.python-version` chooses the version, as long as that
/// file contains nothing but version names. Otherwise, or when that version is not installed, runs
/// it in `/`.
pub(super) fn resolve_shim(
    search: &InterpreterSearch<'_>,
    shim: &Path,
) -> Result<ShimAnswer, InterpreterError> {
    let warning = if only_names_versions(search.repository) {
        match ask_shim(search, shim, search.repository) {
            Ok(executable) => {
                return Ok(ShimAnswer { executable, warning: None });
            }
            Err(error @ (InterpreterError::Deadline { .. } | InterpreterError::Start { .. })) => {
                return Err(error);
            }
            Err(error) => {
                format!("the Python that the repository asks for cannot be used: {error}")
            }
        }
    } else {
        "the repository's choice of Python is ignored: its .python-version or .tool-versions \
         names more than a version"
            .to_owned()
    };
    ask_shim(search, shim, Path::new("/"))
        .map(|executable| ShimAnswer { executable, warning: Some(warning) })
}

#[expect(clippy::disallowed_methods, reason = "what the shim names is judged like any interpreter")]
fn ask_shim(
    search: &InterpreterSearch<'_>,
    shim: &Path,
    directory: &Path,
) -> Result<PathBuf, InterpreterError> {
    let mut command = Command::new(shim);
    command
        .args(["-I", "-S", "-B", "-c", EXECUTABLE_SCRIPT])
        .env_clear()
        .env("PATH", search.path)
        .current_dir(directory);
    if let Some(home) = search.home {
        command.env("HOME", home);
    }
    let answer = run::run_program(shim, &mut command, Vec::new(), SHIM_LIMITS)?;
    let answer = String::from_utf8_lossy(&answer);
    let executable = PathBuf::from(answer.trim());
    if executable.is_absolute() && executable.is_file() {
        Ok(executable)
    } else {
        Err(InterpreterError::Shim {
            shim: shim.to_owned(),
            answer: answer.chars().take(80).collect(),
        })
    }
}

/// Whether the files contain only version names. A path in them would make the shim run a program
/// there, which an untrusted repository must not do.
fn only_names_versions(repository: &Path) -> bool {
    [".python-version", ".tool-versions"].iter().all(|name| {
        let read = UntrustedDir::open(repository)
            .and_then(|repository| repository.read(Path::new(name), MAX_VERSION_FILE_BYTES));
        read.map_or_else(
            |error| error.kind() == io::ErrorKind::NotFound,
            |text| {
                let is_plain =
                    |byte: &u8| byte.is_ascii_alphanumeric() || b" .-_+#,\t\r\n".contains(byte);
                text.iter().all(is_plain) && !text.windows(2).any(|pair| pair == b"..")
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_version_file_may_name_versions_but_no_paths() {
        let repository = tempfile::tempdir().unwrap();
        let file = repository.path().join(".python-version");
        assert!(only_names_versions(repository.path()));
        for (text, is_plain) in [
            ("3.11.7\n", true),
            ("my-env_1\n3.9\n", true),
            ("../../evil", false),
            ("..", false),
            ("path:evil", false),
            ("/evil", false),
        ] {
            fs::write(&file, text).unwrap();
            assert_eq!(only_names_versions(repository.path()), is_plain, "{text:?}");
        }
        fs::remove_file(&file).unwrap();
        nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(!only_names_versions(repository.path()), "it is not waited for");
    }
}

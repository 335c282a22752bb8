//! Finds the Python of a repository without running anything that the repository could have
//! written.
//!
//! A virtual environment inside the repository is untrusted: its `python` may be a program of its
//! own, its `pyvenv.cfg` may name a standard library of its own. So it is only read here, and no
//! link to it is followed. What runs on the host is the base interpreter that it points to, which
//! must be in a trusted place.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use menace_files::{FileRefusal, UntrustedDir, refusal_of, resolve_named_path};

use super::{InterpreterError, InterpreterOrigin, InterpreterSearch, shim, trust};

const CONFIG_FILE: &str = "pyvenv.cfg";
const MAX_CONFIG_BYTES: u64 = 64 << 10;

/// An interpreter that may be run with `probe.py`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundInterpreter {
    /// The path with which the guest starts it.
    pub(super) executable: PathBuf,
    /// The same path with all links resolved.
    pub(super) real_path: PathBuf,
    /// The program that is started on the host to describe the interpreter.
    pub(super) base_executable: PathBuf,
    pub(super) venv: Option<VirtualEnvironment>,
    pub(super) origin: InterpreterOrigin,
    pub(super) warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VirtualEnvironment {
    pub(super) directory: PathBuf,
    pub(super) config: String,
    pub(super) system_site: bool,
    /// Whether the repository could have written the environment.
    pub(super) untrusted: bool,
}

/// An interpreter that is examined when its turn comes, since resolving a shim takes long.
#[derive(Debug)]
pub(super) enum InterpreterCandidate<'a> {
    Flag(&'a Path),
    Discovered(PathBuf, InterpreterOrigin),
    /// Not even looked at.
    Refused(InterpreterError),
}

impl InterpreterCandidate<'_> {
    pub(super) fn inspect(
        self,
        search: &InterpreterSearch<'_>,
    ) -> Result<FoundInterpreter, InterpreterError> {
        match self {
            Self::Flag(flag) => find_flagged(search, flag),
            Self::Discovered(path, origin) => inspect_executable(search, &path, origin),
            Self::Refused(error) => Err(error),
        }
    }
}

/// The candidates, best first; one may turn out to be unsuitable when it is examined. When the user
/// or the repository has chosen an interpreter that does not work, that is an error: no other one
/// is tried.
pub(super) fn list_candidates<'a>(
    search: &InterpreterSearch<'a>,
) -> Result<Vec<InterpreterCandidate<'a>>, InterpreterError> {
    if let Some(flag) = search.python {
        return Ok(vec![InterpreterCandidate::Flag(flag)]);
    }
    let (mut tried, mut candidates) = (Vec::new(), Vec::new());
    for name in [".venv", "venv"] {
        let directory = search.repository.join(name);
        let executable = directory.join("bin/python");
        match read_repository_config(search, &directory) {
            Ok(Some(_)) => {
                let origin = InterpreterOrigin::Venv;
                candidates.push(InterpreterCandidate::Discovered(executable, origin));
                return Ok(candidates);
            }
            Ok(None) => {}
            Err(error) => {
                candidates.push(InterpreterCandidate::Refused(error));
                continue;
            }
        }
        tried.push(if directory.is_dir() {
            format!("`{}` (not a virtual environment: it has no pyvenv.cfg)", directory.display())
        } else {
            format!("`{}`", executable.display())
        });
    }
    let on_path =
        ["python3", "python"].iter().flat_map(|name| find_on_path(search, OsStr::new(name)));
    candidates.extend(
        on_path.map(|path| InterpreterCandidate::Discovered(path, InterpreterOrigin::Path)),
    );
    if candidates.is_empty() {
        let path = search.path.to_string_lossy();
        tried.push(format!("`python3` and `python` on the PATH ({path})"));
        return Err(InterpreterError::NotFound { tried });
    }
    Ok(candidates)
}

fn find_flagged(
    search: &InterpreterSearch<'_>,
    flag: &Path,
) -> Result<FoundInterpreter, InterpreterError> {
    let missing = || InterpreterError::NoSuchExecutable { path: flag.to_owned() };
    // A name without a slash is searched on the PATH, as in a shell.
    let path = if flag.as_os_str().as_bytes().contains(&b'/') || flag.is_dir() {
        std::path::absolute(flag).map_err(|_| missing())?
    } else {
        find_on_path(search, flag.as_os_str()).next().ok_or_else(missing)?
    };
    let path = if path.is_dir() { path.join("bin/python") } else { path };
    if resolve_named_path(&path).is_err() {
        return Err(missing());
    }
    inspect_executable(search, &path, InterpreterOrigin::Flag)
}

/// Executables of that name on the PATH.
fn find_on_path<'a>(
    search: &'a InterpreterSearch<'_>,
    name: &'a OsStr,
) -> impl Iterator<Item = PathBuf> + 'a {
    path_directories(search)
        .map(move |directory| directory.join(name))
        .filter(|path| is_executable(path))
}

/// Relative entries of the PATH are skipped: they would mean the current directory.
pub(super) fn path_directories<'a>(
    search: &'a InterpreterSearch<'_>,
) -> impl Iterator<Item = &'a Path> {
    search
        .path
        .as_bytes()
        .split(|&byte| byte == b':')
        .map(|entry| Path::new(OsStr::from_bytes(entry)))
        .filter(|directory| directory.is_absolute())
}

#[expect(clippy::disallowed_methods, reason = "nothing is opened; `trust` decides what is run")]
fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn inspect_executable(
    search: &InterpreterSearch<'_>,
    executable: &Path,
    origin: InterpreterOrigin,
) -> Result<FoundInterpreter, InterpreterError> {
    let mut warnings = Vec::new();
    let mut executable = with_real_repository(search, executable);
    let mut real = resolve_executable(&executable, origin)?;
    if is_shim(&real) {
        refuse_untrusted(search, &executable, &real, origin)?;
        let answer = shim::resolve_shim(search, &executable)?;
        warnings.extend(answer.warning);
        executable = with_real_repository(search, &answer.executable);
        real = resolve_executable(&executable, origin)?;
        if is_shim(&real) {
            return Err(InterpreterError::Shim {
                shim: executable,
                answer: real.display().to_string(),
            });
        }
    }
    let venv = find_venv(search, &executable)?;
    if let Some(venv) = &venv
        && origin != InterpreterOrigin::Flag
        && executable.starts_with(search.repository)
        && !venv.untrusted
    {
        return Err(InterpreterError::LinkedVenv { directory: venv.directory.clone() });
    }
    let base = match &venv {
        Some(venv) => find_base(search, venv, &real)?,
        None => real.clone(),
    };
    refuse_untrusted(search, &executable, &base, origin)?;
    Ok(FoundInterpreter {
        executable,
        real_path: real,
        base_executable: base,
        venv,
        origin,
        warnings,
    })
}

fn resolve_executable(
    executable: &Path,
    origin: InterpreterOrigin,
) -> Result<PathBuf, InterpreterError> {
    let real = resolve_named_path(executable).map_err(|source| match origin {
        InterpreterOrigin::Venv => InterpreterError::BrokenVenv {
            executable: executable.to_owned(),
            why: format!("its interpreter is missing or points to nowhere ({source})"),
        },
        InterpreterOrigin::Flag | InterpreterOrigin::Path => {
            InterpreterError::Unreadable { path: executable.to_owned(), source }
        }
    })?;
    if is_executable(&real) {
        Ok(real)
    } else {
        Err(InterpreterError::NotExecutable { path: executable.to_owned() })
    }
}

/// Refuses to run a program of the repository on the host, unless the user named it.
fn refuse_untrusted(
    search: &InterpreterSearch<'_>,
    executable: &Path,
    base: &Path,
    origin: InterpreterOrigin,
) -> Result<(), InterpreterError> {
    let is_trusted = match origin {
        InterpreterOrigin::Flag => true,
        // A link in the repository may lead to any program of the host, so the name is checked,
        // too.
        _ if trust::leads_through_repository(search, executable) => {
            trust::is_trusted_location(search, base) && is_named_python(base)
        }
        _ => !base.starts_with(search.repository),
    };
    if is_trusted {
        Ok(())
    } else {
        Err(InterpreterError::Untrusted {
            executable: executable.to_owned(),
            base: base.to_owned(),
        })
    }
}

/// Replaces the part of a path that leads to the repository by the repository's canonical path,
/// which the sandbox maps to its own. Links inside of the repository are kept.
pub(super) fn with_real_repository(search: &InterpreterSearch<'_>, path: &Path) -> PathBuf {
    let is_repository =
        |above: &&Path| resolve_named_path(above).is_ok_and(|real| real == search.repository);
    let inner = path.ancestors().find(is_repository).and_then(|top| path.strip_prefix(top).ok());
    inner.map_or_else(|| path.to_owned(), |inner| search.repository.join(inner))
}

/// Whether it is a version manager's shim: pyenv and asdf use scripts, mise and rye link to their
/// own program.
fn is_shim(real: &Path) -> bool {
    let mut start = [0; 2];
    let is_script = menace_files::open_file(real)
        .and_then(|file| file.into_file().read_exact(&mut start))
        .is_ok_and(|()| &start == b"#!");
    is_script || !is_named_python(real)
}

fn is_named_python(real: &Path) -> bool {
    let name = real.file_name().unwrap_or_default().as_bytes();
    // NixOS wraps the program: `.python3.11-wrapped`.
    let name = name.strip_prefix(b".").unwrap_or(name);
    name.starts_with(b"python") || name.starts_with(b"pypy")
}

/// Reads `pyvenv.cfg`, which Python expects beside the executable or one directory up.
fn find_venv(
    search: &InterpreterSearch<'_>,
    executable: &Path,
) -> Result<Option<VirtualEnvironment>, InterpreterError> {
    let Some(bin) = executable.parent() else {
        return Ok(None);
    };
    for directory in [Some(bin), bin.parent()].into_iter().flatten() {
        let real = resolve_named_path(directory).unwrap_or_else(|_| directory.to_owned());
        let untrusted = real.starts_with(search.repository);
        let config = if untrusted {
            let inside = directory.starts_with(search.repository);
            read_repository_config(search, if inside { directory } else { &real })?
        } else {
            read_config(directory)?
        };
        let Some(config) = config else {
            continue;
        };
        return Ok(Some(VirtualEnvironment {
            system_site: config_value(&config, "include-system-site-packages")
                .is_some_and(|value| value.eq_ignore_ascii_case("true")),
            untrusted,
            directory: directory.to_owned(),
            config,
        }));
    }
    Ok(None)
}

/// The configuration of an environment in the repository; an error when a link is on the way.
fn read_repository_config(
    search: &InterpreterSearch<'_>,
    directory: &Path,
) -> Result<Option<String>, InterpreterError> {
    let path = directory.join(CONFIG_FILE);
    let inner = path.strip_prefix(search.repository).unwrap_or(&path);
    let read = UntrustedDir::open(search.repository)
        .and_then(|repository| repository.read_to_string(inner, MAX_CONFIG_BYTES));
    match read {
        Err(error) if matches!(refusal_of(&error), Some(FileRefusal::Link { .. })) => {
            Err(InterpreterError::LinkedVenv { directory: directory.to_owned() })
        }
        read => config_or_absence(read, path),
    }
}

/// The configuration of an environment of the user.
#[expect(clippy::disallowed_methods, reason = "links in an environment of the user are the user's")]
fn read_config(directory: &Path) -> Result<Option<String>, InterpreterError> {
    let path = directory.join(CONFIG_FILE);
    let read = File::open(&path).and_then(|file| {
        let mut config = String::new();
        file.take(MAX_CONFIG_BYTES).read_to_string(&mut config).map(|_| config)
    });
    config_or_absence(read, path)
}

fn config_or_absence(
    read: io::Result<String>,
    path: PathBuf,
) -> Result<Option<String>, InterpreterError> {
    match read {
        Ok(config) => Ok(Some(config)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(source) => Err(InterpreterError::Unreadable { path, source }),
    }
}

/// A value of `pyvenv.cfg`.
fn config_value<'a>(config: &'a str, key: &str) -> Option<&'a str> {
    config.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        name.trim().eq_ignore_ascii_case(key).then(|| value.trim())
    })
}

/// The base interpreter of the environment that this executable belongs to, if it does to one.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn find_base_of(
    search: &InterpreterSearch<'_>,
    executable: &Path,
) -> Result<Option<PathBuf>, InterpreterError> {
    let venv = find_venv(search, executable)?;
    venv.map(|venv| find_base(search, &venv, executable)).transpose()
}

/// The interpreter that a virtual environment was made from: the target of its `python` link, or,
/// if that is a copy, the program of the same name in its `home`.
fn find_base(
    search: &InterpreterSearch<'_>,
    venv: &VirtualEnvironment,
    real: &Path,
) -> Result<PathBuf, InterpreterError> {
    let broken = |why: String| InterpreterError::BrokenVenv {
        executable: venv.directory.join("bin/python"),
        why,
    };
    let home = config_value(&venv.config, "home")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
        .ok_or_else(|| broken("its pyvenv.cfg names no `home`".to_owned()))?;
    let home = resolve_named_path(&home).map_err(|_| {
        broken(format!("the Python that it was made from is gone (`{}`)", home.display()))
    })?;
    let directory = resolve_named_path(&venv.directory).unwrap_or_else(|_| venv.directory.clone());
    if !real.starts_with(&directory) {
        return trust_home(search, venv, &home, real.to_owned());
    }
    let version = ["version", "version_info"]
        .iter()
        .find_map(|key| config_value(&venv.config, key))
        .map(|version| version.splitn(3, '.').take(2).collect::<Vec<_>>().join("."));
    let names = version.map(|version| format!("python{version}"));
    names
        .iter()
        .map(String::as_str)
        .chain(["python3", "python"])
        .map(|name| home.join(name))
        .find(|path| is_executable(path))
        .and_then(|path| resolve_named_path(&path).ok())
        .ok_or_else(|| broken(format!("there is no Python in its home `{}`", home.display())))
        .and_then(|base| trust_home(search, venv, &home, base))
}

/// The base interpreter, unless the repository gives it another home than it has.
fn trust_home(
    search: &InterpreterSearch<'_>,
    venv: &VirtualEnvironment,
    home: &Path,
    base: PathBuf,
) -> Result<PathBuf, InterpreterError> {
    let is_its_own = base.parent() == Some(home);
    if venv.untrusted && !is_its_own && !trust::is_trusted_location(search, home) {
        return Err(InterpreterError::Untrusted {
            executable: venv.directory.join("bin/python"),
            base: home.to_owned(),
        });
    }
    Ok(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_virtual_environment_are_read_as_python_reads_them() {
        let config = "home = /usr/bin\nInclude-System-Site-Packages=TRUE\nversion = 3.11.2\nx\n";
        assert_eq!(config_value(config, "home"), Some("/usr/bin"));
        let system = config_value(config, "include-system-site-packages");
        assert_eq!(system, Some("TRUE"));
        assert_eq!(config_value(config, "prompt"), None);
    }
}

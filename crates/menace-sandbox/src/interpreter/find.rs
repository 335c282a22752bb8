//! Finds the Python of a repository without running a line that the repository could have written.
//!
//! A virtual environment inside the repository is untrusted: its `python` may be a program of its own,
//! its `pyvenv.cfg` may name a standard library of its own. So it is only read here. What runs on the
//! host is the base interpreter that it points to, which must lie outside of the repository.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Error, Origin, Search, shim};

/// An interpreter that may be asked about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// As the guest must start it.
    pub(super) executable: PathBuf,
    /// What that is once links are followed.
    pub(super) real: PathBuf,
    /// What is started on the host to describe it.
    pub(super) base: PathBuf,
    pub(super) venv: Option<Venv>,
    pub(super) origin: Origin,
    pub(super) warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Venv {
    pub(super) directory: PathBuf,
    pub(super) config: String,
    pub(super) system_site: bool,
    /// Whether the repository could have written it.
    pub(super) untrusted: bool,
}

/// An interpreter that is looked at when its turn comes: looking behind a shim takes long.
#[derive(Debug)]
pub(super) enum Candidate<'a> {
    Flag(&'a Path),
    Other(PathBuf, Origin),
}

impl Candidate<'_> {
    pub(super) fn look(self, search: &Search<'_>) -> Result<Found, Error> {
        match self {
            Self::Flag(flag) => flagged(search, flag),
            Self::Other(path, origin) => found(search, &path, origin),
        }
    }
}

/// The candidates, best first; each may turn out to be unfit when it is asked. A broken choice of the
/// user or of the repository is an error, not a reason to look further.
pub(super) fn candidates<'a>(search: &Search<'a>) -> Result<Vec<Candidate<'a>>, Error> {
    if let Some(flag) = search.python {
        return Ok(vec![Candidate::Flag(flag)]);
    }
    let mut tried = Vec::new();
    for name in [".venv", "venv"] {
        let directory = search.repository.join(name);
        let executable = directory.join("bin/python");
        if directory.join("pyvenv.cfg").is_file() {
            return Ok(vec![Candidate::Other(executable, Origin::Venv)]);
        }
        tried.push(if directory.is_dir() {
            format!("`{}` (not a virtual environment: it has no pyvenv.cfg)", directory.display())
        } else {
            format!("`{}`", executable.display())
        });
    }
    let on_path = ["python3", "python"].iter().flat_map(|name| on_path(search, OsStr::new(name)));
    let on_path: Vec<_> = on_path.map(|path| Candidate::Other(path, Origin::Path)).collect();
    if on_path.is_empty() {
        let path = search.path.to_string_lossy();
        tried.push(format!("`python3` and `python` on the PATH ({path})"));
        return Err(Error::NotFound { tried });
    }
    Ok(on_path)
}

fn flagged(search: &Search<'_>, flag: &Path) -> Result<Found, Error> {
    let missing = || Error::Missing { path: flag.to_owned() };
    // A bare word is a name on the PATH, as in a shell.
    let path = if flag.as_os_str().as_bytes().contains(&b'/') || flag.is_dir() {
        std::path::absolute(flag).map_err(|_| missing())?
    } else {
        on_path(search, flag.as_os_str()).next().ok_or_else(missing)?
    };
    let path = if path.is_dir() { path.join("bin/python") } else { path };
    if !path.exists() {
        return Err(missing());
    }
    found(search, &path, Origin::Flag)
}

/// Executables of that name; relative entries of the PATH would mean the directory we stand in.
fn on_path<'a>(search: &'a Search<'_>, name: &'a OsStr) -> impl Iterator<Item = PathBuf> + 'a {
    search
        .path
        .as_bytes()
        .split(|&byte| byte == b':')
        .map(|entry| Path::new(OsStr::from_bytes(entry)))
        .filter(|directory| directory.is_absolute())
        .map(move |directory| directory.join(name))
        .filter(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn found(search: &Search<'_>, executable: &Path, origin: Origin) -> Result<Found, Error> {
    let mut warnings = Vec::new();
    let mut executable = under_real_name(search, executable);
    let mut real = resolved(&executable, origin)?;
    if is_shim(&real) {
        refuse_untrusted(search, &executable, &real, origin)?;
        let answer = shim::executable_behind(search, &executable)?;
        warnings.extend(answer.warning);
        executable = under_real_name(search, &answer.executable);
        real = resolved(&executable, origin)?;
        if is_shim(&real) {
            return Err(Error::Shim { shim: executable, answer: real.display().to_string() });
        }
    }
    let venv = venv_of(search, &executable)?;
    let base = match &venv {
        Some(venv) => base_of(search, venv, &real)?,
        None => real.clone(),
    };
    refuse_untrusted(search, &executable, &base, origin)?;
    Ok(Found { executable, real, base, venv, origin, warnings })
}

fn resolved(executable: &Path, origin: Origin) -> Result<PathBuf, Error> {
    let real = fs::canonicalize(executable).map_err(|source| match origin {
        Origin::Venv => Error::BrokenVenv {
            executable: executable.to_owned(),
            why: format!("its interpreter is missing or points to nowhere ({source})"),
        },
        Origin::Flag | Origin::Path => Error::Unreadable { path: executable.to_owned(), source },
    })?;
    if is_executable(&real) {
        Ok(real)
    } else {
        Err(Error::NotExecutable { path: executable.to_owned() })
    }
}

/// What the repository brings along is never run on the host, unless the user names it.
fn refuse_untrusted(
    search: &Search<'_>,
    executable: &Path,
    base: &Path,
    origin: Origin,
) -> Result<(), Error> {
    let is_trusted = match origin {
        Origin::Flag => true,
        Origin::Path => !base.starts_with(search.repository),
        // A link of the repository may lead to any program of the host.
        Origin::Venv => !base.starts_with(search.repository) && is_named_python(base),
    };
    if is_trusted {
        Ok(())
    } else {
        Err(Error::Untrusted { executable: executable.to_owned(), base: base.to_owned() })
    }
}

/// A path that leads into the repository, written with the repository's real name: inside of a
/// sandbox it has another, which takes that one's place. Links beyond that count as they are.
fn under_real_name(search: &Search<'_>, path: &Path) -> PathBuf {
    let is_repository =
        |above: &&Path| fs::canonicalize(above).is_ok_and(|real| real == search.repository);
    let inner = path.ancestors().find(is_repository).and_then(|top| path.strip_prefix(top).ok());
    inner.map_or_else(|| path.to_owned(), |inner| search.repository.join(inner))
}

/// pyenv and asdf have scripts, mise and rye link to themselves.
fn is_shim(real: &Path) -> bool {
    let mut start = [0; 2];
    let is_script = File::open(real)
        .and_then(|mut file| file.read_exact(&mut start))
        .is_ok_and(|()| &start == b"#!");
    is_script || !is_named_python(real)
}

fn is_named_python(real: &Path) -> bool {
    let name = real.file_name().unwrap_or_default().as_bytes();
    // NixOS wraps: `.python3.11-wrapped`.
    let name = name.strip_prefix(b".").unwrap_or(name);
    name.starts_with(b"python") || name.starts_with(b"pypy")
}

/// `pyvenv.cfg` stands beside the executable or one directory up; that is where Python looks.
fn venv_of(search: &Search<'_>, executable: &Path) -> Result<Option<Venv>, Error> {
    const LARGEST_CONFIG: u64 = 64 << 10;
    let Some(bin) = executable.parent() else {
        return Ok(None);
    };
    for directory in [Some(bin), bin.parent()].into_iter().flatten() {
        let path = directory.join("pyvenv.cfg");
        let Ok(file) = File::open(&path) else {
            continue;
        };
        let mut config = String::new();
        file.take(LARGEST_CONFIG)
            .read_to_string(&mut config)
            .map_err(|source| Error::Unreadable { path, source })?;
        let real = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        return Ok(Some(Venv {
            system_site: setting(&config, "include-system-site-packages")
                .is_some_and(|value| value.eq_ignore_ascii_case("true")),
            untrusted: real.starts_with(search.repository),
            directory: directory.to_owned(),
            config,
        }));
    }
    Ok(None)
}

/// A value of `pyvenv.cfg`.
fn setting<'a>(config: &'a str, key: &str) -> Option<&'a str> {
    config.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        name.trim().eq_ignore_ascii_case(key).then(|| value.trim())
    })
}

/// The interpreter that a virtual environment was made from: where its `python` leads, or for a copied
/// one the program of the same kind in its `home`.
fn base_of(search: &Search<'_>, venv: &Venv, real: &Path) -> Result<PathBuf, Error> {
    let broken =
        |why: String| Error::BrokenVenv { executable: venv.directory.join("bin/python"), why };
    let home = setting(&venv.config, "home")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
        .ok_or_else(|| broken("its pyvenv.cfg names no `home`".to_owned()))?;
    let home = fs::canonicalize(&home).map_err(|_| {
        broken(format!("the Python that it was made from is gone (`{}`)", home.display()))
    })?;
    if venv.untrusted && home.starts_with(search.repository) {
        return Err(Error::Untrusted { executable: venv.directory.join("bin/python"), base: home });
    }
    let directory = fs::canonicalize(&venv.directory).unwrap_or_else(|_| venv.directory.clone());
    if !real.starts_with(&directory) {
        return Ok(real.to_owned());
    }
    let version = ["version", "version_info"]
        .iter()
        .find_map(|key| setting(&venv.config, key))
        .map(|version| version.splitn(3, '.').take(2).collect::<Vec<_>>().join("."));
    let names = version.map(|version| format!("python{version}"));
    names
        .iter()
        .map(String::as_str)
        .chain(["python3", "python"])
        .map(|name| home.join(name))
        .find(|path| is_executable(path))
        .and_then(|path| fs::canonicalize(path).ok())
        .ok_or_else(|| broken(format!("there is no Python in its home `{}`", home.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_virtual_environment_are_read_as_python_reads_them() {
        let config = "home = /usr/bin\nInclude-System-Site-Packages=TRUE\nversion = 3.11.2\nx\n";
        assert_eq!(setting(config, "home"), Some("/usr/bin"));
        let system = setting(config, "include-system-site-packages");
        assert_eq!(system, Some("TRUE"));
        assert_eq!(setting(config, "prompt"), None);
    }
}

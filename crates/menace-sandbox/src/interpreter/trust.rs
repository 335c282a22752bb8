//! Which programs of the host may be run although a repository leads to them.
//!
//! A link or a `pyvenv.cfg` can name any file: a script beside the checkout, a download in `/tmp`.
//! Trusted is what the user has without the repository: programs that only root can change, what
//! the PATH leads to, and what version managers keep below the home directory.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use menace_files::resolve_named_path;

use super::InterpreterSearch;
use super::find::{path_directories, with_real_repository};

/// Where systems keep their programs.
const SYSTEM_PREFIXES: [&str; 6] = ["/usr", "/bin", "/opt", "/nix/store", "/gnu/store", "/snap"];
/// Where version managers keep interpreters, below the home directory.
const MANAGER_DIRS: [&str; 13] = [
    ".pyenv/versions",
    ".asdf/installs",
    ".rye/py",
    ".conda",
    ".local/share/uv/python",
    ".local/share/mise/installs",
    ".local/share/hatch",
    "anaconda3",
    "miniconda3",
    "miniforge3",
    "mambaforge",
    "micromamba",
    "conda",
];
/// Permission bits of a file that others than its owner may change.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// The bits for distributions where each user has a group of their own: the group may write.
const WRITABLE_BY_ALL: u32 = 0o002;
/// Longer chains of links are loops.
const MAX_LINK_CHAIN: usize = 40;

/// Whether a real path, of an interpreter or of the directory that it is in, is trusted.
pub(super) fn is_trusted_location(search: &InterpreterSearch<'_>, real: &Path) -> bool {
    !real.starts_with(search.repository)
        && (is_of_the_system(real) || is_on_path(search, real) || is_managed(search, real))
}

/// Whether the path is in the repository, or a link on its way is.
pub(super) fn leads_through_repository(search: &InterpreterSearch<'_>, path: &Path) -> bool {
    let in_repository =
        |link: &Path| with_real_repository(search, link).starts_with(search.repository);
    link_chain(path).iter().any(|link| in_repository(link))
}

/// The path and every link on its way.
pub(super) fn link_chain(path: &Path) -> Vec<PathBuf> {
    let mut chain = vec![path.to_owned()];
    while let (Some(last), true) = (chain.last(), chain.len() < MAX_LINK_CHAIN) {
        let Ok(target) = fs::read_link(last) else {
            break;
        };
        let next = last.parent().unwrap_or(last).join(target);
        chain.push(next);
    }
    chain
}

fn is_of_the_system(real: &Path) -> bool {
    SYSTEM_PREFIXES.iter().any(|prefix| real.starts_with(prefix))
        && real.ancestors().all(|part| {
            fs::symlink_metadata(part)
                .is_ok_and(|found| found.uid() == 0 && found.mode() & WRITABLE_BY_OTHERS == 0)
        })
}

fn is_on_path(search: &InterpreterSearch<'_>, real: &Path) -> bool {
    let own_name = real.file_name().unwrap_or_default();
    path_directories(search).any(|directory| {
        let leads_there = |name: &OsStr| {
            let program = directory.join(name);
            let target = resolve_named_path(&program).ok();
            target.is_some_and(|target| target == real || target.parent() == Some(real))
                && !leads_through_repository(search, &program)
        };
        [own_name, OsStr::new("python3"), OsStr::new("python")].into_iter().any(leads_there)
    })
}

fn is_managed(search: &InterpreterSearch<'_>, real: &Path) -> bool {
    let Some(home) = search.home.and_then(|home| resolve_named_path(home).ok()) else {
        return false;
    };
    let Ok(owner) = fs::symlink_metadata(&home).map(|found| found.uid()) else {
        return false;
    };
    let is_kept_in = |name: &&str| {
        let place = resolve_named_path(&home.join(name));
        place.is_ok_and(|place| real.starts_with(&place) && !place.starts_with(search.repository))
    };
    MANAGER_DIRS.iter().any(is_kept_in)
        && real.ancestors().take_while(|part| *part != home).all(|part| {
            fs::symlink_metadata(part).is_ok_and(|found| {
                [0, owner].contains(&found.uid()) && found.mode() & WRITABLE_BY_ALL == 0
            })
        })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct TrustFixture {
        top: tempfile::TempDir,
    }

    impl TrustFixture {
        fn new() -> Self {
            let fixture = Self { top: tempfile::tempdir().unwrap() };
            fixture.program("bin/python3");
            fs::create_dir(fixture.at("repository")).unwrap();
            fixture
        }

        fn at(&self, name: &str) -> PathBuf {
            fs::canonicalize(self.top.path()).unwrap().join(name)
        }

        fn program(&self, name: &str) -> PathBuf {
            let path = self.at(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn trusts(&self, path: &Path) -> bool {
            is_trusted_location(
                &InterpreterSearch {
                    python: None,
                    repository: &self.at("repository"),
                    path: self.at("bin").as_os_str(),
                    home: Some(&self.at("home")),
                    sources: &[],
                    cache: None,
                },
                path,
            )
        }
    }

    #[test]
    fn links_are_followed_one_by_one() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        symlink("b", at("a")).unwrap();
        symlink(at("c"), at("b")).unwrap();
        fs::write(at("c"), "").unwrap();
        assert_eq!(link_chain(&at("a")), [at("a"), at("b"), at("c")]);
        symlink("loop", at("loop")).unwrap();
        assert_eq!(link_chain(&at("loop")).len(), MAX_LINK_CHAIN);
    }

    #[test]
    fn what_only_root_can_change_is_trusted() {
        let fixture = TrustFixture::new();
        let system = fs::canonicalize("/usr/bin/python3").unwrap();
        assert!(fixture.trusts(&system) && fixture.trusts(Path::new("/usr/bin")));
        // Every user can write to `/tmp`, and what is beside the checkout may have come with it.
        assert!(!fixture.trusts(&fixture.program("beside/python3")));
        assert!(!fixture.trusts(&fixture.at("beside")));
        assert!(!fixture.trusts(Path::new("/tmp")) && !fixture.trusts(Path::new("/etc")));
    }

    #[test]
    fn what_the_path_leads_to_is_trusted_unless_the_repository_is_on_the_way() {
        let fixture = TrustFixture::new();
        let elsewhere = fixture.program("elsewhere/bin/python3.11");
        assert!(!fixture.trusts(&elsewhere));
        symlink(&elsewhere, fixture.at("bin/python3.11")).unwrap();
        assert!(fixture.trusts(&elsewhere) && fixture.trusts(&fixture.at("bin")));
        assert!(!fixture.trusts(&fixture.program("elsewhere/bin/python3.12")));

        let hidden = fixture.program("hidden/python3.13");
        symlink(&hidden, fixture.at("repository/python")).unwrap();
        symlink(fixture.at("repository/python"), fixture.at("bin/python3.13")).unwrap();
        assert!(!fixture.trusts(&hidden), "the repository chose it");
        assert!(!fixture.trusts(&fixture.program("repository/bin/python3")));
    }

    #[test]
    fn version_managers_are_trusted_as_long_as_only_the_user_can_write_there() {
        let fixture = TrustFixture::new();
        let managed = fixture.program("home/.local/share/uv/python/cpython-3.12/bin/python3.12");
        assert!(fixture.trusts(&managed));
        assert!(!fixture.trusts(&fixture.program("home/downloads/python3.12")));
        let versions = fixture.at("home/.local/share/uv/python");
        fs::set_permissions(&versions, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!fixture.trusts(&managed), "another user could have put it there");
    }
}

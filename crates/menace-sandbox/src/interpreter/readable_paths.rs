//! Determines which directories and files a guest must see for its interpreter to work. Reads
//! nothing but links.

use std::path::{Path, PathBuf};

use super::find::FoundInterpreter;
use super::probe::InterpreterDescription;
use super::trust;
use crate::init::paths;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct InterpreterPaths {
    pub(super) shown: Vec<PathBuf>,
    /// Referred to, but too broad to show, or referred to by the repository itself.
    pub(super) withheld: Vec<PathBuf>,
}

pub(super) fn compute(
    found: &FoundInterpreter,
    described: &InterpreterDescription,
    repository: &Path,
    home: Option<&Path>,
) -> InterpreterPaths {
    // A directory at the top of the file system, or one above the user's home, is too broad.
    let is_vast = |path: &Path| {
        path.components().count() <= 2 || home.is_some_and(|home| home.starts_with(path))
    };
    let is_broad = |path: &Path| is_vast(path) || repository.starts_with(path);
    let paths_of_prefix = |prefix: &Path| {
        if is_broad(prefix) {
            python_paths_below(described, prefix)
        } else {
            vec![prefix.to_owned()]
        }
    };
    let mut wanted = vec![found.base_executable.clone()];
    wanted.extend(paths_of_prefix(&described.base_prefix));
    wanted.extend([described.stdlib.clone(), described.platstdlib.clone()]);
    for library in &described.libraries {
        let directory = library.parent().filter(|directory| !is_broad(directory));
        wanted.push(directory.unwrap_or(library).to_owned());
    }
    let mut of_venv = trust::link_chain(&found.executable);
    of_venv.extend(found.venv.iter().flat_map(|venv| paths_of_prefix(&venv.directory)));
    of_venv.extend(described.site_directories.iter().cloned());
    let untrusted = found.venv.as_ref().is_some_and(|venv| venv.untrusted);
    // A link of the repository may lead anywhere.
    let base = minimal_paths(wanted.clone(), repository);
    let (led_out, of_venv): (Vec<_>, Vec<_>) = of_venv.into_iter().partition(|path| {
        let leads_out =
            |real: PathBuf| !is_below_any(&real, &base) && !is_shown_anyway(&real, repository);
        untrusted && menace_files::resolve_named_path(path).is_ok_and(leads_out)
    });
    wanted.extend(of_venv);

    let (vast, wanted): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|path| {
        let names = minimal_paths(vec![path.clone()], repository);
        names.iter().any(|path| is_vast(path) && path.is_dir())
    });
    let mut paths = InterpreterPaths {
        shown: minimal_paths(wanted, repository),
        withheld: minimal_paths([vast, led_out].concat(), repository),
    };
    let asked = minimal_paths(described.asked.clone(), repository);
    let (withheld, shown): (Vec<_>, Vec<_>) = asked
        .into_iter()
        .filter(|path| !is_below_any(path, &paths.shown))
        .partition(|path| untrusted || is_broad(path));
    paths.withheld.extend(withheld);
    paths.shown.extend(shown);
    paths.shown = minimal_paths(paths.shown, repository);
    paths
}

/// For a prefix that has other things in it, too: only the directories that belong to Python.
fn python_paths_below(described: &InterpreterDescription, prefix: &Path) -> Vec<PathBuf> {
    described
        .paths
        .iter()
        .filter(|path| path.starts_with(prefix))
        .cloned()
        .chain([prefix.join("pyvenv.cfg")])
        .collect()
}

/// Existing paths that are not visible anyway, each also under its canonical path, without those
/// that lie below another one.
fn minimal_paths(paths: Vec<PathBuf>, repository: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = paths
        .into_iter()
        .filter_map(|path| {
            let real = menace_files::resolve_named_path(&path).ok()?;
            Some([normalize_path(&path), real])
        })
        .flatten()
        .filter(|path| !is_shown_anyway(path, repository))
        .collect();
    all.sort();
    all.dedup();
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in all {
        if !is_below_any(&path, &kept) {
            kept.push(path);
        }
    }
    kept
}

fn is_shown_anyway(path: &Path, repository: &Path) -> bool {
    path.starts_with(repository) || paths::SYSTEM_DIRS.iter().any(|system| path.starts_with(system))
}

fn is_below_any(path: &Path, others: &[PathBuf]) -> bool {
    others.iter().any(|other| path.starts_with(other))
}

/// Removes `..`, as in `/usr/lib/python3/../x`; links are kept.
fn normalize_path(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::InterpreterOrigin;
    use super::*;

    /// The needs of a system interpreter with a changed description.
    fn compute_paths(
        change: impl FnOnce(&mut InterpreterDescription),
        repository: &Path,
        home: &Path,
    ) -> InterpreterPaths {
        let found = FoundInterpreter {
            executable: "/usr/bin/python3".into(),
            real_path: "/usr/bin/python3".into(),
            base_executable: "/usr/bin/python3".into(),
            venv: None,
            origin: InterpreterOrigin::Path,
            warnings: Vec::new(),
        };
        let mut described = InterpreterDescription {
            version: (3, 12, 0),
            implementation: "cpython".to_owned(),
            prefix: "/usr".into(),
            base_prefix: "/usr".into(),
            stdlib: "/usr/lib/python3".into(),
            platstdlib: "/usr/lib/python3".into(),
            paths: Vec::new(),
            site_directories: Vec::new(),
            pth_files: Vec::new(),
            asked: Vec::new(),
            libraries: Vec::new(),
            soabi: String::new(),
            cache_tag: String::new(),
            magic: String::new(),
            compiled: Vec::new(),
        };
        change(&mut described);
        compute(&found, &described, repository, Some(home))
    }

    #[test]
    fn nothing_that_python_says_shows_a_home_or_a_top_directory() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| fs::canonicalize(room.path()).unwrap().join(name);
        let (home, repository) = (at("home/ada"), at("home/ada/repository"));
        for directory in [&repository, &at("home/ada/lib"), &at("lib")] {
            fs::create_dir_all(directory).unwrap();
        }
        let libraries = ["home/ada/x.so", "home/x.so", "home/ada/lib/x.so", "lib/x.so"].map(at);
        for library in &libraries {
            fs::write(library, "").unwrap();
        }
        let shown =
            compute_paths(|it| it.libraries.clone_from(&libraries.to_vec()), &repository, &home);
        let expected = [at("home/ada/lib"), at("home/ada/x.so"), at("home/x.so"), at("lib")];
        assert_eq!(shown, InterpreterPaths { shown: expected.to_vec(), withheld: Vec::new() });

        let vast = [home.clone(), at("home"), "/etc".into(), "/".into()];
        for directory in vast {
            for change in [
                |it: &mut InterpreterDescription, path: PathBuf| it.stdlib = path,
                |it: &mut InterpreterDescription, path: PathBuf| it.platstdlib = path,
                |it: &mut InterpreterDescription, path: PathBuf| it.site_directories.push(path),
                |it: &mut InterpreterDescription, path: PathBuf| it.asked.push(path),
            ] {
                let found = compute_paths(|it| change(it, directory.clone()), &repository, &home);
                let withheld = vec![directory.clone()];
                assert_eq!(found, InterpreterPaths { shown: Vec::new(), withheld });
            }
            let found = compute_paths(|it| it.base_prefix = directory, &repository, &home);
            assert_eq!(found.shown, Vec::<PathBuf>::new());
        }
    }

    #[test]
    fn what_the_system_or_the_repository_shows_is_not_listed() {
        let paths = ["/usr/lib", "/lib/../usr/bin", "/etc/hosts", "/etc", "/nowhere/x"];
        let paths = paths.iter().map(PathBuf::from).collect();
        assert_eq!(minimal_paths(paths, Path::new("/repository")), [PathBuf::from("/etc")]);
        assert_eq!(
            minimal_paths(vec!["/etc/hosts".into()], Path::new("/etc")),
            Vec::<PathBuf>::new()
        );
    }
}

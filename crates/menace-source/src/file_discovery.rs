//! Lists the Python files of a repository.
//!
//! Ignored files, environments, caches and tests that Menace wrote are left out. Symbolic links are
//! not followed: targets inside of the repository are found anyway, and targets outside are no part
//! of it.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use ignore::{DirEntry, WalkBuilder, WalkState};
use menace_files::{UntrustedDir, UntrustedFile, refusal_of, resolve_named_path};

use crate::ignore_files::IgnoreTree;

/// Directories that never contain code of the repository.
const SKIPPED_DIRECTORIES: &[&str] = &[
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    "__pycache__",
    "__pypackages__",
    "node_modules",
    "site-packages",
];

/// Files that mark virtual environments and conda environments.
const ENVIRONMENT_MARKERS: &[&str] = &["pyvenv.cfg", "conda-meta"];

/// How the name of a test file that Menace writes begins.
pub const EXPORTED_TEST_PREFIX: &str = "test_menace_";

/// The first line of an exported test. A file without it belongs to the user.
pub const EXPORTED_TEST_HEADER: &str = "# Weaknesses of `";

/// Why a repository cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryWalkError {
    #[error("repository `{}` does not exist; check the path given with --repo", .path.display())]
    Missing { path: PathBuf },
    #[error("repository `{}` is not a directory; --repo takes the directory that holds the \
        code", .path.display())]
    NotADirectory { path: PathBuf },
    #[error("repository `{}` cannot be read; check its permissions", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("repository `{}` cannot be listed: {why}", .path.display())]
    IgnoreFile { path: PathBuf, why: String },
}

/// One Python file: its absolute path, and its path below the repository with `/` on every system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PythonSourceFile {
    pub relative: String,
    pub absolute: PathBuf,
}

/// Finds every `.py` file below `root`, sorted by path.
///
/// The second part lists directories that could not be read.
pub fn find_python_files(
    root: &Path,
) -> Result<(Vec<PythonSourceFile>, Vec<String>), RepositoryWalkError> {
    let root = check_root(root)?;
    let tree = IgnoreTree::new(&root).map_err(|source| match refusal_of(&source) {
        Some(why) => RepositoryWalkError::IgnoreFile { path: root.clone(), why: why.to_string() },
        None => RepositoryWalkError::Unreadable { path: root.clone(), source },
    })?;
    let (sender, receiver) = mpsc::channel::<Result<PythonSourceFile, String>>();
    let skipped = Arc::new(Mutex::new(Vec::new()));
    let skipped_by_filter = Arc::clone(&skipped);
    WalkBuilder::new(&root)
        // The walk opens no ignore file itself: `IgnoreTree` does.
        .standard_filters(false)
        .follow_links(false)
        .threads(0)
        .filter_entry(move |entry| match is_walked(entry, &tree) {
            Ok(is_walked) => is_walked,
            Err(why) => {
                let mut skipped = skipped_by_filter.lock().unwrap_or_else(PoisonError::into_inner);
                skipped.push(format!("not read: {}: {why}", entry.path().display()));
                false
            }
        })
        .build_parallel()
        .run(|| {
            let sender = sender.clone();
            let root = root.as_path();
            Box::new(move |entry| {
                let found = match entry {
                    Ok(entry) => as_source_file(&entry, root),
                    Err(error) => Some(Err(format!("not read: {error}"))),
                };
                if let Some(found) = found {
                    // The receiver outlives the walk; a failed send cannot happen.
                    let _ = sender.send(found);
                }
                WalkState::Continue
            })
        });
    drop(sender);
    let (mut files, mut unread) = (Vec::new(), Vec::new());
    for found in receiver {
        match found {
            Ok(file) => files.push(file),
            Err(reason) => unread.push(reason),
        }
    }
    unread.append(&mut skipped.lock().unwrap_or_else(PoisonError::into_inner));
    files.sort_unstable();
    unread.sort_unstable();
    Ok((files, unread))
}

fn check_root(root: &Path) -> Result<PathBuf, RepositoryWalkError> {
    let path = || root.to_path_buf();
    let canonical = resolve_named_path(root).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => RepositoryWalkError::Missing { path: path() },
        io::ErrorKind::NotADirectory => RepositoryWalkError::NotADirectory { path: path() },
        _ => RepositoryWalkError::Unreadable { path: path(), source },
    })?;
    if !canonical.is_dir() {
        return Err(RepositoryWalkError::NotADirectory { path: path() });
    }
    UntrustedDir::open(&canonical)
        .map_err(|source| RepositoryWalkError::Unreadable { path: path(), source })?;
    Ok(canonical)
}

/// Whether an entry belongs to the repository. Reads the ignore files of a directory; an error if
/// one of them is not read.
fn is_walked(entry: &DirEntry, tree: &IgnoreTree) -> io::Result<bool> {
    if entry.depth() == 0 {
        return Ok(true);
    }
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    if tree.is_ignored(entry.path(), is_directory) {
        return Ok(false);
    }
    if !is_directory {
        return Ok(true);
    }
    let name = entry.file_name().to_str();
    if name.is_some_and(|name| SKIPPED_DIRECTORIES.contains(&name)) {
        return Ok(false);
    }
    let opened = match tree.open_directory(entry.path()) {
        Ok(opened) => opened,
        Err(error) if refusal_of(&error).is_some() => return Err(error),
        // The walk meets the same error, and reports it.
        Err(_) => return Ok(true),
    };
    if ENVIRONMENT_MARKERS.iter().any(|mark| opened.has_entry(Path::new(mark))) {
        return Ok(false);
    }
    tree.read_directory(entry.path(), &opened)?;
    Ok(true)
}

fn as_source_file(entry: &DirEntry, root: &Path) -> Option<Result<PythonSourceFile, String>> {
    let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
    if !is_file || entry.path().extension().is_none_or(|extension| extension != "py") {
        return None;
    }
    let may_be_ours =
        entry.file_name().to_str().is_some_and(|name| name.starts_with(EXPORTED_TEST_PREFIX));
    if may_be_ours && is_exported_test(entry.path()) {
        return None;
    }
    let relative = entry.path().strip_prefix(root).ok()?;
    let Some(relative) = relative.to_str() else {
        // Python cannot import it by name, and no section could be named after it.
        return Some(Err(format!("not read: {}: its name is not UTF-8", relative.display())));
    };
    Some(Ok(PythonSourceFile {
        relative: relative.to_owned(),
        absolute: entry.path().to_path_buf(),
    }))
}

/// Whether Menace exported this test; such tests are left out of the analysis.
pub fn is_exported_test(path: &Path) -> bool {
    let mut head = [0; EXPORTED_TEST_HEADER.len()];
    let opened = menace_files::open_file(path).map(UntrustedFile::into_file);
    opened.and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && head == EXPORTED_TEST_HEADER.as_bytes()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn create_tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        root
    }

    fn found_paths(root: &Path) -> Vec<String> {
        find_python_files(root).unwrap().0.into_iter().map(|file| file.relative).collect()
    }

    #[test]
    fn only_python_files_are_listed_in_order() {
        let root = create_tree(&["b.py", "a/z.py", "a.txt", "a/b.pyc", ".github/tool.py"]);
        assert_eq!(found_paths(root.path()), [".github/tool.py", "a/z.py", "b.py"]);
    }

    #[test]
    fn caches_and_virtual_environments_are_left_out_but_a_package_called_venv_is_not() {
        let root = create_tree(&[
            "venv/__init__.py",
            "env/pyvenv.cfg",
            "env/lib/x.py",
            "conda/conda-meta/history",
            "conda/lib/x.py",
            "__pycache__/y.py",
            "node_modules/z.py",
        ]);
        assert_eq!(found_paths(root.path()), ["venv/__init__.py"]);
    }

    #[test]
    fn exported_tests_are_left_out_until_their_header_is_removed() {
        let root =
            create_tree(&["tests/menace/test_menace_cart.py", "tests/menace/test_menace_own.py"]);
        let written =
            format!("{EXPORTED_TEST_HEADER}cart.py` that Menace has found.\n\nimport os\n");
        fs::write(root.path().join("tests/menace/test_menace_cart.py"), &written).unwrap();
        fs::write(root.path().join("tests/menace/test_menace_own.py"), "import os\n").unwrap();
        fs::write(root.path().join("tests/test_cart.py"), &written).unwrap();
        assert_eq!(
            found_paths(root.path()),
            ["tests/menace/test_menace_own.py", "tests/test_cart.py"]
        );
    }

    #[test]
    fn exported_tests_of_earlier_versions_are_recognised() {
        let exported =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/old-data/exported");
        let root = create_tree(&["cart.py"]);
        let mut copied = 0;
        for entry in fs::read_dir(exported).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, root.path().join(path.file_name().unwrap())).unwrap();
            copied += 1;
        }
        assert_eq!(copied, 2);
        assert_eq!(found_paths(root.path()), ["cart.py"]);
    }

    #[test]
    fn ignore_files_count_with_and_without_git() {
        let root = create_tree(&["kept.py", "build/made.py", "local.py"]);
        fs::write(root.path().join(".gitignore"), "/build/\nlocal.py\n").unwrap();
        assert_eq!(found_paths(root.path()), ["kept.py"]);
        fs::create_dir(root.path().join(".git")).unwrap();
        assert_eq!(found_paths(root.path()), ["kept.py"]);
    }

    #[test]
    fn an_ignore_file_above_a_plain_directory_has_no_say() {
        let root = create_tree(&["inner/kept.py"]);
        fs::write(root.path().join(".gitignore"), "*\n").unwrap();
        assert_eq!(found_paths(&root.path().join("inner")), ["kept.py"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_to_loops_and_to_outside_files_are_not_followed() {
        use std::os::unix::fs::symlink;
        let outside = create_tree(&["secret.py"]);
        let root = create_tree(&["pkg/a.py"]);
        symlink(root.path().join("pkg"), root.path().join("alias")).unwrap();
        symlink(root.path(), root.path().join("pkg/loop")).unwrap();
        symlink(outside.path(), root.path().join("out")).unwrap();
        symlink(outside.path().join("secret.py"), root.path().join("s.py")).unwrap();
        symlink("nowhere.py", root.path().join("dangling.py")).unwrap();
        assert_eq!(found_paths(root.path()), ["pkg/a.py"]);
    }

    #[test]
    fn a_name_that_is_not_utf8_is_reported_and_the_others_are_read() {
        use std::os::unix::ffi::OsStrExt;
        let root = create_tree(&["a.py"]);
        let name = std::ffi::OsStr::from_bytes(b"b\xff.py");
        fs::write(root.path().join(name), "").unwrap();
        let (files, unread) = find_python_files(root.path()).unwrap();
        assert_eq!(files.len(), 1);
        assert!(unread[0].contains("not UTF-8"), "{unread:?}");
    }

    #[test]
    fn ignore_files_that_are_pipes_devices_or_huge_stop_nothing() {
        use std::os::unix::fs::symlink;
        let make = |kind: &str, path: &Path| match kind {
            "pipe" => {
                assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
            }
            "device" => symlink("/dev/zero", path).unwrap(),
            _ => fs::File::create(path).unwrap().set_len(2 << 20).unwrap(),
        };
        for kind in ["pipe", "device", "huge"] {
            let root = create_tree(&["a.py", "below/b.py"]);
            make(kind, &root.path().join("below/.gitignore"));
            let (files, unread) = find_python_files(root.path()).unwrap();
            assert_eq!(files.len(), 1, "{kind}");
            assert!(unread[0].contains(".gitignore"), "{unread:?}");

            fs::create_dir(root.path().join(".git")).unwrap();
            make(kind, &root.path().join(".gitignore"));
            for walked in [root.path().to_owned(), root.path().join("below")] {
                let error = find_python_files(&walked).unwrap_err().to_string();
                assert!(error.contains(".gitignore"), "{kind}: {error}");
            }
        }
    }

    #[test]
    fn a_work_tree_that_leads_to_pipes_stops_nothing() {
        let root = create_tree(&["a.py", "tree/commondir", "common/info/x"]);
        let tree = root.path().join("tree");
        fs::write(root.path().join(".git"), format!("gitdir: {}\n", tree.display())).unwrap();
        let refusal = || find_python_files(root.path()).unwrap_err().to_string();
        let make_pipe = |path: &Path| {
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        };
        fs::write(tree.join("commondir"), "../common\n").unwrap();
        make_pipe(&root.path().join("common/info/exclude"));
        assert!(refusal().contains("exclude"), "{}", refusal());
        fs::remove_file(tree.join("commondir")).unwrap();
        make_pipe(&tree.join("commondir"));
        assert!(refusal().contains("commondir"), "{}", refusal());
        fs::remove_file(tree.join("commondir")).unwrap();
        fs::write(tree.join("commondir"), "../elsewhere\n").unwrap();
        assert_eq!(found_paths(root.path()), ["a.py"]);
    }

    #[test]
    fn a_missing_root_and_a_file_as_root_are_different_errors() {
        let root = create_tree(&["x.py"]);
        assert!(matches!(
            find_python_files(&root.path().join("no")),
            Err(RepositoryWalkError::Missing { .. })
        ));
        assert!(matches!(
            find_python_files(&root.path().join("x.py")),
            Err(RepositoryWalkError::NotADirectory { .. })
        ));
    }
}

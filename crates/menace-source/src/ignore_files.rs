//! The ignore files of git, opened as files of others: no link on the way is followed, and no
//! file is waited for.
//!
//! What lines mean is left to the crate `ignore`. Invariant: every file is opened once, and what
//! was checked is what is read.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use menace_files::{FileRefusal, UntrustedDir, refusal_of, resolve_named_path};

/// The limit of an ignore file, and of a file by which git finds others.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

const EXCLUDE_FILE: &str = "info/exclude";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The ignore rules of a walk, by directory. Those of a directory are read before its entries are
/// asked about.
#[derive(Debug)]
pub(crate) struct IgnoreTree {
    /// The topmost directory whose rules count: the work tree, or where the walk begins.
    top: UntrustedDir,
    /// Whether the walk begins in a work tree of git. Outside of one, ignore files of directories
    /// above belong to something else.
    in_git: bool,
    by_directory: RwLock<HashMap<PathBuf, Arc<IgnoreRules>>>,
}

/// The rules of a directory, and below those of the directories above it.
#[derive(Debug)]
struct IgnoreRules {
    gitignore: Gitignore,
    exclude: Gitignore,
    /// Whether no rule from above reaches into this directory: it is a work tree of its own.
    is_boundary: bool,
    above: Option<Arc<Self>>,
}

impl IgnoreTree {
    /// For a walk that begins at this canonical path.
    pub(crate) fn new(root: &Path) -> io::Result<Self> {
        let open = |directory: &Path| {
            UntrustedDir::open(directory).map(|opened| {
                let has_git = opened.has_entry(Path::new(".git"));
                (opened, has_git)
            })
        };
        let (mut top, mut in_git) = open(root)?;
        for directory in root.ancestors().skip(1).take_while(|_| !in_git) {
            if let Ok((opened, true)) = open(directory) {
                (top, in_git) = (opened, true);
                break;
            }
        }
        let tree = Self { top, in_git, by_directory: RwLock::default() };
        let below_top = |directory: &&Path| directory.starts_with(tree.top.path());
        let directories: Vec<&Path> = root.ancestors().take_while(below_top).collect();
        for directory in directories.into_iter().rev() {
            match tree.open_directory(directory) {
                Ok(opened) => tree.read_directory(directory, &opened)?,
                Err(error) if refusal_of(&error).is_some() => return Err(error),
                // Nothing can be read in it, as for git.
                Err(_) => {}
            }
        }
        Ok(tree)
    }

    /// Opens a directory of the walk; an error if a link has taken its place.
    pub(crate) fn open_directory(&self, path: &Path) -> io::Result<UntrustedDir> {
        let relative = path.strip_prefix(self.top.path()).map_err(io::Error::other)?;
        self.top.subdirectory(relative)
    }

    /// Reads the rules of a directory. An error if one of its ignore files is a link, no file, or
    /// too large.
    pub(crate) fn read_directory(&self, path: &Path, opened: &UntrustedDir) -> io::Result<()> {
        let above = path.parent().and_then(|parent| self.rules_of(parent));
        let gitignore = read_gitignore(opened)?;
        let has_git = opened.has_entry(Path::new(".git"));
        let exclude = if has_git { self.read_exclude(path, opened)? } else { None };
        let is_boundary = self.in_git && (has_git || opened.has_entry(Path::new(".jj")));
        let rules = match above {
            Some(above) if gitignore.is_none() && exclude.is_none() && !is_boundary => above,
            above => {
                let build = |contents: Option<Vec<u8>>| {
                    contents.map_or_else(Gitignore::empty, |it| build_rules(path, &it))
                };
                let (gitignore, exclude) = (build(gitignore), build(exclude));
                Arc::new(IgnoreRules { gitignore, exclude, is_boundary, above })
            }
        };
        let mut by_directory = self.by_directory.write().unwrap_or_else(PoisonError::into_inner);
        by_directory.insert(path.to_owned(), rules);
        Ok(())
    }

    /// Whether the rules of the directories above leave an entry out.
    pub(crate) fn is_ignored(&self, path: &Path, is_directory: bool) -> bool {
        let (mut by_gitignore, mut by_exclude) = (Match::None, Match::None);
        let nearest = path.parent().and_then(|parent| self.rules_of(parent));
        let mut next = nearest.as_deref();
        while let Some(rules) = next {
            if by_gitignore.is_none() {
                by_gitignore = rules.gitignore.matched(path, is_directory);
            }
            if by_exclude.is_none() {
                by_exclude = rules.exclude.matched(path, is_directory);
            }
            next = rules.above.as_deref().filter(|_| !rules.is_boundary);
        }
        by_gitignore.or(by_exclude).is_ignore()
    }

    fn rules_of(&self, directory: &Path) -> Option<Arc<IgnoreRules>> {
        let by_directory = self.by_directory.read().unwrap_or_else(PoisonError::into_inner);
        by_directory.get(directory).cloned()
    }

    /// The exclude file of the repository to which a work tree belongs.
    fn read_exclude(&self, path: &Path, opened: &UntrustedDir) -> io::Result<Option<Vec<u8>>> {
        let exclude = Path::new(".git").join(EXCLUDE_FILE);
        match opened.read(&exclude, MAX_IGNORE_FILE_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                self.read_linked_exclude(path, opened)
            }
            read => unless_refused(read),
        }
    }

    /// The same where `.git` is a file that names a directory: work trees that `git worktree` has
    /// added.
    ///
    /// Such a directory usually lies outside of the checkout. It is read only if it names this work
    /// tree in turn, as git writes it: or a checkout would choose which directory is read.
    fn read_linked_exclude(
        &self,
        path: &Path,
        opened: &UntrustedDir,
    ) -> io::Result<Option<Vec<u8>>> {
        let read = opened.read(Path::new(".git"), MAX_IGNORE_FILE_BYTES);
        // A pipe or a device is no work tree.
        let Ok(contents) = read else { return Ok(None) };
        let line = first_line(&contents);
        let Some(named) = line.strip_prefix("gitdir: ") else { return Ok(None) };
        let Some((git, is_inside)) = self.open_git_directory(&path.join(named)) else {
            return Ok(None);
        };
        if !is_inside && !names_work_tree(&git, path) {
            return Ok(None);
        }
        let common = unless_refused(git.read(Path::new("commondir"), MAX_IGNORE_FILE_BYTES))?;
        let Some(common) = common else { return Ok(None) };
        match self.open_git_directory(&git.path().join(first_line(&common))) {
            Some((common, common_is_inside)) if common_is_inside || !is_inside => {
                unless_refused(common.read(Path::new(EXCLUDE_FILE), MAX_IGNORE_FILE_BYTES))
            }
            _ => Ok(None),
        }
    }

    /// Opens a directory that files of git name, and says whether it lies in the work tree.
    fn open_git_directory(&self, named: &Path) -> Option<(UntrustedDir, bool)> {
        let path = resolve_named_path(named).ok()?;
        match path.strip_prefix(self.top.path()) {
            Ok(relative) => Some((self.top.subdirectory(relative).ok()?, true)),
            Err(_) => Some((UntrustedDir::open(&path).ok()?, false)),
        }
    }
}

/// Whether the directory of an added work tree leads back to it.
fn names_work_tree(git: &UntrustedDir, work_tree: &Path) -> bool {
    let Ok(contents) = git.read(Path::new("gitdir"), MAX_IGNORE_FILE_BYTES) else { return false };
    let named = git.path().join(first_line(&contents));
    let directory = named.parent().and_then(|directory| resolve_named_path(directory).ok());
    named.ends_with(".git") && directory.is_some_and(|directory| directory == work_tree)
}

/// A `.gitignore`, which may be a link to a file below the same directory.
fn read_gitignore(directory: &UntrustedDir) -> io::Result<Option<Vec<u8>>> {
    let name = Path::new(".gitignore");
    let read = directory.read(name, MAX_IGNORE_FILE_BYTES);
    let is_link = |error: &io::Error| matches!(refusal_of(error), Some(FileRefusal::Link { .. }));
    match read {
        Err(error) if is_link(&error) => {
            let target = directory.read_link(name)?;
            // Opened as any other file: a link or `..` in the target is refused.
            unless_refused(directory.read(&target, MAX_IGNORE_FILE_BYTES)).map_err(|_| error)
        }
        read => unless_refused(read),
    }
}

/// Files that are missing or cannot be opened by this user have no rules, as for git.
fn unless_refused(read: io::Result<Vec<u8>>) -> io::Result<Option<Vec<u8>>> {
    match read {
        Ok(contents) => Ok(Some(contents)),
        Err(error) if refusal_of(&error).is_some() => Err(error),
        Err(_) => Ok(None),
    }
}

/// A pattern that cannot be read is left out, as is a line that is not UTF-8.
fn build_rules(directory: &Path, contents: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(directory);
    let contents = contents.strip_prefix(BYTE_ORDER_MARK).unwrap_or(contents);
    for line in contents.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Ok(line) = str::from_utf8(line) {
            let _ = builder.add_line(None, line);
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn first_line(contents: &[u8]) -> String {
    String::from_utf8_lossy(contents).lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use ignore::WalkBuilder;
    use proptest::prelude::*;

    use crate::file_discovery::find_python_files;

    use super::*;

    const DIRECTORIES: [&str; 6] = ["", "a", "a/b", "a/b/c", "d", "d/b"];
    const MODULES: [&str; 4] = ["x.py", "y.py", ".hidden.py", "#z.py"];
    const LINES: [&str; 30] = [
        "*.py",
        "x.py",
        "!x.py",
        "/x.py",
        "!/y.py",
        "y.*",
        "[xz].py",
        "[!x].py",
        "?.py",
        "a",
        "a/",
        "!a/",
        "/a/b",
        "a/b/",
        "!a/b/",
        "b",
        "!b",
        "**/c",
        "a/**",
        "!a/**/y.py",
        "a/**/x.py",
        "**/b/x.py",
        "d/*",
        "!d/b",
        "*/",
        "!*/",
        "# x.py",
        "\\#z.py",
        "x.py  ",
        "",
    ];

    fn write(root: &Path, name: &str, contents: impl AsRef<[u8]>) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    fn create_tree() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for directory in DIRECTORIES {
            for module in MODULES {
                write(place.path(), Path::new(directory).join(module).to_str().unwrap(), "");
            }
        }
        place
    }

    fn found(root: &Path) -> Vec<String> {
        find_python_files(root).unwrap().0.into_iter().map(|file| file.relative).collect()
    }

    fn refusal(root: &Path) -> String {
        find_python_files(root).unwrap_err().to_string()
    }

    fn git(directory: &Path, arguments: &[&str]) -> Vec<u8> {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(directory).env_clear();
        git.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nonexistent");
        let ran = git.output().expect("git can be started");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        ran.stdout
    }

    fn is_module(path: impl AsRef<Path>) -> bool {
        path.as_ref().extension().is_some_and(|extension| extension == "py")
    }

    fn init(directory: &Path) {
        git(directory, &["init", "-q", "--template="]);
    }

    /// The modules that git would add.
    fn found_by_git(root: &Path) -> Vec<String> {
        let listed = git(root, &["ls-files", "--others", "--exclude-standard", "-z"]);
        let names = String::from_utf8(listed).unwrap();
        let mut names: Vec<String> =
            names.split('\0').filter(|it| is_module(it)).map(str::to_owned).collect();
        names.sort();
        names
    }

    /// The modules that the crate `ignore` finds when it opens the ignore files itself.
    fn found_by_walk(root: &Path) -> Vec<String> {
        let in_git = root.ancestors().any(|directory| directory.join(".git").exists());
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .ignore(false)
            .git_global(false)
            .parents(in_git)
            .require_git(in_git)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        let paths = walk.map(|entry| entry.unwrap().into_path());
        let modules = paths.filter(|path| is_module(path));
        let mut names: Vec<String> = modules
            .map(|path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }

    fn ignore_lines() -> impl Strategy<Value = String> {
        let lines = proptest::collection::vec(proptest::sample::select(&LINES[..]), 0..4);
        lines.prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_same_modules_are_found_as_by_the_crate_that_opens_the_files_itself(
            gitignores in proptest::collection::vec(ignore_lines(), DIRECTORIES.len()),
            work_trees in proptest::sample::subsequence(&DIRECTORIES[..], 0..3),
            excludes in proptest::collection::vec(ignore_lines(), 3),
            root in proptest::sample::select(&DIRECTORIES[..4]),
        ) {
            let place = create_tree();
            let top = place.path().canonicalize().unwrap();
            for (directory, lines) in DIRECTORIES.iter().zip(&gitignores) {
                if !lines.is_empty() {
                    write(&top.join(directory), ".gitignore", lines);
                }
            }
            for (directory, lines) in work_trees.iter().zip(&excludes) {
                write(&top.join(directory), ".git/info/exclude", lines);
            }
            let root = top.join(root);
            prop_assert_eq!(found(&root), found_by_walk(&root));
        }

        #[test]
        fn the_same_modules_are_found_as_by_git(
            gitignores in proptest::collection::vec(ignore_lines(), DIRECTORIES.len()),
            exclude in ignore_lines(),
        ) {
            let place = create_tree();
            init(place.path());
            for (directory, lines) in DIRECTORIES.iter().zip(&gitignores) {
                write(&place.path().join(directory), ".gitignore", lines);
            }
            write(place.path(), ".git/info/exclude", exclude);
            prop_assert_eq!(found(place.path()), found_by_git(place.path()));
        }
    }

    #[test]
    fn files_are_read_as_git_reads_them() {
        for contents in [
            &b"\xef\xbb\xbfx.py\ny.py\n"[..],
            b"x.py\r\ny.py\r\n",
            b"# caf\xe9\nx.py\n",
            b"[\nx.py\n",
            b"x.py",
            b"\\!x.py\n\\#z.py\n",
            b"a\\\n",
        ] {
            let place = create_tree();
            init(place.path());
            write(place.path(), ".gitignore", contents);
            let shown = String::from_utf8_lossy(contents);
            assert_eq!(found(place.path()), found_by_git(place.path()), "{shown:?}");
        }
    }

    #[test]
    fn files_of_other_programs_have_no_say() {
        let place = create_tree();
        for name in [".ignore", ".rgignore", ".hgignore"] {
            write(place.path(), name, "*.py\n");
        }
        assert_eq!(found(place.path()).len(), DIRECTORIES.len() * MODULES.len());
    }

    #[test]
    fn links_of_git_are_refused_and_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        write(outside.path(), "info/exclude", "x.py\n");
        write(outside.path(), "exclude", "x.py\n");
        for (link, target) in [
            (".git", outside.path().to_owned()),
            (".git", PathBuf::from("nowhere")),
            (".git/info", outside.path().join("info")),
            (".git/info/exclude", outside.path().join("exclude")),
            (".gitignore", outside.path().join("exclude")),
        ] {
            let place = create_tree();
            let make = |directory: &Path| {
                let path = directory.join(link);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                symlink(&target, path).unwrap();
            };
            make(&place.path().join("a"));
            let (files, unread) = find_python_files(place.path()).unwrap();
            assert_eq!(files.len(), 3 * MODULES.len(), "{link}: without those below");
            assert!(unread.len() == 1 && unread[0].contains(link), "{link}: {unread:?}");
            make(place.path());
            assert!(refusal(place.path()).contains(link), "{}", refusal(place.path()));
            if link != ".gitignore" {
                assert!(refusal(&place.path().join("d")).contains(link), "from below");
            }
        }
    }

    #[test]
    fn a_gitignore_may_be_a_link_to_a_file_below() {
        let place = create_tree();
        write(place.path(), "d/rules", "y.py\n");
        symlink("d/rules", place.path().join(".gitignore")).unwrap();
        assert_eq!(found(place.path()), found_by_walk(place.path()));
        assert!(!found(place.path()).contains(&"y.py".to_owned()));
        for target in ["../rules", "d/../../rules", "a/link/rules", ".gitignore"] {
            fs::remove_file(place.path().join(".gitignore")).unwrap();
            symlink(target, place.path().join(".gitignore")).unwrap();
            let _ = symlink("../d", place.path().join("a/link"));
            assert!(refusal(place.path()).contains(".gitignore"), "{target}");
        }
    }

    #[test]
    fn an_added_work_tree_has_the_rules_of_its_repository() {
        let place = tempfile::tempdir().unwrap();
        let (main, tree) = (place.path().join("main"), place.path().join("tree"));
        fs::create_dir(&main).unwrap();
        init(&main);
        let name = ["-c", "user.name=a", "-c", "user.email=a@b"];
        git(&main, &[&name[..], &["commit", "-q", "--allow-empty", "-m", "x"]].concat());
        git(&main, &["worktree", "add", "-q", "../tree"]);
        write(&main, ".git/info/exclude", "y.py\n");
        write(&tree, "x.py", "");
        write(&tree, "y.py", "");
        assert_eq!(found_by_git(&tree), ["x.py"]);
        assert_eq!(found(&tree), ["x.py"]);
    }

    #[test]
    fn a_checkout_does_not_choose_which_directory_is_read() {
        let place = tempfile::tempdir().unwrap();
        let (theirs, checkout) = (place.path().join("theirs"), place.path().join("checkout"));
        write(&theirs, ".git/info/exclude", "y.py\n");
        write(&theirs, ".git/worktrees/other/commondir", "../..\n");
        write(&theirs, ".git/worktrees/other/gitdir", "/elsewhere/.git\n");
        for name in ["x.py", "y.py", "git/HEAD"] {
            write(&checkout, name, "");
        }
        let all = ["x.py", "y.py"];
        let other = theirs.join(".git/worktrees/other");
        write(&checkout, ".git", format!("gitdir: {}\n", other.display()));
        assert_eq!(found(&checkout), all, "it does not belong to this work tree");
        write(&checkout, ".git", "gitdir: git\n");
        write(&checkout, "git/gitdir", checkout.join(".git").to_str().unwrap());
        write(&checkout, "git/commondir", theirs.join(".git").to_str().unwrap());
        assert_eq!(found(&checkout), all, "its own directory leads out");
        symlink(&theirs, checkout.join("git/link")).unwrap();
        write(&checkout, "git/commondir", "link/.git\n");
        assert_eq!(found(&checkout), all, "by a link");
        write(&checkout, "git/commondir", "../common\n");
        write(&checkout, "common/info/exclude", "y.py\n");
        assert_eq!(found(&checkout), ["x.py"], "what lies inside is its own");
    }

    /// A file that was checked before it was opened would be another one meanwhile.
    #[test]
    fn a_file_that_becomes_a_pipe_meanwhile_blocks_nothing() {
        let place = create_tree();
        let root = place.path().to_owned();
        write(&root, "a/.gitignore", "x.py\n");
        let pipe = root.join("a/pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let is_over = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let swapping = std::thread::spawn({
            let (root, is_over) = (root.clone(), Arc::clone(&is_over));
            move || {
                let path = |name: &str| root.join("a").join(name);
                while !is_over.load(Ordering::Relaxed) {
                    fs::rename(path(".gitignore"), path("aside")).unwrap();
                    fs::rename(path("pipe"), path(".gitignore")).unwrap();
                    fs::rename(path(".gitignore"), path("pipe")).unwrap();
                    fs::rename(path("aside"), path(".gitignore")).unwrap();
                }
            }
        });
        std::thread::spawn(move || {
            for _ in 0..500 {
                drop(find_python_files(&root));
            }
            sender.send(()).unwrap();
        });
        let ended = receiver.recv_timeout(Duration::from_mins(1));
        is_over.store(true, Ordering::Relaxed);
        swapping.join().unwrap();
        assert!(ended.is_ok(), "it waits for a pipe");
    }
}

//! Reads source files of the repository that a traceback names.
//!
//! The file name comes from a guest. Invariant: nothing outside of the repository is ever read,
//! whatever the name is and wherever links lead.

use std::path::{Component, Path};

use menace_files::UntrustedDir;

/// Larger files are not read.
const MAX_SOURCE_BYTES: u64 = 4 << 20;

/// One line of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// One-based number of the line.
    pub number: usize,
    /// The line without its line break, with tabs as four spaces.
    pub text: String,
    /// Whether it is the requested line, not one of the context.
    pub is_current: bool,
}

/// The text of a file of the repository; `None` if it cannot or must not be read.
pub fn read_source_file(repository: &Path, file: &str) -> Option<String> {
    let relative = Path::new(file);
    let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if file.is_empty() || !is_plain {
        return None;
    }
    let bytes = UntrustedDir::open(repository).ok()?.read(relative, MAX_SOURCE_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A line of a file with `context_lines` before and after it; `None` if the file cannot or must not
/// be read.
pub fn read_source_lines(
    repository: &Path,
    file: &str,
    line: u32,
    context_lines: usize,
) -> Vec<SourceLine> {
    let line = line as usize;
    let Some(text) = read_source_file(repository, file) else { return Vec::new() };
    let first = line.saturating_sub(context_lines).max(1);
    text.lines()
        .enumerate()
        .skip(first - 1)
        .take(line + context_lines + 1 - first)
        .map(|(index, text)| SourceLine {
            number: index + 1,
            text: text.replace('\t', "    "),
            is_current: index + 1 == line,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_outside_of_the_repository_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let repository = directory.path().join("repository");
        fs::create_dir(&repository).unwrap();
        let secret = directory.path().join("secret");
        fs::write(repository.join("desk.py"), "inside").unwrap();
        fs::write(&secret, "outside").unwrap();
        symlink(&secret, repository.join("link.py")).unwrap();
        symlink(directory.path(), repository.join("up")).unwrap();
        let absolute = secret.to_str().unwrap();
        assert_eq!(read_source_file(&repository, "desk.py").as_deref(), Some("inside"));
        for name in
            ["../secret", "x/../../secret", "up/secret", absolute, "link.py", "", ".", "missing.py"]
        {
            assert_eq!(read_source_file(&repository, name), None, "{name}");
            assert_eq!(read_source_lines(&repository, name, 1, 1), [], "{name}");
        }
    }

    #[test]
    fn a_line_comes_with_those_around_it() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.py"), "one\ntwo\nthree\nfour\n").unwrap();
        let lines = read_source_lines(directory.path(), "a.py", 2, 1);
        let lines: Vec<_> =
            lines.iter().map(|line| (line.number, &*line.text, line.is_current)).collect();
        assert_eq!(lines, [(1, "one", false), (2, "two", true), (3, "three", false)]);
        assert_eq!(read_source_lines(directory.path(), "a.py", 0, 0), []);
        assert_eq!(read_source_lines(directory.path(), "a.py", u32::MAX, 3), []);
    }
}

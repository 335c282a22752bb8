//! Lines of the repository around a place that a traceback names.
//!
//! The name came out of a guest: [`failure::source`] reads nothing outside of the repository.

use std::path::Path;

use menace_loop::failure;
use serde::Serialize;

/// Longer lines are cut.
const LONGEST: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SourceLine {
    pub number: usize,
    pub text: String,
    /// The one in question.
    pub here: bool,
}

/// The lines around one; none where they cannot or must not be read.
pub(crate) fn around(repository: &Path, file: &str, line: u32, around: usize) -> Vec<SourceLine> {
    let line = line as usize;
    let Some(text) = failure::source(repository, file) else { return Vec::new() };
    let first = line.saturating_sub(around).max(1);
    text.lines()
        .enumerate()
        .skip(first - 1)
        .take(line + around + 1 - first)
        .map(|(index, text)| SourceLine {
            number: index + 1,
            text: crate::text::cut(&text.replace('\t', "    "), LONGEST),
            here: index + 1 == line,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_lines_around_a_place_are_found() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.py"), "one\ntwo\nthree\nfour\n").unwrap();
        let lines = around(directory.path(), "a.py", 2, 1);
        let told: Vec<_> = lines.iter().map(|line| (line.number, &*line.text, line.here)).collect();
        assert_eq!(told, [(1, "one", false), (2, "two", true), (3, "three", false)]);
        assert_eq!(around(directory.path(), "a.py", 0, 0), []);
        assert_eq!(around(directory.path(), "a.py", u32::MAX, 3), []);
    }

    #[test]
    fn nothing_outside_of_the_repository_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let repository = directory.path().join("repository");
        fs::create_dir(&repository).unwrap();
        let secret = directory.path().join("secret.txt");
        fs::write(&secret, "secret\n").unwrap();
        std::os::unix::fs::symlink(&secret, repository.join("link.py")).unwrap();
        std::os::unix::fs::symlink(directory.path(), repository.join("up")).unwrap();
        let absolute = secret.display().to_string();
        for file in
            ["../secret.txt", "x/../../secret.txt", "link.py", "up/secret.txt", &absolute, "", "."]
        {
            assert_eq!(around(&repository, file, 1, 1), [], "{file}");
        }
    }
}

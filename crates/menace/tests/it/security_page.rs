//! `docs/security.md` names tests for its promises: they exist, and every promise has one.

use std::fs;
use std::path::{Path, PathBuf};

const HOSTILE_SUITE: &str = "tests/hostile";

fn rust_files(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The parts of a text in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_promise_names_tests_that_exist() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(own.join("../../docs/security.md")).unwrap();
    let (_, promises) = page.split_once("## Promises").unwrap();
    let (promises, _) = promises.split_once("## Trust in settings").unwrap();
    let mut sources = Vec::new();
    rust_files(&own.join(".."), &mut sources);
    let defines = |file: &str, test: &str| {
        let definition = format!("fn {test}(");
        let is_file = |path: &&PathBuf| {
            path.file_stem().is_some_and(|stem| stem == file)
                && fs::read_to_string(path).unwrap().contains(&definition)
        };
        sources.iter().any(|path| is_file(&path))
    };
    let starts_item = |line: &str| line.starts_with(|first: char| first.is_ascii_digit());
    let mut numbers = 0;
    for (index, _) in promises.lines().enumerate().filter(|(_, line)| starts_item(line)) {
        numbers += 1;
        let item = promises
            .lines()
            .skip(index + 1)
            .take_while(|line| !starts_item(line) && !line.starts_with('#'));
        let item = item.map(str::trim).collect::<Vec<_>>().join(" ");
        let (_, tests) = item.split_once("Tried by ").unwrap_or_else(|| {
            panic!("promise {numbers} names no test: {item}");
        });
        for name in quoted(tests) {
            let exists = match name.split_once("::") {
                Some((file, test)) => defines(file, test),
                None => own.join(HOSTILE_SUITE).join(name).is_file(),
            };
            assert!(exists, "promise {numbers}: there is no `{name}`");
        }
    }
    assert!(numbers >= 20, "only {numbers} promises were found");
}

//! The top-level modules use each other only as the table in `lib.rs` says.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

use std::fs;
use std::path::{Path, PathBuf};

const ALLOWED_USES: [(&str, &[&str]); 8] = [
    ("config", &[]),
    ("regex", &[]),
    ("input", &["config", "regex"]),
    ("preset", &["config", "input"]),
    ("domain", &["input"]),
    ("judge", &["input"]),
    ("explore", &["input", "judge"]),
    ("shrink", &[]),
];

fn rust_files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry"));
    entries.flat_map(|entry| rust_files(&entry.path())).collect()
}

/// The first part of every `crate::…` path in the text; for `crate::{…}`, all of its first parts.
fn used_modules(text: &str) -> Vec<&str> {
    let word_end = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let mut modules = Vec::new();
    for (start, prefix) in text.match_indices("crate::") {
        // `$crate::` in a macro is the same path.
        let path = &text[start + prefix.len()..];
        match path.strip_prefix('{') {
            Some(list) => {
                let list = &list[..list.find(';').unwrap_or(list.len())];
                modules.extend(list.split([',', '{', '}']).map(|item| {
                    let item = item.trim();
                    &item[..word_end(item).unwrap_or(item.len())]
                }));
            }
            None => modules.push(&path[..word_end(path).unwrap_or(path.len())]),
        }
    }
    modules
}

#[test]
fn top_level_modules_use_only_the_modules_below_them() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let names: Vec<&str> = ALLOWED_USES.iter().map(|(name, _)| *name).collect();
    for entry in fs::read_dir(&source).expect("the sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        assert!(name == "lib" || names.contains(&name.as_str()), "`{name}` has no rule");
    }
    for (module, allowed) in ALLOWED_USES {
        let directory = source.join(module);
        let root = if directory.is_dir() { directory } else { directory.with_extension("rs") };
        for file in rust_files(&root) {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            for used in used_modules(&text) {
                let is_known = names.contains(&used) && used != module;
                assert!(
                    !is_known || allowed.contains(&used),
                    "{}: `{module}` may not use `{used}`",
                    file.display()
                );
                // Re-exports of the crate's root would hide which module is used.
                assert!(!used.starts_with("Config"), "{}: use `config::{used}`", file.display());
            }
        }
    }
}

#[test]
fn used_modules_are_found_in_paths_and_lists() {
    assert_eq!(used_modules("use crate::input::CallInput;"), ["input"]);
    let list = used_modules("use crate::{judge::find_weakness, preset};");
    assert!(list.contains(&"judge") && list.contains(&"preset"), "{list:?}");
}

//! Fingerprints everything that decides what an analysis says, so that no cache outlives it.

#![allow(clippy::disallowed_methods, reason = "the sources of this very crate")]

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;

fn main() {
    let mut hasher = DefaultHasher::new();
    for input in ["src", "../menace-model/src", "../../Cargo.lock"] {
        println!("cargo::rerun-if-changed={input}");
        hash_tree(Path::new(input), &mut hasher);
    }
    println!("cargo::rustc-env=MENACE_SOURCE_FINGERPRINT={:016x}", hasher.finish());
}

fn hash_tree(path: &Path, hasher: &mut DefaultHasher) {
    if let Ok(entries) = fs::read_dir(path) {
        let mut entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for entry in &entries {
            hash_tree(entry, hasher);
        }
    } else if let Ok(content) = fs::read(path) {
        path.hash(hasher);
        content.hash(hasher);
    }
}

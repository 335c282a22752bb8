//! The guest harness: Python files in this crate, compiled into this program.

use crate::interpreter::Interpreter;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../guest/", $name)))),*]
    };
}

/// Name and source of each file.
pub(crate) const SOURCES: &[(&str, &str)] = files![
    "__main__.py",
    "audit.py",
    "calling.py",
    "child.py",
    "consuming.py",
    "copying.py",
    "describing.py",
    "descriptors.py",
    "failures.py",
    "frozen_time.py",
    "guard.py",
    "guest_mode.py",
    "hashing.py",
    "importing.py",
    "keeping.py",
    "mailbox.py",
    "modules.py",
    "names.py",
    "printing.py",
    "reopening.py",
    "reporting.py",
    "seeding.py",
    "state.py",
    "tasks.py",
    "values.py",
    "warming.py",
    "wire.py",
    "zygote.py",
];

/// What goes into a sandbox: compiled for this interpreter when that could be done, and the source.
pub(crate) fn files(interpreter: &Interpreter) -> Vec<(String, Vec<u8>)> {
    let sources = SOURCES.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    sources.chain(interpreter.compiled().iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_harness_is_on_the_list() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/guest");
        let mut there: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| Path::new(name).extension().is_some_and(|end| end == "py"))
            .collect();
        there.sort();
        let listed: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, there);
    }
}

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
    "answering.py",
    "audit.py",
    "blocked.py",
    "burst.py",
    "calling.py",
    "child.py",
    "clear.py",
    "company.py",
    "conditions.py",
    "consuming.py",
    "copying.py",
    "coverage.py",
    "defaults.py",
    "describing.py",
    "descriptors.py",
    "drifting.py",
    "failures.py",
    "forking.py",
    "frozen_time.py",
    "guard.py",
    "guest_mode.py",
    "hashing.py",
    "importing.py",
    "keeping.py",
    "ledger.py",
    "link.py",
    "mailbox.py",
    "many_tasks.py",
    "modules.py",
    "monitoring.py",
    "names.py",
    "planted.py",
    "plugging.py",
    "points.py",
    "printing.py",
    "reading.py",
    "reopening.py",
    "reporting.py",
    "seeding.py",
    "serving.py",
    "spared.py",
    "spoiling.py",
    "state.py",
    "strikes.py",
    "structure.py",
    "stubs.py",
    "tasks.py",
    "together.py",
    "tracing.py",
    "turns.py",
    "undoing.py",
    "upstream.py",
    "values.py",
    "warming.py",
    "whereabouts.py",
    "wire.py",
    "zygote.py",
];

/// What goes into a sandbox: compiled for this interpreter when that could be done, else the source.
pub(crate) fn files(interpreter: &Interpreter) -> Vec<(String, Vec<u8>)> {
    let compiled = interpreter.compiled();
    let is_compiled = |name: &str| {
        compiled.iter().any(|(other, _)| other.strip_suffix('c').is_some_and(|other| other == name))
    };
    let rest = SOURCES.iter().filter(|(name, _)| !is_compiled(name));
    let sources = rest.map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    sources.chain(compiled.iter().cloned()).collect()
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

//! The guest harness: Python files in this crate, compiled into this program.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::interpreter::Interpreter;
use crate::wire::marshal::Writer;

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

/// The file that is run.
const MAIN: &str = "__main__.pyc";
/// The one that all others are in when they are compiled: a sandbox starts the sooner, the fewer there are.
const BUNDLE: &str = "bundle";

/// What goes into a sandbox: compiled for this interpreter when that could be done, else the source.
fn files(interpreter: &Interpreter) -> Vec<(String, Vec<u8>)> {
    let compiled = interpreter.compiled();
    let is_compiled = |name: &str| {
        compiled.iter().any(|(other, _)| other.strip_suffix('c').is_some_and(|other| other == name))
    };
    let rest = SOURCES.iter().filter(|(name, _)| !is_compiled(name));
    let sources = rest.map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    let main = compiled.iter().filter(|(name, _)| name == MAIN).cloned();
    let mut bundle = Writer::default();
    bundle.open_dict();
    for (name, content) in compiled.iter().filter(|(name, _)| name != MAIN) {
        bundle.str(name);
        bundle.bytes(content);
    }
    bundle.close_dict();
    sources.chain(main).chain([(BUNDLE.to_owned(), bundle.0)]).collect()
}

/// The files as each sandbox gets them: one after the other in memory that nobody changes any more.
#[derive(Debug)]
pub(crate) struct Packed {
    memory: File,
    /// Name and length.
    pub(crate) files: Vec<(String, usize)>,
}

impl Packed {
    pub(crate) fn new(interpreter: &Interpreter) -> io::Result<Self> {
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let mut memory = File::from(memfd_create(c"harness", flags)?);
        let mut files = Vec::new();
        for (name, content) in self::files(interpreter) {
            memory.write_all(&content)?;
            files.push((name, content.len()));
        }
        let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK;
        fcntl(&memory, FcntlArg::F_ADD_SEALS(seals | SealFlag::F_SEAL_SEAL))?;
        Ok(Self { memory, files })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.memory.as_raw_fd()
    }
}

/// Writes the files that came along as [`Packed`] into a directory.
///
/// Others read from the same descriptor at the same time, so its offset means nothing.
pub(crate) fn unpack(memory: &File, files: &[(String, usize)], directory: &Path) -> io::Result<()> {
    let mut start = 0;
    for (name, length) in files {
        let mut content = vec![0; *length];
        memory.read_exact_at(&mut content, start)?;
        std::fs::write(directory.join(name), content)?;
        start += *length as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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

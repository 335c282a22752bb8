//! The guest harness: Python files in this crate, compiled into this program.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use serde::{Deserialize, Serialize};

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

/// What is written into a sandbox: the main file and, as far as they could not be compiled for this
/// interpreter, the others.
fn files(interpreter: &Interpreter) -> Vec<(String, Vec<u8>)> {
    let compiled = interpreter.compiled();
    let is_compiled = |name: &str| {
        compiled.iter().any(|(other, _)| other.strip_suffix('c').is_some_and(|other| other == name))
    };
    let rest = SOURCES.iter().filter(|(name, _)| !is_compiled(name));
    let sources = rest.map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    let main = compiled.iter().filter(|(name, _)| name == MAIN).cloned();
    sources.chain(main).collect()
}

/// What is compiled, as `__main__.py` expects it: the length of the index, the index, and the contents.
fn bundle(interpreter: &Interpreter) -> Vec<u8> {
    let compiled = || interpreter.compiled().iter().filter(|(name, _)| name != MAIN);
    // Such numbers are all written with the same width: the index is as long, whatever they are.
    let index = |first: usize| {
        let (mut index, mut at) = (Writer::default(), first);
        index.open_dict();
        for (name, content) in compiled() {
            index.str(name);
            index.tuple(2);
            for number in [at, content.len()] {
                index.int(i64::try_from(number).unwrap_or(i64::MAX));
            }
            at += content.len();
        }
        index.close_dict();
        index.0
    };
    let first = LENGTH + index(0).len();
    let index = index(first);
    let length = u32::try_from(index.len()).unwrap_or(u32::MAX).to_le_bytes();
    let mut bundle = [&length[..], &index].concat();
    compiled().for_each(|(_, content)| bundle.extend(content));
    bundle
}

/// Of the length of an index.
const LENGTH: usize = 4;

/// The harness as each sandbox gets it, in memory that nobody changes any more: the bundle, and then the
/// files one after the other.
#[derive(Debug)]
pub(crate) struct Packed {
    memory: File,
    pub(crate) contents: Contents,
}

/// What is in the memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Contents {
    /// How long the bundle is.
    bundle: usize,
    /// Name and length.
    files: Vec<(String, usize)>,
}

impl Contents {
    /// The file that is run. The compiled form when there is one: it saves the time to compile.
    pub(crate) fn main_file(&self, directory: &Path) -> PathBuf {
        let is_compiled = self.files.iter().any(|(name, _)| name == MAIN);
        directory.join(if is_compiled { MAIN } else { "__main__.py" })
    }
}

impl Packed {
    pub(crate) fn new(interpreter: &Interpreter) -> io::Result<Self> {
        let bundle = bundle(interpreter);
        let files = self::files(interpreter);
        let contents: Vec<&[u8]> = files.iter().map(|(_, content)| content.as_slice()).collect();
        let memory = sealed(&[&[bundle.as_slice()], contents.as_slice()].concat())?;
        let files = files.iter().map(|(name, content)| (name.clone(), content.len())).collect();
        Ok(Self { memory, contents: Contents { bundle: bundle.len(), files } })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.memory.as_raw_fd()
    }
}

/// The bundle that came along as [`Packed`], for one sandbox alone: what is read before the harness is (`.pth` files)
/// may lock an open file or move its position, and others would notice.
pub(crate) fn bundle_of(memory: &File, contents: &Contents) -> io::Result<File> {
    let mut bundle = vec![0; contents.bundle];
    memory.read_exact_at(&mut bundle, 0)?;
    sealed(&[&bundle])
}

/// Memory with these contents, which nobody changes any more.
fn sealed(contents: &[&[u8]]) -> io::Result<File> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let mut memory = File::from(memfd_create(c"harness", flags)?);
    for content in contents {
        memory.write_all(content)?;
    }
    let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK;
    fcntl(&memory, FcntlArg::F_ADD_SEALS(seals | SealFlag::F_SEAL_SEAL))?;
    Ok(memory)
}

/// Writes the files that came along as [`Packed`] into a directory.
///
/// Others read from the same descriptor at the same time, so its offset means nothing.
pub(crate) fn unpack(memory: &File, contents: &Contents, directory: &Path) -> io::Result<()> {
    let mut start = contents.bundle as u64;
    for (name, length) in &contents.files {
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

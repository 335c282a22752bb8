//! The guest harness: Python files in this crate, compiled into this program.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use serde::{Deserialize, Serialize};

use crate::interpreter::PythonInterpreter;
use crate::wire::marshal::MarshalWriter;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../guest/", $name)))),*]
    };
}

/// Name and source of each file.
pub(crate) const HARNESS_SOURCES: &[(&str, &str)] = files![
    "__main__.py",
    "arguments/builder.py",
    "arguments/stubs.py",
    "concurrency/burst.py",
    "concurrency/file_rollback.py",
    "concurrency/scheduler.py",
    "concurrency/state_digest.py",
    "concurrency/switch_points.py",
    "concurrency/task_runs.py",
    "concurrency/thread_runs.py",
    "concurrency/thread_state.py",
    "coverage/monitoring.py",
    "coverage/recorder.py",
    "coverage/tracing.py",
    "describe/bounded_repr.py",
    "describe/digest.py",
    "describe/exceptions.py",
    "describe/introspect.py",
    "describe/report.py",
    "describe/result.py",
    "describe/time_budget.py",
    "describe/typed_copy.py",
    "faults/file_drift.py",
    "faults/injection.py",
    "faults/schema_drift.py",
    "runtime/call.py",
    "runtime/child.py",
    "runtime/conditions.py",
    "runtime/consume.py",
    "runtime/event_loop.py",
    "runtime/fixture_files.py",
    "runtime/fork_hooks.py",
    "runtime/fork_limit.py",
    "runtime/frozen_clock.py",
    "runtime/guest_mode.py",
    "runtime/import_hooks.py",
    "runtime/mailbox.py",
    "runtime/modules.py",
    "runtime/random_seed.py",
    "runtime/shared_process.py",
    "runtime/site_start.py",
    "runtime/stack_sampler.py",
    "runtime/step_entries.py",
    "runtime/warmup.py",
    "runtime/wire.py",
    "runtime/zygote.py",
    "state/audit.py",
    "state/descriptors.py",
    "state/integrity.py",
    "state/mutable_defaults.py",
    "state/reopen.py",
    "state/snapshot.py",
    "state/unforkable.py",
    "upstream/corrupt_replies.py",
    "upstream/http.py",
    "upstream/link.py",
    "upstream/server.py",
    "upstream/service.py",
    "upstream/sockets.py",
    "upstream/tls.py",
];

/// The main file, which Python runs.
const MAIN_FILE: &str = "__main__.pyc";

/// The files that are written into a sandbox: the main file, and files that could not be compiled
/// for this interpreter.
fn unbundled_files(interpreter: &PythonInterpreter) -> Vec<(String, Vec<u8>)> {
    let compiled = interpreter.compiled_harness();
    let is_compiled = |name: &str| {
        compiled.iter().any(|(other, _)| other.strip_suffix('c').is_some_and(|other| other == name))
    };
    let rest = HARNESS_SOURCES.iter().filter(|(name, _)| !is_compiled(name));
    let sources = rest.map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    let main = compiled.iter().filter(|(name, _)| name == MAIN_FILE).cloned();
    sources.chain(main).collect()
}

/// The compiled files in the format that `__main__.py` expects: the length of the index, the index,
/// and the contents.
fn build_bundle(interpreter: &PythonInterpreter) -> Vec<u8> {
    let compiled = || interpreter.compiled_harness().iter().filter(|(name, _)| name != MAIN_FILE);
    // Numbers have the same width in `marshal`, so the index has the same length wherever contents
    // begin.
    let index = |first: usize| {
        let (mut index, mut at) = (MarshalWriter::default(), first);
        index.open_dict();
        for (name, content) in compiled() {
            index.write_str(name);
            index.open_tuple(2);
            for number in [at, content.len()] {
                index.write_int(i64::try_from(number).unwrap_or(i64::MAX));
            }
            at += content.len();
        }
        index.close_dict();
        index.0
    };
    let first = INDEX_LENGTH_BYTES + index(0).len();
    let index = index(first);
    let length = u32::try_from(index.len()).unwrap_or(u32::MAX).to_le_bytes();
    let mut bundle = [&length[..], &index].concat();
    compiled().for_each(|(_, content)| bundle.extend(content));
    bundle
}

/// The length of the field with the length of the index.
const INDEX_LENGTH_BYTES: usize = 4;

/// The harness for all sandboxes, in sealed memory: the bundle, then the files, one after the
/// other.
#[derive(Debug)]
pub(crate) struct PackedHarness {
    memory: File,
    pub(crate) contents: HarnessContents,
}

/// The layout of a [`PackedHarness`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HarnessContents {
    /// The length of the bundle.
    bundle_bytes: usize,
    /// Name and length of each file.
    files: Vec<(String, usize)>,
}

impl HarnessContents {
    /// The path of the file that Python runs: the compiled form if there is one, which saves
    /// compiling it.
    pub(crate) fn main_file(&self, directory: &Path) -> PathBuf {
        let is_compiled = self.files.iter().any(|(name, _)| name == MAIN_FILE);
        directory.join(if is_compiled { MAIN_FILE } else { "__main__.py" })
    }
}

impl PackedHarness {
    pub(crate) fn new(interpreter: &PythonInterpreter) -> io::Result<Self> {
        let bundle = build_bundle(interpreter);
        let files = self::unbundled_files(interpreter);
        let contents: Vec<&[u8]> = files.iter().map(|(_, content)| content.as_slice()).collect();
        let memory = create_sealed_memory(&[&[bundle.as_slice()], contents.as_slice()].concat())?;
        let files = files.iter().map(|(name, content)| (name.clone(), content.len())).collect();
        Ok(Self { memory, contents: HarnessContents { bundle_bytes: bundle.len(), files } })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.memory.as_raw_fd()
    }
}

/// A copy of the bundle of a [`PackedHarness`] for one sandbox: a guest that got hold of it could
/// lock an open file or move its position, and other sandboxes would notice.
pub(crate) fn copy_bundle(memory: &File, contents: &HarnessContents) -> io::Result<File> {
    let mut bundle = vec![0; contents.bundle_bytes];
    memory.read_exact_at(&mut bundle, 0)?;
    create_sealed_memory(&[&bundle])
}

/// Creates sealed memory with these contents.
fn create_sealed_memory(contents: &[&[u8]]) -> io::Result<File> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let mut memory = File::from(memfd_create(c"harness", flags)?);
    for content in contents {
        memory.write_all(content)?;
    }
    let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK;
    fcntl(&memory, FcntlArg::F_ADD_SEALS(seals | SealFlag::F_SEAL_SEAL))?;
    Ok(memory)
}

/// Writes the files of a [`PackedHarness`] into a directory.
///
/// Other processes read from the same descriptor at the same time, so its position is not used.
#[expect(clippy::disallowed_methods, reason = "a new directory, which no guest has seen")]
pub(crate) fn unpack_files(
    memory: &File,
    contents: &HarnessContents,
    directory: &Path,
) -> io::Result<()> {
    let mut start = contents.bundle_bytes as u64;
    for (name, length) in &contents.files {
        let mut content = vec![0; *length];
        memory.read_exact_at(&mut content, start)?;
        let path = directory.join(name);
        if let Some(package) = path.parent() {
            std::fs::create_dir_all(package)?;
        }
        std::fs::write(path, content)?;
        start += *length as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_harness_is_on_the_list() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest");
        let mut on_disk = Vec::new();
        let mut pending = vec![directory.clone()];
        while let Some(inner) = pending.pop() {
            for entry in std::fs::read_dir(inner).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    pending.push(path);
                } else if path.extension().is_some_and(|end| end == "py") {
                    let name = path.strip_prefix(&directory).unwrap();
                    on_disk.push(name.to_str().unwrap().to_owned());
                }
            }
        }
        on_disk.sort();
        let listed: Vec<&str> = HARNESS_SOURCES.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, on_disk);
    }
}

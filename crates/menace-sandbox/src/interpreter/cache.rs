//! Caches an interpreter's answer to the probe, until something that it depends on has changed.

#![expect(
    clippy::disallowed_methods,
    reason = "the user's own cache directory, and times of files"
)]

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::HarnessSource;
use super::find::FoundInterpreter;
use super::probe::{self, InterpreterDescription};

/// The file with the cached answer of one interpreter.
#[derive(Debug)]
pub(super) struct InterpreterCacheSlot {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CachedProbeAnswer {
    /// Directories and files that the answer depends on, with their modification times; `None`
    /// stands for one that does not exist.
    watched: Vec<(PathBuf, Option<ModificationTime>)>,
    answer: String,
}

impl InterpreterCacheSlot {
    /// `None` where the interpreter's file does not identify it.
    pub(super) fn new(
        directory: &Path,
        found: &FoundInterpreter,
        sources: &[HarnessSource],
    ) -> Option<Self> {
        let mut hasher = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(probe::PROBE_SCRIPT.as_bytes());
        for path in [&found.executable, &found.real_path, &found.base_executable] {
            add(path.as_os_str().as_bytes());
        }
        for path in [&found.real_path, &found.base_executable] {
            let data = fs::metadata(path).ok()?;
            let (seconds, nanoseconds) = mtime(&data);
            add(&seconds.to_le_bytes());
            add(&nanoseconds.to_le_bytes());
            add(&data.len().to_le_bytes());
        }
        if let Some(venv) = &found.venv {
            add(venv.directory.as_os_str().as_bytes());
            add(venv.config.as_bytes());
        }
        for source in sources {
            add(source.name.as_bytes());
            add(source.text.as_bytes());
        }
        let name = format!("interpreter-{}.json", hasher.finalize().to_hex());
        Some(Self { path: directory.join(name) })
    }

    /// The cached answer, if the file is intact and nothing it depends on has changed.
    pub(super) fn load(&self) -> Option<String> {
        let text = fs::read_to_string(&self.path).ok()?;
        let (sum, body) = text.split_once('\n')?;
        if sum != blake3::hash(body.as_bytes()).to_hex().as_str() {
            return None;
        }
        let cached: CachedProbeAnswer = serde_json::from_str(body).ok()?;
        let is_true = cached.watched.iter().all(|(path, changed)| read_mtime(path) == *changed);
        is_true.then_some(cached.answer)
    }

    /// Stores an answer atomically: readers see the old file or the new one.
    pub(super) fn store(
        &self,
        answer: String,
        described: &InterpreterDescription,
    ) -> io::Result<()> {
        let watched = described
            .site_directories
            .iter()
            .chain(&described.pth_files)
            .chain([&described.stdlib, &described.prefix])
            .map(|path| (path.clone(), read_mtime(path)))
            .collect();
        let body = serde_json::to_string(&CachedProbeAnswer { watched, answer })?;
        let sum = blake3::hash(body.as_bytes()).to_hex();
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let draft = self.path.with_extension(format!("{}.tmp", std::process::id()));
        fs::write(&draft, format!("{sum}\n{body}"))
            .and_then(|()| fs::rename(&draft, &self.path))
            .inspect_err(|_| {
                let _ = fs::remove_file(&draft);
            })
    }
}

/// Seconds and nanoseconds.
type ModificationTime = (i64, i64);

fn read_mtime(path: &Path) -> Option<ModificationTime> {
    fs::metadata(path).ok().as_ref().map(mtime)
}

fn mtime(data: &fs::Metadata) -> ModificationTime {
    (data.mtime(), data.mtime_nsec())
}

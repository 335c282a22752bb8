//! A repository of one module, understood, and a sandbox for it: for what has no command yet.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use menace_sandbox::interpreter::{Interpreter, Search, Source};
use menace_sandbox::{LocalBackend, Options};
use menace_source::Analysis;

pub(crate) struct Trial {
    pub analysis: Analysis,
    pub backend: LocalBackend,
    repository: tempfile::TempDir,
}

impl Trial {
    pub(crate) fn root(&self) -> &Path {
        self.repository.path()
    }

    pub(crate) fn new(file: &str, source: &str) -> Self {
        let repository = tempfile::tempdir().expect("a temporary directory");
        let root = repository.path();
        std::fs::write(root.join(file), source).expect("a module");
        let sources: Vec<Source> = menace_sandbox::harness_sources()
            .iter()
            .map(|(name, text)| Source { name: (*name).to_owned(), text: (*text).to_owned() })
            .collect();
        let search = Search {
            python: None,
            repository: root,
            path: OsStr::new("/usr/local/bin:/usr/bin"),
            home: None,
            sources: &sources,
            cache: None,
        };
        let interpreter = Interpreter::find(&search).expect("a Python");
        let options = Options {
            init: PathBuf::from(env!("CARGO_BIN_EXE_menace")),
            ..Options::new(root.to_owned(), interpreter)
        };
        let backend = LocalBackend::new(options).expect("a sandbox");
        let analysis = menace_source::analyze(root, &menace_source::Options::default(), &|_, _| {});
        Self { analysis: analysis.expect("an analysis"), backend, repository }
    }
}

//! A repository of one module, understood, and a sandbox for it: for what has no command yet.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use menace_sandbox::interpreter::{HarnessSource, InterpreterSearch, PythonInterpreter};
use menace_sandbox::{BackendOptions, LocalBackend};
use menace_source::Analysis;

pub(crate) struct SingleModuleSandbox {
    pub analysis: Analysis,
    pub backend: LocalBackend,
    repository: tempfile::TempDir,
}

impl SingleModuleSandbox {
    pub(crate) fn root(&self) -> &Path {
        self.repository.path()
    }

    pub(crate) fn new(file: &str, source: &str) -> Self {
        let repository = tempfile::tempdir().expect("a temporary directory");
        let root = repository.path();
        std::fs::write(root.join(file), source).expect("a module");
        let sources: Vec<HarnessSource> = menace_sandbox::harness_sources()
            .iter()
            .map(|(name, text)| HarnessSource {
                name: (*name).to_owned(),
                text: (*text).to_owned(),
            })
            .collect();
        let search = InterpreterSearch {
            python: None,
            repository: root,
            path: OsStr::new("/usr/local/bin:/usr/bin"),
            home: None,
            sources: &sources,
            cache: None,
        };
        let interpreter = PythonInterpreter::find(&search).expect("a Python");
        let options = BackendOptions {
            init: PathBuf::from(env!("CARGO_BIN_EXE_menace")),
            ..BackendOptions::new(root.to_owned(), interpreter)
        };
        let backend = LocalBackend::new(options).expect("a sandbox");
        let analysis =
            menace_source::analyze(root, &menace_source::AnalysisOptions::default(), &|_, _| {});
        Self { analysis: analysis.expect("an analysis"), backend, repository }
    }
}

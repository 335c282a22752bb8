//! The analysis of a whole repository: every file at once, then all of them together.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use menace_files::{FileRefusal, UntrustedDir, refusal_of};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use ruff_source_file::LineIndex;
use rustc_hash::FxHashMap;

use menace_model::AnalyzedModule;

use crate::cache::{self, FactsCache, FactsCacheError, FactsCacheKey};
use crate::check::external::{self, ScanResults, ScannerInfo, ScannerSearch, ScannerTool};
use crate::facts::{self, FileFacts, SourceFileError};
use crate::file_discovery::{self, PythonSourceFile, RepositoryWalkError};
use crate::link::{self, LinkedModules, ModuleNames};
use crate::survey::SurveyFacts;
use crate::{check, code_metrics, decode, parse, stack};

/// Larger files are data in disguise: parsing one would take memory by the gigabyte.
pub const MAX_FILE_BYTES: u64 = 10 << 20;

/// A tool that takes longer is given up; the built-in check has long finished then.
const SCAN_TIMEOUT: Duration = Duration::from_mins(2);

const PROJECT_FILES: &[&str] = &["pyproject.toml", "setup.py", "setup.cfg"];

/// How to analyse.
#[derive(Debug, Clone, Default)]
pub struct AnalysisOptions {
    /// Directory for the cache; none: every file is read anew.
    pub cache: Option<PathBuf>,
    /// Which scanner looks for dangerous constructs.
    pub scanner: ScannerChoice,
    /// The value of `PATH`, where tools are searched.
    pub search_path: OsString,
    /// Worker threads; 0: one per core.
    pub jobs: usize,
}

/// Which scanner looks for dangerous constructs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ScannerChoice {
    /// An installed tool, else the built-in check.
    #[default]
    Auto,
    /// Only this tool.
    Only(ScannerTool),
    Builtin,
}

/// Why a repository cannot be analysed at all.
#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    #[error(transparent)]
    Walk(#[from] RepositoryWalkError),
    #[error("{} was asked for but cannot be used: {why}; use --scanner auto or \
        builtin", .tool.name())]
    Scanner { tool: ScannerTool, why: String },
    #[error("cannot start worker threads")]
    Threads(#[from] ThreadPoolBuildError),
}

/// A repository, understood.
#[derive(Debug)]
pub struct Analysis {
    pub modules: Vec<AnalyzedModule>,
    /// Groups of modules that import each other while they are being imported.
    pub cycles: Vec<Vec<String>>,
    /// The scanner that checked for dangerous constructs.
    pub scanner: ScannerInfo,
    /// Problems that do not affect the result.
    pub warnings: Vec<String>,
    pub(crate) repository: AnalyzedRepository,
}

/// The data of an analysed repository that a survey starts from.
#[derive(Debug)]
pub(crate) struct AnalyzedRepository {
    pub root: PathBuf,
    pub jobs: usize,
    pub names: ModuleNames,
    /// Facts without sections, which are in the reports of the modules.
    pub facts: Vec<FileFacts>,
    /// Computed on first use.
    pub survey_facts: OnceLock<SurveyFacts>,
}

impl Analysis {
    /// The repository's own directory.
    pub fn root(&self) -> &Path {
        &self.repository.root
    }
}

/// Analyses every Python file below `root`. `progress` receives how many of how many are done.
pub fn analyze(
    root: &Path,
    options: &AnalysisOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Analysis, AnalyzeError> {
    let mut stage = StageTimer::start();
    let (files, mut warnings) = file_discovery::find_python_files(root)?;
    stage.log_stage("walk");
    let root = menace_files::resolve_named_path(root).unwrap_or_else(|_| root.to_owned());
    let pool = build_thread_pool(options.jobs)?;
    let (scan, (names, linked)) = std::thread::scope(|scope| {
        let scan = scope.spawn(|| scan(&root, &files, options));
        let linked = pool.install(|| {
            let facts = collect_facts(&root, &files, options, progress, &mut warnings);
            stage.log_stage("facts");
            let names = ModuleNames::new(
                files.iter().map(|file| file.relative.clone()).collect(),
                &find_projects(&root, &files),
                &root.file_name().unwrap_or_default().to_string_lossy(),
            );
            let linked = link::link(&names, facts);
            stage.log_stage("link");
            (names, linked)
        });
        (scan.join().expect("a scan does not panic"), linked)
    });
    let mut scan = scan?;
    let LinkedModules { mut modules, cycles, facts } = linked;
    for module in &mut modules {
        scan.replace_builtin_results(
            Path::new(&module.path),
            &mut module.findings,
            &mut module.lints,
        );
    }
    warnings.extend(scan.warning);
    let repository = AnalyzedRepository {
        root,
        jobs: options.jobs,
        names,
        facts,
        survey_facts: OnceLock::new(),
    };
    Ok(Analysis { modules, cycles, scanner: scan.scanner, warnings, repository })
}

/// Threads that can walk any tree that `parse` lets through; 0: one per core.
pub(crate) fn build_thread_pool(jobs: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new().num_threads(jobs).stack_size(stack::LARGE_STACK_BYTES).build()
}

/// Runs the chosen tool, if any.
fn scan(
    root: &Path,
    files: &[PythonSourceFile],
    options: &AnalysisOptions,
) -> Result<ScanResults, AnalyzeError> {
    let only;
    let tools = match options.scanner {
        ScannerChoice::Builtin => return Ok(ScanResults::builtin()),
        ScannerChoice::Auto => ScannerTool::ALL,
        ScannerChoice::Only(tool) => {
            only = [tool];
            &only[..]
        }
    };
    let search = ScannerSearch { path: &options.search_path, timeout: SCAN_TIMEOUT, tools };
    let files: Vec<PathBuf> = files.iter().map(|file| PathBuf::from(&file.relative)).collect();
    let scan = external::scan(&search, root, &files);
    match options.scanner {
        ScannerChoice::Only(tool) if scan.scanner == ScannerInfo::Builtin => {
            let why = scan.warning.unwrap_or_else(|| "it is not installed".to_owned());
            Err(AnalyzeError::Scanner { tool, why })
        }
        _ => Ok(scan),
    }
}

/// The facts of all files, from the cache if it has them.
fn collect_facts(
    root: &Path,
    files: &[PythonSourceFile],
    options: &AnalysisOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    warnings: &mut Vec<String>,
) -> Vec<FileFacts> {
    let cache_path = options.cache.as_ref().map(|directory| FactsCache::file_path(directory, root));
    let mut warn = |error: FactsCacheError| warnings.push(menace_model::format_error_chain(&error));
    let cache = match cache_path.as_deref().map(FactsCache::open) {
        Some(Ok(cache)) => cache,
        Some(Err(error)) => {
            warn(error);
            FactsCache::default()
        }
        None => FactsCache::default(),
    };
    let done = AtomicUsize::new(0);
    let results: Vec<(Option<FactsCacheKey>, Option<Vec<u8>>, FileFacts)> = files
        .par_iter()
        // Files differ in size by a thousand: small portions keep every core busy to the end.
        .with_max_len(4)
        .map(|file| {
            let result = read_file_facts(file, &cache, cache_path.is_some());
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, files.len());
            result
        })
        .collect();
    let mut keys = Vec::with_capacity(results.len());
    let mut fresh = FxHashMap::default();
    let mut facts = Vec::with_capacity(results.len());
    for (key, encoded, file) in results {
        keys.extend(key);
        fresh.extend(key.zip(encoded));
        facts.push(file);
    }
    if let Some(path) = cache_path
        && (!fresh.is_empty() || cache.len() != keys.len())
        && let Err(error) = cache.save(&path, &keys, &fresh)
    {
        warn(error);
    }
    facts
}

/// The facts of one file, its key in the cache, and its new entry if there is one.
fn read_file_facts(
    file: &PythonSourceFile,
    cache: &FactsCache,
    keep: bool,
) -> (Option<FactsCacheKey>, Option<Vec<u8>>, FileFacts) {
    let bytes = match read_source(&file.absolute) {
        Ok(bytes) => bytes,
        Err(reason) => return (None, None, failed_facts(None, reason)),
    };
    if !keep {
        return (None, None, extract_file_facts(&file.relative, &bytes));
    }
    let key = FactsCacheKey::compute(&file.relative, &bytes);
    if let Some(facts) = cache.get(&key) {
        return (Some(key), None, facts);
    }
    let facts = extract_file_facts(&file.relative, &bytes);
    (Some(key), cache::encode_facts(&facts).ok(), facts)
}

pub(crate) fn read_source(path: &Path) -> Result<Vec<u8>, String> {
    let too_large = || {
        let limit = MAX_FILE_BYTES >> 20;
        format!("larger than {limit} MiB: data rather than code, not analysed")
    };
    let cannot = |error: &io::Error| format!("cannot be read: {error}");
    menace_files::read_file(path, MAX_FILE_BYTES).map_err(|error| match refusal_of(&error) {
        Some(FileRefusal::TooLarge { .. }) => too_large(),
        _ => cannot(&error),
    })
}

/// Extracts everything that follows from the bytes of one file alone.
pub(crate) fn extract_file_facts(path: &str, bytes: &[u8]) -> FileFacts {
    let text = match decode::decode(bytes) {
        Ok(text) => text,
        Err(error) => return failed_facts(Some(error.line()), error.to_string()),
    };
    let lines = LineIndex::from_source_text(&text);
    let parsed = match parse::parse(&text, &lines) {
        Ok(parsed) => parsed,
        Err(error) => return failed_facts(Some(error.line), error.reason),
    };
    let (code_metrics, complexities) = code_metrics::measure(&text, &parsed);
    let mut facts = facts::extract(path, &text, parsed.syntax(), &lines, &complexities);
    facts.code_metrics = code_metrics;
    let module = check::ParsedModule {
        tree: parsed.syntax(),
        tokens: parsed.tokens(),
        source: &text,
        lines: &lines,
        is_package_init: path.ends_with("__init__.py"),
    };
    let checked = check::check_module(&module, check::CheckSelection::ALL);
    facts.findings = checked.findings;
    facts.lints = checked.lints;
    facts
}

fn failed_facts(line: Option<u32>, reason: String) -> FileFacts {
    FileFacts { error: Some(SourceFileError { line, reason }), ..FileFacts::default() }
}

/// Directories that hold a project file, relative to the repository.
fn find_projects(root: &Path, files: &[PythonSourceFile]) -> Vec<String> {
    let mut directories: Vec<&str> = files
        .iter()
        .filter_map(|file| file.relative.rsplit_once('/').map(|(directory, _)| directory))
        .collect();
    directories.dedup();
    let mut all: Vec<&str> = Vec::new();
    for directory in directories {
        all.extend(directory.match_indices('/').map(|(at, _)| &directory[..at]));
        all.push(directory);
    }
    all.sort_unstable();
    all.dedup();
    let Ok(opened) = UntrustedDir::open(root) else { return Vec::new() };
    all.retain(|directory| {
        opened
            .subdirectory(Path::new(directory))
            .is_ok_and(|opened| PROJECT_FILES.iter().any(|file| opened.has_entry(Path::new(file))))
    });
    all.into_iter().map(str::to_owned).collect()
}

/// Logs how long each stage took, at debug level.
struct StageTimer(Instant);

impl StageTimer {
    fn start() -> Self {
        Self(Instant::now())
    }

    fn log_stage(&mut self, name: &str) {
        tracing::debug!("{name}: {:?}", self.0.elapsed());
        self.0 = Instant::now();
    }
}

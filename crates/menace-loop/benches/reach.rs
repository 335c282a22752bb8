//! How much of ordinary code generated inputs reach: `cargo xtask bench reach`.
//!
//! Twenty pure-Python modules of the standard library are copied into a package of a repository of
//! their own, so that nothing is known of them but their source. Counted are public functions,
//! methods and properties: no part of the qualified name begins with an underscore, none is local
//! to a function. Several definitions of one name count as one. One is reached when a call of it
//! returned; an exception, whatever it says, is not enough.
//!
//! `--others` and `--held-out` take twenty other modules each. `--calls N` sets the calls of a
//! section, `--seed N` their seed, `--only NAME` picks a module, `--reasons` prints more reasons of
//! failures, `--without-learning` leaves out learned hints. Below [`MIN_PERCENT`] of the twenty,
//! the exit code is 1.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use menace_loop::{ReachOptions, ReachResult, reach, targets};
use menace_model::{Section, SectionKind, Seed};
use menace_sandbox::interpreter::{HarnessSource, InterpreterSearch, PythonInterpreter};
use menace_sandbox::{BackendOptions, CancelToken, LocalBackend, init};
use menace_scenario::input::{InputSettings, InputStrategy};

/// Files of the standard library; a package is taken with its directory.
const MODULES: [&str; 20] = [
    "_pydecimal.py",
    "argparse.py",
    "calendar.py",
    "configparser.py",
    "csv.py",
    "difflib.py",
    "email/message.py",
    "fractions.py",
    "html/parser.py",
    "ipaddress.py",
    "json/decoder.py",
    "random.py",
    "sched.py",
    "shlex.py",
    "statistics.py",
    "string.py",
    "tarfile.py",
    "textwrap.py",
    "urllib/parse.py",
    "zipfile.py",
];
/// Further modules; input generation was once corrected for failures of theirs.
const OTHERS: [&str; 20] = [
    "bisect.py",
    "cmd.py",
    "copy.py",
    "email/header.py",
    "email/utils.py",
    "fnmatch.py",
    "getopt.py",
    "gettext.py",
    "graphlib.py",
    "http/cookies.py",
    "mimetypes.py",
    "netrc.py",
    "optparse.py",
    "plistlib.py",
    "pprint.py",
    "reprlib.py",
    "shelve.py",
    "tokenize.py",
    "uuid.py",
    "wave.py",
];
/// Modules that input generation was never corrected for.
const HELD_OUT: [&str; 20] = [
    "colorsys.py",
    "contextlib.py",
    "dataclasses.py",
    "email/charset.py",
    "email/generator.py",
    "filecmp.py",
    "fileinput.py",
    "glob.py",
    "heapq.py",
    "http/cookiejar.py",
    "linecache.py",
    "numbers.py",
    "pathlib.py",
    "queue.py",
    "quopri.py",
    "tempfile.py",
    "timeit.py",
    "traceback.py",
    "weakref.py",
    "xml/sax/saxutils.py",
];
/// The package that they are copied into.
const PACKAGE: &str = "library";
const CALLS_PER_SECTION: usize = 40;
const CALLS_PER_ROUND: usize = 4;
const MIN_PERCENT: f64 = 90.0;

fn main() -> ExitCode {
    if init::is_requested() {
        init::run();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        arguments.iter().position(|given| given == name).and_then(|at| arguments.get(at + 1))
    };
    let has = |name: &str| arguments.iter().any(|given| given == name);
    let calls =
        value("--calls").map_or(CALLS_PER_SECTION, |text| text.parse().expect("a number of calls"));
    let seed = value("--seed").map_or(1, |text| text.parse().expect("a number"));
    let only = value("--only");
    let shown = if has("--reasons") { 4 } else { 1 };
    let modules = match (has("--others"), has("--held-out")) {
        (true, _) => OTHERS,
        (_, true) => HELD_OUT,
        _ => MODULES,
    };

    let repository = tempfile::tempdir().expect("a temporary directory");
    let interpreter = interpreter(repository.path());
    for module in modules.iter().filter(|module| only.is_none_or(|only| module.contains(only))) {
        copy(&interpreter.stdlib, repository.path(), module);
    }
    let (major, minor, patch) = interpreter.version;
    println!("Python {major}.{minor}.{patch}, at most {calls} calls of a section");
    let backend = LocalBackend::new(BackendOptions::new(repository.path().to_owned(), interpreter))
        .expect("a sandbox");
    let options = menace_source::AnalysisOptions {
        scanner: menace_source::ScannerChoice::Builtin,
        ..menace_source::AnalysisOptions::default()
    };
    let analysis =
        menace_source::analyze(repository.path(), &options, &|_, _| {}).expect("an analysis");
    let plan = ReachOptions {
        seed: Seed(seed),
        calls,
        round: CALLS_PER_ROUND,
        learn: !has("--without-learning"),
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        cancel: CancelToken::default(),
        input_settings: InputSettings {
            // Without attacks.
            strategies: vec![
                InputStrategy::Signature,
                InputStrategy::Smart,
                InputStrategy::Synthetic,
                InputStrategy::Random,
            ],
            ..InputSettings::default()
        },
    };
    let started = Instant::now();
    let listed = |path: &str| {
        modules.iter().any(|module| path.strip_prefix(PACKAGE) == Some(&format!("/{module}")))
    };
    let wanted = |module: &menace_model::AnalyzedModule, section: &Section| {
        listed(&module.path) && is_public(section)
    };
    let reached = reach(&analysis, &backend, &plan, &wanted).expect("calls");
    let percent = print(&by_name(reached), shown);
    println!("{:.0} s", started.elapsed().as_secs_f64());
    // The target holds for the first twenty modules with the default options.
    let has_target = modules == MODULES
        && only.is_none()
        && calls >= CALLS_PER_SECTION
        && !has("--without-learning");
    if has_target && percent < MIN_PERCENT { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn interpreter(repository: &Path) -> PythonInterpreter {
    let sources: Vec<HarnessSource> = menace_sandbox::harness_sources()
        .iter()
        .map(|(name, text)| HarnessSource { name: (*name).to_owned(), text: (*text).to_owned() })
        .collect();
    let search = InterpreterSearch {
        python: None,
        repository,
        path: OsStr::new("/usr/local/bin:/usr/bin"),
        home: None,
        sources: &sources,
        cache: None,
    };
    PythonInterpreter::find(&search).expect("a Python")
}

/// Copies a module, and the package files around it.
fn copy(stdlib: &Path, repository: &Path, module: &str) {
    let package = repository.join(PACKAGE);
    let path = Path::new(module);
    if package.join(path).exists() {
        return;
    }
    std::fs::create_dir_all(package.join(path).with_file_name("")).expect("a directory");
    for around in path.ancestors().skip(1) {
        std::fs::write(package.join(around).join("__init__.py"), "").expect("a file");
    }
    let source = std::fs::read_to_string(stdlib.join(path)).expect("a module of the library");
    std::fs::write(package.join(path), &source).expect("a file");
    // `from . import handler`, `from ._exceptions import …`: neighbours come along, and are not
    // counted.
    let imports =
        source.lines().filter_map(|line| line.strip_prefix("from .")?.split_once("import"));
    for (from, names) in imports {
        let names = if from.trim().is_empty() { names } else { from };
        for name in names.split(',').map(str::trim) {
            let neighbour = path.with_file_name(format!("{name}.py"));
            if stdlib.join(&neighbour).exists() {
                copy(stdlib, repository, neighbour.to_str().expect("a plain name"));
            }
        }
    }
}

fn is_public(section: &Section) -> bool {
    let name = targets::strip_definition_number(section.id.qualname());
    let is_called = !matches!(section.kind, SectionKind::Module | SectionKind::Nested);
    is_called && name.split('.').all(|part| !part.starts_with(['_', '<']))
}

/// By module, then by bare name: of several definitions Python keeps one.
type ByName = BTreeMap<String, BTreeMap<String, ReachResult>>;

fn by_name(reached: Vec<ReachResult>) -> ByName {
    let mut modules = ByName::new();
    for one in reached {
        let path = one.section.as_str().split("::").next().unwrap_or_default();
        let path = path.strip_prefix(PACKAGE).unwrap_or(path).trim_start_matches('/').to_owned();
        let name = targets::strip_definition_number(one.section.qualname()).to_owned();
        let names = modules.entry(path).or_default();
        if names.get(&name).is_none_or(|known| !known.returned) {
            names.insert(name, one);
        }
    }
    modules
}

/// Prints the table, and returns how many percent were reached.
fn print(modules: &ByName, shown: usize) -> f64 {
    let percent = |reached: usize, all: usize| 100.0 * reached as f64 / all.max(1) as f64;
    println!("\n| module | public | returned | percent |\n|---|---|---|---|");
    let (mut reached, mut all, mut calls) = (0, 0, 0);
    for (module, names) in modules {
        let returned = names.values().filter(|one| one.returned).count();
        println!(
            "| `{module}` | {} | {returned} | {:.0} |",
            names.len(),
            percent(returned, names.len())
        );
        reached += returned;
        all += names.len();
        calls += names.values().map(|one| one.calls).sum::<usize>();
    }
    let total = percent(reached, all);
    println!("| all | {all} | {reached} | {total:.1} |");
    println!("\nwanted: {MIN_PERCENT:.0} %; calls: {calls}\n\nNot reached:\n");
    for (module, names) in modules {
        for (name, one) in names.iter().filter(|(_, one)| !one.returned) {
            let reasons = one.reasons.iter().take(shown);
            let reasons = reasons.map(|(reason, count)| format!("{count}x {reason}"));
            let reasons: Vec<String> = one.uncallable.clone().into_iter().chain(reasons).collect();
            println!("- `{module}` `{name}`: {}", reasons.join("; "));
        }
    }
    total
}

//! What is found of documented bugs in released packages: `cargo xtask bench corpus`.
//!
//! Each bug is proven by its own snippet in plain CPython first, then its module is run with a
//! budget. It is found when the report has its symptom in its section, or in the function where the
//! defect is. With `--fixed`, the release without the bug is run as well: there, the same is a
//! false report.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::BenchArguments;
use super::menace::{
    CollectedReport, MenaceBinary, ReportedFinding, SectionLines, read_report, wait_until,
};
use super::packages::{InstalledPackage, ensure_package};
use crate::run::{target_dir, workspace_root};

const BUGS: &str = "fixtures/corpus/bugs.json";
const SNIPPET_RUNNER: &str = include_str!("snippet.py");
/// A snippet that takes longer never ends, as far as this benchmark is concerned.
const SNIPPET_TIMEOUT: Duration = Duration::from_secs(10);
/// CPU time from which on a snippet is slow.
const MIN_SLOW_S: f64 = 0.25;
const DEFAULT_BUDGET_S: u64 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CorpusBugKind {
    HangExp,
    HangPoly,
    Loop,
    Exception,
    Memory,
    Traversal,
}

/// A bug as the list has it; `fixtures/corpus/README.md` says what the keys mean.
#[derive(Debug, Clone, Deserialize)]
struct CorpusBug {
    id: String,
    name: String,
    version: String,
    fixed: Option<String>,
    section: String,
    inner: String,
    kind: CorpusBugKind,
    expect: String,
    n: Option<u64>,
    n_small: Option<u64>,
    #[serde(default)]
    requires: Option<Value>,
    snippet: String,
}

/// What happened to a bug in one release.
#[derive(Debug, Clone, Serialize)]
struct ReleaseResult {
    version: String,
    /// Whether the snippet shows the bug in plain CPython, if it was run, and how.
    proven: Option<bool>,
    proof: String,
    /// Ids of the findings that are the bug.
    reported_as: Vec<String>,
    /// What else is of interest: the run's status, or why there was none.
    note: String,
    failures: usize,
    calls: u64,
    elapsed_s: f64,
    /// Whether no report could be made.
    failed: bool,
}

impl ReleaseResult {
    fn is_reported(&self) -> bool {
        !self.reported_as.is_empty()
    }
}

#[derive(Debug, Clone, Serialize)]
struct BugResult {
    id: String,
    kind: CorpusBugKind,
    section: String,
    vulnerable: ReleaseResult,
    fixed: Option<ReleaseResult>,
}

impl BugResult {
    /// Whether the fixed release was run and has no such report. What both releases show may be
    /// another bug.
    fn is_only_vulnerable(&self) -> bool {
        let is_gone = |fixed: &ReleaseResult| !fixed.failed && !fixed.is_reported();
        self.vulnerable.is_reported() && self.fixed.as_ref().is_some_and(is_gone)
    }
}

struct CorpusBench {
    menace: MenaceBinary,
    budget: Duration,
    with_fixed: bool,
    /// Judges the reports of the last run.
    judge_only: bool,
    out: PathBuf,
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut arguments = BenchArguments::new(arguments);
    let only = arguments.take_list("--only")?;
    let seconds = arguments.take_number("--seconds")?.unwrap_or(DEFAULT_BUDGET_S);
    let jobs = arguments.take_number::<usize>("--jobs")?.unwrap_or(1).max(1);
    let with_fixed = arguments.take_flag("--fixed");
    let judge_only = arguments.take_flag("--judge-only");
    let required = arguments.take_number::<usize>("--require")?;
    let format = arguments.take_value("--format")?;
    let bugs = arguments.take_value("--bugs")?;
    let out = arguments.take_value("--out")?;
    let named = arguments.take_value("--menace")?;
    arguments.finish()?;

    let path = bugs.map_or_else(|| workspace_root().join(BUGS), PathBuf::from);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut bugs: Vec<CorpusBug> =
        serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    for id in &only {
        ensure!(bugs.iter().any(|bug| bug.id == *id), "there is no bug `{id}`");
    }
    bugs.retain(|bug| only.is_empty() || only.contains(&bug.id));
    let out = out.map_or_else(|| target_dir().join("corpus"), PathBuf::from);
    fs::create_dir_all(&out)?;
    let bench = CorpusBench {
        menace: MenaceBinary::find_or_build(named.as_deref())?,
        budget: Duration::from_secs(seconds),
        with_fixed,
        judge_only,
        out: out.canonicalize()?,
    };
    let results = bench.measure_all(&bugs, jobs)?;
    let json = serde_json::to_string_pretty(&results)?;
    fs::write(bench.out.join("results.json"), &json)?;
    match format.as_deref() {
        Some("json") => println!("{json}"),
        _ => print!("{}", render_table(&results)),
    }
    let found = results.iter().filter(|result| result.vulnerable.is_reported()).count();
    if let Some(required) = required {
        ensure!(found >= required, "{found} bugs were found, of the {required} that are required");
    }
    Ok(())
}

impl CorpusBench {
    /// The results in the order of the bugs, however many are measured at once.
    #[expect(clippy::print_stderr, reason = "this is the user interface of xtask")]
    fn measure_all(&self, bugs: &[CorpusBug], jobs: usize) -> Result<Vec<BugResult>> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for _ in 0..jobs.min(bugs.len()) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(bug) = bugs.get(index) else { break };
                        let result = self.measure(bug);
                        eprint!("{}", render_result(&result));
                        results.lock().expect("no panic").insert(index, result);
                    }
                });
            }
        });
        Ok(results.into_inner()?.into_values().collect())
    }

    fn measure(&self, bug: &CorpusBug) -> BugResult {
        let fixed = bug.fixed.as_deref().filter(|_| self.with_fixed);
        BugResult {
            id: bug.id.clone(),
            kind: bug.kind,
            section: bug.section.clone(),
            vulnerable: self.measure_release(bug, &bug.version, &bug.id),
            fixed: fixed
                .map(|fixed| self.measure_release(bug, fixed, &format!("{}.fixed", bug.id))),
        }
    }

    fn measure_release(&self, bug: &CorpusBug, version: &str, name: &str) -> ReleaseResult {
        let mut result = ReleaseResult {
            version: version.to_owned(),
            proven: None,
            proof: "not run".to_owned(),
            reported_as: Vec::new(),
            note: String::new(),
            failures: 0,
            calls: 0,
            elapsed_s: 0.0,
            failed: false,
        };
        if let Err(error) = self.try_release(bug, name, &mut result) {
            result.note = format!("{error:#}");
            result.failed = true;
        }
        result
    }

    fn try_release(&self, bug: &CorpusBug, name: &str, result: &mut ReleaseResult) -> Result<()> {
        let package = ensure_package(&bug.name, &result.version, &bug.other_requirements())?;
        if !self.judge_only {
            let (is_proven, proof) = bug.run_snippet(&package)?;
            (result.proven, result.proof) = (Some(is_proven), proof);
        }
        let (path, _) = bug.section_parts();
        ensure!(package.has_module(path), "the package has no module `{path}`");
        let report = if self.judge_only {
            read_report(&self.out, name)?
        } else {
            self.menace.run(&package, Some(path), self.budget, &self.out, name)?
        };
        let (inner_path, inner_name) = bug.inner_parts();
        let inner = if package.has_module(inner_path) {
            self.menace.lines_of(&package, inner_path, inner_name)?
        } else {
            Vec::new()
        };
        result.reported_as =
            bug.matching(&report.failures, &inner).map(|finding| finding.id.clone()).collect();
        result.note = note(&report);
        let (_, section_name) = bug.section_parts();
        if self.menace.lines_of(&package, path, section_name)?.is_empty() {
            let _ = write!(result.note, "; the module has no section `{section_name}`");
        }
        result.failures = report.failures.len();
        result.calls = report.calls;
        result.elapsed_s = report.elapsed_s;
        Ok(())
    }
}

impl CorpusBug {
    /// Packages that pip does not install by itself: one, or a list.
    fn other_requirements(&self) -> Vec<String> {
        match &self.requires {
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(list)) => {
                list.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Path and qualified name of the section that callers reach.
    fn section_parts(&self) -> (&str, &str) {
        place_parts(&self.section)
    }

    /// Path and name of the function where the defect is.
    fn inner_parts(&self) -> (&str, &str) {
        place_parts(&self.inner)
    }

    fn expected_exception(&self) -> Option<&str> {
        self.expect.strip_prefix("raises:").map(str::trim)
    }

    /// The findings that are this bug: its symptom in its section, or in a line of `inner`.
    fn matching<'a>(
        &'a self,
        findings: &'a [ReportedFinding],
        inner: &'a [SectionLines],
    ) -> impl Iterator<Item = &'a ReportedFinding> {
        findings.iter().filter(|finding| self.has_symptom(finding) && self.is_at(finding, inner))
    }

    fn has_symptom(&self, finding: &ReportedFinding) -> bool {
        let kind = finding.kind.as_str();
        match self.kind {
            CorpusBugKind::HangExp | CorpusBugKind::HangPoly | CorpusBugKind::Loop => {
                matches!(kind, "hang" | "slow" | "memory")
            }
            CorpusBugKind::Memory => matches!(kind, "memory" | "hang"),
            CorpusBugKind::Traversal => kind == "traversal",
            CorpusBugKind::Exception => {
                let is_expected =
                    |expected: &str| finding.exception_type() == Some(last_part(expected));
                matches!(kind, "unhandled" | "recursion" | "encoding")
                    && self.expected_exception().is_none_or(is_expected)
            }
        }
    }

    fn is_at(&self, finding: &ReportedFinding, inner: &[SectionLines]) -> bool {
        let (path, name) = self.section_parts();
        if finding.section.rsplit_once("::") == Some((path, name)) {
            return true;
        }
        let Some((path, line)) = finding.path_and_line() else { return false };
        inner.iter().any(|lines| lines.contains(path, line))
    }

    /// Runs the snippet with its smallest size: whether it shows the bug, and what it did.
    fn run_snippet(&self, package: &InstalledPackage) -> Result<(bool, String)> {
        let expression = self.expect.strip_prefix("result:");
        let request = serde_json::json!({
            "snippet": self.snippet, "n": self.n_small.or(self.n), "expression": expression,
        });
        let mut command = Command::new(package.python());
        command.args(["-c", SNIPPET_RUNNER]).current_dir(&package.repository);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start the snippet")?;
        let mut stdin = child.stdin.take().context("the snippet has no input")?;
        // A process that has ended says why by its status.
        let _ = stdin.write_all(request.to_string().as_bytes());
        drop(stdin);
        let Some(status) = wait_until(&mut child, Instant::now() + SNIPPET_TIMEOUT)? else {
            let proof = format!("not done after {} s", SNIPPET_TIMEOUT.as_secs());
            return Ok((matches!(self.expect.as_str(), "timeout" | "slow"), proof));
        };
        let output = child.wait_with_output()?.stdout;
        let line = String::from_utf8_lossy(&output);
        let outcome = line.lines().last().and_then(|line| serde_json::from_str(line).ok());
        let outcome: SnippetOutcome = outcome.with_context(|| format!("snippet: {status}"))?;
        Ok((self.is_proven_by(&outcome), outcome.to_string()))
    }

    fn is_proven_by(&self, outcome: &SnippetOutcome) -> bool {
        match self.expect.split_once(':').unwrap_or((&self.expect, "")) {
            ("timeout" | "slow", _) => outcome.seconds >= MIN_SLOW_S,
            ("raises", wanted) => outcome.raised.as_deref() == Some(last_part(wanted.trim())),
            ("result", _) => outcome.holds == Some(true),
            ("memory", mb) => mb.trim().parse().is_ok_and(|mb: f64| outcome.peak_mb >= mb),
            _ => false,
        }
    }
}

/// What `snippet.py` prints.
#[derive(Debug, Clone, Deserialize)]
struct SnippetOutcome {
    raised: Option<String>,
    holds: Option<bool>,
    seconds: f64,
    peak_mb: f64,
}

impl std::fmt::Display for SnippetOutcome {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ended = self.raised.as_deref().unwrap_or("ended");
        write!(formatter, "{ended} after {:.2} s", self.seconds)
    }
}

/// Path and name of `path::name`, `path name` and `path::name(option)`.
fn place_parts(place: &str) -> (&str, &str) {
    let place = place.split_once('(').map_or(place, |(place, _)| place).trim();
    place.split_once("::").or_else(|| place.split_once(' ')).unwrap_or((place, ""))
}

fn last_part(dotted: &str) -> &str {
    dotted.rsplit_once('.').map_or(dotted, |(_, name)| name)
}

fn note(report: &CollectedReport) -> String {
    let mut note = report.status.clone();
    if let Some(first) = report.not_importable.first() {
        let (module, reason) = (first["module"].as_str(), first["reason"].as_str());
        let (module, reason) = (module.unwrap_or_default(), reason.unwrap_or_default());
        let _ = write!(note, "; {module} is not importable: {reason}");
    }
    note
}

fn render_result(result: &BugResult) -> String {
    let mut text = String::new();
    let releases = [("vulnerable", Some(&result.vulnerable)), ("fixed", result.fixed.as_ref())];
    for (which, release) in releases {
        let Some(release) = release else { continue };
        let outcome = match (release.failed, release.is_reported()) {
            (true, _) => "FAILED".to_owned(),
            (false, true) => format!("reported as {}", release.reported_as.join(", ")),
            (false, false) => "not reported".to_owned(),
        };
        let _ = writeln!(
            text,
            "{} {which} {}: {outcome}; snippet {}; {} failures, {} calls, {:.0} s, {}",
            result.id,
            release.version,
            release.proof,
            release.failures,
            release.calls,
            release.elapsed_s,
            release.note,
        );
    }
    text
}

/// A table by kind, and the ids.
fn render_table(results: &[BugResult]) -> String {
    let mut kinds: BTreeMap<CorpusBugKind, Vec<&BugResult>> = BTreeMap::new();
    for result in results {
        kinds.entry(result.kind).or_default().push(result);
    }
    let mut text =
        "| kind | found | of these not on the fixed release | reported on fixed releases |\n\
                    |---|---|---|---|\n"
            .to_owned();
    let all: Vec<&BugResult> = results.iter().collect();
    let rows = kinds.iter().map(|(kind, results)| (kind_name(*kind), results));
    for (kind, results) in rows.chain([("all".to_owned(), &all)]) {
        let found = results.iter().filter(|result| result.vulnerable.is_reported()).count();
        let only = results.iter().filter(|result| result.is_only_vulnerable()).count();
        let fixed: Vec<_> = results.iter().filter_map(|result| result.fixed.as_ref()).collect();
        let reported = fixed.iter().filter(|release| release.is_reported()).count();
        let _ = writeln!(
            text,
            "| {kind} | {found} of {} | {only} | {reported} of {} |",
            results.len(),
            fixed.len()
        );
    }
    let ids = |wanted: &dyn Fn(&BugResult) -> bool| {
        let ids: Vec<_> =
            results.iter().filter(|result| wanted(result)).map(|result| &*result.id).collect();
        if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
    };
    let is_fixed = |result: &BugResult, is: &dyn Fn(&ReleaseResult) -> bool| {
        result.fixed.as_ref().is_some_and(is)
    };
    let is_found = |result: &BugResult| result.vulnerable.is_reported();
    let lists = [
        ("found", ids(&is_found)),
        ("not found", ids(&|result| !is_found(result))),
        (
            "reported on the fixed release",
            ids(&|result| is_fixed(result, &ReleaseResult::is_reported)),
        ),
        ("snippet does not show the bug", ids(&|result| result.vulnerable.proven == Some(false))),
        (
            "snippet shows the bug on the fixed release",
            ids(&|result| is_fixed(result, &|release| release.proven == Some(true))),
        ),
        (
            "no report",
            ids(&|result| result.vulnerable.failed || is_fixed(result, &|release| release.failed)),
        ),
    ];
    for (label, ids) in lists {
        let _ = writeln!(text, "\n{label}: {ids}");
    }
    text
}

fn kind_name(kind: CorpusBugKind) -> String {
    serde_json::to_value(kind)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

#[cfg(test)]
#[path = "corpus_tests.rs"]
mod tests;

//! How much of what is reported of released packages is worth reading:
//! `cargo xtask bench precision`.
//!
//! Every package of a list is installed and run with the same budget. What was reported is held
//! against judgements that were made by hand, and counted by class.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use super::arguments::BenchArguments;
use super::judgements::{JudgedClass, JudgedFinding, JudgementList};
use super::menace::{CollectedReport, MenaceBinary, ReportedFinding, read_report};
use super::packages::ensure_package;
use crate::run::{target_dir, workspace_root};

const PACKAGES: &str = "fixtures/precision/packages.txt";
const DEFAULT_BUDGET_S: u64 = 90;
/// The list is read from its top: these are judged apart.
const TOP_COUNT: usize = 5;
/// Keys that are kept of a finding, where the report has them.
const OPTIONAL_KEYS: [&str; 5] = ["confidence", "severity", "snippet", "exposure", "cwe"];

#[derive(Debug, Clone, PartialEq, Eq)]
struct ListedPackage {
    name: String,
    version: String,
}

#[derive(Debug, Default)]
struct PackageFindings {
    name: String,
    findings: Vec<ReportedFinding>,
}

impl PackageFindings {
    fn shown(&self) -> impl Iterator<Item = &ReportedFinding> {
        self.findings.iter().filter(|finding| finding.is_shown())
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
#[expect(clippy::print_stderr, reason = "this is the user interface of xtask")]
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut arguments = BenchArguments::new(arguments);
    let list = arguments.take_value("--packages")?;
    let seconds = arguments.take_number("--seconds")?.unwrap_or(DEFAULT_BUDGET_S);
    let out = arguments.take_value("--out")?;
    let judgements = arguments.take_value("--judgements")?;
    let only = arguments.take_list("--only")?;
    let judge_only = arguments.take_flag("--judge-only");
    let named = arguments.take_value("--menace")?;
    arguments.finish()?;

    let list = list.map_or_else(|| workspace_root().join(PACKAGES), PathBuf::from);
    let text = fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    let mut packages = parse_packages(&text)?;
    packages.retain(|package| only.is_empty() || only.contains(&package.name));
    ensure!(!packages.is_empty(), "there are no packages to run");
    let judgements = judgements.map(|path| {
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        JudgementList::parse(&text).with_context(|| path.clone())
    });
    let judgements = judgements.transpose()?;
    let out = out.map_or_else(|| target_dir().join("precision"), PathBuf::from);
    fs::create_dir_all(&out)?;
    let out = out.canonicalize()?;
    let menace = (!judge_only).then(|| MenaceBinary::find_or_build(named.as_deref()));
    let menace = menace.transpose()?;

    let mut collected = Vec::new();
    for package in &packages {
        match collect(menace.as_ref(), package, Duration::from_secs(seconds), &out) {
            Ok(report) => {
                eprintln!(
                    "{} {}: {}, {} failures, {} calls, {:.0} s",
                    package.name,
                    package.version,
                    report.status,
                    report.failures.len(),
                    report.calls,
                    report.elapsed_s,
                );
                let name = package.name.clone();
                collected.push(PackageFindings { name, findings: report.failures });
            }
            Err(error) => eprintln!("{} {}: {error:#}", package.name, package.version),
        }
    }
    for package in &collected {
        let text = serde_json::to_string_pretty(&findings_json(package, judgements.as_ref()))?;
        fs::write(out.join(format!("{}.json", package.name)), text)?;
    }
    print!("{}", render_counts(&collected));
    if let Some(judgements) = &judgements {
        print!("{}", render_judged(&collected, judgements));
    }
    let failed = packages.len() - collected.len();
    ensure!(failed == 0, "{failed} packages have no report");
    Ok(())
}

fn collect(
    menace: Option<&MenaceBinary>,
    package: &ListedPackage,
    budget: Duration,
    out: &Path,
) -> Result<CollectedReport> {
    let Some(menace) = menace else { return read_report(out, &package.name) };
    let installed = ensure_package(&package.name, &package.version, &[])?;
    menace.run(&installed, None, budget, out, &package.name)
}

/// Lines of `name==version`; `#` begins a comment.
fn parse_packages(text: &str) -> Result<Vec<ListedPackage>> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            let parts = line.split_once("==");
            let (name, version) =
                parts.with_context(|| format!("expected `name==version`, found `{line}`"))?;
            Ok(ListedPackage { name: name.trim().to_owned(), version: version.trim().to_owned() })
        })
        .collect()
}

fn findings_json(package: &PackageFindings, judgements: Option<&JudgementList>) -> Value {
    let findings = package.findings.iter().map(|finding| {
        let mut object = Map::new();
        object.insert("id".to_owned(), json!(finding.id));
        object.insert("section".to_owned(), json!(finding.section));
        object.insert("kind".to_owned(), json!(finding.kind));
        object.insert("exception".to_owned(), json!(finding.exception));
        object.insert("message".to_owned(), json!(finding.message));
        object.insert("call".to_owned(), json!(finding.input));
        object.insert("location".to_owned(), json!(finding.location));
        object.insert("shown".to_owned(), json!(finding.is_shown()));
        for key in OPTIONAL_KEYS {
            if let Some(value) = finding.others.get(key) {
                object.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(judgements) = judgements {
            let judged = judgements.find(&package.name, finding);
            object.insert("class".to_owned(), json!(judged.as_ref().map(JudgedFinding::label)));
        }
        Value::Object(object)
    });
    Value::Array(findings.collect())
}

/// Counts by package and by kind.
fn render_counts(packages: &[PackageFindings]) -> String {
    let kinds: BTreeSet<&str> = packages
        .iter()
        .flat_map(|package| package.findings.iter().map(|finding| finding.kind.as_str()))
        .collect();
    let mut text = "| package | all | shown |".to_owned();
    for kind in &kinds {
        let _ = write!(text, " {kind} |");
    }
    let _ = writeln!(text, "\n|---|--:|--:|{}", "--:|".repeat(kinds.len()));
    let mut row = |name: &str, findings: &[&ReportedFinding]| {
        let shown: Vec<_> = findings.iter().filter(|finding| finding.is_shown()).collect();
        let _ = write!(text, "| {name} | {} | {} |", findings.len(), shown.len());
        for kind in &kinds {
            let count = shown.iter().filter(|finding| finding.kind == *kind).count();
            let _ = write!(text, " {count} |");
        }
        text.push('\n');
    };
    for package in packages {
        row(&package.name, &package.findings.iter().collect::<Vec<_>>());
    }
    let all: Vec<_> = packages.iter().flat_map(|package| &package.findings).collect();
    row("all", &all);
    text
}

/// What was shown, by class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ClassCounts {
    a: usize,
    b: usize,
    c: usize,
    /// The same root again, whatever its class is.
    again: usize,
    d: usize,
    unjudged: usize,
}

impl ClassCounts {
    /// Counts findings in their order: the first of a root has its class, others are duplicates.
    fn of<'a>(
        package: &str,
        findings: impl Iterator<Item = &'a ReportedFinding>,
        judgements: &JudgementList,
    ) -> Self {
        let mut counts = Self::default();
        let mut roots = BTreeSet::new();
        for finding in findings {
            let counter = match judgements.find(package, finding) {
                None => &mut counts.unjudged,
                Some(judged) if !roots.insert(judged.root.clone()) => &mut counts.again,
                Some(judged) => match judged.class {
                    JudgedClass::A => &mut counts.a,
                    JudgedClass::B => &mut counts.b,
                    JudgedClass::C => &mut counts.c,
                    JudgedClass::D => &mut counts.d,
                },
            };
            *counter += 1;
        }
        counts
    }

    fn all(self) -> usize {
        self.a + self.b + self.c + self.again + self.d + self.unjudged
    }

    fn add(&mut self, other: Self) {
        self.a += other.a;
        self.b += other.b;
        self.c += other.c;
        self.again += other.again;
        self.d += other.d;
        self.unjudged += other.unjudged;
    }

    fn row(self, name: &str) -> String {
        let Self { a, b, c, again, d, unjudged } = self;
        let shown = self.all();
        let judged = shown - unjudged;
        format!(
            "| {name} | {shown} | {a} | {b} | {c} | {again} | {d} | {unjudged} | {} | {} |\n",
            percent(a, judged),
            percent(a + b, judged),
        )
    }
}

fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    format!("{:.0} %", 100.0 * part as f64 / whole as f64)
}

fn render_judged(packages: &[PackageFindings], judgements: &JudgementList) -> String {
    let mut text = "\n| shown | findings | A | B | C | C-dup | D | unjudged | A of judged \
                    | A or B of judged |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    let (mut all, mut top) = (ClassCounts::default(), ClassCounts::default());
    for package in packages {
        let counts = ClassCounts::of(&package.name, package.shown(), judgements);
        text.push_str(&counts.row(&package.name));
        all.add(counts);
        top.add(ClassCounts::of(&package.name, package.shown().take(TOP_COUNT), judgements));
    }
    text.push_str(&all.row("all"));
    text.push_str(&top.row(&format!("first {TOP_COUNT} of each")));
    for class in [JudgedClass::A, JudgedClass::B] {
        let mut missing = Vec::new();
        let mut wanted = 0;
        for package in packages {
            let shown = found_roots(package, package.shown(), judgements);
            let hidden = found_roots(package, package.findings.iter(), judgements);
            for (root, section) in judgements.roots(&package.name, class) {
                wanted += 1;
                if !shown.contains(&root) {
                    let why = if hidden.contains(&root) { "hidden" } else { "not found" };
                    missing.push(format!("{} {section} ({root}): {why}", package.name));
                }
            }
        }
        let _ = writeln!(text, "\n{class:?}: {} of {wanted} shown", wanted - missing.len());
        for missing in missing {
            let _ = writeln!(text, "    missing: {missing}");
        }
    }
    text
}

fn found_roots<'a>(
    package: &PackageFindings,
    findings: impl Iterator<Item = &'a ReportedFinding>,
    judgements: &JudgementList,
) -> BTreeSet<String> {
    findings
        .filter_map(|finding| judgements.find(&package.name, finding))
        .map(|judged| judged.root)
        .collect()
}

#[cfg(test)]
#[path = "precision_tests.rs"]
mod tests;

//! Runs `menace` on an installed package and reads its report.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::packages::InstalledPackage;
use crate::run::{cargo, program, target_dir};

/// What a run may take beyond its budget, before it is killed.
const MAX_OVERRUN: Duration = Duration::from_mins(2);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(super) struct MenaceBinary(PathBuf);

/// The part of the JSON report that benchmarks need.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CollectedReport {
    pub(super) status: String,
    pub(super) elapsed_s: f64,
    pub(super) calls: u64,
    pub(super) failures: Vec<ReportedFinding>,
    pub(super) not_importable: Vec<Value>,
}

/// One failure of the report, with whatever else it says of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReportedFinding {
    pub(super) id: String,
    pub(super) section: String,
    pub(super) kind: String,
    pub(super) exception: Option<String>,
    pub(super) message: String,
    pub(super) input: String,
    /// `file:line`.
    pub(super) location: String,
    #[serde(flatten)]
    pub(super) others: Map<String, Value>,
}

impl ReportedFinding {
    pub(super) fn qualname(&self) -> &str {
        self.section.rsplit_once("::").map_or(&*self.section, |(_, qualname)| qualname)
    }

    /// The type of the exception, without its module.
    pub(super) fn exception_type(&self) -> Option<&str> {
        let exception = self.exception.as_deref()?;
        Some(exception.rsplit_once('.').map_or(exception, |(_, name)| name))
    }

    pub(super) fn path_and_line(&self) -> Option<(&str, u32)> {
        let (path, line) = self.location.rsplit_once(':')?;
        Some((path, line.parse().ok()?))
    }

    /// Whether a run shows it without being asked for everything. A report that does not tell shown
    /// from hidden findings shows all of them.
    pub(super) fn is_shown(&self) -> bool {
        let flag = |name: &str| self.others.get(name).and_then(Value::as_bool);
        flag("shown").unwrap_or(true) && !flag("hidden").unwrap_or(false)
    }
}

/// The lines of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SectionLines {
    pub(super) path: String,
    pub(super) first: u32,
    pub(super) last: u32,
}

impl SectionLines {
    pub(super) fn contains(&self, path: &str, line: u32) -> bool {
        self.path == path && (self.first..=self.last).contains(&line)
    }
}

impl MenaceBinary {
    /// The binary that is named, or a release build of this state.
    pub(super) fn find_or_build(named: Option<&str>) -> Result<Self> {
        if let Some(path) = named {
            let path = Path::new(path);
            let path = path.canonicalize().with_context(|| path.display().to_string())?;
            return Ok(Self(path));
        }
        cargo(["build", "--release", "--quiet", "--bin", "menace"]).run()?;
        let path = target_dir().join("release/menace");
        Ok(Self(path.canonicalize().context("the release build made no menace")?))
    }

    /// Runs it with a data directory of its own. Below `out`, `NAME.report.json` is the report and
    /// `NAME.log` what it said beside.
    pub(super) fn run(
        &self,
        package: &InstalledPackage,
        module: Option<&str>,
        budget: Duration,
        out: &Path,
        name: &str,
    ) -> Result<CollectedReport> {
        let (data, cache) = (out.join("data").join(name), out.join("cache"));
        if data.exists() {
            fs::remove_dir_all(&data)?;
        }
        fs::create_dir_all(&data)?;
        let path = report_path(out, name);
        let _ = fs::remove_file(&path);
        let log = out.join(format!("{name}.log"));
        let mut command = Command::new(&self.0);
        command.args(["run", "--format", "json", "--repo"]).arg(&package.repository);
        command.args(["--budget", &format!("{}s", budget.as_secs())]);
        command.arg("--python").arg(&package.venv).arg("--sandbox-data-dir").arg(&data);
        command.args(module.iter().flat_map(|module| ["--module", module]));
        command.env("XDG_CACHE_HOME", cache).current_dir(&data).stdin(Stdio::null());
        command.stdout(File::create(&path)?).stderr(File::create(&log)?);
        let mut child = command.spawn().context("cannot start menace")?;
        let Some(status) = wait_until(&mut child, Instant::now() + budget + MAX_OVERRUN)? else {
            bail!("menace was still at it {} s after its budget", MAX_OVERRUN.as_secs());
        };
        let messages = fs::read_to_string(&log).unwrap_or_default();
        let last_line = messages.lines().last().unwrap_or_default();
        ensure!(status.success(), "menace failed: {status}: {last_line}");
        read_report(out, name)
    }

    /// The lines of the functions of a module. Names are qualified, or the last part of one.
    pub(super) fn lines_of(
        &self,
        package: &InstalledPackage,
        path: &str,
        name: &str,
    ) -> Result<Vec<SectionLines>> {
        let analyze = ["analyze", "--no-cache", "--scanner", "builtin", "--format", "json"];
        let analyze = program(&self.0, analyze.map(OsStr::new));
        let analyze = analyze.arg("--repo").arg(&package.repository).arg("--module").arg(path);
        let analysis: Value = serde_json::from_str(&analyze.output()?)?;
        Ok(select_lines(&analysis, path, name))
    }
}

fn select_lines(analysis: &Value, path: &str, name: &str) -> Vec<SectionLines> {
    let modules = analysis["modules"].as_array().into_iter().flatten();
    let sections = modules
        .filter(|module| module["path"] == path)
        .flat_map(|module| module["sections"].as_array().into_iter().flatten());
    let selected = sections.filter(|section| {
        let qualname = section["id"].as_str().and_then(|id| id.rsplit_once("::"));
        let qualname = qualname.map_or("", |(_, qualname)| qualname);
        qualname == name || qualname.rsplit('.').next() == Some(name)
    });
    let line = |section: &Value, key: &str| section[key].as_u64().unwrap_or_default() as u32;
    selected
        .map(|section| SectionLines {
            path: path.to_owned(),
            first: line(section, "start_line"),
            last: line(section, "end_line"),
        })
        .collect()
}

fn report_path(out: &Path, name: &str) -> PathBuf {
    out.join(format!("{name}.report.json"))
}

/// The report of an earlier run.
pub(super) fn read_report(out: &Path, name: &str) -> Result<CollectedReport> {
    let path = report_path(out, name);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// Its status, or nothing when it had to be killed.
pub(super) fn wait_until(child: &mut Child, deadline: Instant) -> Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_with_keys_that_are_unknown() {
        let text = r#"{"version": 1, "status": "finished", "elapsed_s": 4.5, "calls": 7,
            "roi": null, "failures": [{"id": "f1", "section": "a/b.py::C.d", "kind": "unhandled",
            "exception": "a.b.Broken", "message": "Broken: x", "input": "C().d()",
            "location": "a/b.py:12", "count": 1, "confidence": 0.5, "shown": false}]}"#;
        let report: CollectedReport = serde_json::from_str(text).unwrap();
        let finding = &report.failures[0];
        assert_eq!(finding.qualname(), "C.d");
        assert_eq!(finding.exception_type(), Some("Broken"));
        assert_eq!(finding.path_and_line(), Some(("a/b.py", 12)));
        assert_eq!(finding.others["confidence"], 0.5);
        assert!(!finding.is_shown());
        assert!(ReportedFinding::default().is_shown());
    }

    #[test]
    fn lines_are_those_of_the_qualified_name_or_of_its_last_part() {
        let analysis = serde_json::json!({"modules": [
            {"path": "a.py", "sections": [
                {"id": "a.py::f", "start_line": 1, "end_line": 5},
                {"id": "a.py::C.g", "start_line": 7, "end_line": 9}]},
            {"path": "b.py", "sections": [{"id": "b.py::f", "start_line": 1, "end_line": 5}]}]});
        let lines = |name| select_lines(&analysis, "a.py", name);
        let of_g = SectionLines { path: "a.py".to_owned(), first: 7, last: 9 };
        assert_eq!(lines("C.g"), std::slice::from_ref(&of_g));
        assert_eq!(lines("g"), std::slice::from_ref(&of_g));
        assert_eq!(lines("f").len(), 1);
        assert!(lines("h").is_empty());
        assert!(of_g.contains("a.py", 9));
        assert!(!of_g.contains("a.py", 10) && !of_g.contains("b.py", 8));
    }
}

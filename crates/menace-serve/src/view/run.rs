//! One run at a glance: the overview of the dashboard and the body of the report.

use menace_loop::decided::Decided;
use menace_loop::report::RunReport;
use menace_model::Verdict;
use menace_store::{FailureFilter, FailureLine, FailureOrder, Page, Run, RunId, RunStatus, Store};
use menace_track::stats::forecast::Forecast;
use minijinja::Value;
use serde::Serialize;

use super::decisions::{self, DecisionView, Expected, MOST};
use super::heat::Heat;
use super::metrics::{MetricTile, metric_tiles};
use super::paging::{Column, Here};
use super::svg;
use super::wish::Wish;
use crate::chart::{self, Band, LineChart, Role, Series};
use crate::clock::moment;
use crate::error::{Error, Result};
use crate::history::History;
use crate::library::Library;
use crate::story::named;
use crate::text::{counted, cut, milliseconds, percent};

/// Of modules and failures at a glance.
const GLANCE: u32 = 8;
/// Runs in the small chart of the overview.
const RUNS: u32 = 60;

/// A run with what is known of it.
#[derive(Debug)]
pub(crate) struct Shown {
    pub run: Run,
    pub report: Option<RunReport>,
    /// The last cycle that came to its end.
    pub cycle: Option<u32>,
}

impl Shown {
    /// The run that was asked for, else the last one that has results, else the last one.
    pub(crate) fn find(store: &Store, id: Option<&str>) -> Result<Option<Self>> {
        let run = match id.filter(|id| !id.is_empty() && *id != "last") {
            Some(id) => Some(store.run(id)?),
            None => store.latest_measured_run()?.or(store.latest_run()?),
        };
        let Some(run) = run else { return Ok(None) };
        let cycle = store.last_measured_cycle(&run.id)?;
        // A summary of another version is none.
        let report = run
            .summary
            .as_ref()
            .and_then(|summary| <RunReport as serde::Deserialize>::deserialize(summary).ok());
        Ok(Some(Self { run, report, cycle }))
    }

    pub(crate) fn must(store: &Store, id: Option<&str>) -> Result<Self> {
        Self::find(store, id)?.ok_or_else(|| Error::Nothing("there is no run yet".into()))
    }

    pub(crate) fn decided(&self) -> Option<&Decided> {
        self.report.as_ref()?.decided.as_ref()
    }

    pub(crate) fn cycle(&self) -> Result<u32> {
        self.cycle.ok_or_else(|| {
            Error::Nothing(format!("no cycle of run {} has come to its end", self.run.id))
        })
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Head {
    pub id: String,
    pub repository: String,
    /// The last part of its path.
    pub name: String,
    pub started: String,
    pub status: String,
    pub status_text: &'static str,
    pub took: Option<String>,
    pub seed: u64,
    pub cycles: u32,
    pub is_running: bool,
}

impl Head {
    pub(crate) fn of(run: &Run) -> Self {
        let name = run.repository.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let took = run.finished_ms.map(|end| milliseconds((end - run.started_ms) as f64));
        Self {
            id: run.id.0.clone(),
            repository: run.repository.clone(),
            name: name.to_owned(),
            started: moment(run.started_ms),
            status: run.status.as_str().to_owned(),
            status_text: status_text(run.status),
            took,
            seed: run.seed,
            cycles: run.cycles,
            is_running: run.status == RunStatus::Running,
        }
    }
}

pub(crate) fn status_text(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "going on",
        RunStatus::Finished => "finished",
        RunStatus::Interrupted => "interrupted",
        RunStatus::CutShort => "cut short",
    }
}

/// The settings of a run by name; what has parts is for programs, unless somebody wants all.
pub(crate) fn settings_of(settings: &serde_json::Value, all: bool) -> Vec<(String, String)> {
    let Some(settings) = settings.as_object() else { return Vec::new() };
    let told = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(list) if list.iter().all(serde_json::Value::is_string) => {
            list.iter().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    };
    let wanted = settings.iter().filter(|(_, value)| all || !value.is_object());
    wanted.map(|(name, value)| (name.clone(), cut(&told(value), 300))).collect()
}

/// How calls ended, in the order of verdicts.
#[derive(Debug, Serialize)]
pub(crate) struct Verdicts {
    pub strip: Value,
    pub parts: Vec<VerdictPart>,
}

#[derive(Debug, Serialize)]
pub(crate) struct VerdictPart {
    pub verdict: String,
    pub count: u64,
    pub share: f64,
}

impl Verdicts {
    pub(crate) fn of(count: impl Fn(Verdict) -> u64) -> Self {
        let counted: Vec<(String, u64)> = Verdict::ALL
            .into_iter()
            .map(|verdict| (verdict.as_str().to_owned(), count(verdict)))
            .filter(|(_, count)| *count > 0)
            .collect();
        let all: u64 = counted.iter().map(|(_, count)| count).sum();
        Self {
            strip: svg(&chart::strip(&counted)),
            parts: counted
                .into_iter()
                .map(|(verdict, count)| VerdictPart {
                    verdict,
                    count,
                    share: count as f64 / all.max(1) as f64,
                })
                .collect(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ModuleLine {
    pub path: String,
    pub roi: f64,
    pub roi_delta: Option<f64>,
    pub raroi: f64,
    pub flagged: bool,
    pub risks: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct FailureRow {
    pub id: String,
    pub section: String,
    pub module: String,
    pub name: String,
    pub kind: String,
    pub scenario: String,
    pub verdict: String,
    pub message: String,
    pub location: String,
    pub count: u64,
    pub first: String,
    pub last: String,
    pub gone: bool,
    pub is_new: bool,
}

impl FailureRow {
    /// `since_ms` is when the run in question began: what was not there before is new.
    pub(crate) fn of(line: FailureLine, since_ms: Option<i64>) -> Self {
        Self {
            id: line.id.0,
            module: line.section.path().to_owned(),
            name: named(line.section.qualname()),
            section: line.section.as_str().to_owned(),
            kind: line.kind,
            scenario: line.scenario,
            verdict: line.verdict,
            message: cut(&line.message, 300),
            location: line.location.to_string(),
            count: line.count,
            first: moment(line.first_ms),
            last: moment(line.last_ms),
            gone: line.gone_ms.is_some(),
            is_new: since_ms.is_some_and(|since| line.first_ms >= since),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Overview {
    pub head: Head,
    /// What was run, besides the seed and the repository.
    pub settings: Vec<(String, String)>,
    pub report: Option<Sums>,
    pub verdicts: Option<Verdicts>,
    pub metrics: Vec<MetricTile>,
    pub modules: Vec<ModuleLine>,
    pub failures: Vec<FailureRow>,
    pub failure_count: u64,
    pub heat: Heat,
    /// Whether there are any to be searched.
    pub is_decided: bool,
    pub decisions: Vec<DecisionView>,
    pub decision_columns: Vec<Column>,
    pub decisions_csv: String,
    pub outlook: Vec<Expected>,
    pub outlook_columns: Vec<Column>,
    pub outlook_csv: String,
    /// What was searched for, and what else the address asks for.
    pub q: String,
    pub kept: Vec<(String, String)>,
    pub path: String,
    pub runs_chart: Value,
    pub total_runs: u64,
    pub total_calls: u64,
    pub kinds: Vec<(String, u64)>,
    /// The one before, to compare with.
    pub before: Option<String>,
}

/// The numbers that sum a run up.
#[derive(Debug, Serialize)]
pub(crate) struct Sums {
    pub calls: u64,
    /// Beside those.
    pub timing_calls: u64,
    pub sections: usize,
    pub called: usize,
    pub unreachable: usize,
    pub lines: f64,
    pub roi: f64,
    pub roi_delta: Option<f64>,
    pub failures: usize,
    pub new_failures: usize,
    pub worst_scenario: Option<String>,
    pub warnings: Vec<String>,
}

impl Sums {
    pub(crate) fn of(report: &RunReport) -> Self {
        Self {
            calls: report.calls,
            timing_calls: report.timing_calls,
            sections: report.sections,
            called: report.coverage.called,
            unreachable: report.coverage.unreachable,
            lines: report.coverage.lines,
            roi: report.roi,
            roi_delta: report.roi_delta,
            failures: report.failures.len(),
            new_failures: report.failures.iter().filter(|failure| failure.new).count(),
            worst_scenario: report.worst_scenario.clone(),
            warnings: report.warnings.clone(),
        }
    }
}

/// Of a run, or of the last one that has results; `asked` is about its decisions.
pub(crate) fn overview(
    library: &Library,
    id: Option<&str>,
    asked: &Wish,
) -> Result<Option<Overview>> {
    let path = id.map_or_else(|| "/".to_owned(), |id| format!("/runs/{}", percent(id)));
    let here = Wish { run: None, ..asked.clone() }.at(Here::new(&path));
    let made = library.ask(|store| {
        let Some(shown) = Shown::find(store, id)? else { return Ok(None) };
        let Shown { run, report, .. } = &shown;
        let run_id = Some(run.id.clone());
        let filter = FailureFilter { run: run_id, gone: true, ..FailureFilter::default() };
        let lines =
            store.failure_lines(&filter, FailureOrder::First, false, Page::first(GLANCE))?;
        let totals = store.totals()?;
        let decided = shown.decided();
        // Files have the run in their query, pages in their path.
        let of_run = Wish { run: Some(run.id.0.clone()), ..asked.clone() };
        let file = |path: &str| of_run.at(Here::new(path)).href();
        Ok(Some(Overview {
            head: Head::of(run),
            settings: settings_of(&run.settings, false),
            report: report.as_ref().map(Sums::of),
            verdicts: report.as_ref().map(|report| {
                Verdicts::of(|verdict| report.verdicts.get(&verdict).copied().unwrap_or_default())
            }),
            metrics: metric_tiles(library, run)?,
            modules: weakest(store, &shown, GLANCE as usize)?,
            failures: lines
                .into_iter()
                .map(|line| FailureRow::of(line, Some(run.started_ms)))
                .collect(),
            failure_count: store.failures_in(&run.id)?,
            heat: library.heat(store, &shown)?,
            is_decided: decided.is_some(),
            decisions: decisions::found(decided, asked).into_iter().take(MOST).collect(),
            decision_columns: decisions::decision_heads(asked, &here),
            decisions_csv: file("/decisions.csv"),
            outlook: decisions::expected(decided, asked).into_iter().take(MOST).collect(),
            outlook_columns: decisions::outlook_heads(asked, &here),
            outlook_csv: file("/outlook.csv"),
            q: asked.search(),
            kept: here.kept(&["q"]),
            path: path.clone(),
            runs_chart: svg(&runs_chart(store)?),
            total_runs: totals.runs,
            total_calls: totals.calls,
            kinds: store.failure_kinds()?,
            before: store.run_before(&run.id)?.map(|RunId(id)| id),
        }))
    })?;
    Ok(made.flatten())
}

/// The modules of a run, the weakest first.
pub(crate) fn weakest(store: &Store, shown: &Shown, most: usize) -> Result<Vec<ModuleLine>> {
    if let Some(report) = &shown.report {
        let modules = report.modules.iter().take(most);
        return Ok(modules
            .map(|module| ModuleLine {
                path: module.path.clone(),
                roi: module.roi,
                roi_delta: module.roi_delta,
                raroi: module.raroi,
                flagged: module.flagged,
                risks: module.risk_flags.clone(),
            })
            .collect());
    }
    let Some(cycle) = shown.cycle else { return Ok(Vec::new()) };
    let mut lines: Vec<ModuleLine> = store
        .modules(&shown.run.id, cycle)?
        .into_iter()
        .filter_map(|module| {
            Some(ModuleLine {
                path: module.path,
                roi: module.roi?,
                roi_delta: None,
                raroi: module.raroi.unwrap_or_default(),
                flagged: module.flagged,
                risks: Vec::new(),
            })
        })
        .collect();
    lines.sort_by(|one, other| one.raroi.total_cmp(&other.raroi));
    lines.truncate(most);
    Ok(lines)
}

/// ROI from run to run.
pub(crate) fn runs_chart(store: &Store) -> Result<chart::Drawing> {
    let lines = store.run_lines(Page::first(RUNS))?;
    let values: Vec<f64> = lines.iter().rev().filter_map(|line| line.roi).collect();
    let mut chart =
        LineChart::new(format!("ROI of the last {}", counted(values.len() as u64, "run")))
            .with(Series::from("ROI at the end of a run", Role::Actual, 1, &values));
    chart.height = 200.0;
    Ok(chart.draw())
}

/// ROI or a metric over cycles, what was forecast of it, and where it leads.
pub(crate) fn roi_chart(library: &Library, metric: Option<&str>) -> Result<LineChart> {
    let forecast = library.forecast(metric)?;
    Ok(trend_chart(&*library.history()?, forecast, metric))
}

/// ROI as it was at the end of a run, and where it led then.
pub(crate) fn roi_chart_of(library: &Library, run: &Run) -> Result<LineChart> {
    let after = usize::try_from(library.measured().cycles_after(run)?).unwrap_or(usize::MAX);
    if after == 0 {
        return roi_chart(library, None);
    }
    let history = library.history()?.before(after);
    let forecast = history.forecast(None);
    Ok(trend_chart(&history, forecast, None))
}

fn trend_chart(history: &History, forecast: Option<Forecast>, metric: Option<&str>) -> LineChart {
    let name = metric.unwrap_or("ROI");
    let mut chart = LineChart::new(format!("{name} over cycles"));
    let Some(tail) = history.series(metric) else { return chart };
    chart = chart.with(Series::from(name, Role::Actual, tail.first(), &tail.values));
    if let (Some(forecast), Some(last)) = (forecast, tail.last()) {
        let end = tail.before + tail.values.len();
        let mut ahead = vec![(end as f64, last)];
        let mut band = vec![(end as f64, last, last)];
        for (index, point) in forecast.points.iter().enumerate() {
            let cycle = (end + index + 1) as f64;
            ahead.push((cycle, point.mean));
            band.extend(point.interval.map(|(low, high)| (cycle, low, high)));
        }
        let percent = 100.0 * forecast.confidence;
        let has_band = band.len() > 1;
        let name = if has_band {
            format!("forecast, {percent:.0} % interval")
        } else {
            "forecast".to_owned()
        };
        chart = chart.with(Series { name, role: Role::Predicted, points: ahead });
        if has_band {
            chart.band = Band(band);
        }
    }
    chart
}

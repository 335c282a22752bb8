//! One run at a glance: the overview of the dashboard and the body of the report.

use menace_model::{Verdict, WeaknessKind, is_test_path};
use menace_store::{
    DecisionReport, FailureFilter, FailureListRow, FailureSortOrder, PageRange, RunId, RunRecord,
    RunReport, RunStatus, Store,
};
use menace_track::stats::forecast::MetricForecast;
use minijinja::Value;
use serde::Serialize;

use super::decisions::{self, DecisionRow, MAX_ROWS, OutlookRow};
use super::heat_map::HeatMap;
use super::metrics::{MetricTile, metric_tiles};
use super::paging::{PageAddress, SortableColumn, sort_by_number};
use super::svg;
use super::table_query::TableQuery;
use crate::chart::{self, ChartSeries, ForecastBand, LineChart, MarkRole};
use crate::data_source::DataSource;
use crate::error::{ServeError, ServeResult};
use crate::failure_detail::section_display_name;
use crate::history::RoiHistoryView;
use crate::text::{
    format_grouped_count, format_millis, format_timestamp, percent_encode, truncate,
};

/// The most modules and failures in an overview.
const MAX_OVERVIEW_ROWS: u32 = 8;
/// Runs in the small chart of the overview.
const MAX_CHART_RUNS: u32 = 60;

/// A run, with its report and its last cycle.
#[derive(Debug)]
pub(crate) struct SelectedRun {
    pub run: RunRecord,
    pub report: Option<RunReport>,
    /// The last cycle that came to its end.
    pub cycle: Option<u32>,
}

impl SelectedRun {
    /// The run of the query; without one the last run with results, or else the last run.
    pub(crate) fn find(store: &Store, id: Option<&str>) -> ServeResult<Option<Self>> {
        let run = match id.filter(|id| !id.is_empty() && *id != "last") {
            Some(id) => Some(store.run(id)?),
            None => store.latest_measured_run()?.or(store.latest_run()?),
        };
        let Some(run) = run else { return Ok(None) };
        let cycle = store.last_measured_cycle(&run.id)?;
        // A report of another version is none.
        let report = run
            .report
            .as_ref()
            .and_then(|report| <RunReport as serde::Deserialize>::deserialize(report).ok());
        Ok(Some(Self { run, report, cycle }))
    }

    pub(crate) fn find_existing(store: &Store, id: Option<&str>) -> ServeResult<Self> {
        Self::find(store, id)?.ok_or_else(|| ServeError::NotFound("there is no run yet".into()))
    }

    pub(crate) fn decisions(&self) -> Option<&DecisionReport> {
        self.report.as_ref()?.decisions.as_ref()
    }

    pub(crate) fn cycle(&self) -> ServeResult<u32> {
        self.cycle.ok_or_else(|| {
            ServeError::NotFound(format!("no cycle of run {} has come to its end", self.run.id))
        })
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct RunHead {
    pub id: String,
    pub repository: String,
    /// The last part of its path.
    pub name: String,
    pub started: String,
    pub status: RunStatus,
    pub status_text: &'static str,
    pub took: Option<String>,
    pub seed: u64,
    pub cycles: u32,
    pub is_running: bool,
}

impl RunHead {
    pub(crate) fn from_run(run: &RunRecord) -> Self {
        let name = run.repository.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let took = run.finished_ms.map(|end| format_millis((end - run.started_ms) as f64));
        Self {
            id: run.id.0.clone(),
            repository: run.repository.clone(),
            name: name.to_owned(),
            started: format_timestamp(run.started_ms),
            status: run.status,
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

/// The settings of a run by name; values with parts only if `all`.
pub(crate) fn displayed_settings(settings: &serde_json::Value, all: bool) -> Vec<(String, String)> {
    let Some(settings) = settings.as_object() else { return Vec::new() };
    let format_value = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(list) if list.iter().all(serde_json::Value::is_string) => {
            list.iter().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    };
    let wanted = settings.iter().filter(|(_, value)| all || !value.is_object());
    wanted.map(|(name, value)| (name.clone(), truncate(&format_value(value), 300))).collect()
}

/// How calls ended, in the order of verdicts.
#[derive(Debug, Serialize)]
pub(crate) struct VerdictShares {
    pub strip: Value,
    pub parts: Vec<VerdictShare>,
}

#[derive(Debug, Serialize)]
pub(crate) struct VerdictShare {
    pub verdict: String,
    pub count: u64,
    pub share: f64,
}

impl VerdictShares {
    pub(crate) fn from_counts(count: impl Fn(Verdict) -> u64) -> Self {
        let counted: Vec<(String, u64)> = Verdict::ALL
            .into_iter()
            .map(|verdict| (verdict.as_str().to_owned(), count(verdict)))
            .filter(|(_, count)| *count > 0)
            .collect();
        let all: u64 = counted.iter().map(|(_, count)| count).sum();
        Self {
            strip: svg(&chart::draw_verdict_strip(&counted)),
            parts: counted
                .into_iter()
                .map(|(verdict, count)| VerdictShare {
                    verdict,
                    count,
                    share: count as f64 / all.max(1) as f64,
                })
                .collect(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct WeakModuleRow {
    pub path: String,
    pub roi: f64,
    pub roi_delta: Option<f64>,
    pub raroi: Option<f64>,
    pub flagged: bool,
    pub risks: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct FailurePageRow {
    pub id: String,
    pub section: String,
    pub module: String,
    pub name: String,
    pub kind: WeaknessKind,
    pub scenario: String,
    pub verdict: Verdict,
    pub message: String,
    pub location: String,
    pub count: u64,
    pub first: String,
    pub last: String,
    pub gone: bool,
    pub is_new: bool,
}

impl FailurePageRow {
    pub(crate) fn from_line(line: FailureListRow) -> Self {
        Self {
            id: line.id.0,
            module: line.section.path().to_owned(),
            name: section_display_name(line.section.qualname()),
            section: line.section.as_str().to_owned(),
            kind: line.kind,
            scenario: line.scenario,
            verdict: line.verdict,
            message: truncate(&line.message, 300),
            location: line.location.to_string(),
            count: line.count,
            first: format_timestamp(line.first_ms),
            last: format_timestamp(line.last_ms),
            gone: line.gone_ms.is_some(),
            is_new: line.new_in_run,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct OverviewPage {
    pub head: RunHead,
    /// The settings of the run, beside seed and repository.
    pub settings: Vec<(String, String)>,
    pub report: Option<RunTotals>,
    pub verdicts: Option<VerdictShares>,
    pub metrics: Vec<MetricTile>,
    pub modules: Vec<WeakModuleRow>,
    pub failures: Vec<FailurePageRow>,
    pub failure_count: u64,
    pub heat: HeatMap,
    /// Whether the run has a decision report, whatever the search text finds in it.
    pub has_decisions: bool,
    pub decisions: Vec<DecisionRow>,
    pub decision_columns: Vec<SortableColumn>,
    pub decisions_csv: String,
    pub outlook: Vec<OutlookRow>,
    pub outlook_columns: Vec<SortableColumn>,
    pub outlook_csv: String,
    /// The search text, and the other values of the query.
    pub q: String,
    pub hidden_fields: Vec<(String, String)>,
    pub path: String,
    pub runs_chart: Value,
    pub total_runs: u64,
    pub total_calls: u64,
    pub kinds: Vec<(WeaknessKind, u64)>,
    /// The one before, to compare with.
    pub previous_run: Option<String>,
}

/// The numbers that sum a run up.
#[derive(Debug, Serialize)]
pub(crate) struct RunTotals {
    pub calls: u64,
    /// Additional calls, not included in `calls`.
    pub timing_calls: u64,
    pub sections: usize,
    pub called: usize,
    pub uncallable: usize,
    pub lines: f64,
    pub roi: Option<f64>,
    pub roi_delta: Option<f64>,
    pub failures: usize,
    pub new_failures: usize,
    pub worst_scenario: Option<String>,
    pub warnings: Vec<String>,
}

impl RunTotals {
    pub(crate) fn from_report(report: &RunReport) -> Self {
        Self {
            calls: report.calls,
            timing_calls: report.timing_calls,
            sections: report.sections,
            called: report.coverage.called,
            uncallable: report.coverage.uncallable,
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

/// The overview of a run, or of the last one with results; `query` is the query for its decisions.
pub(crate) fn overview_page(
    source: &DataSource,
    id: Option<&str>,
    query: &TableQuery,
) -> ServeResult<Option<OverviewPage>> {
    let path = id.map_or_else(|| "/".to_owned(), |id| format!("/runs/{}", percent_encode(id)));
    let here = TableQuery { run: None, ..query.clone() }.add_to_address(PageAddress::new(&path));
    let made = source.query(|store| {
        let Some(shown) = SelectedRun::find(store, id)? else { return Ok(None) };
        let SelectedRun { run, report, .. } = &shown;
        let run_id = Some(run.id.clone());
        let filter = FailureFilter { run: run_id, gone: true, ..FailureFilter::default() };
        let lines = store.list_failures(
            &filter,
            FailureSortOrder::Severity,
            false,
            PageRange::first(MAX_OVERVIEW_ROWS),
        )?;
        let totals = store.totals()?;
        let decisions = shown.decisions();
        // Files have the run in their query, pages in their path.
        let of_run = TableQuery { run: Some(run.id.0.clone()), ..query.clone() };
        let file = |path: &str| of_run.add_to_address(PageAddress::new(path)).href();
        Ok(Some(OverviewPage {
            head: RunHead::from_run(run),
            settings: displayed_settings(&run.settings, false),
            report: report.as_ref().map(RunTotals::from_report),
            verdicts: report.as_ref().map(|report| {
                VerdictShares::from_counts(|verdict| {
                    report.verdicts.get(&verdict).copied().unwrap_or_default()
                })
            }),
            metrics: metric_tiles(source, run)?,
            modules: weakest_modules(store, &shown, MAX_OVERVIEW_ROWS as usize)?,
            failures: lines.into_iter().map(FailurePageRow::from_line).collect(),
            failure_count: store.count_failures_of_run(&run.id)?,
            heat: source.heat_map(store, &shown)?,
            has_decisions: decisions.is_some(),
            decisions: decisions::decision_rows(decisions, query)
                .into_iter()
                .take(MAX_ROWS)
                .collect(),
            decision_columns: decisions::decision_columns(query, &here),
            decisions_csv: file("/decisions.csv"),
            outlook: decisions::outlook_rows(decisions, query).into_iter().take(MAX_ROWS).collect(),
            outlook_columns: decisions::outlook_columns(query, &here),
            outlook_csv: file("/outlook.csv"),
            q: query.search_text(),
            hidden_fields: here.hidden_fields(&["q"]),
            path: path.clone(),
            runs_chart: svg(&runs_chart(store)?),
            total_runs: totals.runs,
            total_calls: totals.calls,
            kinds: store.failure_kinds()?,
            previous_run: store.previous_run(&run.id)?.map(|RunId(id)| id),
        }))
    })?;
    Ok(made.flatten())
}

/// The modules of a run, the weakest first; test modules of the repository are not ranked.
pub(crate) fn weakest_modules(
    store: &Store,
    shown: &SelectedRun,
    most: usize,
) -> ServeResult<Vec<WeakModuleRow>> {
    if let Some(report) = &shown.report {
        let modules = report.modules.iter().filter(|module| !is_test_path(&module.path));
        return Ok(modules
            .take(most)
            .map(|module| WeakModuleRow {
                path: module.path.clone(),
                roi: module.roi,
                roi_delta: module.roi_delta,
                raroi: Some(module.raroi),
                flagged: module.flagged,
                risks: module.risk_flags.clone(),
            })
            .collect());
    }
    let Some(cycle) = shown.cycle else { return Ok(Vec::new()) };
    let mut lines: Vec<WeakModuleRow> = store
        .modules(&shown.run.id, cycle)?
        .into_iter()
        .filter(|module| !is_test_path(&module.path))
        .filter_map(|module| {
            Some(WeakModuleRow {
                path: module.path,
                roi: module.roi?,
                roi_delta: None,
                raroi: module.raroi,
                flagged: module.flagged,
                risks: Vec::new(),
            })
        })
        .collect();
    sort_by_number(&mut lines, false, |line| line.raroi);
    lines.truncate(most);
    Ok(lines)
}

/// ROI from run to run.
pub(crate) fn runs_chart(store: &Store) -> ServeResult<chart::ChartDrawing> {
    let lines = store.list_runs(PageRange::first(MAX_CHART_RUNS))?;
    let values: Vec<Option<f64>> =
        lines.iter().rev().filter_map(|line| line.roi).map(Some).collect();
    let mut chart = LineChart::new(format!(
        "ROI of the last {}",
        format_grouped_count(values.len() as u64, "run")
    ))
    .with_series(ChartSeries::from_values(
        "ROI at the end of a run",
        MarkRole::Actual,
        1,
        values,
    ));
    chart.height = 200.0;
    Ok(chart.draw())
}

/// ROI or a metric over cycles, with its forecasts.
pub(crate) fn roi_chart(source: &DataSource, metric: Option<&str>) -> ServeResult<LineChart> {
    let forecast = source.forecast(metric)?;
    Ok(trend_chart(&*source.history()?, forecast, metric))
}

/// ROI as it was at the end of a run, and where it led then.
pub(crate) fn roi_chart_at_run(source: &DataSource, run: &RunRecord) -> ServeResult<LineChart> {
    let after = usize::try_from(source.metrics_db().cycles_after(run)?).unwrap_or(usize::MAX);
    if after == 0 {
        return roi_chart(source, None);
    }
    let history = source.history()?.before_last(after);
    let forecast = history.forecast(None);
    Ok(trend_chart(&history, forecast, None))
}

fn trend_chart(
    history: &RoiHistoryView,
    forecast: Option<MetricForecast>,
    metric: Option<&str>,
) -> LineChart {
    let name = metric.unwrap_or("ROI");
    let mut chart = LineChart::new(format!("{name} over cycles"));
    let Some(tail) = history.series(metric) else { return chart };
    chart = chart.with_series(ChartSeries::from_values(
        name,
        MarkRole::Actual,
        tail.first_cycle(),
        tail.values.iter().copied(),
    ));
    if let (Some(forecast), Some(last)) = (forecast, tail.last()) {
        let end = tail.skipped_count + tail.values.len();
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
        chart = chart.with_series(ChartSeries { name, role: MarkRole::Predicted, points: ahead });
        if has_band {
            chart.band = ForecastBand(band);
        }
    }
    chart
}

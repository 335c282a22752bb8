//! Collects the exposed values. Each query uses an index: a scrape takes milliseconds.

use menace_model::is_test_path;
use menace_store::{MetricMap, PageRange, RunListRow};

use super::MetricsExposition;
use super::declarations::{METRIC_DECLARATIONS, MetricNameOrigin, is_synergy_metric};
use crate::data_source::DataSource;
use crate::error::ServeResult;
use crate::history::ListTail;
use crate::metrics_db::MetricsDbReader;

/// Modules that have a sample of their own: unbounded labels would overload a scraper.
const MAX_MODULES: usize = 50;
/// The number of latest runs that are searched for one that has ended.
const MAX_RUNS_SEARCHED: u32 = 20;

pub(crate) fn collect_all(source: &DataSource) -> ServeResult<String> {
    let mut out = MetricsExposition::default();
    out.set("menace_build_info", &[env!("CARGO_PKG_VERSION")], 1.0);
    add_runs(source, &mut out)?;
    let history = source.history()?;
    for metric in menace_track::METRICS {
        if let Some(value) = history.metrics_history.get(metric.name).and_then(ListTail::last) {
            out.set("menace_metric", &[metric.name], value);
        }
    }
    if let Some(error) = history.pairs(None).mean_absolute_error() {
        out.set("menace_forecast_error", &["roi"], error);
    }
    for metric in menace_track::METRICS {
        if let Some(error) = history.pairs(Some(metric.name)).mean_absolute_error() {
            out.set("menace_forecast_error", &[metric.name], error);
        }
    }
    add_recorded_gauges(source.metrics_db(), &mut out, |_| true)?;
    add_synergy(source.synergy(1)?.last(), &mut out);
    Ok(out.to_text())
}

/// The gauges of the self-tests alone.
pub(crate) fn collect_self_tests(source: &DataSource) -> ServeResult<String> {
    let mut out = MetricsExposition::default();
    add_recorded_gauges(source.metrics_db(), &mut out, |name| name.starts_with("self_test_"))?;
    Ok(out.to_text())
}

/// Only these synergy values and the values of their trainer.
pub(crate) fn collect_synergy(
    latest: Option<&MetricMap>,
    measured: &MetricsDbReader,
) -> ServeResult<String> {
    let mut out = MetricsExposition::default();
    add_recorded_gauges(measured, &mut out, |name| name.starts_with("synergy_"))?;
    add_synergy(latest, &mut out);
    Ok(out.to_text())
}

fn add_runs(source: &DataSource, out: &mut MetricsExposition) -> ServeResult<()> {
    source.query(|store| {
        let totals = store.totals()?;
        out.set("menace_runs_total", &[], totals.runs as f64);
        out.set("menace_calls_total", &[], totals.calls as f64);
        out.set("menace_active_runs", &[], store.active_runs()?.len() as f64);
        for (kind, count) in store.failure_kinds()? {
            out.set("menace_open_failures", &[kind.as_str()], count as f64);
        }
        let lines = store.list_runs(PageRange::first(MAX_RUNS_SEARCHED))?;
        let Some(last) = lines.iter().find(|line| line.calls.is_some()) else { return Ok(()) };
        add_run(last, out);
        let Some(cycle) = store.last_measured_cycle(&last.id)? else { return Ok(()) };
        let mut modules: Vec<(f64, String)> = store
            .modules(&last.id, cycle)?
            .into_iter()
            .filter(|module| !is_test_path(&module.path))
            .filter_map(|module| Some((module.roi?, module.path)))
            .collect();
        modules.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (roi, path) in modules.iter().take(MAX_MODULES) {
            out.set("menace_module_roi", &[path], *roi);
        }
        for scenario in store.scenarios(&last.id, cycle)? {
            if let Some(roi) = scenario.roi {
                out.set("menace_scenario_roi", &[&scenario.scenario], roi);
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn add_run(line: &RunListRow, out: &mut MetricsExposition) {
    let mut set = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            out.set(name, &[], value);
        }
    };
    set("menace_run_roi", line.roi);
    set("menace_run_failures", line.failures.map(|count| count as f64));
    set("menace_run_new_failures", line.new_failures.map(|count| count as f64));
    set("menace_run_sections", line.sections.map(|count| count as f64));
    set("menace_run_duration_seconds", line.elapsed_s);
    let finished = line.finished_ms.map(|ms| ms as f64 / 1000.0);
    set("menace_run_finished_timestamp_seconds", finished);
    for (verdict, count) in &line.verdicts {
        out.set("menace_run_calls", &[verdict], *count as f64);
    }
}

/// Gauges that other programs record in `metrics.db`, under their documented names.
fn add_recorded_gauges(
    measured: &MetricsDbReader,
    out: &mut MetricsExposition,
    wanted: impl Fn(&str) -> bool,
) -> ServeResult<()> {
    let declared =
        METRIC_DECLARATIONS.iter().filter(|known| known.origin == MetricNameOrigin::Documented);
    // Synergy metrics have a history of their own.
    let declared = declared.filter(|known| wanted(known.name) && !is_synergy_metric(known.name));
    let declared: Vec<_> = declared.collect();
    for (name, module, value) in measured.latest_values(&declared)? {
        let has_label = declared.iter().any(|known| known.name == name && !known.labels.is_empty());
        // The label of the gauge is stored in the column for modules.
        if has_label {
            out.set(&name, &[&module], value);
        } else {
            out.set(&name, &[], value);
        }
    }
    Ok(())
}

fn add_synergy(latest: Option<&MetricMap>, out: &mut MetricsExposition) {
    for (name, value) in latest.into_iter().flatten() {
        out.set_synergy(name, *value);
    }
}

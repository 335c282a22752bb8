//! Every exposed name, with its meaning. Documented names are fixed: they are gauges, although some
//! end like counters.
//!
//! A gauge whose producer does not exist yet is exposed as soon as it is recorded in `metrics.db`
//! under its name; until then it is absent, not 0.

use std::sync::LazyLock;

menace_model::named_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PrometheusKind {
        Gauge = "gauge",
        Counter = "counter",
    }
}

/// The origin of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricNameOrigin {
    /// Chosen by Menace.
    Menace,
    /// Fixed by documentation that other programs rely on.
    Documented,
}

#[derive(Debug, Clone, Copy)]
pub struct MetricDeclaration {
    pub name: &'static str,
    pub kind: PrometheusKind,
    pub labels: &'static [&'static str],
    pub origin: MetricNameOrigin,
    pub help: &'static str,
}

/// A row has origin, kind, name, labels and meaning.
macro_rules! declarations {
    ($($origin:ident $kind:ident $name:literal [$($label:literal),*]: $help:literal;)+) => {
        &[$(MetricDeclaration {
            name: $name,
            kind: PrometheusKind::$kind,
            labels: &[$($label),*],
            origin: MetricNameOrigin::$origin,
            help: $help,
        }),+]
    };
}

/// All metrics: the fixed ones below, and the synergy of each metric of `menace-track`.
pub static METRIC_DECLARATIONS: LazyLock<Vec<MetricDeclaration>> =
    LazyLock::new(|| FIXED_DECLARATIONS.iter().copied().chain(synergy_declarations()).collect());

const FIXED_DECLARATIONS: &[MetricDeclaration] = declarations! {
    Menace Gauge "menace_build_info" ["version"]: "Always 1; the version is in the label.";
    Menace Counter "menace_runs_total" []: "Runs in the store.";
    Menace Counter "menace_calls_total" []: "Calls of all finished runs.";
    Menace Gauge "menace_active_runs" []: "Active runs.";
    Menace Gauge "menace_open_failures" ["kind"]: "Open failures, by kind.";
    Menace Gauge "menace_run_roi" []: "ROI of the last finished run.";
    Menace Gauge "menace_run_failures" []: "Failures of the last run.";
    Menace Gauge "menace_run_new_failures" []: "New failures of the last run.";
    Menace Gauge "menace_run_sections" []: "Sections of the last run.";
    Menace Gauge "menace_run_calls" ["verdict"]: "Calls of the last run, by verdict.";
    Menace Gauge "menace_run_duration_seconds" []: "Duration of the last run.";
    Menace Gauge "menace_run_finished_timestamp_seconds" []:
        "When the last run finished, in seconds since 1970.";
    Menace Gauge "menace_module_roi" ["module"]: "ROI of the weakest modules of the last run.";
    Menace Gauge "menace_scenario_roi" ["scenario"]: "ROI under each scenario of the last run.";
    Menace Gauge "menace_metric" ["metric"]:
        "Metrics of the last cycle, as docs/metrics.md defines them.";
    Menace Gauge "menace_forecast_error" ["metric"]:
        "Mean absolute error of the forecasts of a metric.";
    Documented Gauge "sandbox_restart_total" []:
        "How often the sandbox was restarted after a failure.";
    Documented Gauge "sandbox_restart_count" []:
        "How often the sandbox was restarted after a failure; the older name.";
    Documented Gauge "sandbox_last_failure_ts" []:
        "When the sandbox failed last, in seconds since 1970; 0 when it never did.";
    Documented Gauge "sandbox_last_failure_time" []:
        "When the sandbox failed last, in seconds since 1970; the older name.";
    Documented Gauge "container_creation_success_total" ["image"]: "Containers that were created.";
    Documented Gauge "container_creation_failures_total" ["image"]:
        "Containers that could not be created.";
    Documented Gauge "container_creation_alerts_total" ["image"]:
        "Alerts about containers that could not be created.";
    Documented Gauge "container_creation_seconds" ["image"]:
        "How long the last attempt to create a container took.";
    Documented Gauge "container_backoff_base" []:
        "The base of the growing pause between attempts to create a container.";
    Documented Gauge "cleanup_duration_seconds" ["worker"]:
        "How long the last sweep of a cleanup worker took.";
    Documented Gauge "orphan_modules_tested_total" []: "Orphan modules that were tested.";
    Documented Gauge "orphan_modules_reintroduced_total" []:
        "Orphan modules that were taken back into the module map.";
    Documented Gauge "orphan_modules_failed_total" []: "Orphan modules that did not pass.";
    Documented Gauge "orphan_modules_redundant_total" []:
        "Orphan modules that were classified as redundant.";
    Documented Gauge "orphan_modules_legacy_total" []:
        "Modules that count as legacy now; falls when they are taken back.";
    Documented Gauge "self_test_passed_total" []: "Self-tests that passed.";
    Documented Gauge "self_test_failed_total" []: "Self-tests that failed.";
    Documented Gauge "self_test_average_runtime_seconds" []: "Mean duration of a self-test.";
    Documented Gauge "self_test_average_coverage" []: "Mean share of lines that self-tests reach.";
    Documented Gauge "synergy_trainer_iterations" []:
        "Trainings of the synergy weights that were completed.";
    Documented Gauge "synergy_trainer_last_id" []:
        "The last row of the synergy history that training has seen.";
};

/// The synergy of ROI and of every metric. The names are leaked once.
fn synergy_declarations() -> impl Iterator<Item = MetricDeclaration> {
    let metrics = menace_track::METRICS.iter().map(|metric| metric.name);
    std::iter::once("roi").chain(metrics).map(|metric| {
        let name = format!("synergy_{metric}").leak();
        let help =
            format!("Synergy, a combined run minus the mean of the individual runs: {metric}.")
                .leak();
        MetricDeclaration {
            name,
            kind: PrometheusKind::Gauge,
            labels: &[],
            origin: MetricNameOrigin::Documented,
            help,
        }
    })
}

/// Whether the name is one of [`synergy_declarations`], not one that a trainer records.
pub(super) fn is_synergy_metric(name: &str) -> bool {
    let metric = name.strip_prefix("synergy_");
    metric.is_some_and(|metric| {
        metric == "roi" || menace_track::METRICS.iter().any(|known| known.name == metric)
    })
}

/// The place of a name in the table.
pub(super) fn declaration_index(name: &str) -> Option<usize> {
    METRIC_DECLARATIONS.iter().position(|declared| declared.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_documented_gauge_is_declared() {
        let documented = "sandbox_restart_total sandbox_restart_count sandbox_last_failure_ts \
            sandbox_last_failure_time container_creation_failures_total \
            container_creation_success_total container_creation_alerts_total \
            container_creation_seconds container_backoff_base cleanup_duration_seconds \
            orphan_modules_tested_total orphan_modules_reintroduced_total \
            orphan_modules_failed_total orphan_modules_redundant_total orphan_modules_legacy_total \
            self_test_passed_total self_test_failed_total self_test_average_runtime_seconds \
            self_test_average_coverage synergy_trainer_iterations synergy_trainer_last_id \
            synergy_roi synergy_reliability";
        for name in documented.split_whitespace() {
            let found = METRIC_DECLARATIONS[declaration_index(name).expect(name)];
            assert_eq!(
                (found.kind, found.origin),
                (PrometheusKind::Gauge, MetricNameOrigin::Documented),
                "{name}"
            );
        }
        for name in ["success", "failures", "alerts"] {
            let name = format!("container_creation_{name}_total");
            assert_eq!(
                METRIC_DECLARATIONS[declaration_index(&name).unwrap()].labels,
                ["image"],
                "{name}"
            );
        }
        for metric in menace_track::METRICS {
            let name = format!("synergy_{}", metric.name);
            assert!(declaration_index(&name).is_some() && is_synergy_metric(&name), "{name}");
        }
        assert!(declaration_index("synergy_roi").is_some() && is_synergy_metric("synergy_roi"));
        assert!(
            !is_synergy_metric("synergy_trainer_last_id")
                && !is_synergy_metric("synergy_of_my_own")
        );
    }

    /// The checks of `promtool check metrics`, for names that Menace chose.
    #[test]
    fn names_are_as_prometheus_wants_them() {
        let mut seen = BTreeSet::new();
        for MetricDeclaration { name, kind, labels, origin, help } in METRIC_DECLARATIONS.iter() {
            assert!(seen.insert(name), "{name} is declared twice");
            let is_letter = |char: char| char.is_ascii_lowercase() || char == '_';
            assert!(name.starts_with(is_letter), "{name}");
            assert!(name.chars().all(|char| is_letter(char) || char.is_ascii_digit()), "{name}");
            assert!(help.ends_with('.') && help.len() > 10, "{name}: {help}");
            assert!(!help.contains(['\n', '\\']), "{name}: {help}");
            for label in *labels {
                assert!(
                    label.chars().all(is_letter) && !label.starts_with("__"),
                    "{name}: {label}"
                );
                assert!(!["le", "quantile", "job", "instance"].contains(label), "{name}: {label}");
            }
            if *origin == MetricNameOrigin::Menace {
                assert_eq!(name.ends_with("_total"), *kind == PrometheusKind::Counter, "{name}");
                assert!(name.starts_with("menace_"), "{name}");
                for unit in ["_ms", "_milliseconds", "_minutes", "_kb", "_percent"] {
                    assert!(!name.ends_with(unit), "{name}: base units only");
                }
                for kind in ["_gauge", "_counter", "_histogram", "_summary"] {
                    assert!(!name.contains(kind), "{name}: the kind is no part of a name");
                }
            }
        }
    }
}

//! Every name that is exposed, with what it means. The documented names are given: they are gauges,
//! and some end as counters would.
//!
//! A gauge whose producer does not exist yet is exposed as soon as somebody records it in
//! `metrics.db` under its name; until then it is not there, rather than 0.

use std::sync::LazyLock;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Gauge,
    Counter,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
        }
    }
}

/// Who decided on the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// This program.
    Own,
    /// Documentation that others rely on.
    Documented,
}

#[derive(Debug, Clone, Copy)]
pub struct Declared {
    pub name: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    pub origin: Origin,
    pub help: &'static str,
}

const fn own(
    name: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    help: &'static str,
) -> Declared {
    Declared { name, kind, labels, origin: Origin::Own, help }
}

const fn documented(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Declared {
    Declared { name, kind: Kind::Gauge, labels, origin: Origin::Documented, help }
}

/// All of them: those that are written down here, and one for each metric of `menace-track` together.
pub static DECLARED: LazyLock<Vec<Declared>> =
    LazyLock::new(|| FIXED.iter().copied().chain(synergy()).collect());

const FIXED: &[Declared] = &[
    own("menace_build_info", Kind::Gauge, &["version"], "Always 1; the version is in the label."),
    own("menace_runs_total", Kind::Counter, &[], "Runs that the store knows."),
    own("menace_calls_total", Kind::Counter, &[], "Calls of all runs that came to an end."),
    own("menace_runs_going_on", Kind::Gauge, &[], "Runs that go on right now."),
    own("menace_open_failures", Kind::Gauge, &["kind"], "Failures that are still there, by kind."),
    own("menace_run_roi", Kind::Gauge, &[], "ROI of the last run that came to an end."),
    own("menace_run_failures", Kind::Gauge, &[], "Failures that the last run saw."),
    own(
        "menace_run_new_failures",
        Kind::Gauge,
        &[],
        "Failures that no run before the last one saw.",
    ),
    own("menace_run_sections", Kind::Gauge, &[], "Sections that the last run knew."),
    own("menace_run_calls", Kind::Gauge, &["verdict"], "Calls of the last run, by how they ended."),
    own("menace_run_duration_seconds", Kind::Gauge, &[], "How long the last run took."),
    own(
        "menace_run_finished_timestamp_seconds",
        Kind::Gauge,
        &[],
        "When the last run came to its end, in seconds since 1970.",
    ),
    own(
        "menace_module_roi",
        Kind::Gauge,
        &["module"],
        "ROI of the weakest modules of the last run.",
    ),
    own(
        "menace_scenario_roi",
        Kind::Gauge,
        &["scenario"],
        "ROI under each scenario of the last run.",
    ),
    own(
        "menace_metric",
        Kind::Gauge,
        &["metric"],
        "Metrics of the last cycle, as docs/metrics.md defines them.",
    ),
    own(
        "menace_forecast_error",
        Kind::Gauge,
        &["metric"],
        "Mean absolute error of the forecasts of a metric.",
    ),
    documented(
        "sandbox_restart_total",
        &[],
        "How often the sandbox was restarted after a failure.",
    ),
    documented(
        "sandbox_restart_count",
        &[],
        "How often the sandbox was restarted after a failure; the older name.",
    ),
    documented(
        "sandbox_last_failure_ts",
        &[],
        "When the sandbox failed last, in seconds since 1970; 0 when it never did.",
    ),
    documented(
        "sandbox_last_failure_time",
        &[],
        "When the sandbox failed last, in seconds since 1970; the older name.",
    ),
    documented("container_creation_success_total", &["image"], "Containers that were created."),
    documented(
        "container_creation_failures_total",
        &["image"],
        "Containers that could not be created.",
    ),
    documented(
        "container_creation_alerts_total",
        &["image"],
        "Alerts about containers that could not be created.",
    ),
    documented(
        "container_creation_seconds",
        &["image"],
        "How long the last attempt to create a container took.",
    ),
    documented(
        "container_backoff_base",
        &[],
        "The base of the growing pause between attempts to create a container.",
    ),
    documented(
        "cleanup_duration_seconds",
        &["worker"],
        "How long the last sweep of a cleanup worker took.",
    ),
    documented("orphan_modules_tested_total", &[], "Orphan modules that were tested."),
    documented(
        "orphan_modules_reintroduced_total",
        &[],
        "Orphan modules that were taken back into the module map.",
    ),
    documented("orphan_modules_failed_total", &[], "Orphan modules that did not pass."),
    documented(
        "orphan_modules_redundant_total",
        &[],
        "Orphan modules that were classified as redundant.",
    ),
    documented(
        "orphan_modules_legacy_total",
        &[],
        "Modules that count as legacy now; falls when they are taken back.",
    ),
    documented("self_test_passed_total", &[], "Self-tests that passed."),
    documented("self_test_failed_total", &[], "Self-tests that failed."),
    documented("self_test_average_runtime_seconds", &[], "How long self-tests take on the mean."),
    documented(
        "self_test_average_coverage",
        &[],
        "Share of lines that self-tests reach on the mean.",
    ),
    documented(
        "synergy_trainer_iterations",
        &[],
        "Trainings of the synergy weights that were completed.",
    ),
    documented(
        "synergy_trainer_last_id",
        &[],
        "The last row of the synergy history that training has seen.",
    ),
];

/// What sections are worth together, in ROI and in every metric. The names are made once and stay.
fn synergy() -> impl Iterator<Item = Declared> {
    let metrics = menace_track::METRICS.iter().map(|metric| metric.name);
    std::iter::once("roi").chain(metrics).map(|metric| {
        let name = format!("synergy_{metric}").leak();
        let help = format!("What sections are worth together beyond alone: {metric}.").leak();
        documented(name, &[], help)
    })
}

/// Whether this is one of those, and nothing that a trainer records.
pub(super) fn is_synergy(name: &str) -> bool {
    let metric = name.strip_prefix("synergy_");
    metric.is_some_and(|metric| {
        metric == "roi" || menace_track::METRICS.iter().any(|known| known.name == metric)
    })
}

/// The place of a name in the table.
pub(super) fn place(name: &str) -> Option<usize> {
    DECLARED.iter().position(|declared| declared.name == name)
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
            self_test_average_coverage synergy_trainer_iterations synergy_trainer_last_id synergy_roi synergy_reliability";
        for name in documented.split_whitespace() {
            let found = DECLARED[place(name).expect(name)];
            assert_eq!((found.kind, found.origin), (Kind::Gauge, Origin::Documented), "{name}");
        }
        for name in ["success", "failures", "alerts"] {
            let name = format!("container_creation_{name}_total");
            assert_eq!(DECLARED[place(&name).unwrap()].labels, ["image"], "{name}");
        }
        for metric in menace_track::METRICS {
            let name = format!("synergy_{}", metric.name);
            assert!(place(&name).is_some() && is_synergy(&name), "{name}");
        }
        assert!(place("synergy_roi").is_some() && is_synergy("synergy_roi"));
        assert!(!is_synergy("synergy_trainer_last_id") && !is_synergy("synergy_of_my_own"));
    }

    /// What `promtool check metrics` would complain about, for names that are ours to choose.
    #[test]
    fn names_are_as_prometheus_wants_them() {
        let mut seen = BTreeSet::new();
        for Declared { name, kind, labels, origin, help } in DECLARED.iter() {
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
            if *origin == Origin::Own {
                assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
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

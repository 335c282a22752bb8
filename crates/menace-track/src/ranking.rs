//! The rows behind `menace rank`, `menace synergy` and `menace roi`.
//!
//! `menace-store` and the command line find and read the histories.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::metric::{scenario_metric_name, synergy_metric_name};
use crate::{ModuleRank, RoiHistory, Tracker};

/// A history, and the name of its run, for histories without scenarios.
#[derive(Debug, Clone, Copy)]
pub struct NamedHistory<'a> {
    pub name: &'a str,
    pub history: &'a RoiHistory,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioRankRow {
    pub scenario: String,
    /// The sum over all cycles of all runs.
    pub roi: f64,
    /// The last recorded value.
    pub security_score: Option<f64>,
}

impl fmt::Display for ScenarioRankRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ROI={:.2} security_score=", self.scenario, round_for_display(self.roi, 2))?;
        match self.security_score {
            Some(score) => write!(f, "{score:.2}"),
            None => f.write_str("n/a"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SynergyRankRow {
    pub scenario: String,
    /// `synergy_roi`, or another `synergy_<metric>`.
    pub metric: String,
    /// The sum over all cycles of all runs.
    pub value: f64,
}

impl fmt::Display for SynergyRankRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}={:.2}", self.scenario, self.metric, round_for_display(self.value, 2))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SynergySummary {
    pub metric: String,
    pub latest: f64,
    /// Exponential moving average of all values.
    pub ema: f64,
}

impl fmt::Display for SynergySummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (latest, ema) = (round_for_display(self.latest, 4), round_for_display(self.ema, 4));
        write!(f, "{} latest={latest:.4} ema={ema:.4}", self.metric)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModuleRankRow(pub ModuleRank);

impl fmt::Display for ModuleRankRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModuleRank { module, roi, raroi, gain } = &self.0;
        let (roi, raroi, gain) =
            (round_for_display(*roi, 2), round_for_display(*raroi, 2), round_for_display(*gain, 3));
        write!(f, "{module} ROI={roi:.2} RAROI={raroi:.2} gain={gain:+.3}")
    }
}

/// Scenarios by cumulative ROI, best first. A history without scenarios counts as one, under its
/// name.
pub fn rank_scenarios(runs: &[NamedHistory<'_>]) -> Vec<ScenarioRankRow> {
    let mut rows: BTreeMap<&str, ScenarioRankRow> = BTreeMap::new();
    let mut add = |scenario, rois: &[f64], score: Option<f64>| {
        let empty = || ScenarioRankRow {
            scenario: str::to_owned(scenario),
            roi: 0.0,
            security_score: None,
        };
        let row = rows.entry(scenario).or_insert_with(empty);
        row.roi += rois.iter().sum::<f64>();
        row.security_score = score.or(row.security_score);
    };
    for run in runs {
        let last = |metric: &str| run.history.metrics_history.get(metric)?.last().copied();
        for (name, rois) in &run.history.scenario_roi {
            add(name, rois, last(&scenario_metric_name(name, "security_score")));
        }
        if run.history.scenario_roi.is_empty() {
            add(run.name, &run.history.roi_history, last("security_score"));
        }
    }
    let mut rows: Vec<_> = rows.into_values().collect();
    rows.sort_by(|one, two| {
        two.roi.total_cmp(&one.roi).then_with(|| one.scenario.cmp(&two.scenario))
    });
    rows
}

/// Runs by the sum of a synergy metric, best first. `metric` may leave out `synergy_`.
///
/// A run of one scenario goes by its name. Runs without the metric are not ranked.
pub fn rank_synergy(runs: &[NamedHistory<'_>], metric: &str) -> Vec<SynergyRankRow> {
    let metric = synergy_metric_name(metric);
    let sums = runs.iter().filter_map(|run| {
        let values = run.history.metrics_history.get(&metric)?;
        let mut names = run.history.scenario_roi.keys();
        let name = match (names.next(), names.next()) {
            (Some(only), None) => only.as_str(),
            _ => run.name,
        };
        Some((name, values.iter().sum::<f64>()))
    });
    rank_by_value(sums, &metric)
}

/// Scenarios by the sum of a synergy metric that was recorded for them, best first.
pub fn rank_scenario_synergy(runs: &[NamedHistory<'_>], metric: &str) -> Vec<SynergyRankRow> {
    let metric = synergy_metric_name(metric);
    let entries = runs.iter().flat_map(|run| &run.history.scenario_synergy);
    let sums = entries.filter_map(|(name, entries)| {
        let values: Vec<f64> = entries.iter().filter_map(|entry| entry.get(&metric)).collect();
        (!values.is_empty()).then(|| (name.as_str(), values.iter().sum::<f64>()))
    });
    rank_by_value(sums, &metric)
}

/// Every synergy metric of a history: its latest value, and its moving average over `window`
/// values.
pub fn summarise_synergy(history: &RoiHistory, window: usize) -> Vec<SynergySummary> {
    let all = history.metrics_history.iter().filter(|(name, _)| name.starts_with("synergy_"));
    all.filter_map(|(name, values)| {
        Some(SynergySummary {
            metric: name.clone(),
            latest: *values.last()?,
            ema: moving_average(values, window)?,
        })
    })
    .collect()
}

/// Modules by RAROI, best first.
pub fn rank_modules(history: &RoiHistory) -> Vec<ModuleRankRow> {
    Tracker::new(history.clone()).rankings().into_iter().map(ModuleRankRow).collect()
}

fn rank_by_value<'a>(
    sums: impl Iterator<Item = (&'a str, f64)>,
    metric: &str,
) -> Vec<SynergyRankRow> {
    let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, sum) in sums {
        *totals.entry(name).or_default() += sum;
    }
    let row = |(name, value): (&str, f64)| SynergyRankRow {
        scenario: name.to_owned(),
        metric: metric.to_owned(),
        value,
    };
    let mut rows: Vec<SynergyRankRow> = totals.into_iter().map(row).collect();
    rows.sort_by(|one, two| {
        two.value.total_cmp(&one.value).then_with(|| one.scenario.cmp(&two.scenario))
    });
    rows
}

/// Rounds to zero where zero is displayed, so that no `-0` appears.
fn round_for_display(value: f64, digits: i32) -> f64 {
    if (value * 10_f64.powi(digits)).round() == 0.0 { 0.0 } else { value }
}

/// Each value after the first moves the average by 2 / (window + 1) of the difference.
fn moving_average(values: &[f64], window: usize) -> Option<f64> {
    let step = 2.0 / (window.max(1) as f64 + 1.0);
    values.iter().copied().reduce(|average, value| average + step * (value - average))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::assert_close;

    fn history(json: &str) -> RoiHistory {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn scenarios_are_printed_as_documented() {
        let first = history(
            r#"{"scenario_roi": {"scenario_a": [1.25, 2.0], "scenario_b": [2.1]},
                "metrics_history": {"scenario_a:security_score": [0.1, 0.82],
                                    "scenario_b:security_score": [0.9]}}"#,
        );
        let second = history(r#"{"roi_history": [0.5, 0.25]}"#);
        let runs = [
            NamedHistory { name: "run1", history: &first },
            NamedHistory { name: "run2", history: &second },
        ];
        let lines: Vec<String> = rank_scenarios(&runs).iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "scenario_a ROI=3.25 security_score=0.82",
                "scenario_b ROI=2.10 security_score=0.90",
                "run2 ROI=0.75 security_score=n/a",
            ]
        );
    }

    #[test]
    fn zero_has_no_minus() {
        let row = |gain| {
            let rank = ModuleRank { module: "a.py".to_owned(), roi: -0.001, raroi: -0.0, gain };
            ModuleRankRow(rank).to_string()
        };
        assert_eq!(row(-0.0004), "a.py ROI=0.00 RAROI=0.00 gain=+0.000");
        assert_eq!(row(-0.0006), "a.py ROI=0.00 RAROI=0.00 gain=-0.001");
    }

    #[test]
    fn runs_are_ranked_by_synergy() {
        let first = history(r#"{"metrics_history": {"synergy_revenue": [0.5, -0.25]}}"#);
        let second = history(
            r#"{"scenario_roi": {"hostile_input": [0.1]},
                "metrics_history": {"synergy_revenue": [0.5]}}"#,
        );
        let none = history("{}");
        let runs = [
            NamedHistory { name: "run1", history: &first },
            NamedHistory { name: "run2", history: &second },
            NamedHistory { name: "run3", history: &none },
        ];
        let lines: Vec<String> =
            rank_synergy(&runs, "revenue").iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["hostile_input synergy_revenue=0.50", "run1 synergy_revenue=0.25"]);
    }

    #[test]
    fn scenarios_are_ranked_by_their_synergy() {
        let one = history(
            r#"{"scenario_synergy": {"a": [{"synergy_roi": 0.5}, {"synergy_roi": 0.25}],
                                     "b": [{"synergy_roi": 1.0}], "c": [{}]}}"#,
        );
        let rows = rank_scenario_synergy(&[NamedHistory { name: "run", history: &one }], "roi");
        let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["b synergy_roi=1.00", "a synergy_roi=0.75"]);
    }

    #[test]
    fn summaries_have_the_moving_average() {
        let one = history(r#"{"metrics_history": {"synergy_roi": [1.0, 2.0, 4.0], "roi": [1.0]}}"#);
        let summaries = summarise_synergy(&one, 3);
        assert_eq!(summaries.len(), 1);
        assert_close(summaries[0].latest, 4.0);
        assert_close(summaries[0].ema, 2.75);
    }
}

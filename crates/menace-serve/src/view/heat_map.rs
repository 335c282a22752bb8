//! The heat map: scenarios as columns, modules as rows, ROI as colour and number.

#![expect(clippy::cast_sign_loss, reason = "steps are counted from 0")]

use std::collections::{BTreeMap, BTreeSet};

use menace_model::is_test_path;
use menace_store::HeatmapTotals;
use serde::Serialize;

use crate::chart::{self, ChartDrawing};

/// Colours, from the worst to the best.
const MAX_COLOUR_STEP: f64 = 8.0;
/// The most rows; the weakest modules are kept.
const MAX_MODULES: usize = 60;

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct HeatMap {
    pub scenarios: Vec<String>,
    /// The weakest first, test modules of the repository last.
    pub rows: Vec<HeatMapRow>,
    /// Modules that there was no room for.
    pub hidden: usize,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct HeatMapRow {
    pub module: String,
    pub cells: Vec<Option<HeatMapValue>>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct HeatMapValue {
    pub roi: f64,
    /// From 0, the worst of the run, to 8, the best.
    pub step: u8,
    pub calls: u64,
    /// Calls that neither returned nor refused.
    pub failed_calls: u64,
}

fn mean_roi(sum: &HeatmapTotals) -> Option<f64> {
    (sum.roi_calls > 0.0).then(|| sum.weighted_roi / sum.roi_calls)
}

/// The heat map with as many modules as a page shows.
pub(crate) fn heat_map(sums: &[HeatmapTotals]) -> HeatMap {
    heat_map_of(sums, MAX_MODULES)
}

/// The heat map with at most `max_modules` modules.
pub(crate) fn heat_map_of(sums: &[HeatmapTotals], max_modules: usize) -> HeatMap {
    let sums: BTreeMap<(&str, &str), &HeatmapTotals> =
        sums.iter().map(|sum| ((sum.module.as_str(), sum.scenario.as_str()), sum)).collect();
    let mut scenarios: Vec<&str> =
        sums.keys().map(|(_, scenario)| *scenario).collect::<BTreeSet<_>>().into_iter().collect();
    // The baseline is first, since the others are compared with it.
    scenarios.sort_by_key(|scenario| (*scenario != "normal", *scenario));
    let modules: BTreeSet<&str> = sums.keys().map(|(module, _)| *module).collect();
    let means = || sums.values().filter_map(|sum| mean_roi(sum));
    let low = means().min_by(f64::total_cmp);
    let high = means().max_by(f64::total_cmp);
    let step = |roi: f64| match (low, high) {
        (Some(low), Some(high)) if high - low > 1e-9 => {
            ((roi - low) / (high - low) * MAX_COLOUR_STEP).round() as u8
        }
        _ => MAX_COLOUR_STEP as u8 / 2,
    };
    let mut rows: Vec<(f64, HeatMapRow)> = modules
        .into_iter()
        .map(|module| {
            let cells: Vec<Option<HeatMapValue>> = scenarios
                .iter()
                .map(|scenario| {
                    let sum = sums.get(&(module, *scenario))?;
                    let roi = mean_roi(sum)?;
                    let bad = sum.calls.saturating_sub(sum.ok_calls);
                    Some(HeatMapValue { roi, step: step(roi), calls: sum.calls, failed_calls: bad })
                })
                .collect();
            let known: Vec<f64> = cells.iter().flatten().map(|cell| cell.roi).collect();
            let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
            (mean, HeatMapRow { module: module.to_owned(), cells })
        })
        .collect();
    let is_test = |row: &HeatMapRow| is_test_path(&row.module);
    rows.sort_by(|(one_mean, one), (other_mean, other)| {
        is_test(one).cmp(&is_test(other)).then(one_mean.total_cmp(other_mean))
    });
    let hidden = rows.len().saturating_sub(max_modules);
    HeatMap {
        scenarios: scenarios.into_iter().map(str::to_owned).collect(),
        rows: rows.into_iter().take(max_modules).map(|(_, row)| row).collect(),
        hidden,
        low,
        high,
    }
}

impl HeatMap {
    /// The chart of the table that pages show.
    pub(crate) fn draw(&self) -> ChartDrawing {
        let lines: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                let cells = row.cells.iter();
                let cells = cells.map(|cell| cell.as_ref().map(|cell| (cell.roi, cell.step)));
                (row.module.as_str(), cells.collect())
            })
            .collect();
        chart::draw_heat_map("ROI of modules under scenarios", &self.scenarios, &lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat_sum(module: &str, scenario: &str, calls: u64, roi: f64) -> HeatmapTotals {
        let weight = calls as f64;
        HeatmapTotals {
            module: module.into(),
            scenario: scenario.into(),
            calls,
            ok_calls: calls - 2,
            weighted_roi: roi * weight,
            roi_calls: weight,
        }
    }

    #[test]
    fn the_weakest_module_comes_first_and_the_baseline_is_on_the_left() {
        let sums = [
            heat_sum("a.py", "normal", 4, 0.8),
            heat_sum("a.py", "flaky", 4, 0.6),
            heat_sum("b.py", "normal", 8, 0.35),
        ];
        let heat = heat_map(&sums);
        assert_eq!(heat.scenarios, ["normal", "flaky"]);
        assert_eq!(heat.rows[0].module, "b.py");
        let worst = heat.rows[0].cells[0].as_ref().unwrap();
        assert!((worst.roi - 0.35).abs() < 1e-9, "{}", worst.roi);
        assert_eq!((worst.step, worst.calls, worst.failed_calls), (0, 8, 2));
        assert!(heat.rows[0].cells[1].is_none());
        assert_eq!(heat.rows[1].cells[0].as_ref().unwrap().step, 8);
    }

    #[test]
    fn test_modules_come_last() {
        let sums =
            [heat_sum("tests/a.py", "normal", 4, 0.1), heat_sum("shop.py", "normal", 4, 0.8)];
        let modules: Vec<String> = heat_map(&sums).rows.into_iter().map(|row| row.module).collect();
        assert_eq!(modules, ["shop.py", "tests/a.py"]);
    }

    #[test]
    fn a_file_has_more_modules_than_a_page() {
        let names = (0..MAX_MODULES + 5).map(|number| format!("m{number}.py"));
        let sums: Vec<HeatmapTotals> =
            names.map(|name| heat_sum(&name, "normal", 4, 0.5)).collect();
        assert_eq!((heat_map(&sums).rows.len(), heat_map(&sums).hidden), (MAX_MODULES, 5));
        let all = heat_map_of(&sums, usize::MAX);
        assert_eq!((all.rows.len(), all.hidden), (MAX_MODULES + 5, 0));
    }

    #[test]
    fn nothing_is_no_heat() {
        assert!(heat_map(&[]).rows.is_empty());
    }
}

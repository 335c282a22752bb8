//! Scenarios across, modules down: what each was worth, as a colour and a number.

#![expect(clippy::cast_sign_loss, reason = "steps are counted from 0")]

use std::collections::{BTreeMap, BTreeSet};

use menace_store::HeatSum;
use serde::Serialize;

use crate::chart::{self, Drawing};

/// Colours, from the worst to the best.
const STEPS: f64 = 8.0;
/// More rows cannot be seen at once; the weakest are kept.
const MOST: usize = 60;

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Heat {
    pub scenarios: Vec<String>,
    /// The weakest first.
    pub rows: Vec<HeatRow>,
    /// Modules that there was no room for.
    pub hidden: usize,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct HeatRow {
    pub module: String,
    pub cells: Vec<Option<HeatValue>>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct HeatValue {
    pub roi: f64,
    /// From 0, the worst of the run, to 8, the best.
    pub step: u8,
    pub calls: u64,
    /// Calls that neither returned nor refused.
    pub bad: u64,
}

fn mean(sum: &HeatSum) -> Option<f64> {
    (sum.weight > 0.0).then(|| sum.worth / sum.weight)
}

/// Of as many modules as a page has room for.
pub(crate) fn heat(sums: &[HeatSum]) -> Heat {
    heat_of(sums, MOST)
}

/// Of at most that many modules.
pub(crate) fn heat_of(sums: &[HeatSum], most: usize) -> Heat {
    let sums: BTreeMap<(&str, &str), &HeatSum> =
        sums.iter().map(|sum| ((sum.module.as_str(), sum.scenario.as_str()), sum)).collect();
    let mut scenarios: Vec<&str> =
        sums.keys().map(|(_, scenario)| *scenario).collect::<BTreeSet<_>>().into_iter().collect();
    // Peace first: it is what the others are compared with.
    scenarios.sort_by_key(|scenario| (*scenario != "normal", *scenario));
    let modules: BTreeSet<&str> = sums.keys().map(|(module, _)| *module).collect();
    let means = || sums.values().filter_map(|sum| mean(sum));
    let low = means().min_by(f64::total_cmp);
    let high = means().max_by(f64::total_cmp);
    let step = |roi: f64| match (low, high) {
        (Some(low), Some(high)) if high - low > 1e-9 => {
            ((roi - low) / (high - low) * STEPS).round() as u8
        }
        _ => STEPS as u8 / 2,
    };
    let mut rows: Vec<(f64, HeatRow)> = modules
        .into_iter()
        .map(|module| {
            let cells: Vec<Option<HeatValue>> = scenarios
                .iter()
                .map(|scenario| {
                    let sum = sums.get(&(module, *scenario))?;
                    let roi = mean(sum)?;
                    let bad = sum.calls.saturating_sub(sum.fine);
                    Some(HeatValue { roi, step: step(roi), calls: sum.calls, bad })
                })
                .collect();
            let known: Vec<f64> = cells.iter().flatten().map(|cell| cell.roi).collect();
            let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
            (mean, HeatRow { module: module.to_owned(), cells })
        })
        .collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let hidden = rows.len().saturating_sub(most);
    Heat {
        scenarios: scenarios.into_iter().map(str::to_owned).collect(),
        rows: rows.into_iter().take(most).map(|(_, row)| row).collect(),
        hidden,
        low,
        high,
    }
}

impl Heat {
    /// What pages show as a table.
    pub(crate) fn draw(&self) -> Drawing {
        let lines: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                let cells = row.cells.iter();
                let cells = cells.map(|cell| cell.as_ref().map(|cell| (cell.roi, cell.step)));
                (row.module.as_str(), cells.collect())
            })
            .collect();
        chart::heat("ROI of modules under scenarios", &self.scenarios, &lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(module: &str, scenario: &str, calls: u64, roi: f64) -> HeatSum {
        let weight = calls as f64;
        HeatSum {
            module: module.into(),
            scenario: scenario.into(),
            calls,
            fine: calls - 2,
            worth: roi * weight,
            weight,
        }
    }

    #[test]
    fn the_weakest_module_comes_first_and_peace_is_on_the_left() {
        let sums = [
            sum("a.py", "normal", 4, 0.8),
            sum("a.py", "flaky", 4, 0.6),
            sum("b.py", "normal", 8, 0.35),
        ];
        let heat = heat(&sums);
        assert_eq!(heat.scenarios, ["normal", "flaky"]);
        assert_eq!(heat.rows[0].module, "b.py");
        let worst = heat.rows[0].cells[0].as_ref().unwrap();
        assert!((worst.roi - 0.35).abs() < 1e-9, "{}", worst.roi);
        assert_eq!((worst.step, worst.calls, worst.bad), (0, 8, 2));
        assert!(heat.rows[0].cells[1].is_none());
        assert_eq!(heat.rows[1].cells[0].as_ref().unwrap().step, 8);
    }

    #[test]
    fn a_file_has_more_modules_than_a_page() {
        let names = (0..MOST + 5).map(|number| format!("m{number}.py"));
        let sums: Vec<HeatSum> = names.map(|name| sum(&name, "normal", 4, 0.5)).collect();
        assert_eq!((heat(&sums).rows.len(), heat(&sums).hidden), (MOST, 5));
        let all = heat_of(&sums, usize::MAX);
        assert_eq!((all.rows.len(), all.hidden), (MOST + 5, 0));
    }

    #[test]
    fn nothing_is_no_heat() {
        assert!(heat(&[]).rows.is_empty());
    }
}

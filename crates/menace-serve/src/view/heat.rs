//! Scenarios across, modules down: what each was worth, as a colour and a number.

#![expect(clippy::cast_sign_loss, reason = "steps are counted from 0")]

use std::collections::{BTreeMap, BTreeSet};

use menace_model::Verdict;
use menace_store::HeatCell;
use serde::Serialize;

/// Colours, from the worst to the best.
const STEPS: f64 = 8.0;
/// More rows cannot be seen at once; the weakest are kept.
const MOST: usize = 60;

#[derive(Debug, Default, Serialize)]
pub(crate) struct Heat {
    pub scenarios: Vec<String>,
    /// The weakest first.
    pub rows: Vec<HeatRow>,
    /// Modules that there was no room for.
    pub hidden: usize,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

#[derive(Debug, Serialize)]
pub(crate) struct HeatRow {
    pub module: String,
    pub cells: Vec<Option<HeatValue>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct HeatValue {
    pub roi: f64,
    /// From 0, the worst of the run, to 8, the best.
    pub step: u8,
    pub calls: u64,
    /// Calls that neither returned nor refused.
    pub bad: u64,
}

#[derive(Default)]
struct Sum {
    worth: f64,
    weight: f64,
    calls: u64,
    bad: u64,
}

impl Sum {
    fn mean(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.worth / self.weight)
    }
}

pub(crate) fn heat(cells: &[HeatCell]) -> Heat {
    let mut sums: BTreeMap<(&str, &str), Sum> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.calls > 0) {
        let sum = sums.entry((cell.section.path(), &cell.scenario)).or_default();
        let fine = [Verdict::Returned, Verdict::Refused].map(|verdict| cell.verdicts.get(&verdict));
        let fine: u64 = fine.into_iter().flatten().sum();
        sum.calls += cell.calls;
        sum.bad += cell.calls.saturating_sub(fine);
        if let Some(roi) = cell.roi {
            sum.worth += roi * cell.calls as f64;
            sum.weight += cell.calls as f64;
        }
    }
    let mut scenarios: Vec<&str> =
        sums.keys().map(|(_, scenario)| *scenario).collect::<BTreeSet<_>>().into_iter().collect();
    // Peace first: it is what the others are compared with.
    scenarios.sort_by_key(|scenario| (*scenario != "normal", *scenario));
    let modules: BTreeSet<&str> = sums.keys().map(|(module, _)| *module).collect();
    let means = || sums.values().filter_map(Sum::mean);
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
                    let roi = sum.mean()?;
                    Some(HeatValue { roi, step: step(roi), calls: sum.calls, bad: sum.bad })
                })
                .collect();
            let known: Vec<f64> = cells.iter().flatten().map(|cell| cell.roi).collect();
            let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
            (mean, HeatRow { module: module.to_owned(), cells })
        })
        .collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let hidden = rows.len().saturating_sub(MOST);
    Heat {
        scenarios: scenarios.into_iter().map(str::to_owned).collect(),
        rows: rows.into_iter().take(MOST).map(|(_, row)| row).collect(),
        hidden,
        low,
        high,
    }
}

#[cfg(test)]
mod tests {
    use menace_model::SectionId;

    use super::*;

    fn cell(module: &str, scenario: &str, calls: u64, roi: f64) -> HeatCell {
        let verdicts = BTreeMap::from([(Verdict::Returned, calls - 1), (Verdict::Raised, 1)]);
        let section = SectionId::new(module, "f");
        HeatCell { section, scenario: scenario.into(), calls, roi: Some(roi), verdicts }
    }

    #[test]
    fn the_weakest_module_comes_first_and_peace_is_on_the_left() {
        let cells = [
            cell("a.py", "normal", 4, 0.8),
            cell("a.py", "flaky", 4, 0.6),
            cell("b.py", "normal", 2, 0.2),
            cell("b.py", "normal", 6, 0.4),
        ];
        let heat = heat(&cells);
        assert_eq!(heat.scenarios, ["normal", "flaky"]);
        assert_eq!(heat.rows[0].module, "b.py");
        let worst = heat.rows[0].cells[0].as_ref().unwrap();
        assert!((worst.roi - 0.35).abs() < 1e-9, "calls count as weight");
        assert_eq!((worst.step, worst.calls, worst.bad), (0, 8, 2));
        assert!(heat.rows[0].cells[1].is_none());
        assert_eq!(heat.rows[1].cells[0].as_ref().unwrap().step, 8);
    }

    #[test]
    fn nothing_is_no_heat() {
        assert!(heat(&[]).rows.is_empty());
    }
}

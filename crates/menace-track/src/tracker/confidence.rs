//! The confidence in the returns of one module. A module is a module with all its sections.

use super::Tracker;
use crate::roi::compute_confidence;
use crate::series::{last_values, mean, population_deviation};

/// How many of the last cycles the confidence is computed from.
const CONFIDENCE_CYCLES: usize = 10;

impl Tracker {
    /// `1 / (1 + mae + variance)` over the last ten cycles: the mean error of the forecasts of its
    /// ROI, and the variance of its ROI. `None` before the first forecast could be compared.
    pub fn module_confidence(&self, module: &str) -> Option<f64> {
        let errors = self.history.module_errors.get(module)?;
        let values = self.history.module_roi.get(module)?;
        let error = mean(last_values(errors, CONFIDENCE_CYCLES))?;
        let spread = population_deviation(last_values(values, CONFIDENCE_CYCLES))?;
        Some(compute_confidence(error, spread * spread))
    }

    /// The confidence with one more measurement of the ROI, which is compared with the last one.
    pub fn module_confidence_with(&self, module: &str, roi: f64) -> f64 {
        let of = |histories: &std::collections::BTreeMap<String, Vec<f64>>| {
            histories.get(module).cloned().unwrap_or_default()
        };
        let mut values = of(&self.history.module_roi);
        let mut errors = of(&self.history.module_errors);
        errors.extend(values.last().map(|before| (roi - before).abs()));
        values.push(roi);
        let error = mean(last_values(&errors, CONFIDENCE_CYCLES)).unwrap_or_default();
        let spread =
            population_deviation(last_values(&values, CONFIDENCE_CYCLES)).unwrap_or_default();
        compute_confidence(error, spread * spread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RoiHistory;
    use crate::series::assert_close;

    #[test]
    fn confidence_falls_with_errors_and_with_unrest() {
        let mut history = RoiHistory::default();
        history.module_roi.insert("calm.py".to_owned(), vec![0.5; 5]);
        history.module_errors.insert("calm.py".to_owned(), vec![0.0; 2]);
        history.module_roi.insert("wild.py".to_owned(), vec![0.0, 1.0, 0.0, 1.0]);
        history.module_errors.insert("wild.py".to_owned(), vec![0.5, 1.0]);
        history.module_roi.insert("new.py".to_owned(), vec![0.5]);
        let tracker = Tracker::new(history);
        assert_eq!(tracker.module_confidence("calm.py"), Some(1.0));
        // An error of 0.75, a variance of 0.25.
        assert_eq!(tracker.module_confidence("wild.py"), Some(0.5));
        assert_eq!(tracker.module_confidence("new.py"), None);
        assert_close(tracker.module_confidence_with("new.py", 0.5), 1.0);
        // An error of 0.5, a variance of 1/16.
        assert_close(tracker.module_confidence_with("new.py", 1.0), 1.0 / 1.5625);
    }
}

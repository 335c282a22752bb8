//! Measured values by name.
//!
//! Invariant: no value is NaN or infinite.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Values in the order of their names. A metric that was not measured is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MetricValues(BTreeMap<String, f64>);

impl MetricValues {
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// Sets a value; `None`, NaN and infinities are ignored.
    pub fn set(&mut self, name: &str, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into().filter(|value| value.is_finite()) {
            // Adding zero turns minus zero into zero, which would be written as `-0.0`.
            self.0.insert(name.to_owned(), value + 0.0);
        }
    }

    /// Adds the other values, replacing those of the same name.
    pub fn extend(&mut self, others: &Self) {
        for (name, value) in others.iter() {
            self.set(name, value);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The weighted mean of each value over the sets that have it.
    pub fn weighted_mean<'m>(weighted: impl IntoIterator<Item = (&'m Self, f64)>) -> Self {
        let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for (metrics, weight) in weighted {
            for (name, value) in metrics.iter() {
                let (sum, total) = sums.entry(name).or_default();
                *sum += value * weight;
                *total += weight;
            }
        }
        let mut mean = Self::default();
        for (name, (sum, total)) in sums {
            mean.set(name, (total > 0.0).then(|| sum / total));
        }
        mean
    }
}

impl<N: AsRef<str>> FromIterator<(N, f64)> for MetricValues {
    fn from_iter<I: IntoIterator<Item = (N, f64)>>(values: I) -> Self {
        let mut metrics = Self::default();
        for (name, value) in values {
            metrics.set(name.as_ref(), value);
        }
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::assert_close;

    #[test]
    fn what_cannot_be_reckoned_with_is_left_out() {
        let metrics: MetricValues =
            [("a", f64::NAN), ("b", f64::INFINITY), ("c", 1.0)].into_iter().collect();
        assert_eq!(metrics.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn a_mean_is_taken_over_the_sets_that_have_the_value() {
        let one: MetricValues = [("a", 1.0), ("b", 4.0)].into_iter().collect();
        let two: MetricValues = [("a", 0.0)].into_iter().collect();
        let mean = MetricValues::weighted_mean([(&one, 3.0), (&two, 1.0)]);
        assert_close(mean.get("a").unwrap(), 0.75);
        assert_close(mean.get("b").unwrap(), 4.0);
    }
}

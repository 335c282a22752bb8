//! Levene's test: do groups have equal variances?
//!
//! It has Brown and Forsythe's form (around the median) and Levene's own (around the mean).
//! Invariant: there is a result only when there are groups to compare, and it is finite.

use serde::{Deserialize, Serialize};

use super::describe::{drop_missing, mean, median};
use super::distribution::f_above;

/// The centre from which deviations are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LeveneCenter {
    /// Robust against outliers and skew (Brown and Forsythe 1974).
    #[default]
    Median,
    /// Levene's original of 1960.
    Mean,
}

/// The outcome of the test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LeveneTest {
    /// W, which follows F with (groups − 1, samples − groups) degrees of freedom for equal
    /// variances.
    pub statistic: f64,
    /// The probability of a W at least as large for equal variances.
    pub p_value: f64,
    /// Number of values in all groups.
    pub samples: usize,
}

/// Tests whether the groups have equal variances.
///
/// `None` when fewer than two groups have values, or there are no more values than groups. Groups
/// that do not vary at all have statistic 0 and p-value 1; groups that all vary by a fixed amount,
/// but by different ones, have the largest statistic and p-value 0.
pub fn levene_test(groups: &[&[f64]], center: LeveneCenter) -> Option<LeveneTest> {
    let groups: Vec<Vec<f64>> =
        groups.iter().map(|group| drop_missing(group)).filter(|group| !group.is_empty()).collect();
    let samples: usize = groups.iter().map(Vec::len).sum();
    if groups.len() < 2 || samples <= groups.len() {
        return None;
    }
    let distances: Vec<Vec<f64>> = groups
        .iter()
        .map(|group| {
            let middle = match center {
                LeveneCenter::Median => median(group),
                LeveneCenter::Mean => mean(group),
            };
            group.iter().map(|value| (value - middle).abs()).collect()
        })
        .collect();
    let means: Vec<f64> = distances.iter().map(|group| mean(group)).collect();
    let overall =
        distances.iter().zip(&means).map(|(group, mean)| mean * group.len() as f64).sum::<f64>()
            / samples as f64;
    let between: f64 = distances
        .iter()
        .zip(&means)
        .map(|(group, mean)| group.len() as f64 * (mean - overall).powi(2))
        .sum();
    let within: f64 = distances
        .iter()
        .zip(&means)
        .map(|(group, mean)| group.iter().map(|value| (value - mean).powi(2)).sum::<f64>())
        .sum();
    let numerator = (groups.len() - 1) as f64;
    let denominator = (samples - groups.len()) as f64;
    let crumbs = samples as f64 * (1e-15 * overall).powi(2);
    let (statistic, p_value) = if between <= crumbs {
        (0.0, 1.0)
    } else if within <= crumbs {
        (f64::MAX, 0.0)
    } else {
        let statistic = (denominator / numerator * (between / within)).min(f64::MAX);
        (statistic, f_above(statistic, numerator, denominator))
    };
    Some(LeveneTest { statistic, p_value, samples })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_values_have_no_answer() {
        assert_eq!(levene_test(&[], LeveneCenter::Median), None);
        assert_eq!(levene_test(&[&[1.0, 2.0]], LeveneCenter::Median), None);
        assert_eq!(levene_test(&[&[1.0], &[2.0]], LeveneCenter::Median), None);
        assert_eq!(levene_test(&[&[1.0, 2.0], &[f64::NAN]], LeveneCenter::Mean), None);
    }

    #[test]
    fn constant_groups_vary_alike() {
        let answer = levene_test(&[&[0.1; 5], &[0.7; 5]], LeveneCenter::Median).unwrap();
        assert_eq!((answer.statistic, answer.p_value, answer.samples), (0.0, 1.0, 10));
    }

    #[test]
    fn a_calm_and_a_wild_group_differ() {
        let calm = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.02];
        let wild = [1.0, 9.0, -7.0, 4.0, -3.0, 6.0, -5.0, 2.0];
        assert!(levene_test(&[&calm, &wild], LeveneCenter::Median).unwrap().p_value < 0.01);
    }
}

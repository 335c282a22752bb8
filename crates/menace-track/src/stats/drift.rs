//! Whether a feature is still distributed as it was: PSI and Kolmogorov–Smirnov, and how likely that is
//! by chance.
//!
//! What drift means for a prediction belongs to the truth adapter. Invariant: both measures are
//! finite and not negative, and zero when there is nothing to compare.

use serde::{Deserialize, Serialize};

use super::describe::{present, quantile_of_sorted};
use super::distribution::chi_squared_above;

/// The smallest share that a bin counts as having, so that an empty bin has a logarithm.
pub const SMALLEST_SHARE: f64 = 1e-6;

/// Bins cut at the quantiles of a reference sample, and the share of it in each.
///
/// With `bins` bins, the cuts are the quantiles 1/bins … (bins − 1)/bins, equal cuts being one. A
/// value that equals a cut belongs above it; the outer bins are open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bins {
    cuts: Vec<f64>,
    shares: Vec<f64>,
}

impl Bins {
    /// Cuts a reference sample.
    pub fn of(reference: &[f64], bins: usize) -> Self {
        let mut values = present(reference);
        values.sort_by(f64::total_cmp);
        let bins = bins.max(1);
        let mut cuts: Vec<f64> = (1..bins)
            .filter(|_| !values.is_empty())
            .map(|bin| quantile_of_sorted(&values, bin as f64 / bins as f64))
            .collect();
        cuts.dedup();
        let shares = shares(&cuts, &values);
        Self { cuts, shares }
    }

    /// The population stability index of a sample: Σ (aᵢ − eᵢ)·ln(aᵢ / eᵢ) over the bins.
    ///
    /// Below 0.1 nothing has moved, above 0.25 it has. Zero for an empty sample or reference.
    pub fn psi(&self, sample: &[f64]) -> f64 {
        let values = present(sample);
        if values.is_empty() || self.shares.iter().all(|share| *share == 0.0) {
            return 0.0;
        }
        shares(&self.cuts, &values)
            .iter()
            .zip(&self.shares)
            .map(|(actual, expected)| {
                let (actual, expected) = (actual.max(SMALLEST_SHARE), expected.max(SMALLEST_SHARE));
                (actual - expected) * (actual / expected).ln()
            })
            .sum()
    }
}

impl Bins {
    /// How likely a sample this far from its reference is if nothing has moved: the test of homogeneity
    /// (Pearson 1900) over the bins, where the reference had `count` values. One without values.
    pub fn p_value(&self, count: usize, sample: &[f64]) -> f64 {
        let values = present(sample);
        let (expected, found) = (count as f64, values.len() as f64);
        let both = expected + found;
        let mut statistic = 0.0;
        let mut bins = 0_u32;
        for (share, reference) in shares(&self.cuts, &values).iter().zip(&self.shares) {
            let gap = share - reference;
            let pooled = (share * found + reference * expected) / both;
            if pooled > 0.0 {
                statistic += gap * gap / pooled;
                bins += 1;
            }
        }
        statistic *= expected * found / both;
        if !statistic.is_finite() {
            return 1.0;
        }
        chi_squared_above(statistic, f64::from(bins) - 1.0)
    }
}

fn shares(cuts: &[f64], values: &[f64]) -> Vec<f64> {
    let mut counts = vec![0_usize; cuts.len() + 1];
    for value in values {
        counts[cuts.partition_point(|cut| cut <= value)] += 1;
    }
    let total = values.len().max(1) as f64;
    counts.into_iter().map(|count| count as f64 / total).collect()
}

/// The population stability index of a sample against a reference, with ten bins.
pub fn psi(reference: &[f64], sample: &[f64]) -> f64 {
    Bins::of(reference, 10).psi(sample)
}

/// The Kolmogorov–Smirnov distance of two samples: the largest gap between their empirical
/// distribution functions. Zero when one is empty.
pub fn kolmogorov_smirnov(left: &[f64], right: &[f64]) -> f64 {
    let (mut left, mut right) = (present(left), present(right));
    if left.is_empty() || right.is_empty() {
        return 0.0;
    }
    left.sort_by(f64::total_cmp);
    right.sort_by(f64::total_cmp);
    let (mut i, mut j, mut gap) = (0, 0, 0.0_f64);
    while i < left.len() && j < right.len() {
        let here = left[i].min(right[j]);
        while i < left.len() && left[i] <= here {
            i += 1;
        }
        while j < right.len() && right[j] <= here {
            j += 1;
        }
        gap = gap.max((i as f64 / left.len() as f64 - j as f64 / right.len() as f64).abs());
    }
    gap
}

/// Pairs of values up to which the distribution of the distance is counted out.
const COUNTED: usize = 1_000_000;

/// How likely two samples of these sizes are at least that far apart if they come from one distribution:
/// counted (Hodges 1958) up to a million pairs, Kolmogorov's limit (1933) above. One where one of them is
/// empty.
pub fn kolmogorov_smirnov_p_value(distance: f64, left: usize, right: usize) -> f64 {
    p_value(distance, left, right, 0)
}

/// The same, where only half of the samples that are just as far apart count (Lancaster 1961): few values
/// have few distances, and the whole p-value finds less than it promises.
pub fn kolmogorov_smirnov_mid_p_value(distance: f64, left: usize, right: usize) -> f64 {
    f64::midpoint(p_value(distance, left, right, 0), p_value(distance, left, right, 1))
}

/// At least as far apart as the distance and so many steps more.
fn p_value(distance: f64, left: usize, right: usize, more: usize) -> f64 {
    let distance = if distance.is_nan() { 0.0 } else { distance.clamp(0.0, 1.0) };
    let Some(pairs) = left.checked_mul(right).filter(|pairs| *pairs <= COUNTED) else {
        return in_the_limit(distance, left as f64, right as f64);
    };
    if pairs == 0 {
        return 1.0;
    }
    // A distance is a whole number of these; what rounding has added to it makes no further one.
    #[expect(clippy::cast_sign_loss, reason = "the greater of it and zero")]
    let steps = (distance * pairs as f64 - 1e-7).ceil().max(0.0) as usize;
    counted(steps + more, left, right)
}

/// All orders of the values of both samples are equally likely, and each is a path through a grid: the
/// share of those that come that many steps from its diagonal.
fn counted(steps: usize, left: usize, right: usize) -> f64 {
    let is_near = |i: usize, j: usize| (i * right).abs_diff(j * left) < steps;
    let mut near: Vec<f64> = (0..=right).map(|j| f64::from(u8::from(is_near(0, j)))).collect();
    for i in 1..=left {
        // Scaled in each row: numbers of paths would overflow.
        let share = i as f64 / (i + right) as f64;
        near[0] = if is_near(i, 0) { share * near[0] } else { 0.0 };
        for j in 1..=right {
            near[j] = if is_near(i, j) { share * near[j] + near[j - 1] } else { 0.0 };
        }
    }
    (1.0 - near[right]).clamp(0.0, 1.0)
}

fn in_the_limit(distance: f64, left: f64, right: f64) -> f64 {
    let reach = (left * right / (left + right)).sqrt() * distance;
    // Below, the series converges slowly and the answer is one to more digits than anybody asks for.
    if reach < 0.3 {
        return 1.0;
    }
    let terms = (1..=50_u32).map(|term| {
        let term = f64::from(term);
        (-2.0 * (term * reach).powi(2)).exp()
    });
    let alternating: f64 =
        terms.enumerate().map(|(place, term)| if place % 2 == 0 { term } else { -term }).sum();
    (2.0 * alternating).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_not_drifted_from_itself() {
        let sample = [0.3, 0.1, 0.9, 0.4, 0.4, 0.8];
        assert_eq!(psi(&sample, &sample), 0.0);
        assert_eq!(kolmogorov_smirnov(&sample, &sample), 0.0);
    }

    #[test]
    fn nothing_to_compare_is_no_drift() {
        assert_eq!(psi(&[], &[1.0]), 0.0);
        assert_eq!(psi(&[1.0], &[]), 0.0);
        assert_eq!(kolmogorov_smirnov(&[], &[1.0]), 0.0);
    }

    #[test]
    fn samples_apart_are_as_far_as_can_be() {
        assert_eq!(kolmogorov_smirnov(&[1.0, 2.0], &[3.0, 4.0]), 1.0);
        assert!(psi(&[1.0, 2.0, 3.0, 4.0], &[9.0, 9.0, 9.0, 9.0]) > 0.25);
    }

    #[test]
    fn a_distance_counts_for_more_the_more_values_it_rests_on() {
        // The quantiles of Kolmogorov's distribution.
        for (reach, expected) in [(1.2238, 0.1), (1.3581, 0.05), (1.6276, 0.01)] {
            let found = kolmogorov_smirnov_p_value(reach / 1e4, 200_000_000, 200_000_000);
            assert!((found - expected).abs() < 1e-3, "{reach}: {found}");
        }
        // Of all twenty orders of three and three values, two keep both samples apart.
        assert!((kolmogorov_smirnov_p_value(1.0, 3, 3) - 0.1).abs() < 1e-15);
        assert!((kolmogorov_smirnov_mid_p_value(1.0, 3, 3) - 0.05).abs() < 1e-15);
        let next = kolmogorov_smirnov_p_value(0.6, 10, 20);
        let mid = f64::midpoint(kolmogorov_smirnov_p_value(0.55, 10, 20), next);
        assert!((kolmogorov_smirnov_mid_p_value(0.55, 10, 20) - mid).abs() < 1e-15);
        assert!(kolmogorov_smirnov_p_value(0.3, 10, 20) > 0.3);
        assert!(kolmogorov_smirnov_p_value(0.3, 200, 200) < 1e-6);
        assert_eq!(kolmogorov_smirnov_p_value(1.0, 0, 20), 1.0);
        assert!(kolmogorov_smirnov_p_value(0.0, 20, 20) >= 1.0);
    }

    #[test]
    fn bins_that_fill_as_they_did_before_prove_nothing() {
        let reference: Vec<f64> = (0..100_u32).map(f64::from).collect();
        let bins = Bins::of(&reference, 10);
        assert!(bins.p_value(100, &reference) > 0.999);
        assert!(bins.p_value(100, &[95.0; 30]) < 1e-6);
        assert!(bins.p_value(100, &[5.0, 45.0, 95.0]) > 0.05, "three values are few");
        assert_eq!(bins.p_value(100, &[]), 1.0);
    }

    #[test]
    fn equal_zeros_of_either_sign_are_one_value() {
        assert_eq!(kolmogorov_smirnov(&[0.0, 1.0], &[-0.0, 1.0]), 0.0);
    }
}

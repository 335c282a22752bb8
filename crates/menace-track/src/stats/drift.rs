//! Measures how much the distribution of a feature has changed: PSI and Kolmogorov–Smirnov, each
//! with the probability of such a change by chance.
//!
//! The forecast calibrator decides what drift means for a prediction. Invariant: both measures are
//! finite and not negative, and zero when there is nothing to compare.

use serde::{Deserialize, Serialize};

use super::describe::{drop_missing, quantile_of_sorted};
use super::distribution::chi_squared_above;

/// The smallest share that a bin is assumed to have, so that an empty bin has a logarithm.
pub const MIN_BIN_SHARE: f64 = 1e-6;

/// Bins cut at the quantiles of a reference sample, and the share of it in each.
///
/// With `bins` bins, the cuts are the quantiles 1/bins … (bins − 1)/bins; equal cuts are merged. A
/// value that equals a cut belongs to the bin above it; the outer bins are open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantileBins {
    cuts: Vec<f64>,
    shares: Vec<f64>,
}

impl QuantileBins {
    /// Makes the bins of a reference sample.
    pub fn from_reference(reference: &[f64], bins: usize) -> Self {
        let mut values = drop_missing(reference);
        values.sort_by(f64::total_cmp);
        let bins = bins.max(1);
        let mut cuts: Vec<f64> = (1..bins)
            .filter(|_| !values.is_empty())
            .map(|bin| quantile_of_sorted(&values, bin as f64 / bins as f64))
            .collect();
        cuts.dedup();
        let shares = bin_shares(&cuts, &values);
        Self { cuts, shares }
    }

    /// The population stability index of a sample: Σ (aᵢ − eᵢ)·ln(aᵢ / eᵢ) over the bins.
    ///
    /// Below 0.1 nothing has moved, above 0.25 it has. Zero for an empty sample or reference.
    pub fn psi(&self, sample: &[f64]) -> f64 {
        let values = drop_missing(sample);
        if values.is_empty() || self.shares.iter().all(|share| *share == 0.0) {
            return 0.0;
        }
        bin_shares(&self.cuts, &values)
            .iter()
            .zip(&self.shares)
            .map(|(actual, expected)| {
                let (actual, expected) = (actual.max(MIN_BIN_SHARE), expected.max(MIN_BIN_SHARE));
                (actual - expected) * (actual / expected).ln()
            })
            .sum()
    }
}

impl QuantileBins {
    /// The probability of a sample that differs this much from its reference without a change: the
    /// test of homogeneity (Pearson 1900) over the bins, where the reference had `count` values. 1
    /// without values.
    pub fn p_value(&self, count: usize, sample: &[f64]) -> f64 {
        let values = drop_missing(sample);
        self.homogeneity_p_value(count, &bin_shares(&self.cuts, &values), values.len())
    }

    /// The smallest p-value that so many values can have: when all of them are in one bin.
    pub fn min_p_value(&self, count: usize, values: usize) -> f64 {
        let all_in = |bin: usize| {
            let mut shares = vec![0.0; self.shares.len()];
            shares[bin] = 1.0;
            self.homogeneity_p_value(count, &shares, values)
        };
        (0..self.shares.len()).map(all_in).fold(1.0, f64::min)
    }

    fn homogeneity_p_value(&self, count: usize, found_shares: &[f64], found: usize) -> f64 {
        let (expected, found) = (count as f64, found as f64);
        let both = expected + found;
        let mut statistic = 0.0;
        let mut bins = 0_u32;
        for (share, reference) in found_shares.iter().zip(&self.shares) {
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

fn bin_shares(cuts: &[f64], values: &[f64]) -> Vec<f64> {
    let mut counts = vec![0_usize; cuts.len() + 1];
    for value in values {
        counts[cuts.partition_point(|cut| cut <= value)] += 1;
    }
    let total = values.len().max(1) as f64;
    counts.into_iter().map(|count| count as f64 / total).collect()
}

/// The population stability index of a sample against a reference, with ten bins.
pub fn psi(reference: &[f64], sample: &[f64]) -> f64 {
    QuantileBins::from_reference(reference, 10).psi(sample)
}

/// The Kolmogorov–Smirnov distance of two samples: the largest gap between their empirical
/// distribution functions. Zero when one is empty.
pub fn kolmogorov_smirnov(left: &[f64], right: &[f64]) -> f64 {
    let EcdfGaps { ahead, behind } = EcdfGaps::between(left, right);
    ahead.max(behind)
}

/// The largest gaps between two empirical distribution functions, in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EcdfGaps {
    ahead: f64,
    behind: f64,
}

impl EcdfGaps {
    /// Both gaps are zero when one sample is empty.
    pub fn between(left: &[f64], right: &[f64]) -> Self {
        let (mut left, mut right) = (drop_missing(left), drop_missing(right));
        let mut gaps = Self::default();
        if left.is_empty() || right.is_empty() {
            return gaps;
        }
        left.sort_by(f64::total_cmp);
        right.sort_by(f64::total_cmp);
        let (mut i, mut j) = (0, 0);
        while i < left.len() && j < right.len() {
            let here = left[i].min(right[j]);
            while i < left.len() && left[i] <= here {
                i += 1;
            }
            while j < right.len() && right[j] <= here {
                j += 1;
            }
            let gap = i as f64 / left.len() as f64 - j as f64 / right.len() as f64;
            gaps.ahead = gaps.ahead.max(gap);
            gaps.behind = gaps.behind.max(-gap);
        }
        gaps
    }

    /// The Kolmogorov–Smirnov distance.
    pub fn distance(&self) -> f64 {
        self.ahead.max(self.behind)
    }

    /// The probability that samples of these sizes are at least this different if they come from
    /// one distribution.
    ///
    /// Few values have few possible distances, so a p-value that counts all samples of equal
    /// distance is coarser than it has to be. Samples of equal distance are therefore ordered: the
    /// smaller the gap in the other direction, the greater the difference, since a shifted
    /// distribution is ahead everywhere. Exact up to a million pairs of values, asymptotic above.
    pub fn p_value(&self, left: usize, right: usize) -> f64 {
        let Some(pairs) = left.checked_mul(right).filter(|pairs| *pairs <= MAX_EXACT_PAIRS) else {
            return asymptotic_p_value(self.distance(), left as f64, right as f64);
        };
        let (far, near) = (self.distance(), self.ahead.min(self.behind));
        let (far, near) = (distance_steps(far, pairs), distance_steps(near, pairs));
        if pairs == 0 || far == 0 {
            return 1.0;
        }
        if near == far {
            return 1.0 - share_of_paths_within(far - 1, far - 1, left, right);
        }
        let further = 1.0 - share_of_paths_within(far, far, left, right);
        // Either sample may be the one that is ahead.
        let same = share_of_paths_within(far, near, left, right)
            - share_of_paths_within(far - 1, near, left, right);
        (further + 2.0 * same).clamp(0.0, 1.0)
    }
}

/// Up to this many pairs of values the distribution is computed exactly.
const MAX_EXACT_PAIRS: usize = 1_000_000;

/// The probability that two samples of these sizes have at least this distance if they come from
/// one distribution: exact (Hodges 1958) up to a million pairs of values, Kolmogorov's limit (1933)
/// above. 1 if one of them is empty.
pub fn kolmogorov_smirnov_p_value(distance: f64, left: usize, right: usize) -> f64 {
    let Some(pairs) = left.checked_mul(right).filter(|pairs| *pairs <= MAX_EXACT_PAIRS) else {
        return asymptotic_p_value(clamp_distance(distance), left as f64, right as f64);
    };
    let steps = distance_steps(distance, pairs);
    if steps == 0 {
        return 1.0;
    }
    1.0 - share_of_paths_within(steps - 1, steps - 1, left, right)
}

fn clamp_distance(distance: f64) -> f64 {
    if distance.is_nan() { 0.0 } else { distance.clamp(0.0, 1.0) }
}

/// The distance in its smallest steps, of which it is a whole number; rounding errors do not count.
fn distance_steps(distance: f64, pairs: usize) -> usize {
    #[expect(clippy::cast_sign_loss, reason = "the greater of it and zero")]
    let steps = (clamp_distance(distance) * pairs as f64 - 1e-7).ceil().max(0.0) as usize;
    steps
}

/// All orders of the values of both samples are equally likely, and each is a path through a grid:
/// the share of paths that stay within these distances from its diagonal on either side.
fn share_of_paths_within(ahead: usize, behind: usize, left: usize, right: usize) -> f64 {
    let is_near = |i: usize, j: usize| {
        let (i, j) = (i * right, j * left);
        if i >= j { i - j <= ahead } else { j - i <= behind }
    };
    let mut near: Vec<f64> = (0..=right).map(|j| f64::from(u8::from(is_near(0, j)))).collect();
    for i in 1..=left {
        // Scaled in each row, since the numbers of paths would overflow.
        let share = i as f64 / (i + right) as f64;
        near[0] = if is_near(i, 0) { share * near[0] } else { 0.0 };
        for j in 1..=right {
            near[j] = if is_near(i, j) { share * near[j] + near[j - 1] } else { 0.0 };
        }
    }
    near[right].clamp(0.0, 1.0)
}

fn asymptotic_p_value(distance: f64, left: f64, right: f64) -> f64 {
    let reach = (left * right / (left + right)).sqrt() * distance;
    // Below this the series converges slowly, and the result is 1 to more digits than needed.
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
        // Of the twenty orders of three and three values, two separate both samples completely.
        assert!((kolmogorov_smirnov_p_value(1.0, 3, 3) - 0.1).abs() < 1e-15);
        assert!(kolmogorov_smirnov_p_value(0.3, 10, 20) > 0.3);
        assert!(kolmogorov_smirnov_p_value(0.3, 200, 200) < 1e-6);
        assert_eq!(kolmogorov_smirnov_p_value(1.0, 0, 20), 1.0);
        assert!(kolmogorov_smirnov_p_value(0.0, 20, 20) >= 1.0);
    }

    /// Gaps of every order of four and five values.
    fn gaps_of_all_orders() -> Vec<EcdfGaps> {
        let of = |mask: u32, is_left: bool| -> Vec<f64> {
            let wanted = |place: &u32| (mask >> place & 1 == 1) == is_left;
            (0..9).filter(wanted).map(f64::from).collect()
        };
        let masks = (0..1_u32 << 9).filter(|mask| mask.count_ones() == 4);
        masks.map(|mask| EcdfGaps::between(&of(mask, true), &of(mask, false))).collect()
    }

    #[test]
    fn p_values_of_gaps_are_shares_of_all_orders() {
        let all = gaps_of_all_orders();
        assert_eq!(all.len(), 126);
        let sides = |gaps: &EcdfGaps| (gaps.distance(), -gaps.ahead.min(gaps.behind));
        for gaps in &all {
            let (distance, other) = sides(gaps);
            let as_far = all.iter().filter(|one| {
                let (its, its_other) = sides(one);
                its > distance + 1e-9 || (its > distance - 1e-9 && its_other > other - 1e-9)
            });
            let share = as_far.count() as f64 / 126.0;
            assert!((gaps.p_value(4, 5) - share).abs() < 1e-12, "{gaps:?}: {share}");
            // It lies between the p-values of this distance and of the next one.
            assert!(gaps.p_value(4, 5) <= kolmogorov_smirnov_p_value(distance, 4, 5) + 1e-12);
        }
        // A p-value is not exceeded more often than it states, and there are more levels than
        // distances.
        let mut levels: Vec<f64> = all.iter().map(|gaps| gaps.p_value(4, 5)).collect();
        for level in levels.clone() {
            let below = levels.iter().filter(|p_value| **p_value <= level + 1e-12).count();
            assert!(below as f64 / 126.0 <= level + 1e-12, "{below} at {level}");
        }
        levels.sort_by(f64::total_cmp);
        levels.dedup_by(|one, other| (*one - *other).abs() < 1e-12);
        assert!(levels.len() > 9, "{levels:?}");
        assert_eq!(EcdfGaps::default().p_value(0, 5), 1.0);
    }

    #[test]
    fn no_sample_has_a_smaller_p_value_than_one_bin_full() {
        let reference: Vec<f64> = (0..20_u32).map(f64::from).collect();
        let bins = QuantileBins::from_reference(&reference, 10);
        let least = bins.min_p_value(20, 10);
        assert!((bins.p_value(20, &[19.5; 10]) - least).abs() < 1e-12);
        assert!(least > 0.005 && bins.p_value(20, &[18.5, 19.5, 0.0]) > least);
        assert!(bins.min_p_value(20, 40) < 1e-5, "more values tell more");
        assert_eq!(bins.min_p_value(20, 0), 1.0);
    }

    #[test]
    fn bins_that_fill_as_they_did_before_prove_nothing() {
        let reference: Vec<f64> = (0..100_u32).map(f64::from).collect();
        let bins = QuantileBins::from_reference(&reference, 10);
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

//! Quantiles of many numbers in little memory, with a relative error of at most 1/32.
//!
//! Numbers are counted in buckets whose width grows with them: 32 for each power of two.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Bits of a number that select its bucket, after the leading one.
const BUCKET_BITS: u32 = 5;
const BUCKETS_PER_POWER_OF_TWO: u16 = 1 << BUCKET_BITS;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuantileSketch {
    buckets: BTreeMap<u16, u64>,
    sum: u64,
    max: u64,
}

impl QuantileSketch {
    pub fn add(&mut self, value: u64) {
        *self.buckets.entry(bucket_index(value)).or_default() += 1;
        self.sum = self.sum.saturating_add(value);
        self.max = self.max.max(value);
    }

    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    pub fn count(&self) -> u64 {
        self.buckets.values().sum()
    }

    pub fn sum(&self) -> u64 {
        self.sum
    }

    pub fn max(&self) -> u64 {
        self.max
    }

    pub fn median(&self) -> Option<u64> {
        self.quantile(50)
    }

    /// The value below which `percent` per cent of the numbers lie.
    pub fn quantile(&self, percent: u64) -> Option<u64> {
        let count = self.count();
        let rank = (u128::from(count) * u128::from(percent)).div_ceil(100).max(1);
        let mut seen = 0;
        self.buckets.iter().find_map(|(bucket, count)| {
            seen += u128::from(*count);
            (seen >= rank).then(|| bucket_midpoint(*bucket).min(self.max))
        })
    }
}

fn bucket_index(value: u64) -> u16 {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BUCKET_BITS + 1);
    // The leading bits are below 64, and the shift is below 59.
    BUCKETS_PER_POWER_OF_TWO * shift as u16 + (value >> shift) as u16
}

/// The middle of a bucket's range.
fn bucket_midpoint(bucket: u16) -> u64 {
    let shift = (bucket / BUCKETS_PER_POWER_OF_TWO).saturating_sub(1);
    let first = u64::from(bucket - BUCKETS_PER_POWER_OF_TWO * shift);
    (first << shift) + ((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_numbers_are_kept_exactly() {
        let mut sketch = QuantileSketch::default();
        for value in [3, 9, 27] {
            sketch.add(value);
        }
        assert_eq!(sketch.median(), Some(9));
        assert_eq!(sketch.quantile(100), Some(27));
        assert_eq!(sketch.sum(), 39);
    }

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(QuantileSketch::default().median(), None);
    }

    proptest! {
        #[test]
        fn a_bucket_is_near_its_numbers(value: u64) {
            let near = bucket_midpoint(bucket_index(value));
            prop_assert!(near.abs_diff(value) <= value / 32);
        }

        #[test]
        fn larger_numbers_have_no_smaller_bucket(one: u64, two: u64) {
            let (small, large) = (one.min(two), one.max(two));
            prop_assert!(bucket_index(small) <= bucket_index(large));
        }
    }
}

//! A set of lines of a file, kept as ranges.

use serde::{Deserialize, Serialize};

/// Larger line numbers are ignored: no real file is that long, but the guest may report anything.
const MAX_LINE_NUMBER: u32 = 1_000_000;

/// Ranges with both ends included, in ascending order, neither overlapping nor adjacent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LineRanges(Vec<(u32, u32)>);

impl LineRanges {
    /// Adds lines in any order.
    pub fn add(&mut self, lines: &[u32]) {
        let possible = lines.iter().filter(|line| **line <= MAX_LINE_NUMBER);
        self.join(possible.map(|line| (*line, *line)));
    }

    pub fn merge(&mut self, other: &Self) {
        self.join(other.0.iter().copied());
    }

    pub fn contains(&self, line: u32) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= line);
        after > 0 && line <= self.0[after - 1].1
    }

    pub fn len(&self) -> u64 {
        self.0.iter().map(|(first, last)| u64::from(last - first) + 1).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn join(&mut self, ranges: impl Iterator<Item = (u32, u32)>) {
        let known = self.0.len();
        self.0.extend(ranges);
        if self.0.len() == known {
            return;
        }
        self.0.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(known);
        for (first, last) in self.0.drain(..) {
            match joined.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        self.0 = joined;
    }
}

impl FromIterator<u32> for LineRanges {
    fn from_iter<I: IntoIterator<Item = u32>>(lines: I) -> Self {
        let mut set = Self::default();
        set.add(&lines.into_iter().collect::<Vec<_>>());
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn impossible_lines_take_no_memory() {
        let lines: LineRanges = [1, u32::MAX].into_iter().collect();
        assert_eq!(lines.len(), 1);
    }

    proptest! {
        #[test]
        fn ranges_hold_what_a_set_would(
            one in prop::collection::vec(0..60u32, 0..30),
            two in prop::collection::vec(0..60u32, 0..30),
        ) {
            let mut lines: LineRanges = one.iter().copied().collect();
            lines.merge(&two.iter().copied().collect());
            let set: BTreeSet<u32> = one.into_iter().chain(two).collect();
            prop_assert_eq!(lines.len(), set.len() as u64);
            for line in 0..60 {
                prop_assert_eq!(lines.contains(line), set.contains(&line));
            }
        }
    }
}

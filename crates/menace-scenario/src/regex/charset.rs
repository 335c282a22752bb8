//! Sets of characters, as the classes of a regular expression name them.

use std::sync::OnceLock;

pub(super) const LAST_CODE_POINT: u32 = 0x10_FFFF;
pub(super) const LAST_BYTE: u32 = 0xFF;

/// Python's `\s` of text.
const SPACES: [(u32, u32); 10] = [
    (0x09, 0x0D),
    (0x1C, 0x20),
    (0x85, 0x85),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
];

/// Characters as ascending ranges that neither overlap nor touch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CharSet {
    ranges: Vec<(u32, u32)>,
}

impl CharSet {
    pub(super) fn from_ranges(ranges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut sorted: Vec<(u32, u32)> =
            ranges.into_iter().filter(|(low, high)| low <= high).collect();
        sorted.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
        for (low, high) in sorted {
            match ranges.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => ranges.push((low, high)),
            }
        }
        Self { ranges }
    }

    pub(super) fn from_char(char: u32) -> Self {
        Self { ranges: vec![(char, char)] }
    }

    pub(super) fn all(is_bytes: bool) -> Self {
        Self { ranges: vec![(0, if is_bytes { LAST_BYTE } else { LAST_CODE_POINT })] }
    }

    pub(super) fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn contains(&self, char: u32) -> bool {
        let at = self.ranges.partition_point(|(_, high)| *high < char);
        self.ranges.get(at).is_some_and(|(low, _)| *low <= char)
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        Self::from_ranges(self.ranges.iter().chain(&other.ranges).copied())
    }

    pub(super) fn complement(&self, is_bytes: bool) -> Self {
        let last = if is_bytes { LAST_BYTE } else { LAST_CODE_POINT };
        let mut next = 0;
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        for &(low, high) in &self.ranges {
            if low > next {
                ranges.push((next, (low - 1).min(last)));
            }
            next = high.saturating_add(1);
        }
        if next <= last {
            ranges.push((next, last));
        }
        Self { ranges }
    }

    pub(super) fn is_subset(&self, other: &Self) -> bool {
        self.ranges.iter().all(|&(low, high)| {
            let at = other.ranges.partition_point(|range| range.1 < low);
            other.ranges.get(at).is_some_and(|range| range.0 <= low && high <= range.1)
        })
    }

    pub(super) fn intersects(&self, other: &Self) -> bool {
        self.ranges.iter().any(|&(low, high)| {
            let at = other.ranges.partition_point(|range| range.1 < low);
            other.ranges.get(at).is_some_and(|range| range.0 <= high)
        })
    }

    /// The set with the other case of each letter; beyond ASCII, of single letters only.
    pub(super) fn with_both_cases(&self) -> Self {
        const MAX_FOLDED_CHARS: u32 = 64;
        let mut ranges = self.ranges.clone();
        for &(low, high) in &self.ranges {
            for (from, to, offset) in [(0x41, 0x5A, 0x20_i64), (0x61, 0x7A, -0x20)] {
                let (first, last) = (low.max(from), high.min(to));
                if first <= last {
                    let shifted = |char: u32| u32::try_from(i64::from(char) + offset).ok();
                    ranges.extend(shifted(first).zip(shifted(last)));
                }
            }
            if low > 0x7F && high - low < MAX_FOLDED_CHARS {
                for char in (low..=high).filter_map(char::from_u32) {
                    let folded = char.to_lowercase().chain(char.to_uppercase());
                    ranges.extend(folded.map(|char| (u32::from(char), u32::from(char))));
                }
            }
        }
        Self::from_ranges(ranges)
    }
}

/// `\d`.
pub(super) fn digits(is_ascii: bool) -> CharSet {
    const ZEROS: [u32; 4] = [0x660, 0x6F0, 0x966, 0xFF10];
    let others = ZEROS.into_iter().filter(|_| !is_ascii).map(|zero| (zero, zero + 9));
    CharSet::from_ranges([(0x30, 0x39)].into_iter().chain(others))
}

/// `\s`.
pub(super) fn spaces(is_ascii: bool) -> CharSet {
    if is_ascii {
        CharSet::from_ranges([(0x09, 0x0D), (0x20, 0x20)])
    } else {
        CharSet::from_ranges(SPACES)
    }
}

/// `\w`.
pub(super) fn word_chars(is_ascii: bool) -> CharSet {
    static WORD_CHARS: OnceLock<CharSet> = OnceLock::new();
    if is_ascii {
        return CharSet::from_ranges([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]);
    }
    let make = || {
        let is_word = |char: &char| char.is_alphanumeric() || *char == '_';
        let chars = ('\0'..=char::MAX).filter(is_word).map(u32::from);
        CharSet::from_ranges(chars.map(|char| (char, char)))
    };
    WORD_CHARS.get_or_init(make).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(char, char)]) -> CharSet {
        CharSet::from_ranges(ranges.iter().map(|(low, high)| (u32::from(*low), u32::from(*high))))
    }

    #[test]
    fn sets_are_joined_complemented_and_compared() {
        let letters = set(&[('a', 'f'), ('d', 'k'), ('l', 'z')]);
        assert_eq!(letters, set(&[('a', 'z')]));
        assert!(set(&[('c', 'd')]).is_subset(&letters) && !letters.is_subset(&digits(true)));
        assert!(!letters.intersects(&letters.complement(false)));
        assert_eq!(letters.complement(true).complement(true), letters);
        assert!(letters.with_both_cases().contains(u32::from('Q')));
        assert!(set(&[('é', 'é')]).with_both_cases().contains(u32::from('É')));
    }

    #[test]
    fn classes_of_text_have_more_than_ascii() {
        assert!(spaces(false).contains(0xA0) && !spaces(true).contains(0xA0));
        assert!(word_chars(false).contains(u32::from('é')));
        assert!(!word_chars(true).contains(u32::from('é')));
        assert!(digits(false).contains(0x661));
    }
}

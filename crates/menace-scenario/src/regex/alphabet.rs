//! Classes of characters that a pattern cannot tell apart.

use std::collections::{BTreeSet, HashMap};

use super::charset::{self, CharSet};

const MAX_CLASSES: usize = 512;
/// Sets times boundaries between them.
const MAX_ALPHABET_WORK: usize = 2_000_000;

/// A set of classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClassSet {
    bits: Vec<u64>,
}

impl ClassSet {
    fn insert(&mut self, class: usize) {
        self.bits[class / 64] |= 1 << (class % 64);
    }

    pub(super) fn contains(&self, class: usize) -> bool {
        self.bits[class / 64] & (1 << (class % 64)) != 0
    }

    pub(super) fn intersects(&self, other: &Self) -> bool {
        self.bits.iter().zip(&other.bits).any(|(one, other)| one & other != 0)
    }

    #[must_use]
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let bits = self.bits.iter().zip(&other.bits).map(|(one, other)| one & other);
        Self { bits: bits.collect() }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(one, other)| *one |= other);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..64 * self.bits.len()).filter(|class| self.contains(*class))
    }
}

#[derive(Debug)]
pub(super) struct Alphabet {
    /// One character of each class; classes with plain characters come first.
    examples: Vec<char>,
    by_set: HashMap<CharSet, ClassSet>,
    words: usize,
}

impl Alphabet {
    /// The classes that these sets are made of; none if there are too many.
    pub(super) fn new<'a>(sets: impl Iterator<Item = &'a CharSet>, is_bytes: bool) -> Option<Self> {
        let last = if is_bytes { charset::LAST_BYTE } else { charset::LAST_CODE_POINT };
        let sets: Vec<&CharSet> = sets.collect::<BTreeSet<_>>().into_iter().collect();
        let mut starts: BTreeSet<u32> = BTreeSet::from([0]);
        // ASCII is looked at one by one, so that the example of a class can be a plain character.
        starts.extend(0..=0x7F);
        for (low, high) in sets.iter().flat_map(|set| set.ranges()) {
            starts.insert(*low);
            starts.insert(high.saturating_add(1));
        }
        // No text has surrogates.
        let is_char = |start: &u32| *start <= last && char::from_u32(*start).is_some();
        starts.extend([0xE000]);
        starts.retain(is_char);
        if starts.len() * sets.len() > MAX_ALPHABET_WORK {
            return None;
        }
        let mut by_members: HashMap<Vec<usize>, char> = HashMap::new();
        for start in starts.into_iter().filter_map(char::from_u32) {
            let members = (0..sets.len()).filter(|index| sets[*index].contains(u32::from(start)));
            let example = by_members.entry(members.collect()).or_insert(start);
            *example = (*example).min_by_plainness(start);
        }
        if by_members.len() > MAX_CLASSES {
            return None;
        }
        let mut classes: Vec<(char, Vec<usize>)> =
            by_members.into_iter().map(|(members, example)| (example, members)).collect();
        classes.sort_by_key(|(example, _)| plainness(*example));
        let words = classes.len().div_ceil(64);
        let mut class_sets = vec![ClassSet { bits: vec![0; words] }; sets.len()];
        for (class, (_, members)) in classes.iter().enumerate() {
            for member in members {
                class_sets[*member].insert(class);
            }
        }
        Some(Self {
            examples: classes.into_iter().map(|(example, _)| example).collect(),
            by_set: sets.into_iter().cloned().zip(class_sets).collect(),
            words,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.examples.len()
    }

    pub(super) fn example(&self, class: usize) -> char {
        self.examples[class]
    }

    pub(super) fn classes_of(&self, set: &CharSet) -> ClassSet {
        self.by_set.get(set).cloned().unwrap_or_else(|| self.no_classes())
    }

    pub(super) fn no_classes(&self) -> ClassSet {
        ClassSet { bits: vec![0; self.words] }
    }
}

trait ByPlainness {
    fn min_by_plainness(self, other: Self) -> Self;
}

impl ByPlainness for char {
    fn min_by_plainness(self, other: Self) -> Self {
        if plainness(other) < plainness(self) { other } else { self }
    }
}

/// Plain characters first: letters, digits, the blank, other visible ones, control characters.
fn plainness(char: char) -> (u8, u32) {
    let code = u32::from(char);
    let rank = match char {
        'a'..='z' => 0,
        '0'..='9' => 1,
        'A'..='Z' => 2,
        ' ' => 3,
        _ if char.is_ascii_graphic() => 4,
        '\t' | '\n' => 5,
        _ if code > charset::LAST_CODE_POINT / 2 => 8,
        _ if char.is_ascii() => 7,
        _ => 6,
    };
    (rank, code)
}

//! Reproducible random numbers: everything random in a run comes from one seed.
//!
//! Invariant: equal seeds give equal numbers on every machine and in every version.

/// A seed, from which independent ones can be derived by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of a part: a section, a preset, an input, a fault.
    #[must_use]
    pub fn derive(self, part: &str) -> Self {
        // FNV-1a and a mixing step, so that similar names give unrelated seeds.
        let hash = part.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(mix_bits(self.0 ^ mix_bits(hash)))
    }

    /// The seed of the part with this index.
    #[must_use]
    pub fn derive_nth(self, index: u64) -> Self {
        Self(mix_bits(self.0 ^ mix_bits(index.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// A time for a frozen clock, in seconds since 1970: between September 2001 and May 2033.
    pub fn frozen_timestamp(self) -> f64 {
        (1_000_000_000 + self.derive("moment").rng().next_below(1_000_000_000)) as f64
    }

    pub fn rng(self) -> SeededRng {
        SeededRng { state: self.0 }
    }
}

/// A stream of random numbers: `SplitMix64`, whose state is one word.
#[derive(Debug, Clone)]
pub struct SeededRng {
    state: u64,
}

impl SeededRng {
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix_bits(self.state)
    }

    /// A number from 0 up to, but not including, `end`; 0 when `end` is 0.
    pub fn next_below(&mut self, end: u64) -> u64 {
        // The upper half of the product: the bias is negligible for the values of `end` in use.
        ((u128::from(self.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// A number between both ends, inclusive.
    pub fn next_between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.wrapping_sub(low).cast_unsigned();
        match span.checked_add(1) {
            Some(count) => low.wrapping_add(self.next_below(count).cast_signed()),
            None => self.next_u64().cast_signed(),
        }
    }

    /// A number from 0 up to, but not including, 1.
    pub fn next_unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.next_unit() < probability
    }

    /// One of the items, unless there are none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.next_below(from.len() as u64) as usize)
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.next_below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

fn mix_bits(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // From the reference implementation, seed 1234567.
        let mut random = Seed(1_234_567).rng();
        let numbers: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn parts_have_seeds_of_their_own() {
        let seed = Seed(1);
        let seeds = [
            seed,
            seed.derive("a"),
            seed.derive("b"),
            seed.derive("a").derive("b"),
            seed.derive_nth(0),
        ];
        for (index, one) in seeds.iter().enumerate() {
            assert!(!seeds[index + 1..].contains(one));
        }
        assert_eq!(seed.derive("a"), Seed(1).derive("a"));
    }

    #[test]
    fn each_seed_has_a_moment_of_its_own() {
        let moments: Vec<f64> = (0..100).map(|seed| Seed(seed).frozen_timestamp()).collect();
        for (index, moment) in moments.iter().enumerate() {
            assert!((1e9..2e9).contains(moment) && moment.fract() == 0.0);
            assert!(!moments[index + 1..].contains(moment));
        }
        assert_eq!((moments[0], moments[7]), (1_893_222_444.0, 1_384_637_959.0));
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Seed(7).rng();
        for _ in 0..1000 {
            assert!(random.next_below(3) < 3);
            assert!((-2..=2).contains(&random.next_between(-2, 2)));
            assert!((0.0..1.0).contains(&random.next_unit()));
        }
        assert_eq!(random.next_below(0), 0);
        random.next_between(i64::MIN, i64::MAX);
        assert_eq!(random.pick::<u8>(&[]), None);
        let mut items: Vec<u8> = (0..20).collect();
        random.shuffle(&mut items);
        assert_ne!(items, (0..20).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..20).collect::<Vec<_>>());
    }
}

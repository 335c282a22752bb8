//! Whole numbers, sizes and spans of time within bounds.

use std::time::Duration;

use crate::{Refusal, Setting, Size, Surroundings};

/// A whole number from `LOW` to `HIGH`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Within<const LOW: u64, const HIGH: u64>(u64);

impl<const LOW: u64, const HIGH: u64> Within<LOW, HIGH> {
    /// The number, or the bound that it is beyond.
    pub fn clamped(number: u64) -> Self {
        Self(number.clamp(LOW, HIGH))
    }

    pub fn get(self) -> u64 {
        self.0
    }
}

impl<const LOW: u64, const HIGH: u64> Setting for Within<LOW, HIGH> {
    fn kind() -> String {
        format!("{LOW} to {HIGH}")
    }

    fn expected() -> String {
        format!("a whole number from {LOW} to {HIGH}")
    }

    fn parse(text: &str, around: &Surroundings) -> Result<Self, Refusal> {
        let number = u64::parse(text, around)?;
        if (LOW..=HIGH).contains(&number) { Ok(Self(number)) } else { Err(Refusal::default()) }
    }

    fn show(&self) -> Option<String> {
        self.0.show()
    }
}

/// A size of at most `BYTES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SizeUpTo<const BYTES: u64>(Size);

impl<const BYTES: u64> SizeUpTo<BYTES> {
    pub fn get(self) -> Size {
        self.0
    }
}

impl<const BYTES: u64> Setting for SizeUpTo<BYTES> {
    fn kind() -> String {
        format!("size up to {}", Size::from_bytes(BYTES))
    }

    fn expected() -> String {
        format!("a size of at most `{}`", Size::from_bytes(BYTES))
    }

    fn parse(text: &str, around: &Surroundings) -> Result<Self, Refusal> {
        let size = Size::parse(text, around)?;
        if size.bytes() <= BYTES { Ok(Self(size)) } else { Err(Refusal::default()) }
    }

    fn show(&self) -> Option<String> {
        self.0.show()
    }
}

/// A span of time of at least so many milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DurationFrom<const MILLIS: u64>(Duration);

impl<const MILLIS: u64> DurationFrom<MILLIS> {
    const SHORTEST: Duration = Duration::from_millis(MILLIS);

    /// The span, or the shortest that there is.
    pub fn at_least(duration: Duration) -> Self {
        Self(duration.max(Self::SHORTEST))
    }

    pub fn get(self) -> Duration {
        self.0
    }
}

impl<const MILLIS: u64> Setting for DurationFrom<MILLIS> {
    fn kind() -> String {
        format!("duration from {MILLIS}ms")
    }

    fn expected() -> String {
        Duration::expected()
    }

    fn parse(text: &str, around: &Surroundings) -> Result<Self, Refusal> {
        let duration = Duration::parse(text, around)?;
        if duration < Self::SHORTEST {
            return Err(Refusal::because(format!("it must be at least {MILLIS}ms")));
        }
        Ok(Self(duration))
    }

    fn show(&self) -> Option<String> {
        self.0.show()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    type Level = Within<1, 5>;

    #[test]
    fn the_bounds_belong_to_it_and_nothing_beyond() {
        let around = Surroundings::default();
        for (text, fits) in [("0", false), ("1", true), ("5", true), ("6", false), ("-1", false)] {
            assert_eq!(Level::parse(text, &around).is_ok(), fits, "{text}");
        }
        assert_eq!(Level::expected(), "a whole number from 1 to 5");
        assert_eq!((Level::clamped(0).get(), Level::clamped(9).get()), (1, 5));
    }

    #[test]
    fn a_size_beyond_the_bound_is_refused() {
        let around = Surroundings::default();
        assert!(SizeUpTo::<4096>::parse("4Ki", &around).is_ok());
        assert!(SizeUpTo::<4096>::parse("4097", &around).is_err());
        assert_eq!(SizeUpTo::<4096>::kind(), "size up to 4Ki");
    }

    #[test]
    fn a_span_below_the_bound_is_refused() {
        let around = Surroundings::default();
        for (text, fits) in [("0", false), ("1ns", false), ("999us", false), ("1ms", true)] {
            assert_eq!(DurationFrom::<1>::parse(text, &around).is_ok(), fits, "{text}");
        }
        assert_eq!(DurationFrom::<1>::kind(), "duration from 1ms");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::survives::<Level>(&text);
            laws::survives::<SizeUpTo<4096>>(&text);
            laws::survives::<DurationFrom<1>>(&text);
        }
    }
}

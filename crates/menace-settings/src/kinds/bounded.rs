//! Whole numbers, sizes and spans of time within bounds.

use std::time::Duration;

use crate::{ByteSize, ParseContext, ParseRefusal, SettingType};

/// A whole number from `LOW` to `HIGH`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoundedInteger<const LOW: u64, const HIGH: u64>(u64);

impl<const LOW: u64, const HIGH: u64> BoundedInteger<LOW, HIGH> {
    /// The number, or the bound that it is beyond.
    pub fn clamp_to_range(number: u64) -> Self {
        Self(number.clamp(LOW, HIGH))
    }

    pub fn get(self) -> u64 {
        self.0
    }
}

impl<const LOW: u64, const HIGH: u64> SettingType for BoundedInteger<LOW, HIGH> {
    fn kind() -> String {
        format!("{LOW} to {HIGH}")
    }

    fn expected() -> String {
        format!("a whole number from {LOW} to {HIGH}")
    }

    fn parse(text: &str, around: &ParseContext) -> Result<Self, ParseRefusal> {
        let number = u64::parse(text, around)?;
        if (LOW..=HIGH).contains(&number) { Ok(Self(number)) } else { Err(ParseRefusal::default()) }
    }

    fn show(&self) -> Option<String> {
        self.0.show()
    }

    fn magnitude(&self) -> Option<f64> {
        self.0.magnitude()
    }
}

/// A size of at most `BYTES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoundedSize<const BYTES: u64>(ByteSize);

impl<const BYTES: u64> BoundedSize<BYTES> {
    pub fn get(self) -> ByteSize {
        self.0
    }
}

impl<const BYTES: u64> SettingType for BoundedSize<BYTES> {
    fn kind() -> String {
        format!("size up to {}", ByteSize::from_bytes(BYTES))
    }

    fn expected() -> String {
        format!("a size of at most `{}`", ByteSize::from_bytes(BYTES))
    }

    fn parse(text: &str, around: &ParseContext) -> Result<Self, ParseRefusal> {
        let size = ByteSize::parse(text, around)?;
        if size.bytes() <= BYTES { Ok(Self(size)) } else { Err(ParseRefusal::default()) }
    }

    fn show(&self) -> Option<String> {
        self.0.show()
    }

    fn magnitude(&self) -> Option<f64> {
        self.0.magnitude()
    }
}

/// A duration of at least this number of milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MinimumDuration<const MILLIS: u64>(Duration);

impl<const MILLIS: u64> MinimumDuration<MILLIS> {
    const MIN_DURATION: Duration = Duration::from_millis(MILLIS);

    /// The span, or the shortest that there is.
    pub fn clamped_from_below(duration: Duration) -> Self {
        Self(duration.max(Self::MIN_DURATION))
    }

    pub fn get(self) -> Duration {
        self.0
    }
}

impl<const MILLIS: u64> SettingType for MinimumDuration<MILLIS> {
    fn kind() -> String {
        format!("duration from {MILLIS}ms")
    }

    fn expected() -> String {
        Duration::expected()
    }

    fn parse(text: &str, around: &ParseContext) -> Result<Self, ParseRefusal> {
        let duration = Duration::parse(text, around)?;
        if duration < Self::MIN_DURATION {
            return Err(ParseRefusal::with_reason(format!("it must be at least {MILLIS}ms")));
        }
        Ok(Self(duration))
    }

    fn show(&self) -> Option<String> {
        self.0.show()
    }

    fn magnitude(&self) -> Option<f64> {
        self.0.magnitude()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    type SecurityLevelRange = BoundedInteger<1, 5>;

    #[test]
    fn the_bounds_belong_to_it_and_nothing_beyond() {
        let around = ParseContext::default();
        for (text, fits) in [("0", false), ("1", true), ("5", true), ("6", false), ("-1", false)] {
            assert_eq!(SecurityLevelRange::parse(text, &around).is_ok(), fits, "{text}");
        }
        assert_eq!(SecurityLevelRange::expected(), "a whole number from 1 to 5");
        assert_eq!(
            (
                SecurityLevelRange::clamp_to_range(0).get(),
                SecurityLevelRange::clamp_to_range(9).get()
            ),
            (1, 5)
        );
    }

    #[test]
    fn a_size_beyond_the_bound_is_refused() {
        let around = ParseContext::default();
        assert!(BoundedSize::<4096>::parse("4Ki", &around).is_ok());
        assert!(BoundedSize::<4096>::parse("4097", &around).is_err());
        assert_eq!(BoundedSize::<4096>::kind(), "size up to 4Ki");
    }

    #[test]
    fn a_span_below_the_bound_is_refused() {
        let around = ParseContext::default();
        for (text, fits) in [("0", false), ("1ns", false), ("999us", false), ("1ms", true)] {
            assert_eq!(MinimumDuration::<1>::parse(text, &around).is_ok(), fits, "{text}");
        }
        assert_eq!(MinimumDuration::<1>::kind(), "duration from 1ms");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<SecurityLevelRange>(&text);
            laws::assert_does_not_panic::<BoundedSize<4096>>(&text);
            laws::assert_does_not_panic::<MinimumDuration<1>>(&text);
        }
    }
}

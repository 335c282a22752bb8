//! Shares out of a hundred.

use std::fmt;
use std::str::FromStr;

use super::number::parse_finite;
use crate::ParseRefusal;

/// A share between 0 and 100; `5` and `5%` are the same, `0.5` is half a percent.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct PercentShare(f64);

impl PercentShare {
    /// `None` unless it is between 0 and 100.
    pub fn new(percent: f64) -> Option<Self> {
        (0.0..=100.0).contains(&percent).then_some(Self(percent))
    }

    /// The share between 0 and 100.
    pub const fn percent(self) -> f64 {
        self.0
    }

    /// The share between 0 and 1.
    pub fn fraction(self) -> f64 {
        self.0 / 100.0
    }
}

impl FromStr for PercentShare {
    type Err = ParseRefusal;

    fn from_str(text: &str) -> Result<Self, ParseRefusal> {
        let text = text.trim();
        let share = parse_finite(text.strip_suffix('%').unwrap_or(text).trim_end())?;
        Self::new(share).ok_or_else(ParseRefusal::default)
    }
}

impl fmt::Display for PercentShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

text_setting!(PercentShare, "percentage", "a percentage between `0` and `100`");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn the_sign_is_optional() {
        assert_eq!("5".parse(), Ok(PercentShare(5.0)));
        assert_eq!("5 %".parse(), Ok(PercentShare(5.0)));
    }

    #[test]
    fn shares_outside_the_whole_are_refused() {
        for text in ["-1", "101", "NaN", "%", "5%%"] {
            assert!(text.parse::<PercentShare>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn shown_percentages_read_back(share in 0.0..=100.0_f64) {
            laws::assert_reads_back(&PercentShare(share));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<PercentShare>(&text);
        }
    }
}

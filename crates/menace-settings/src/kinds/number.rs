//! Plain numbers: counts, counts above zero, and finite real numbers.

use std::num::NonZeroU64;

use crate::{ParseContext, ParseRefusal, SettingType};

text_setting!(u64, "count", "a whole number, zero or more", |count| *count as f64);

text_setting!(NonZeroU64, "count above zero", "a whole number of at least 1", |count| {
    count.get() as f64
});

impl SettingType for f64 {
    described_as!("number", "a number such as `0.01`");

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        parse_finite(text)
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

/// A real number; infinities and NaN are never meant.
pub(super) fn parse_finite(text: &str) -> Result<f64, ParseRefusal> {
    text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(ParseRefusal::default)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn counts_are_whole_and_not_negative() {
        let around = ParseContext::default();
        assert_eq!(u64::parse("0", &around), Ok(0));
        assert!(u64::parse("-1", &around).is_err());
        assert!(u64::parse("1.5", &around).is_err());
        assert!(NonZeroU64::parse("0", &around).is_err());
    }

    #[test]
    fn infinite_numbers_are_refused() {
        for text in ["inf", "NaN", "1e999", "-infinity"] {
            assert!(f64::parse(text, &ParseContext::default()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn shown_counts_read_back(count: u64) {
            laws::assert_reads_back(&count);
        }

        #[test]
        fn shown_numbers_read_back(number in proptest::num::f64::NORMAL) {
            laws::assert_reads_back(&number);
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<u64>(&text);
            laws::assert_does_not_panic::<NonZeroU64>(&text);
            laws::assert_does_not_panic::<f64>(&text);
        }
    }
}

//! Probabilities and confidence levels.

use super::number::parse_finite;
use crate::{ParseContext, ParseRefusal, SettingType};

/// A number between 0 and 1, both included.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl SettingType for Probability {
    described_as!("probability", "a number between `0` and `1`");

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        let number = parse_finite(text)?;
        if (0.0..=1.0).contains(&number) { Ok(Self(number)) } else { Err(ParseRefusal::default()) }
    }

    fn show(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn numbers_outside_zero_to_one_are_refused() {
        for text in ["1.01", "-0.1", "95"] {
            assert!(Probability::parse(text, &ParseContext::default()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn shown_probabilities_read_back(number in 0.0..=1.0_f64) {
            laws::assert_reads_back(&Probability(number));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<Probability>(&text);
        }
    }
}

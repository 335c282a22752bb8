//! Probabilities and confidence levels.

use super::number::finite;
use crate::{Refusal, Setting, Surroundings};

/// A number between 0 and 1, both included.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Setting for Probability {
    fn kind() -> String {
        "probability".into()
    }

    fn expected() -> String {
        "a number between `0` and `1`".into()
    }

    fn parse(text: &str, _: &Surroundings) -> Result<Self, Refusal> {
        let number = finite(text)?;
        if (0.0..=1.0).contains(&number) { Ok(Self(number)) } else { Err(Refusal::default()) }
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
            assert!(Probability::parse(text, &Surroundings::default()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn shown_probabilities_read_back(number in 0.0..=1.0_f64) {
            laws::reads_back(&Probability(number));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::survives::<Probability>(&text);
        }
    }
}

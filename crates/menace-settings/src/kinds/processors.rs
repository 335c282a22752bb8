//! How many processors something may use at once.

use crate::{Percent, Refusal, Setting, Surroundings};

/// More than any machine that Linux runs on has.
const MOST: f64 = 8192.0;

/// A number of processors above zero: `0.5` and `50%` are half of one, `2` is two.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Processors(f64);

impl Processors {
    /// None when no machine could have so many, or they would be none.
    pub fn new(count: f64) -> Option<Self> {
        (count > 0.0 && count <= MOST).then_some(Self(count))
    }

    pub fn count(self) -> f64 {
        self.0
    }
}

impl Setting for Processors {
    fn kind() -> String {
        "processors".into()
    }

    fn expected() -> String {
        "a number of processors such as `0.5`, or a percentage of one such as `50%`".into()
    }

    fn parse(text: &str, around: &Surroundings) -> Result<Self, Refusal> {
        let count = if text.ends_with('%') {
            Percent::parse(text, around)?.fraction()
        } else {
            f64::parse(text, around)?
        };
        Self::new(count).ok_or_else(|| Refusal::because("it must be above 0 and at most 8192"))
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

    #[test]
    fn shares_and_numbers_are_the_same_thing() {
        let read = |text| Processors::parse(text, &Surroundings::default());
        assert_eq!(read("50%"), read("0.5"));
        assert_eq!(read("2").map(Processors::count), Ok(2.0));
        for text in ["0", "0%", "-1", "many", "inf", "NaN", "8193"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::survives::<Processors>(&text);
        }
    }
}

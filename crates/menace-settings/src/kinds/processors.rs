//! How many processors something may use at once.

use crate::{ParseContext, ParseRefusal, PercentShare, SettingType};

/// The kernel hands out no less than a millisecond of a tenth of a second.
const MIN_PROCESSORS: f64 = 0.01;
/// More than Linux supports on any machine.
const MAX_PROCESSORS: f64 = 8192.0;

/// A number of processors: `0.5` and `50%` are half of one, `2` is two.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct ProcessorCount(f64);

impl ProcessorCount {
    /// `None` for a number that is too large or too small for any machine.
    pub fn new(count: f64) -> Option<Self> {
        (MIN_PROCESSORS..=MAX_PROCESSORS).contains(&count).then_some(Self(count))
    }

    pub fn count(self) -> f64 {
        self.0
    }
}

impl SettingType for ProcessorCount {
    fn kind() -> String {
        format!("processors, {MIN_PROCESSORS} to {MAX_PROCESSORS}")
    }

    fn expected() -> String {
        "a number of processors such as `0.5`, or a percentage of one such as `50%`".into()
    }

    fn parse(text: &str, around: &ParseContext) -> Result<Self, ParseRefusal> {
        let count = if text.ends_with('%') {
            PercentShare::parse(text, around)?.fraction()
        } else {
            f64::parse(text, around)?
        };
        Self::new(count).ok_or_else(|| {
            ParseRefusal::with_reason(format!(
                "it must be from {MIN_PROCESSORS} to {MAX_PROCESSORS}"
            ))
        })
    }

    fn show(&self) -> Option<String> {
        self.0.show()
    }

    fn magnitude(&self) -> Option<f64> {
        Some(self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn shares_and_numbers_are_the_same_thing() {
        let read = |text| ProcessorCount::parse(text, &ParseContext::default());
        assert_eq!(read("50%"), read("0.5"));
        assert_eq!(read("2").map(ProcessorCount::count), Ok(2.0));
        assert_eq!(read("1%").map(ProcessorCount::count), Ok(0.01));
        for text in ["0", "0%", "0.009", "0.5%", "-1", "many", "inf", "NaN", "8193"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<ProcessorCount>(&text);
        }
    }
}

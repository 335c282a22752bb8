//! Amounts of which there must be some.

use std::time::Duration;

use crate::{Bandwidth, Refusal, Setting, Size, Surroundings};

/// A type that has a nothing.
pub trait Amount: Setting {
    fn is_nothing(&self) -> bool;
}

impl Amount for Duration {
    fn is_nothing(&self) -> bool {
        self.is_zero()
    }
}

impl Amount for Size {
    fn is_nothing(&self) -> bool {
        self.bytes() == 0
    }
}

impl Amount for Bandwidth {
    fn is_nothing(&self) -> bool {
        self.bits_per_second() == 0
    }
}

/// An amount above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Positive<T>(T);

impl<T: Amount> Positive<T> {
    /// None when the amount is nothing.
    pub fn new(amount: T) -> Option<Self> {
        (!amount.is_nothing()).then_some(Self(amount))
    }

    pub fn get(self) -> T {
        self.0
    }
}

impl<T: Amount> Setting for Positive<T> {
    fn kind() -> String {
        format!("{} above zero", T::kind())
    }

    fn expected() -> String {
        T::expected()
    }

    fn parse(text: &str, around: &Surroundings) -> Result<Self, Refusal> {
        Self::new(T::parse(text, around)?).ok_or_else(|| Refusal::because("it must be above zero"))
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
    fn nothing_is_refused() {
        let around = Surroundings::default();
        let refused = Err(Refusal::because("it must be above zero"));
        assert_eq!(Positive::<Duration>::parse("0", &around), refused);
        assert!(Positive::<Size>::parse("0Mi", &around).is_err());
        assert!(Positive::<Bandwidth>::parse("0", &around).is_err());
        let size = Positive::<Size>::parse("1Mi", &around).unwrap();
        assert_eq!(size.get().bytes(), 1 << 20);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::survives::<Positive<Duration>>(&text);
            laws::survives::<Positive<Size>>(&text);
        }
    }
}

//! Amounts that must be above zero.

use std::time::Duration;

use crate::{ByteSize, NetworkBandwidth, ParseContext, ParseRefusal, SettingType};

/// An amount that can be zero.
pub trait ZeroableAmount: SettingType {
    fn is_zero_amount(&self) -> bool;
}

impl ZeroableAmount for Duration {
    fn is_zero_amount(&self) -> bool {
        self.is_zero()
    }
}

impl ZeroableAmount for ByteSize {
    fn is_zero_amount(&self) -> bool {
        self.bytes() == 0
    }
}

impl ZeroableAmount for NetworkBandwidth {
    fn is_zero_amount(&self) -> bool {
        self.bits_per_second() == 0
    }
}

/// An amount above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PositiveAmount<T>(T);

impl<T: ZeroableAmount> PositiveAmount<T> {
    /// `None` when the amount is zero.
    pub fn new(amount: T) -> Option<Self> {
        (!amount.is_zero_amount()).then_some(Self(amount))
    }

    pub fn get(self) -> T {
        self.0
    }
}

impl<T: ZeroableAmount> SettingType for PositiveAmount<T> {
    fn kind() -> String {
        format!("{} above zero", T::kind())
    }

    fn expected() -> String {
        T::expected()
    }

    fn parse(text: &str, around: &ParseContext) -> Result<Self, ParseRefusal> {
        Self::new(T::parse(text, around)?)
            .ok_or_else(|| ParseRefusal::with_reason("it must be above zero"))
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

    #[test]
    fn nothing_is_refused() {
        let around = ParseContext::default();
        let refused = Err(ParseRefusal::with_reason("it must be above zero"));
        assert_eq!(PositiveAmount::<Duration>::parse("0", &around), refused);
        assert!(PositiveAmount::<ByteSize>::parse("0Mi", &around).is_err());
        assert!(PositiveAmount::<NetworkBandwidth>::parse("0", &around).is_err());
        let size = PositiveAmount::<ByteSize>::parse("1Mi", &around).unwrap();
        assert_eq!(size.get().bytes(), 1 << 20);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<PositiveAmount<Duration>>(&text);
            laws::assert_does_not_panic::<PositiveAmount<ByteSize>>(&text);
        }
    }
}

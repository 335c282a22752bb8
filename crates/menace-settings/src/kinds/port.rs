//! TCP ports to listen on.

use std::num::NonZeroU16;

use crate::{ParseContext, ParseRefusal, SettingType};

/// A port between 1 and 65535.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortNumber(NonZeroU16);

impl PortNumber {
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}

impl SettingType for PortNumber {
    described_as!("port", "a port between `1` and `65535`");

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        text.parse().map(Self).map_err(|_| ParseRefusal::default())
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
    fn numbers_that_are_no_port_are_refused() {
        for text in ["0", "65536", "-1", "http", "80.0"] {
            assert!(PortNumber::parse(text, &ParseContext::default()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn shown_ports_read_back(port in any::<NonZeroU16>()) {
            laws::assert_reads_back(&PortNumber(port));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<PortNumber>(&text);
        }
    }
}

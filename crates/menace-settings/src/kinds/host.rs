//! Addresses to listen on.

use std::net::{IpAddr, Ipv4Addr};

use crate::{ParseContext, ParseRefusal, SettingType};

/// An address of this machine; `localhost` is the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenHost(IpAddr);

impl ListenHost {
    pub const fn get(self) -> IpAddr {
        self.0
    }
}

impl SettingType for ListenHost {
    described_as!("address", "an address such as `127.0.0.1`, `0.0.0.0` or `::1`");

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        if text.eq_ignore_ascii_case("localhost") {
            return Ok(Self(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        }
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
    fn names_but_localhost_are_refused() {
        let parse = |text| ListenHost::parse(text, &ParseContext::default());
        for text in ["", "example.org", "127.0.0.1:80", "[::1]", "256.0.0.1"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("localhost").unwrap().get().is_loopback());
    }

    proptest! {
        #[test]
        fn shown_addresses_read_back(address in any::<IpAddr>()) {
            laws::assert_reads_back(&ListenHost(address));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<ListenHost>(&text);
        }
    }
}

//! Hosts and ports that a call cannot reach.

use std::net::Ipv6Addr;

use menace_model::PartitionPeer;

use crate::{ParseContext, ParseRefusal, SettingType};

impl SettingType for PartitionPeer {
    described_as!(
        "host, host:port or :port",
        "a host, a port or both such as `db.example`, `db.example:5432` or `:443`"
    );

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        // An address of many colons has no port unless it is in brackets.
        if text.parse::<Ipv6Addr>().is_ok() {
            return Ok(Self { host: Some(text.to_lowercase()), port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        let (host, port) = match port {
            Some(port) if port.ends_with(']') => (text, None),
            _ => (host, port),
        };
        let port = match port {
            Some(port) => {
                Some(port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(|| {
                    ParseRefusal::with_reason("a port is a number from 1 to 65535")
                })?)
            }
            None => None,
        };
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(address) => {
                address.parse::<Ipv6Addr>().map_err(|_| ParseRefusal::default())?;
                address
            }
            None => host,
        };
        let is_name = |c: char| c.is_alphanumeric() || "-._".contains(c);
        let is_address = host.parse::<Ipv6Addr>().is_ok();
        if !is_address && !host.chars().all(is_name) || (host.is_empty() && port.is_none()) {
            return Err(ParseRefusal::default());
        }
        Ok(Self { host: (!host.is_empty()).then(|| host.to_lowercase()), port })
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn hosts_and_ports_are_distinguished() {
        for (text, host, port) in [
            ("db.example", Some("db.example"), None),
            ("DB.example:5432", Some("db.example"), Some(5432)),
            (":443", None, Some(443)),
            ("10.0.0.7:80", Some("10.0.0.7"), Some(80)),
            ("::1", Some("::1"), None),
            ("[::1]", Some("::1"), None),
            ("[::1]:80", Some("::1"), Some(80)),
        ] {
            let peer = PartitionPeer::parse(text, &ParseContext::default()).unwrap();
            assert_eq!((peer.host.as_deref(), peer.port), (host, port), "{text}");
            laws::assert_reads_back(&peer);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [":", ":0", "a:b", "a:70000", "a b", "http://a", "[a]:1", "[::1]x", "*"] {
            assert!(PartitionPeer::parse(text, &ParseContext::default()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<PartitionPeer>(&text);
        }

        #[test]
        fn host_like_text_does_not_panic(text in "\\[?[a-f0-9:.]{0,12}\\]?(:[0-9]{0,6})?") {
            laws::assert_does_not_panic::<PartitionPeer>(&text);
        }
    }
}

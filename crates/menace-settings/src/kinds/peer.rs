//! Somebody on the network: a host, a port, or both.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use crate::{Refusal, Setting, Surroundings};

/// `db.example`, `10.0.0.7:5432`, `[::1]:80` or `:443`; what is not given stands for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPeer {
    host: Option<String>,
    port: Option<u16>,
}

impl NetworkPeer {
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    pub fn port(&self) -> Option<u16> {
        self.port
    }
}

impl FromStr for NetworkPeer {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
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
            Some(port) => Some(
                port.parse::<u16>()
                    .ok()
                    .filter(|port| *port > 0)
                    .ok_or_else(|| Refusal::because("a port is a number from 1 to 65535"))?,
            ),
            None => None,
        };
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(address) => {
                address.parse::<Ipv6Addr>().map_err(|_| Refusal::default())?;
                address
            }
            None => host,
        };
        let is_name = |c: char| c.is_alphanumeric() || "-._".contains(c);
        let is_address = host.parse::<Ipv6Addr>().is_ok();
        if !is_address && !host.chars().all(is_name) || (host.is_empty() && port.is_none()) {
            return Err(Refusal::default());
        }
        Ok(Self { host: (!host.is_empty()).then(|| host.to_lowercase()), port })
    }
}

impl fmt::Display for NetworkPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.host, self.port) {
            (Some(host), Some(port)) if host.contains(':') => write!(f, "[{host}]:{port}"),
            (Some(host), Some(port)) => write!(f, "{host}:{port}"),
            (Some(host), None) => f.write_str(host),
            (None, port) => write!(f, ":{}", port.unwrap_or_default()),
        }
    }
}

impl Setting for NetworkPeer {
    fn kind() -> String {
        "host, host:port or :port".into()
    }

    fn expected() -> String {
        "a host, a port or both such as `db.example`, `db.example:5432` or `:443`".into()
    }

    fn parse(text: &str, _: &Surroundings) -> Result<Self, Refusal> {
        text.parse()
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
    fn hosts_and_ports_are_told_apart() {
        for (text, host, port) in [
            ("db.example", Some("db.example"), None),
            ("DB.example:5432", Some("db.example"), Some(5432)),
            (":443", None, Some(443)),
            ("10.0.0.7:80", Some("10.0.0.7"), Some(80)),
            ("::1", Some("::1"), None),
            ("[::1]", Some("::1"), None),
            ("[::1]:80", Some("::1"), Some(80)),
        ] {
            let peer: NetworkPeer = text.parse().unwrap();
            assert_eq!((peer.host(), peer.port()), (host, port), "{text}");
            laws::reads_back(&peer);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [":", ":0", "a:b", "a:70000", "a b", "http://a", "[a]:1", "[::1]x", "*"] {
            assert!(text.parse::<NetworkPeer>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::survives::<NetworkPeer>(&text);
        }

        #[test]
        fn host_like_text_does_not_panic(text in "\\[?[a-f0-9:.]{0,12}\\]?(:[0-9]{0,6})?") {
            laws::survives::<NetworkPeer>(&text);
        }
    }
}

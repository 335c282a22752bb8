//! Who is cut off.

use std::net::IpAddr;

use menace_model::Peer;

use super::packet::{End, Flow};

/// Packets from and to these go nowhere.
#[derive(Debug, Clone, Default)]
pub(super) struct Partition(Vec<Cut>);

/// What is not given matches all.
#[derive(Debug, Clone)]
struct Cut {
    addresses: Option<Vec<IpAddr>>,
    port: Option<u16>,
}

impl Partition {
    /// `hosts` is a file of names, as in `/etc/hosts`. A name that is not in there can be reached by
    /// nobody anyway.
    pub(super) fn new(peers: &[Peer], hosts: &str) -> Self {
        let cut = |peer: &Peer| Cut {
            addresses: peer.host.as_deref().map(|host| addresses(host, hosts)),
            port: peer.port,
        };
        Self(peers.iter().map(cut).collect())
    }

    /// Whether either end of it is cut off.
    pub(super) fn severs(&self, flow: &Flow) -> bool {
        self.0.iter().any(|cut| cut.matches(flow.from) || cut.matches(flow.to))
    }
}

impl Cut {
    fn matches(&self, end: End) -> bool {
        self.addresses.as_ref().is_none_or(|addresses| addresses.contains(&end.address))
            && self.port.is_none_or(|port| end.port == Some(port))
    }
}

fn addresses(host: &str, hosts: &str) -> Vec<IpAddr> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return vec![address.to_canonical()];
    }
    let named = hosts.lines().filter_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let address = words.next()?.parse::<IpAddr>().ok()?;
        words.any(|name| name.eq_ignore_ascii_case(host)).then_some(address)
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::super::packet::tests::udp;
    use super::*;

    const HOSTS: &str = "127.0.0.1 localhost sandbox\n::1 localhost # again\n";

    fn severs(host: Option<&str>, port: Option<u16>, packet: &[u8]) -> bool {
        let peer = Peer { host: host.map(str::to_owned), port };
        Partition::new(&[peer], HOSTS).severs(&Flow::of(packet).unwrap())
    }

    #[test]
    fn a_port_is_cut_off_in_both_directions_and_no_other() {
        let (there, back) =
            (udp(("127.0.0.1", 9), ("127.0.0.1", 80)), udp(("::1", 80), ("::1", 9)));
        assert!(severs(None, Some(80), &there) && severs(None, Some(80), &back));
        assert!(!severs(None, Some(81), &there));
    }

    #[test]
    fn a_host_is_cut_off_by_address_or_name() {
        let packet = udp(("127.0.0.1", 9), ("127.0.0.1", 80));
        for host in ["127.0.0.1", "localhost", "LocalHost", "sandbox", "::ffff:127.0.0.1"] {
            assert!(severs(Some(host), None, &packet), "{host}");
            assert!(!severs(Some(host), Some(81), &packet), "{host}");
        }
        assert!(!severs(Some("127.0.0.2"), None, &packet));
        assert!(!severs(Some("api.example.com"), None, &packet));
        assert!(severs(Some("localhost"), Some(80), &udp(("::1", 9), ("::1", 80))));
    }

    #[test]
    fn the_port_has_to_be_that_of_the_host() {
        let packet = udp(("127.0.0.1", 80), ("127.0.0.2", 9));
        assert!(severs(Some("127.0.0.1"), Some(80), &packet));
        assert!(!severs(Some("127.0.0.2"), Some(80), &packet));
    }

    #[test]
    fn somebody_of_whom_nothing_is_known_is_everybody() {
        assert!(severs(None, None, &udp(("::1", 1), ("::1", 2))));
        assert!(!Partition::default().severs(&Flow::UNKNOWN));
    }
}

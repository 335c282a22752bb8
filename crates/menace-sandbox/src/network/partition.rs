//! Who is cut off: those who were named, or some of those who are talked to, by chance.

use std::collections::HashMap;
use std::net::IpAddr;

use menace_model::{Peer, Seed, When};

use super::packet::{End, Flow};

/// From this share on the first of all peers is cut off: many calls talk to no second one.
const OFTEN: f64 = 0.5;
/// More peers than any call has; those that come later can be reached.
const PEERS: usize = 1 << 16;

/// Packets from and to these go nowhere.
#[derive(Debug, Default)]
pub(super) struct Partition {
    named: Vec<Cut>,
    by_chance: Option<Chance>,
}

/// Cuts off whoever is talked to, or does not.
#[derive(Debug)]
struct Chance {
    when: When,
    seed: Seed,
    /// Whether it is cut off.
    peers: HashMap<End, bool>,
}

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
        Self { named: peers.iter().map(cut).collect(), by_chance: None }
    }

    /// Some of those who are talked to.
    pub(super) fn by_chance(when: When, seed: Seed) -> Self {
        let seed = seed.of("partition");
        Self { named: Vec::new(), by_chance: Some(Chance { when, seed, peers: HashMap::new() }) }
    }

    /// Whether either end of it is cut off.
    pub(super) fn severs(&mut self, flow: &Flow) -> bool {
        self.named.iter().any(|cut| cut.matches(flow.from) || cut.matches(flow.to))
            || self.by_chance.as_mut().is_some_and(|chance| chance.severs(flow))
    }
}

impl Chance {
    /// A peer is whoever is talked to by somebody who is none. Ports are anybody's guess; which peer
    /// came first is not.
    fn severs(&mut self, flow: &Flow) -> bool {
        let known = self.peers.get(&flow.from).or_else(|| self.peers.get(&flow.to));
        if let Some(is_cut) = known {
            return *is_cut;
        }
        let number = self.peers.len();
        let is_cut = number < PEERS
            && match self.when {
                When::Nth(nth) => number as u64 + 1 == nth,
                When::Rate(share) if number == 0 && share >= OFTEN => true,
                When::Rate(share) => self.seed.nth(number as u64).random().chance(share),
            };
        if number < PEERS {
            self.peers.insert(flow.to, is_cut);
        }
        is_cut
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
    fn some_of_those_who_are_talked_to_are_cut_off_by_the_seed() {
        let cut = |when, seed| {
            let mut partition = Partition::by_chance(when, Seed(seed));
            let mut is_cut = |port: u16| {
                let to = Flow::of(&udp(("127.0.0.1", 9), ("127.0.0.1", port))).unwrap();
                let back = Flow::of(&udp(("127.0.0.1", port), ("127.0.0.1", 9))).unwrap();
                let severed = partition.severs(&to);
                assert_eq!(partition.severs(&back), severed, "both directions");
                assert_eq!(partition.severs(&to), severed, "and again");
                severed
            };
            (1000..1100).map(&mut is_cut).collect::<Vec<bool>>()
        };
        let some = cut(When::Rate(0.3), 1);
        assert!((15..45).contains(&some.iter().filter(|cut| **cut).count()), "{some:?}");
        assert_eq!(cut(When::Rate(0.3), 1), some);
        assert_ne!(cut(When::Rate(0.3), 2), some);
        assert!((0..20).all(|seed| cut(When::Rate(0.7), seed)[0]));
        assert_eq!(cut(When::Nth(2), 1).iter().position(|cut| *cut), Some(1));
    }

    #[test]
    fn somebody_of_whom_nothing_is_known_is_everybody() {
        assert!(severs(None, None, &udp(("::1", 1), ("::1", 2))));
        assert!(!Partition::default().severs(&Flow::UNKNOWN));
    }
}

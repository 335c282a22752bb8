//! Decides which peers are cut off: the named ones, or some of those that the call talks to, by
//! chance.

use std::collections::HashMap;
use std::net::IpAddr;

use menace_model::{FaultTrigger, PartitionPeer, Seed};

use super::packet::{FlowEndpoint, PacketFlow};

/// From this rate on the first peer is always cut off: many calls have only one.
const FIRST_PEER_MIN_RATE: f64 = 0.5;
/// The most peers that are remembered; later ones can be reached.
const MAX_PEERS: usize = 1 << 16;

/// The peers of one call that are cut off: packets from or to them are dropped.
#[derive(Debug, Default)]
pub(super) struct LinkPartition {
    rules: Vec<PartitionRule>,
    random: Option<RandomPartition>,
}

/// Cuts off peers by chance, with the call's seed.
#[derive(Debug)]
struct RandomPartition {
    trigger: FaultTrigger,
    seed: Seed,
    /// Whether each known peer is cut off.
    peers: HashMap<FlowEndpoint, bool>,
}

/// Matches endpoints; `None` matches every address or port.
#[derive(Debug, Clone)]
struct PartitionRule {
    addresses: Option<Vec<IpAddr>>,
    port: Option<u16>,
}

impl LinkPartition {
    /// Cuts off the given peers. `hosts` is the text of `/etc/hosts`: names are looked up there
    /// only, since the sandbox has no other way to resolve one.
    pub(super) fn new(peers: &[PartitionPeer], hosts: &str) -> Self {
        let cut = |peer: &PartitionPeer| PartitionRule {
            addresses: peer.host.as_deref().map(|host| resolve_host(host, hosts)),
            port: peer.port,
        };
        Self { rules: peers.iter().map(cut).collect(), random: None }
    }

    /// Cuts off some of the peers that the call talks to.
    pub(super) fn random(when: FaultTrigger, seed: Seed) -> Self {
        let seed = seed.derive("partition");
        Self {
            rules: Vec::new(),
            random: Some(RandomPartition { trigger: when, seed, peers: HashMap::new() }),
        }
    }

    /// Whether sender or receiver of the flow is cut off.
    pub(super) fn is_partitioned(&mut self, flow: &PacketFlow) -> bool {
        self.rules.iter().any(|cut| cut.matches(flow.from) || cut.matches(flow.to))
            || self.random.as_mut().is_some_and(|chance| chance.is_partitioned(flow))
    }
}

impl RandomPartition {
    /// A flow's receiver is a new peer unless one of its ends is a known peer. Peers are numbered
    /// in the order of their first packet, and the number seeds the decision: ports would differ
    /// from run to run.
    fn is_partitioned(&mut self, flow: &PacketFlow) -> bool {
        let known = self.peers.get(&flow.from).or_else(|| self.peers.get(&flow.to));
        if let Some(is_cut) = known {
            return *is_cut;
        }
        let number = self.peers.len();
        let is_cut = number < MAX_PEERS
            && match self.trigger {
                FaultTrigger::Nth(nth) => number as u64 + 1 == nth,
                FaultTrigger::Rate(share) if number == 0 && share >= FIRST_PEER_MIN_RATE => true,
                FaultTrigger::Rate(share) => {
                    self.seed.derive_nth(number as u64).rng().chance(share)
                }
            };
        if number < MAX_PEERS {
            self.peers.insert(flow.to, is_cut);
        }
        is_cut
    }
}

impl PartitionRule {
    fn matches(&self, end: FlowEndpoint) -> bool {
        self.addresses.as_ref().is_none_or(|addresses| addresses.contains(&end.address))
            && self.port.is_none_or(|port| end.port == Some(port))
    }
}

fn resolve_host(host: &str, hosts: &str) -> Vec<IpAddr> {
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
    use super::super::packet::tests::udp_packet;
    use super::*;

    const HOSTS_FILE: &str = "127.0.0.1 localhost sandbox\n::1 localhost # again\n";

    fn is_partitioned(host: Option<&str>, port: Option<u16>, packet: &[u8]) -> bool {
        let peer = PartitionPeer { host: host.map(str::to_owned), port };
        LinkPartition::new(&[peer], HOSTS_FILE).is_partitioned(&PacketFlow::parse(packet).unwrap())
    }

    #[test]
    fn a_port_is_cut_off_in_both_directions_and_no_other() {
        let (there, back) =
            (udp_packet(("127.0.0.1", 9), ("127.0.0.1", 80)), udp_packet(("::1", 80), ("::1", 9)));
        assert!(is_partitioned(None, Some(80), &there) && is_partitioned(None, Some(80), &back));
        assert!(!is_partitioned(None, Some(81), &there));
    }

    #[test]
    fn a_host_is_cut_off_by_address_or_name() {
        let packet = udp_packet(("127.0.0.1", 9), ("127.0.0.1", 80));
        for host in ["127.0.0.1", "localhost", "LocalHost", "sandbox", "::ffff:127.0.0.1"] {
            assert!(is_partitioned(Some(host), None, &packet), "{host}");
            assert!(!is_partitioned(Some(host), Some(81), &packet), "{host}");
        }
        assert!(!is_partitioned(Some("127.0.0.2"), None, &packet));
        assert!(!is_partitioned(Some("api.example.com"), None, &packet));
        assert!(is_partitioned(Some("localhost"), Some(80), &udp_packet(("::1", 9), ("::1", 80))));
    }

    #[test]
    fn the_port_has_to_be_that_of_the_host() {
        let packet = udp_packet(("127.0.0.1", 80), ("127.0.0.2", 9));
        assert!(is_partitioned(Some("127.0.0.1"), Some(80), &packet));
        assert!(!is_partitioned(Some("127.0.0.2"), Some(80), &packet));
    }

    #[test]
    fn the_seed_decides_which_peers_are_partitioned() {
        let cut = |when, seed| {
            let mut partition = LinkPartition::random(when, Seed(seed));
            let mut is_cut = |port: u16| {
                let to =
                    PacketFlow::parse(&udp_packet(("127.0.0.1", 9), ("127.0.0.1", port))).unwrap();
                let back =
                    PacketFlow::parse(&udp_packet(("127.0.0.1", port), ("127.0.0.1", 9))).unwrap();
                let severed = partition.is_partitioned(&to);
                assert_eq!(partition.is_partitioned(&back), severed, "both directions");
                assert_eq!(partition.is_partitioned(&to), severed, "and again");
                severed
            };
            (1000..1100).map(&mut is_cut).collect::<Vec<bool>>()
        };
        let some = cut(FaultTrigger::Rate(0.3), 1);
        assert!((15..45).contains(&some.iter().filter(|cut| **cut).count()), "{some:?}");
        assert_eq!(cut(FaultTrigger::Rate(0.3), 1), some);
        assert_ne!(cut(FaultTrigger::Rate(0.3), 2), some);
        assert!((0..20).all(|seed| cut(FaultTrigger::Rate(0.7), seed)[0]));
        assert_eq!(cut(FaultTrigger::Nth(2), 1).iter().position(|cut| *cut), Some(1));
    }

    #[test]
    fn a_peer_without_host_and_port_matches_every_endpoint() {
        assert!(is_partitioned(None, None, &udp_packet(("::1", 1), ("::1", 2))));
        assert!(!LinkPartition::default().is_partitioned(&PacketFlow::UNKNOWN));
    }
}

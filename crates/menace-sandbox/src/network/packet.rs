//! Reads sender and receiver of a packet from its first bytes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How many bytes of a packet identify its flow.
pub(super) const FLOW_PREFIX_BYTES: u32 = 128;

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
/// Extension headers between the IPv6 header and the payload; all have the same layout.
const IPV6_EXTENSION_HEADERS: [u8; 3] = [0, 43, 60];

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FlowEndpoint {
    pub address: IpAddr,
    /// Only TCP and UDP have ports.
    pub port: Option<u16>,
}

impl fmt::Display for FlowEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.address, self.port) {
            (IpAddr::V6(address), Some(port)) => write!(f, "[{address}]:{port}"),
            (address, Some(port)) => write!(f, "{address}:{port}"),
            (address, None) => write!(f, "{address}"),
        }
    }
}

/// All packets of one sender to one receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PacketFlow {
    protocol: u8,
    pub from: FlowEndpoint,
    pub to: FlowEndpoint,
}

impl PacketFlow {
    /// The flow of an IPv4 or IPv6 packet; nothing for anything else.
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::parse_ipv4(packet),
            6 => Self::parse_ipv6(packet),
            _ => None,
        }
    }

    fn parse_ipv4(packet: &[u8]) -> Option<Self> {
        let header = usize::from(packet[0] & 0xf) * 4;
        let address = |at: usize| -> Option<IpAddr> {
            let bytes: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
            Some(Ipv4Addr::from(bytes).into())
        };
        Some(Self::new(*packet.get(9)?, address(12)?, address(16)?, packet.get(header..)?))
    }

    fn parse_ipv6(packet: &[u8]) -> Option<Self> {
        let address = |at: usize| -> Option<IpAddr> {
            let bytes: [u8; 16] = packet.get(at..at + 16)?.try_into().ok()?;
            Some(Ipv6Addr::from(bytes).into())
        };
        let (from, to) = (address(8)?, address(24)?);
        let (mut next, mut rest) = (*packet.get(6)?, packet.get(40..)?);
        while IPV6_EXTENSION_HEADERS.contains(&next)
            && let [following, length, ..] = *rest
            && let Some(behind) = rest.get((usize::from(length) + 1) * 8..)
        {
            (next, rest) = (following, behind);
        }
        Some(Self::new(next, from, to, rest))
    }

    fn new(protocol: u8, from: IpAddr, to: IpAddr, carried: &[u8]) -> Self {
        let (mut ports, has_ports) =
            ((None, None), matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP));
        if has_ports && let [a, b, c, d, ..] = *carried {
            ports = (Some(u16::from_be_bytes([a, b])), Some(u16::from_be_bytes([c, d])));
        }
        Self {
            protocol,
            from: FlowEndpoint { address: from, port: ports.0 },
            to: FlowEndpoint { address: to, port: ports.1 },
        }
    }

    /// Stands for packets that cannot be parsed and for flows beyond the number that is tracked.
    pub(super) const UNKNOWN: Self = {
        let unspecified = FlowEndpoint { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), port: None };
        Self { protocol: 0, from: unspecified, to: unspecified }
    };
}

impl fmt::Display for PacketFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.protocol {
            PROTOCOL_TCP => f.write_str("TCP")?,
            PROTOCOL_UDP => f.write_str("UDP")?,
            other => write!(f, "protocol {other}")?,
        }
        write!(f, " from {} to {}", self.from, self.to)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A UDP packet from one end to another, without content.
    pub(crate) fn udp_packet(from: (&str, u16), to: (&str, u16)) -> Vec<u8> {
        let addresses = (from.0.parse().unwrap(), to.0.parse().unwrap());
        let mut packet = match addresses {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let mut header = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, PROTOCOL_UDP, 0, 0];
                header.extend(from.octets());
                header.extend(to.octets());
                header
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let mut header = vec![0x60, 0, 0, 0, 0, 8, PROTOCOL_UDP, 64];
                header.extend(from.octets());
                header.extend(to.octets());
                header
            }
            _ => panic!("of one kind"),
        };
        packet.extend(from.1.to_be_bytes());
        packet.extend(to.1.to_be_bytes());
        packet.extend([0, 8, 0, 0]);
        packet
    }

    pub(crate) fn udp_flow(from: u16, to: u16) -> PacketFlow {
        PacketFlow::parse(&udp_packet(("127.0.0.1", from), ("127.0.0.1", to))).unwrap()
    }

    #[test]
    fn both_ends_are_read() {
        let shown = |from, to| PacketFlow::parse(&udp_packet(from, to)).unwrap().to_string();
        assert_eq!(
            shown(("127.0.0.1", 5), ("127.0.0.2", 600)),
            "UDP from 127.0.0.1:5 to 127.0.0.2:600"
        );
        assert_eq!(shown(("::1", 5), ("::2", 600)), "UDP from [::1]:5 to [::2]:600");
    }

    #[test]
    fn options_and_extensions_are_passed_over() {
        let plain = udp_packet(("127.0.0.1", 5), ("127.0.0.2", 600));
        let mut with_options = plain.clone();
        with_options[0] = 0x46;
        with_options.splice(20..20, [1, 1, 1, 0]);
        assert_eq!(PacketFlow::parse(&with_options), PacketFlow::parse(&plain));
        let plain = udp_packet(("::1", 5), ("::2", 600));
        let mut extended = plain.clone();
        extended[6] = 60;
        extended.splice(40..40, [PROTOCOL_UDP, 0, 1, 4, 0, 0, 0, 0]);
        assert_eq!(PacketFlow::parse(&extended), PacketFlow::parse(&plain));
    }

    #[test]
    fn nonsense_has_no_flow_and_does_no_harm() {
        for packet in
            [udp_packet(("127.0.0.1", 5), ("127.0.0.2", 6)), udp_packet(("::1", 5), ("::2", 6))]
        {
            for length in 0..packet.len() {
                let flow = PacketFlow::parse(&packet[..length]);
                assert!(flow.is_none_or(|flow| flow.from.port.is_none() || length >= 24));
            }
        }
        assert_eq!(PacketFlow::parse(&[0xff; 60]), None);
    }
}

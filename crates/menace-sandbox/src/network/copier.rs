//! Sends duplicates of packets.

use std::io;
use std::net::{IpAddr, UdpSocket};

use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, setsockopt, socket, sockopt,
};

use super::packet::PacketFlow;
use super::rules;

/// Raw sockets, which send whole packets with their headers. They set [`rules::COPY_MARK`], so that
/// the duplicates are not queued again. `UdpSocket` is only used for its `send_to`.
#[derive(Debug)]
pub(super) struct PacketCopier {
    ipv4: UdpSocket,
    /// Missing where the kernel has no IPv6.
    ipv6: Option<UdpSocket>,
}

impl PacketCopier {
    pub(super) fn open() -> io::Result<Self> {
        let version_6 = open_raw_socket(AddressFamily::Inet6).ok();
        Ok(Self { ipv4: open_raw_socket(AddressFamily::Inet)?, ipv6: version_6 })
    }

    pub(super) fn send(&self, packet: &[u8]) -> io::Result<()> {
        let to = PacketFlow::parse(packet).ok_or(io::ErrorKind::InvalidData)?.to.address;
        let socket = match to {
            IpAddr::V4(_) => &self.ipv4,
            IpAddr::V6(_) => self.ipv6.as_ref().ok_or(io::ErrorKind::Unsupported)?,
        };
        socket.send_to(packet, (to, 0)).map(drop)
    }
}

fn open_raw_socket(family: AddressFamily) -> io::Result<UdpSocket> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(family, SockType::Raw, flags, SockProtocol::Raw)?;
    setsockopt(&fd, sockopt::Mark, &rules::COPY_MARK)?;
    Ok(UdpSocket::from(fd))
}

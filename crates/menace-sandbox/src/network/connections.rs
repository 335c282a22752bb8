//! Ends the TCP connections that closed sockets leave in the kernel.
//!
//! After the processes of a call are gone, the kernel still closes their connections by handshake.
//! That takes up to minutes, during which the ports stay in use.

use std::io;

use nix::sys::socket::SockProtocol;

use super::netlink::{NLM_DUMP, NLM_REQUEST, NetlinkSocket, NetlinkWriter, parse_messages};

// From linux/sock_diag.h and linux/inet_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const SOCK_DESTROY: u16 = 21;
const ALL_STATES: u32 = u32::MAX;
/// `struct inet_diag_sockid`: ports, addresses, interface and cookie, which identify a socket.
const SOCKET_ID_BYTES: usize = 48;
/// Offset of the identification in `struct inet_diag_msg`, behind family, state, timer and
/// retransmissions.
const SOCKET_ID_OFFSET: usize = 4;
/// How many `SOCK_DESTROY` requests are sent at once: few enough for the smallest socket buffer.
const MAX_REQUESTS_PER_SEND: usize = 512;

/// Destroys all connections of the network namespace. On a kernel without `SOCK_DESTROY` they
/// remain until they time out.
pub(super) fn destroy_all() -> io::Result<()> {
    let mut socket = NetlinkSocket::open(SockProtocol::NetlinkSockDiag)?;
    for family in [libc::AF_INET as u8, libc::AF_INET6 as u8] {
        let mut question = NetlinkWriter::default();
        question.write_message(SOCK_DIAG_BY_FAMILY, NLM_REQUEST | NLM_DUMP, |body| {
            write_socket_id(body, family, &[0; SOCKET_ID_BYTES]);
        });
        socket.send(&question)?;
        let mut names: Vec<[u8; SOCKET_ID_BYTES]> = Vec::new();
        while let Some(bytes) = socket.receive()? {
            let found = parse_messages(bytes).filter(|message| message.kind == SOCK_DIAG_BY_FAMILY);
            names.extend(
                found.filter_map(|message| message.body.get(SOCKET_ID_OFFSET..)?.first_chunk()),
            );
        }
        for some in names.chunks(MAX_REQUESTS_PER_SEND) {
            let mut end = NetlinkWriter::default();
            for name in some {
                end.write_message(SOCK_DESTROY, NLM_REQUEST, |body| {
                    write_socket_id(body, family, name);
                });
            }
            socket.send(&end)?;
            // The answers are errors only: the socket is gone already, or the kernel has no
            // `SOCK_DESTROY`.
            while socket.receive()?.is_some() {}
        }
    }
    Ok(())
}

fn write_socket_id(body: &mut NetlinkWriter, family: u8, name: &[u8]) {
    body.write_raw(&[family, libc::IPPROTO_TCP as u8, 0, 0]);
    body.write_raw(&ALL_STATES.to_ne_bytes());
    body.write_raw(name);
}

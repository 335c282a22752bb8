//! Ends the TCP connections that nobody holds any more.
//!
//! When the processes of a call are gone, the kernel goes on trying to close their connections in
//! good manners, for up to minutes, and keeps their ports meanwhile.

use std::io;

use nix::sys::socket::SockProtocol;

use super::netlink::{DUMP, Messages, REQUEST, Socket, messages};

// From linux/sock_diag.h and linux/inet_diag.h.
const BY_FAMILY: u16 = 20;
const DESTROY: u16 = 21;
const EVERY_STATE: u32 = u32::MAX;
/// Ports, addresses, interface and cookie, which name a socket.
const NAME: usize = 48;
/// The name is behind family, state, timer and retransmissions.
const NAME_AT: usize = 4;

/// Ends all of the network namespace's; a kernel that cannot leaves them to die of old age.
pub(super) fn end_all() -> io::Result<()> {
    let mut socket = Socket::open(SockProtocol::NetlinkSockDiag)?;
    for family in [libc::AF_INET as u8, libc::AF_INET6 as u8] {
        let mut question = Messages::default();
        question.message(BY_FAMILY, REQUEST | DUMP, |body| describe(body, family, &[0; NAME]));
        socket.send(&question)?;
        let mut end = Messages::default();
        while let Some(bytes) = socket.receive()? {
            let found = messages(bytes).filter(|message| message.kind == BY_FAMILY);
            for name in found.filter_map(|message| message.body.get(NAME_AT..NAME_AT + NAME)) {
                end.message(DESTROY, REQUEST, |body| describe(body, family, name));
            }
        }
        if !end.is_empty() {
            socket.send(&end)?;
            // What it says is that some are gone already, or that it cannot.
            while socket.receive()?.is_some() {}
        }
    }
    Ok(())
}

fn describe(body: &mut Messages, family: u8, name: &[u8]) {
    body.raw(&[family, libc::IPPROTO_TCP as u8, 0, 0]);
    body.raw(&EVERY_STATE.to_ne_bytes());
    body.raw(name);
}

//! One of the kernel's queues of packets that wait for a verdict.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::socket::SockProtocol;

use super::netlink::{ACKNOWLEDGE, Messages, REQUEST, Socket, attributes, messages};

const SUBSYSTEM: u16 = libc::NFNL_SUBSYS_QUEUE as u16;
const BIND: u8 = libc::NFQNL_CFG_CMD_BIND as u8;
const META: u8 = libc::NFQNL_COPY_META as u8;
const PACKET: u8 = libc::NFQNL_COPY_PACKET as u8;
/// The length of the header that all of netfilter's messages have.
const HEADER: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Accept,
    Drop,
}

/// How a queue is to behave.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// How many bytes of each packet are shown.
    pub seen: u32,
    /// The most packets that may wait.
    pub longest: u32,
    /// Packets that TCP makes in one go, to be cut up later, stay in one piece.
    pub whole: bool,
    /// What there is no room for goes on as if there were no queue.
    pub fails_open: bool,
}

/// A packet that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiting<'a> {
    pub id: u32,
    /// Its beginning.
    pub start: &'a [u8],
    /// The length of all of it.
    pub bytes: usize,
}

/// Open as long as this lives; what waits when it goes is dropped.
#[derive(Debug)]
pub(super) struct Queue {
    number: u16,
    socket: Socket,
    verdicts: Messages,
}

impl Queue {
    pub(super) fn open(number: u16, manner: Manner) -> io::Result<Self> {
        let mut queue = Self {
            number,
            socket: Socket::open(SockProtocol::NetlinkNetFilter)?,
            verdicts: Messages::default(),
        };
        queue.configure(|config| config.attribute(libc::NFQA_CFG_CMD as u16, &[BIND, 0, 0, 0]))?;
        queue.configure(|config| {
            let mode = if manner.seen == 0 { META } else { PACKET };
            let mut parameters = [0; 5];
            parameters[..4].copy_from_slice(&manner.seen.to_be_bytes());
            parameters[4] = mode;
            config.attribute(libc::NFQA_CFG_PARAMS as u16, &parameters);
            config.number(libc::NFQA_CFG_QUEUE_MAXLEN as u16, manner.longest);
            let (gso, open) = (libc::NFQA_CFG_F_GSO, libc::NFQA_CFG_F_FAIL_OPEN);
            let flag = |flag: libc::c_int, set: bool| if set { flag.cast_unsigned() } else { 0 };
            let flags = flag(gso, manner.whole) | flag(open, manner.fails_open);
            config.number(libc::NFQA_CFG_MASK as u16, (gso | open).cast_unsigned());
            config.number(libc::NFQA_CFG_FLAGS as u16, flags);
        })?;
        Ok(queue)
    }

    fn configure(&mut self, body: impl FnOnce(&mut Messages)) -> io::Result<()> {
        let mut request = Messages::default();
        let (kind, number) = (SUBSYSTEM << 8 | libc::NFQNL_MSG_CONFIG as u16, self.number);
        request.message(kind, REQUEST | ACKNOWLEDGE, |message| {
            message.raw(&header(number));
            body(message);
        });
        self.socket.ask(&request)
    }

    /// Shows what arrived, as much as can be read at once; false when nothing did. `judge` says what
    /// becomes of a packet, or lets it wait.
    pub(super) fn receive(
        &mut self,
        mut judge: impl FnMut(Waiting<'_>) -> Option<Verdict>,
    ) -> io::Result<bool> {
        let Some(bytes) = self.socket.receive()? else { return Ok(false) };
        let packets = messages(bytes)
            .filter(|message| message.kind == SUBSYSTEM << 8 | libc::NFQNL_MSG_PACKET as u16)
            .filter_map(|message| waiting(message.body));
        for packet in packets {
            if let Some(verdict) = judge(packet) {
                write_verdict(&mut self.verdicts, self.number, packet.id, verdict);
            }
        }
        Ok(true)
    }

    /// Decides about a packet that was let wait.
    pub(super) fn decide(&mut self, id: u32, verdict: Verdict) {
        write_verdict(&mut self.verdicts, self.number, id, verdict);
    }

    /// Tells the kernel what was decided; it lets the packets go before this returns.
    pub(super) fn speak(&mut self) -> io::Result<()> {
        if self.verdicts.is_empty() {
            return Ok(());
        }
        let said = self.socket.send(&self.verdicts);
        self.verdicts.clear();
        said
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn header(number: u16) -> [u8; HEADER] {
    let [high, low] = number.to_be_bytes();
    [libc::AF_UNSPEC as u8, 0, high, low]
}

fn write_verdict(messages: &mut Messages, number: u16, id: u32, verdict: Verdict) {
    let code = match verdict {
        Verdict::Accept => libc::NF_ACCEPT,
        Verdict::Drop => libc::NF_DROP,
    };
    let mut body = [0; 8];
    body[..4].copy_from_slice(&code.to_be_bytes());
    body[4..].copy_from_slice(&id.to_be_bytes());
    let kind = SUBSYSTEM << 8 | libc::NFQNL_MSG_VERDICT as u16;
    messages.message(kind, REQUEST, |message| {
        message.raw(&header(number));
        message.attribute(libc::NFQA_VERDICT_HDR as u16, &body);
    });
}

fn waiting(body: &[u8]) -> Option<Waiting<'_>> {
    let (mut id, mut start, mut bytes) = (None, &[][..], None);
    for (kind, value) in attributes(body.get(HEADER..)?) {
        let number = || value.first_chunk().map(|number| u32::from_be_bytes(*number));
        match libc::c_int::from(kind) {
            libc::NFQA_PACKET_HDR => id = number(),
            libc::NFQA_PAYLOAD => start = value,
            // Only there when not all of it is shown.
            libc::NFQA_CAP_LEN => bytes = number(),
            _ => {}
        }
    }
    let bytes = bytes.map_or(start.len(), |bytes| bytes as usize);
    Some(Waiting { id: id?, start, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(write: impl FnOnce(&mut Messages)) -> Vec<u8> {
        let mut message = Messages::default();
        message.raw(&header(1));
        write(&mut message);
        message.bytes().to_vec()
    }

    #[test]
    fn packets_are_read_whole_or_in_part() {
        let header = [0, 0, 0, 7, 8, 0, 1];
        let all = body(|message| {
            message.attribute(libc::NFQA_PACKET_HDR as u16, &header);
            message.attribute(libc::NFQA_PAYLOAD as u16, b"packet");
        });
        assert_eq!(waiting(&all), Some(Waiting { id: 7, start: b"packet", bytes: 6 }));
        let part = body(|message| {
            message.attribute(libc::NFQA_PACKET_HDR as u16, &header);
            message.number(libc::NFQA_CAP_LEN as u16, 1500);
            message.attribute(libc::NFQA_PAYLOAD as u16, b"pack");
        });
        assert_eq!(waiting(&part), Some(Waiting { id: 7, start: b"pack", bytes: 1500 }));
    }

    #[test]
    fn what_has_no_number_is_no_packet() {
        assert_eq!(waiting(&body(|_| {})), None);
        assert_eq!(waiting(&body(|m| m.attribute(libc::NFQA_PACKET_HDR as u16, &[1]))), None);
        assert_eq!(waiting(&[]), None);
    }
}

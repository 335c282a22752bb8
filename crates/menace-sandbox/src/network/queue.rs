//! One netfilter queue (`NFQUEUE`), whose packets wait for a verdict from user space.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::socket::SockProtocol;

use super::netlink::{
    NLM_ACK, NLM_REQUEST, NetlinkSocket, NetlinkWriter, parse_attributes, parse_messages,
};

const NFNL_SUBSYSTEM_QUEUE: u16 = libc::NFNL_SUBSYS_QUEUE as u16;
const CMD_BIND: u8 = libc::NFQNL_CFG_CMD_BIND as u8;
const COPY_META: u8 = libc::NFQNL_COPY_META as u8;
const COPY_PACKET: u8 = libc::NFQNL_COPY_PACKET as u8;
/// The length of `struct nfgenmsg`, which begins every netfilter message.
const NFGEN_HEADER_BYTES: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketVerdict {
    Accept,
    Drop,
}

/// The settings of a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueConfig {
    /// How many bytes of each packet the kernel copies to user space.
    pub copied_bytes: u32,
    /// The most packets that may wait in the queue.
    pub max_packets: u32,
    /// Whether large segments that TCP hands down in one piece (GSO) are queued unsplit.
    pub keep_gso: bool,
    /// Whether packets that find the queue full are accepted instead of dropped.
    pub fails_open: bool,
}

/// A packet that waits for its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueuedPacket<'a> {
    pub id: u32,
    /// The first [`QueueConfig::copied_bytes`] bytes of the packet.
    pub prefix: &'a [u8],
    /// The length of the whole packet.
    pub total_bytes: usize,
}

/// A bound queue. Dropping it unbinds the queue, and the kernel drops the packets in it.
#[derive(Debug)]
pub(super) struct PacketQueue {
    number: u16,
    socket: NetlinkSocket,
    verdicts: NetlinkWriter,
}

impl PacketQueue {
    pub(super) fn open(number: u16, queue_config: QueueConfig) -> io::Result<Self> {
        let mut queue = Self {
            number,
            socket: NetlinkSocket::open(SockProtocol::NetlinkNetFilter)?,
            verdicts: NetlinkWriter::default(),
        };
        queue.configure(|config| {
            config.write_attribute(libc::NFQA_CFG_CMD as u16, &[CMD_BIND, 0, 0, 0]);
        })?;
        queue.configure(|config| {
            let mode = if queue_config.copied_bytes == 0 { COPY_META } else { COPY_PACKET };
            let mut parameters = [0; 5];
            parameters[..4].copy_from_slice(&queue_config.copied_bytes.to_be_bytes());
            parameters[4] = mode;
            config.write_attribute(libc::NFQA_CFG_PARAMS as u16, &parameters);
            config.write_number(libc::NFQA_CFG_QUEUE_MAXLEN as u16, queue_config.max_packets);
            let (gso, open) = (libc::NFQA_CFG_F_GSO, libc::NFQA_CFG_F_FAIL_OPEN);
            let flag = |flag: libc::c_int, set: bool| if set { flag.cast_unsigned() } else { 0 };
            let flags = flag(gso, queue_config.keep_gso) | flag(open, queue_config.fails_open);
            config.write_number(libc::NFQA_CFG_MASK as u16, (gso | open).cast_unsigned());
            config.write_number(libc::NFQA_CFG_FLAGS as u16, flags);
        })?;
        Ok(queue)
    }

    fn configure(&mut self, body: impl FnOnce(&mut NetlinkWriter)) -> io::Result<()> {
        let mut request = NetlinkWriter::default();
        let (kind, number) =
            (NFNL_SUBSYSTEM_QUEUE << 8 | libc::NFQNL_MSG_CONFIG as u16, self.number);
        request.write_message(kind, NLM_REQUEST | NLM_ACK, |message| {
            message.write_raw(&nfgen_header(number));
            body(message);
        });
        self.socket.request(&request)
    }

    /// Calls `decide` for each packet of one read; false when none was waiting. Without a verdict a
    /// packet stays in the queue until [`Self::set_verdict`].
    pub(super) fn receive(
        &mut self,
        mut decide: impl FnMut(QueuedPacket<'_>) -> Option<PacketVerdict>,
    ) -> io::Result<bool> {
        let Some(bytes) = self.socket.receive()? else { return Ok(false) };
        let packets = parse_messages(bytes)
            .filter(|message| {
                message.kind == NFNL_SUBSYSTEM_QUEUE << 8 | libc::NFQNL_MSG_PACKET as u16
            })
            .filter_map(|message| parse_queued_packet(message.body));
        for packet in packets {
            if let Some(verdict) = decide(packet) {
                write_verdict(&mut self.verdicts, self.number, packet.id, verdict);
            }
        }
        Ok(true)
    }

    /// Records the verdict on a packet that `decide` left in the queue.
    pub(super) fn set_verdict(&mut self, id: u32, verdict: PacketVerdict) {
        write_verdict(&mut self.verdicts, self.number, id, verdict);
    }

    /// Sends the recorded verdicts; the kernel applies them before this returns.
    pub(super) fn send_verdicts(&mut self) -> io::Result<()> {
        if self.verdicts.is_empty() {
            return Ok(());
        }
        let sent = self.socket.send(&self.verdicts);
        self.verdicts.clear();
        sent
    }
}

impl AsFd for PacketQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn nfgen_header(number: u16) -> [u8; NFGEN_HEADER_BYTES] {
    let [high, low] = number.to_be_bytes();
    [libc::AF_UNSPEC as u8, 0, high, low]
}

fn write_verdict(messages: &mut NetlinkWriter, number: u16, id: u32, verdict: PacketVerdict) {
    let code = match verdict {
        PacketVerdict::Accept => libc::NF_ACCEPT,
        PacketVerdict::Drop => libc::NF_DROP,
    };
    let mut body = [0; 8];
    body[..4].copy_from_slice(&code.to_be_bytes());
    body[4..].copy_from_slice(&id.to_be_bytes());
    let kind = NFNL_SUBSYSTEM_QUEUE << 8 | libc::NFQNL_MSG_VERDICT as u16;
    messages.write_message(kind, NLM_REQUEST, |message| {
        message.write_raw(&nfgen_header(number));
        message.write_attribute(libc::NFQA_VERDICT_HDR as u16, &body);
    });
}

fn parse_queued_packet(body: &[u8]) -> Option<QueuedPacket<'_>> {
    let (mut id, mut start, mut bytes) = (None, &[][..], None);
    for (kind, value) in parse_attributes(body.get(NFGEN_HEADER_BYTES..)?) {
        let number = || value.first_chunk().map(|number| u32::from_be_bytes(*number));
        match libc::c_int::from(kind) {
            libc::NFQA_PACKET_HDR => id = number(),
            libc::NFQA_PAYLOAD => start = value,
            // Set only when not the whole packet was copied.
            libc::NFQA_CAP_LEN => bytes = number(),
            _ => {}
        }
    }
    let bytes = bytes.map_or(start.len(), |bytes| bytes as usize);
    Some(QueuedPacket { id: id?, prefix: start, total_bytes: bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(write: impl FnOnce(&mut NetlinkWriter)) -> Vec<u8> {
        let mut message = NetlinkWriter::default();
        message.write_raw(&nfgen_header(1));
        write(&mut message);
        message.bytes().to_vec()
    }

    #[test]
    fn packets_are_read_whole_or_in_part() {
        let header = [0, 0, 0, 7, 8, 0, 1];
        let all = body(|message| {
            message.write_attribute(libc::NFQA_PACKET_HDR as u16, &header);
            message.write_attribute(libc::NFQA_PAYLOAD as u16, b"packet");
        });
        assert_eq!(
            parse_queued_packet(&all),
            Some(QueuedPacket { id: 7, prefix: b"packet", total_bytes: 6 })
        );
        let part = body(|message| {
            message.write_attribute(libc::NFQA_PACKET_HDR as u16, &header);
            message.write_number(libc::NFQA_CAP_LEN as u16, 1500);
            message.write_attribute(libc::NFQA_PAYLOAD as u16, b"pack");
        });
        assert_eq!(
            parse_queued_packet(&part),
            Some(QueuedPacket { id: 7, prefix: b"pack", total_bytes: 1500 })
        );
    }

    #[test]
    fn what_has_no_number_is_no_packet() {
        assert_eq!(parse_queued_packet(&body(|_| {})), None);
        assert_eq!(
            parse_queued_packet(&body(|m| m.write_attribute(libc::NFQA_PACKET_HDR as u16, &[1]))),
            None
        );
        assert_eq!(parse_queued_packet(&[]), None);
    }
}

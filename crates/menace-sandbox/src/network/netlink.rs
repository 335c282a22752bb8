//! Netlink: messages to the kernel's network stack and back, attribute by attribute.
//!
//! [`super::rules`], [`super::queue`] and [`super::connections`] know what the messages mean.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto,
    setsockopt, socket, sockopt,
};

pub(super) const NLM_REQUEST: u16 = libc::NLM_F_REQUEST as u16;
pub(super) const NLM_ACK: u16 = libc::NLM_F_ACK as u16;
pub(super) const NLM_CREATE: u16 = libc::NLM_F_CREATE as u16;
pub(super) const NLM_APPEND: u16 = libc::NLM_F_APPEND as u16;
pub(super) const NLM_DUMP: u16 = libc::NLM_F_DUMP as u16;

const NLMSG_HEADER_BYTES: usize = 16;
const ATTRIBUTE_HEADER_BYTES: usize = 4;
const NLA_NESTED: u16 = libc::NLA_F_NESTED as u16;
const NLMSG_ERROR: u16 = libc::NLMSG_ERROR as u16;
/// Longer than any message received here: a packet of up to 64 KiB with its attributes.
const MAX_MESSAGE_BYTES: usize = (64 << 10) + (4 << 10);
/// The receive buffer that is requested for a socket; the kernel may grant less.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// A buffer of messages, one after the other.
#[derive(Debug, Default)]
pub(super) struct NetlinkWriter(Vec<u8>);

impl NetlinkWriter {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Writes a message of this kind; `body` writes its content.
    pub(super) fn write_message(&mut self, kind: u16, flags: u16, body: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        self.0.extend([0; 4]);
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(flags.to_ne_bytes());
        // Sequence number and port are 0: each request is answered before the next one is sent.
        self.0.extend([0; 8]);
        body(self);
        let length = u32::try_from(self.0.len() - start).unwrap_or(u32::MAX);
        self.0[start..start + 4].copy_from_slice(&length.to_ne_bytes());
    }

    /// Bytes that are not an attribute: the fixed header of a message's family.
    pub(super) fn write_raw(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    pub(super) fn write_attribute(&mut self, kind: u16, bytes: &[u8]) {
        self.write_with_length(kind, |inner| inner.0.extend(bytes));
    }

    pub(super) fn write_text(&mut self, kind: u16, text: &str) {
        self.write_with_length(kind, |inner| {
            inner.0.extend(text.as_bytes());
            inner.0.push(0);
        });
    }

    /// A big-endian number, as netfilter expects.
    pub(super) fn write_number(&mut self, kind: u16, number: u32) {
        self.write_attribute(kind, &number.to_be_bytes());
    }

    /// An attribute that contains attributes.
    pub(super) fn write_nested(&mut self, kind: u16, body: impl FnOnce(&mut Self)) {
        self.write_with_length(kind | NLA_NESTED, body);
    }

    fn write_with_length(&mut self, kind: u16, body: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        self.0.extend([0; 2]);
        self.0.extend(kind.to_ne_bytes());
        body(self);
        let length = u16::try_from(self.0.len() - start).unwrap_or(u16::MAX);
        self.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
}

/// One message from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NetlinkMessage<'a> {
    pub kind: u16,
    pub body: &'a [u8],
}

impl NetlinkMessage<'_> {
    /// The result of a request, if this message is an acknowledgement or an error.
    fn ack_result(&self) -> Option<io::Result<()>> {
        if self.kind != NLMSG_ERROR {
            return None;
        }
        let code = self.body.first_chunk().map_or(-libc::EBADMSG, |code| i32::from_ne_bytes(*code));
        Some(if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-code)) })
    }
}

/// Splits what one `recv` returned into messages.
pub(super) fn parse_messages(mut bytes: &[u8]) -> impl Iterator<Item = NetlinkMessage<'_>> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = (u32::from_ne_bytes(*length) as usize).min(bytes.len());
        let kind = u16::from_ne_bytes(*rest.first_chunk()?);
        let received = NetlinkMessage { kind, body: bytes.get(NLMSG_HEADER_BYTES..length)? };
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(received)
    })
}

/// The attributes in a message body, after the family's fixed header.
pub(super) fn parse_attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = (u16::from_ne_bytes(*length) as usize).min(bytes.len());
        let kind = u16::from_ne_bytes(*rest.first_chunk()?) & !NLA_NESTED;
        let value = bytes.get(ATTRIBUTE_HEADER_BYTES..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// A socket to one netlink family of the kernel.
#[derive(Debug)]
pub(super) struct NetlinkSocket {
    fd: OwnedFd,
    buffer: Vec<u8>,
}

impl NetlinkSocket {
    pub(super) fn open(protocol: SockProtocol) -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let fd = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        setsockopt(&fd, sockopt::RcvBuf, &RECEIVE_BUFFER_BYTES)?;
        Ok(Self { fd, buffer: vec![0; MAX_MESSAGE_BYTES] })
    }

    pub(super) fn send(&self, messages: &NetlinkWriter) -> io::Result<()> {
        let kernel = NetlinkAddr::new(0, 0);
        sendto(self.fd.as_raw_fd(), messages.bytes(), &kernel, MsgFlags::empty())?;
        Ok(())
    }

    /// What is waiting in the socket, if anything; never blocks.
    pub(super) fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            match recv(self.fd.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => return Ok(Some(&self.buffer[..length])),
                Err(Errno::EAGAIN) => return Ok(None),
                // `ENOBUFS`: the receive buffer overflowed and messages were lost; later ones
                // arrive.
                Err(Errno::EINTR | Errno::ENOBUFS) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sends a request with `NLM_ACK` and reads its acknowledgement. The kernel answers before
    /// `send` returns, so nothing has to wait.
    pub(super) fn request(&mut self, request: &NetlinkWriter) -> io::Result<()> {
        self.send(request)?;
        let mut answer: Option<io::Result<()>> = None;
        // Read to the end: an answer left in the socket would be taken for that of the next
        // request.
        while let Some(bytes) = self.receive()? {
            for result in parse_messages(bytes).filter_map(|message| message.ack_result()) {
                answer = Some(answer.unwrap_or(Ok(())).and(result));
            }
        }
        answer.unwrap_or_else(|| Err(io::Error::other("the kernel did not answer")))
    }
}

impl AsFd for NetlinkSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_messages() -> NetlinkWriter {
        let mut written = NetlinkWriter::default();
        written.write_message(7, NLM_REQUEST, |body| {
            body.write_raw(&[1, 2, 3, 4]);
            body.write_text(1, "abc");
            body.write_nested(2, |inner| inner.write_number(5, 6));
        });
        written.write_message(8, 0, |_| {});
        written
    }

    #[test]
    fn what_was_written_can_be_read() {
        let written = sample_messages();
        let read: Vec<NetlinkMessage<'_>> = parse_messages(written.bytes()).collect();
        assert_eq!(read.iter().map(|message| message.kind).collect::<Vec<_>>(), [7, 8]);
        let inner: Vec<(u16, &[u8])> = parse_attributes(&read[0].body[4..]).collect();
        assert_eq!(inner[0], (1, &b"abc\0"[..]));
        assert_eq!(parse_attributes(inner[1].1).collect::<Vec<_>>(), [(5, &[0, 0, 0, 6][..])]);
        assert_eq!((inner[1].0, inner.len(), read[1].body.len()), (2, 2, 0));
    }

    #[test]
    fn whatever_is_cut_off_ends_the_reading() {
        let written = sample_messages();
        for length in 0..written.bytes().len() {
            for message in parse_messages(&written.bytes()[..length]) {
                parse_attributes(message.body).for_each(drop);
            }
        }
        // A length of nothing would go on for ever.
        assert_eq!(parse_messages(&[0; 64]).count(), 0);
        assert_eq!(parse_attributes(&[0; 64]).count(), 0);
    }

    #[test]
    fn errors_of_the_kernel_are_errors() {
        let refused = (-libc::EPERM).to_ne_bytes();
        let message = NetlinkMessage { kind: NLMSG_ERROR, body: &refused };
        assert_eq!(message.ack_result().unwrap().unwrap_err().raw_os_error(), Some(libc::EPERM));
        assert!(NetlinkMessage { kind: NLMSG_ERROR, body: &[0; 4] }.ack_result().unwrap().is_ok());
        assert!(NetlinkMessage { kind: NLMSG_ERROR, body: &[] }.ack_result().unwrap().is_err());
        assert!(NetlinkMessage { kind: 3, body: &[] }.ack_result().is_none());
    }
}

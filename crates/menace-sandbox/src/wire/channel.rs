//! Frames between the host and init: a length and a `postcard` message, with descriptors if needed.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest frame: a mailbox and all outputs fit. A longer length is not allocated.
const MAX_FRAME_BYTES: usize = 64 << 20;
/// The most descriptors that travel with one frame.
const MAX_DESCRIPTORS_PER_FRAME: usize = 64;

pub(crate) fn send(mut stream: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let frame = encode_frame(message)?;
    stream.write_all(&frame)
}

pub(crate) fn receive<T: DeserializeOwned>(mut stream: &UnixStream) -> io::Result<T> {
    let mut length = [0_u8; 4];
    stream.read_exact(&mut length)?;
    let mut body = vec![0_u8; check_frame_length(length)?];
    stream.read_exact(&mut body)?;
    decode(&body)
}

/// Sends a frame together with descriptors.
pub(crate) fn send_with_descriptors(
    mut stream: &UnixStream,
    message: &impl Serialize,
    descriptors: &[RawFd],
) -> io::Result<()> {
    let frame = encode_frame(message)?;
    let control = [ControlMessage::ScmRights(descriptors)];
    let control = if descriptors.is_empty() { &control[..0] } else { &control[..] };
    let sent = sendmsg::<()>(
        stream.as_raw_fd(),
        &[IoSlice::new(&frame)],
        control,
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    stream.write_all(&frame[sent..])
}

/// Receives what [`send_with_descriptors`] sent.
pub(crate) fn receive_with_descriptors<T: DeserializeOwned>(
    mut stream: &UnixStream,
) -> io::Result<(T, Vec<OwnedFd>)> {
    let mut length = [0_u8; 4];
    let (got, descriptors) = receive_descriptors(stream, &mut length)?;
    stream.read_exact(&mut length[got..])?;
    let mut body = vec![0_u8; check_frame_length(length)?];
    stream.read_exact(&mut body)?;
    Ok((decode(&body)?, descriptors))
}

/// Reads into `bytes`, with the descriptors that came with them; returns how many bytes were read.
pub(crate) fn receive_descriptors(
    stream: &UnixStream,
    bytes: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = nix::cmsg_space!([RawFd; MAX_DESCRIPTORS_PER_FRAME]);
    let mut parts = [IoSliceMut::new(bytes)];
    let message = recvmsg::<()>(
        stream.as_raw_fd(),
        &mut parts,
        Some(&mut space),
        MsgFlags::MSG_CMSG_CLOEXEC,
    )?;
    let mut descriptors = Vec::new();
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(received) = control {
            descriptors.extend(received.into_iter().map(crate::sys::own_descriptor));
        }
    }
    if message.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok((message.bytes, descriptors))
}

/// Sends as much as there is room for, and says how much that was.
pub(crate) fn try_send(stream: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    match nix::sys::socket::send(stream.as_raw_fd(), bytes, flags) {
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
        sent => Ok(sent?),
    }
}

pub(crate) fn encode_frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = postcard::to_extend(message, vec![0_u8; 4]).map_err(io::Error::other)?;
    let length = frame.len() - 4;
    if length > MAX_FRAME_BYTES {
        return Err(io::Error::other("a message is too long"));
    }
    frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(frame)
}

fn check_frame_length(length: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_FRAME_BYTES {
        return Err(io::Error::other("a message claims to be too long"));
    }
    Ok(length)
}

fn decode<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    postcard::from_bytes(body).map_err(io::Error::other)
}

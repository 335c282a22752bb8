//! Frames between init and the guest harness.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::channel;
use super::marshal::{MarshalValue, MarshalWriter};
use crate::confine::UnrecordedPaths;

const FRAME_MAGIC: [u8; 4] = *b"MNC2";
/// How long a message of the zygote may take to arrive, from its first byte to its last.
pub(crate) const MESSAGE_TIMEOUT: Duration = Duration::from_millis(100);
const MAX_REQUEST_BYTES: usize = 16 << 20;
/// How much of a result the harness describes.
const DESCRIPTION_LIMITS: [(&str, i64); 5] =
    [("repr", 4096), ("items", 1000), ("depth", 40), ("message", 4096), ("frames", 100)];

/// A message from the harness.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FromHarnessMessage {
    Ready,
    Imported {
        ok: bool,
        unforkable_state: Vec<String>,
    },
    Forked {
        pid: i32,
    },
    ForkFailed {
        errno: i32,
    },
    Reaped(ReapedProcess),
    /// Another process had reaped it before.
    ReapFailed,
    Swept,
}

/// What the zygote says of a call that it has reaped: a claim, except where init knows better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ReapedProcess {
    pub status: i32,
    pub user_s: f64,
    pub system_s: f64,
    pub max_rss_kib: i64,
}

/// The frame of a message whose body is `marshal`.
pub(crate) fn encode_frame(body: &[u8]) -> io::Result<Vec<u8>> {
    if body.len() > MAX_REQUEST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the arguments are too long"));
    }
    let mut frame = Vec::with_capacity(body.len() + 8);
    frame.extend(FRAME_MAGIC);
    frame.extend((body.len() as u32).to_le_bytes());
    frame.extend(body);
    Ok(frame)
}

/// Sends a body that is `marshal` already.
///
/// All of it must be taken within [`MESSAGE_TIMEOUT`], however slowly the zygote reads.
pub(crate) fn send(stream: &UnixStream, body: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + MESSAGE_TIMEOUT;
    let frame = encode_frame(body)?;
    let mut rest = frame.as_slice();
    loop {
        rest = &rest[channel::try_send(stream, rest)?..];
        let left = deadline.saturating_duration_since(Instant::now());
        if rest.is_empty() {
            return Ok(());
        }
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut fds = [PollFd::new(stream.as_fd(), PollFlags::POLLOUT)];
        match poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Receives one message. Anything malformed is an error: guest code may have written to the socket.
///
/// The whole message must arrive within [`MESSAGE_TIMEOUT`], however slowly its bytes come.
pub(crate) fn receive(stream: &UnixStream) -> io::Result<FromHarnessMessage> {
    let deadline = Instant::now() + MESSAGE_TIMEOUT;
    let mut head = [0_u8; 8];
    read_before(stream, &mut head, deadline)?;
    let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    if head[..4] != FRAME_MAGIC || length > 1 << 20 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no frame of the harness"));
    }
    let mut body = vec![0_u8; length];
    read_before(stream, &mut body, deadline)?;
    let item = MarshalValue::parse(&body).map_err(invalid_data_error)?;
    parse_message(&item).ok_or_else(|| invalid_data_error("no message of the harness"))
}

fn read_before(mut stream: &UnixStream, bytes: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match stream.read(&mut bytes[done..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn invalid_data_error(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn parse_message(item: &MarshalValue) -> Option<FromHarnessMessage> {
    let int = |key| item.get(key).and_then(MarshalValue::as_int);
    let small = |key| int(key).and_then(|value| i32::try_from(value).ok());
    Some(match item.get("op")?.as_text()?.as_str() {
        "ready" => FromHarnessMessage::Ready,
        "imported" => FromHarnessMessage::Imported {
            ok: item.get("ok")?.as_bool()?,
            unforkable_state: item
                .get("unforkable_state")
                .map(MarshalValue::texts)
                .unwrap_or_default(),
        },
        "forked" => match small("pid") {
            Some(pid) => FromHarnessMessage::Forked { pid },
            None => FromHarnessMessage::ForkFailed { errno: small("errno")? },
        },
        "reaped" => match small("status") {
            Some(status) => FromHarnessMessage::Reaped(ReapedProcess {
                status,
                user_s: item.get("utime")?.as_float()?,
                system_s: item.get("stime")?.as_float()?,
                max_rss_kib: int("maxrss")?,
            }),
            None => small("errno").map(|_| FromHarnessMessage::ReapFailed)?,
        },
        "swept" => FromHarnessMessage::Swept,
        _ => return None,
    })
}

/// The first message to the harness: settings that hold for all its calls.
#[derive(Debug)]
pub(crate) struct HarnessSetup<'a> {
    pub repo: &'a Path,
    pub unrecorded_paths: &'a UnrecordedPaths,
    pub seed: u64,
    pub freeze_time: Option<f64>,
    /// What `sys.executable` says.
    pub sys_executable: &'a Path,
    /// The directory of the virtual environment of that.
    pub venv_dir: Option<&'a Path>,
    /// The repository has no part in what `site` runs.
    pub site_excludes_repository: bool,
}

impl HarnessSetup<'_> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = MarshalWriter::default();
        let paths = |out: &mut MarshalWriter, key: &str, paths: &[PathBuf]| {
            out.write_str(key);
            out.open_list(paths.len());
            for path in paths {
                out.write_str(&path.to_string_lossy());
            }
        };
        out.open_dict();
        out.write_str("op");
        out.write_str("setup");
        out.write_str("repo");
        out.write_str(&self.repo.to_string_lossy());
        paths(&mut out, "unrecorded_read", &self.unrecorded_paths.read);
        paths(&mut out, "unrecorded_write", &self.unrecorded_paths.write);
        out.write_str("seed");
        out.write_magnitude(false, self.seed);
        out.write_str("freeze_time");
        match self.freeze_time {
            Some(time) => out.write_float(time),
            None => out.write_none(),
        }
        out.write_str("sys_executable");
        out.write_str(&self.sys_executable.to_string_lossy());
        out.write_str("venv_dir");
        match self.venv_dir {
            Some(directory) => out.write_str(&directory.to_string_lossy()),
            None => out.write_none(),
        }
        out.write_str("site_excludes_repository");
        out.write_bool(self.site_excludes_repository);
        out.write_str("description_limits");
        out.open_dict();
        for (name, value) in DESCRIPTION_LIMITS {
            out.write_str(name);
            out.write_int(value);
        }
        out.close_dict();
        out.close_dict();
        out.0
    }
}

/// Requests a fork that waits for its call. With `warms_fork` the fork makes an empty call first,
/// so that the pages it will write to have been copied.
pub(crate) fn encode_fork_request(warms_fork: bool) -> Vec<u8> {
    let mut out = MarshalWriter::default();
    out.open_dict();
    out.write_str("op");
    out.write_str("fork_ahead");
    out.write_str("warms_fork");
    out.write_bool(warms_fork);
    out.close_dict();
    out.0
}

/// Requests that the zygote reaps a call that has ended.
pub(crate) fn encode_reap(pid: i32) -> Vec<u8> {
    let mut out = MarshalWriter::default();
    out.open_dict();
    out.write_str("op");
    out.write_str("reap");
    out.write_str("pid");
    out.write_int(pid.into());
    out.close_dict();
    out.0
}

/// Requests that the zygote kills everything that a call left running.
pub(crate) fn encode_sweep() -> Vec<u8> {
    let mut out = MarshalWriter::default();
    out.open_dict();
    out.write_str("op");
    out.write_str("sweep");
    out.close_dict();
    out.0
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A well-formed message.
    fn swept_message(padding: usize) -> Vec<u8> {
        let mut out = MarshalWriter::default();
        out.open_dict();
        out.write_str("op");
        out.write_str("swept");
        out.write_str("padding");
        out.write_str(&"x".repeat(padding));
        out.close_dict();
        out.0
    }

    fn frame(magic: [u8; 4], length: usize, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(length).unwrap().to_le_bytes();
        [&magic[..], &length, body].concat()
    }

    fn receive_bytes(bytes: Vec<u8>) -> Result<FromHarnessMessage, io::ErrorKind> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let sender = std::thread::spawn(move || {
            // The receiver refuses the head, and does not read the rest.
            let _ = theirs.write_all(&bytes);
        });
        let received = receive(&ours).map_err(|error| error.kind());
        drop(ours);
        sender.join().unwrap();
        received
    }

    #[test]
    fn only_frames_of_this_version_are_taken() {
        let body = swept_message(0);
        assert_eq!(
            receive_bytes(frame(FRAME_MAGIC, body.len(), &body)),
            Ok(FromHarnessMessage::Swept)
        );
        for magic in [b"MNC1", b"MNC3", b"XNC2", b"2CNM"] {
            let found = receive_bytes(frame(*magic, body.len(), &body));
            assert_eq!(found, Err(io::ErrorKind::InvalidData), "{magic:?}");
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_though_it_could_be_understood() {
        let overhead = swept_message(0).len();
        for (length, is_taken) in [(1 << 20, true), ((1 << 20) + 1, false)] {
            let body = swept_message(length - overhead);
            assert_eq!(body.len(), length);
            let found = receive_bytes(frame(FRAME_MAGIC, length, &body));
            let refused = Err(io::ErrorKind::InvalidData);
            assert_eq!(found, if is_taken { Ok(FromHarnessMessage::Swept) } else { refused });
        }
    }

    /// The sender's socket takes some of it without a reader.
    #[test]
    fn a_zygote_that_reads_nothing_does_not_hold_init_up() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let sent = send(&ours, &vec![0; MAX_REQUEST_BYTES]);
        assert_eq!(sent.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
    }

    #[test]
    fn a_frame_is_as_long_as_it_says() {
        let body = swept_message(0);
        let short = receive_bytes(frame(FRAME_MAGIC, body.len() + 1, &body));
        assert_eq!(short, Err(io::ErrorKind::UnexpectedEof));
        let long = receive_bytes(frame(FRAME_MAGIC, body.len() - 1, &body));
        assert_eq!(long, Err(io::ErrorKind::InvalidData));
    }
}

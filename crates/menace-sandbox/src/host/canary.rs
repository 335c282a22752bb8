//! What a sandbox must not be able to reach: a file, two ports, a socket of the host.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::wire::messages::Probe;

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Exists while a sandbox is being probed.
#[derive(Debug)]
pub(crate) struct Canary {
    file: PathBuf,
    tcp: TcpListener,
    udp: UdpSocket,
    socket: String,
    _listener: UnixListener,
}

impl Canary {
    pub(crate) fn new() -> io::Result<Self> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
        let name = format!("menace-canary-{}-{number}-{now}", std::process::id());
        let file = std::env::temp_dir().join(&name);
        // Never through a link that somebody put there.
        OpenOptions::new().write(true).create_new(true).open(&file)?.write_all(b"tweet")?;
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let udp = UdpSocket::bind(tcp.local_addr()?)?;
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        Ok(Self { file, tcp, udp, socket: name, _listener: listener })
    }

    pub(crate) fn probe(&self) -> io::Result<Probe> {
        Ok(Probe {
            canary: self.file.clone(),
            port: self.tcp.local_addr()?.port(),
            socket: self.socket.clone(),
        })
    }

    /// Nothing arrived: the second half of the proof, from the outside.
    pub(crate) fn is_untouched(&self) -> io::Result<bool> {
        self.tcp.set_nonblocking(true)?;
        self.udp.set_nonblocking(true)?;
        let untouched = std::fs::read(&self.file)? == b"tweet";
        Ok(untouched && self.tcp.accept().is_err() && self.udp.recv(&mut [0; 8]).is_err())
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

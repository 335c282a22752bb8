//! Services of the host, which no guest may reach.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::PathBuf;

use menace_model::Value;
use tempfile::TempDir;

/// Everything that a host may listen on.
pub(crate) struct HostServices {
    tcp: TcpListener,
    udp: UdpSocket,
    abstract_name: String,
    by_name: UnixListener,
    by_path: UnixListener,
    datagrams_by_name: UnixDatagram,
    datagrams_by_path: UnixDatagram,
    directory: TempDir,
}

impl HostServices {
    pub(crate) fn start() -> Self {
        let directory = TempDir::with_prefix("services-").expect("writable");
        let abstract_name = format!("menace-test-{}", std::process::id());
        let named = |name: &str| SocketAddr::from_abstract_name(name).expect("a name");
        let (stream, datagrams) = (named(&abstract_name), named(&format!("{abstract_name}-dgram")));
        let at = |name: &str| directory.path().join(name);
        let services = Self {
            tcp: TcpListener::bind("127.0.0.1:0").expect("a port"),
            udp: UdpSocket::bind("127.0.0.1:0").expect("a port"),
            by_name: UnixListener::bind_addr(&stream).expect("a free name"),
            by_path: UnixListener::bind(at("stream")).expect("a free path"),
            datagrams_by_name: UnixDatagram::bind_addr(&datagrams).expect("a free name"),
            datagrams_by_path: UnixDatagram::bind(at("datagrams")).expect("a free path"),
            abstract_name,
            directory,
        };
        // Every user may: if nothing arrives, the sandbox is the reason.
        for place in
            [services.directory.path().to_owned(), services.at("stream"), services.at("datagrams")]
        {
            fs::set_permissions(place, fs::Permissions::from_mode(0o777)).expect("ours");
        }
        services.tcp.set_nonblocking(true).expect("a socket");
        services.udp.set_nonblocking(true).expect("a socket");
        services.by_name.set_nonblocking(true).expect("a socket");
        services.by_path.set_nonblocking(true).expect("a socket");
        services.datagrams_by_name.set_nonblocking(true).expect("a socket");
        services.datagrams_by_path.set_nonblocking(true).expect("a socket");
        services
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Two ports, then a name and a path for streams, and the same for datagrams.
    pub(crate) fn addresses(&self) -> ([u16; 2], [String; 4]) {
        let path = |name: &str| self.at(name).to_str().expect("a plain path").to_owned();
        let port = |address: std::io::Result<std::net::SocketAddr>| address.expect("bound").port();
        (
            [port(self.tcp.local_addr()), port(self.udp.local_addr())],
            [
                self.abstract_name.clone(),
                path("stream"),
                format!("{}-dgram", self.abstract_name),
                path("datagrams"),
            ],
        )
    }

    pub(crate) fn arguments(&self) -> Vec<Value> {
        let (ports, names) = self.addresses();
        let ports = ports.map(|port| Value::Int(i64::from(port)));
        ports.into_iter().chain(names.iter().map(|name| Value::from(name.as_str()))).collect()
    }

    pub(crate) fn assert_silence(&self) {
        let mut buffer = [0; 64];
        let nothing = [
            self.tcp.accept().map(drop),
            self.udp.recv(&mut buffer).map(drop),
            self.by_name.accept().map(drop),
            self.by_path.accept().map(drop),
            self.datagrams_by_name.recv(&mut buffer).map(drop),
            self.datagrams_by_path.recv(&mut buffer).map(drop),
        ];
        let ways = ["TCP", "UDP", "abstract", "path", "datagram to a name", "datagram to a path"];
        for (arrived, what) in nothing.iter().zip(ways) {
            let kind = arrived.as_ref().err().map(std::io::Error::kind);
            assert_eq!(kind, Some(ErrorKind::WouldBlock), "something arrived by {what}");
        }
    }
}

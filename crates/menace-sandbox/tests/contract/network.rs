//! The guest does not reach services of the host, and the host's processes do not reach the
//! guest's.

use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::PathBuf;

use menace_model::{Value, Verdict};
use menace_sandbox::Tier;
use tempfile::TempDir;

use crate::bench::{ContractBench, build_call, guest, items, text};

crate::on_every_tier![
    services_of_the_host_cannot_be_reached,
    a_guest_can_talk_to_itself_where_it_has_a_network_of_its_own,
    in_safe_mode_there_is_no_network,
    a_service_of_the_guest_cannot_be_reached,
    there_is_no_network_but_the_loopback,
    a_port_that_a_call_used_is_free_for_the_next,
];

const GUEST: &str = guest!("network.py");

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

    fn arguments(&self) -> Vec<Value> {
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

fn services_of_the_host_cannot_be_reached(tier: Tier) {
    let services = HostServices::start();
    let bench = ContractBench::new(tier, GUEST);
    for level in [1, 3] {
        let mut spec = bench.spec();
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        let outcome = session.run(build_call("knock").with(services.arguments()));
        services.assert_silence();
        let answers = outcome.result.value.and_then(|value| value.value).expect("it answers");
        assert!(items(&answers).iter().all(|answer| text(answer) != "connected"), "{answers:?}");
        session.assert_still_works();
    }
}

fn a_guest_can_talk_to_itself_where_it_has_a_network_of_its_own(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    assert_eq!(session.value(build_call("talk_over_a_pair")), Value::from("hello"));
    let outcome = session.run(build_call("talk_to_itself"));
    if tier.has_namespaces() {
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    } else {
        assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
        assert_eq!(outcome.violations[0].kind, "network");
    }
}

fn in_safe_mode_there_is_no_network(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut spec = bench.spec();
    spec.confinement.safe_mode = true;
    for level in [1, 3] {
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        let outcome = session.run(build_call("talk_to_itself"));
        assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
        assert!(outcome.violations[0].detail.starts_with("socket(AF_INET"), "{outcome:#?}");
        let exception = outcome.result.exception.expect("an exception");
        assert_eq!(exception.kind, "PermissionError");
        assert_eq!(session.value(build_call("talk_over_a_pair")), Value::from("hello"));
    }
}

fn a_service_of_the_guest_cannot_be_reached(tier: Tier) {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let bench = ContractBench::new(tier, GUEST);
    std::thread::scope(|scope| {
        let listen = build_call("listen").with([Value::Int(i64::from(port))]).timeout(700);
        let call = scope.spawn(|| bench.session().try_run(listen).expect("an outcome"));
        while !call.is_finished() {
            let reached = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
            assert!(reached.is_err(), "the guest's service can be reached from outside");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
}

fn there_is_no_network_but_the_loopback(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    if tier.has_namespaces() {
        assert_eq!(session.value(build_call("interfaces")), Value::List(vec![Value::from("lo")]));
    }
    let outcome = session.run(build_call("resolve").with([Value::from("example.com")]));
    let answer = outcome.result.value.and_then(|value| value.value).expect("it answers");
    assert_eq!(text(&answer), "gaierror");
}

/// The side that closes a connection first has to remember it for a minute.
fn a_port_that_a_call_used_is_free_for_the_next(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for _ in 0..3 {
        let outcome = session.run(build_call("serve_once").with([Value::Int(5000)]));
        if tier.has_namespaces() {
            assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
            assert_eq!(outcome.notes, Vec::<String>::new());
        } else {
            assert_eq!(outcome.violations[0].kind, "network");
        }
    }
}

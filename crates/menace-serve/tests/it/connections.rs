//! Real connections: slow ones, huge heads, TLS, events while a run goes on.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use menace_serve::{Access, Address, Error, Limits, Server, Tls};
use menace_store::{NewRun, RunId, Store};

use crate::sample::{PLAIN, URL, World, add_worth, guarding, section};

const ANY: Address = Address { host: IpAddr::V4(Ipv4Addr::LOCALHOST), port: 0 };

fn server(world: &World) -> Server {
    Server::start(ANY, None, world.routes()).unwrap()
}

fn connected(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

#[test]
fn a_head_without_end_is_cut_off() {
    let world = World::new(PLAIN);
    let server = server(&world);
    let mut stream = connected(&server);
    let mut answer = String::new();
    let started = Instant::now();
    // The other side may hang up while this is still being written, and what it says may be lost.
    let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ");
    let _ = stream.write_all(&vec![b'x'; 64 << 10]);
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    // For its size: a head that is only late is waited for, for ten seconds.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert!(ureq::get(format!("{}health", server.url())).call().is_ok(), "others are answered");
}

#[test]
fn whoever_is_silent_loses_the_connection_and_others_do_not_wait() {
    let world = World::new(PLAIN);
    let limits = Limits { head: Duration::from_millis(300), ..Limits::default() };
    let server = Server::limited(ANY, None, world.routes(), limits).unwrap();
    let silent: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = connected(&server);
            stream.write_all(b"GET / HTTP/1.1\r\nHost: local").unwrap();
            stream
        })
        .collect();
    let started = Instant::now();
    assert!(ureq::get(format!("{}health", server.url())).call().is_ok());
    for mut stream in silent {
        // An answer that says so, or just the end; without a limit, neither.
        stream.read_to_end(&mut Vec::new()).expect("the other side hangs up");
    }
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[test]
fn a_request_that_takes_too_long_is_given_up() {
    let world = World::new(PLAIN);
    let access = guarding(false).answering(Duration::from_millis(200));
    let server = Server::start(ANY, None, world.dashboard(access)).unwrap();
    let mut stream = connected(&server);
    // The body never comes.
    let form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 20";
    write!(stream, "POST /login HTTP/1.1\r\nHost: localhost\r\n{form}\r\n\r\ntoken=").unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
}

#[test]
fn there_is_room_for_so_many_listeners() {
    let world = World::new(PLAIN);
    let access = Access::new(ANY.host, None, false).unwrap().listened_to_by(2);
    let server = Server::start(ANY, None, world.dashboard(access)).unwrap();
    let listen = || {
        let mut stream = connected(&server);
        stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut reader = BufReader::new(stream);
        let mut answer = String::new();
        reader.read_line(&mut answer).unwrap();
        (answer, reader)
    };
    let listening = [listen(), listen()];
    for (answer, _) in &listening {
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let (refused, _) = listen();
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    let health = ureq::get(format!("{}health", server.url())).call();
    assert!(health.is_ok(), "others are answered: {health:?}");
}

#[test]
fn whoever_does_not_read_loses_the_connection_and_others_are_answered() {
    let world = World::new(PLAIN);
    let unread = Duration::from_millis(200);
    let limits = Limits { connections: 4, unread, ..Limits::default() };
    let server = Server::limited(ANY, None, world.routes(), limits).unwrap();
    let request = b"GET /assets/style.css HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let asking = request.repeat(2000);
    let greedy: Vec<TcpStream> = (0..6)
        .map(|_| {
            let mut stream = connected(&server);
            stream.set_nonblocking(true).unwrap();
            // As much as fits: 24 MB of answers, which nobody takes.
            let _ = stream.write(&asking).unwrap();
            stream
        })
        .collect();
    let health = ureq::get(format!("{}health", server.url()));
    let health = health.config().timeout_global(Some(Duration::from_secs(8))).build().call();
    assert!(health.is_ok(), "{health:?}");
    drop(greedy);
}

#[test]
fn a_port_that_is_taken_is_told() {
    let world = World::new(PLAIN);
    let server = server(&world);
    let taken = Address { port: server.address().port(), ..ANY };
    let again = Server::start(taken, None, World::empty().routes());
    assert!(matches!(again, Err(Error::Listen { .. })), "{again:?}");
    // Whoever tells of it adds the reason.
    let told = again.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(told.contains("another port") && !told.contains("os error"), "{told}");
    drop(server);
    Server::start(taken, None, World::empty().routes()).expect("the port is free again");
}

/// The next event of a stream.
fn event(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> serde_json::Value {
    let data =
        lines.map(Result::unwrap).find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    serde_json::from_str(&data.expect("another event")).unwrap()
}

#[test]
fn a_run_of_another_process_is_followed_while_it_goes_on() {
    let world = World::new(PLAIN);
    let server = server(&world);
    let mut stream = connected(&server);
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines();
    let first = event(&mut lines);
    assert_eq!((&first["run"], &first["finished"]), (&serde_json::Value::Null, &"r-2".into()));

    let (store, _) = Store::open(&world.data(), URL).unwrap();
    let writer = store
        .start_run(&NewRun {
            id: RunId("r-5".into()),
            seed: 1,
            repository: "/repo".into(),
            started_ms: 5_000_000,
            settings: serde_json::json!({}),
        })
        .unwrap();
    let begun = event(&mut lines);
    assert_eq!((&begun["run"], &begun["calls"]), (&"r-5".into(), &0.into()));
    assert_eq!(begun["cycle"], serde_json::Value::Null, "none has come to its end");
    for cycle in [0, 1] {
        add_worth(&writer, cycle, &section(PLAIN), 0.5, None);
        writer.flush().unwrap();
        assert_eq!(event(&mut lines)["cycle"], cycle);
    }
    writer.failure(&crate::sample::failure("fd44444444", PLAIN), 5_000_001, 1).unwrap();
    let found = event(&mut lines);
    assert_eq!(found["failures"], 1);
    drop(writer);
    let over = event(&mut lines);
    assert_eq!(over["run"], serde_json::Value::Null, "its process is gone: {over}");
}

#[test]
fn events_carry_any_text() {
    let world = World::new(PLAIN);
    let server = server(&world);
    let (store, _) = Store::open(&world.data(), URL).unwrap();
    let run = NewRun {
        id: RunId("r-5".into()),
        seed: 1,
        repository: "/repo".into(),
        started_ms: 5_000_000,
        settings: serde_json::json!({}),
    };
    let writer = store.start_run(&run).unwrap();
    let evil = "</script>\r\n\r\nevent: state\ndata: {\"run\": \"another\"}\n\n";
    let section = menace_model::SectionId::new(&format!("{evil}.py"), "f");
    let key = menace_store::CellKey { cycle: 0, section, scenario: evil.into() };
    let outcome =
        menace_model::Outcome::of(menace_model::Verdict::Returned, menace_model::Stage::Call);
    let call = menace_store::CallRecord::of(key, 0, menace_model::Intent::Valid, &outcome);
    writer.call(call).unwrap();
    writer.flush().unwrap();
    let mut stream = connected(&server);
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let told = event(&mut BufReader::new(stream).lines());
    assert_eq!(told["run"], "r-5");
    assert_eq!(told["at"], format!("{evil}.py::f under {evil}"), "it is text, all of it");
}

#[test]
fn the_end_of_a_server_is_the_last_that_listeners_hear() {
    let world = World::new(PLAIN);
    let server = server(&world);
    let mut stream = connected(&server);
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines();
    event(&mut lines);
    let (store, _) = Store::open(&world.data(), URL).unwrap();
    let writer = store
        .start_run(&NewRun {
            id: RunId("r-5".into()),
            seed: 1,
            repository: "/repo".into(),
            started_ms: 5_000_000,
            settings: serde_json::json!({}),
        })
        .unwrap();
    assert_eq!(event(&mut lines)["run"], "r-5");
    // Both at once: there is no time for another look in between.
    drop(writer);
    let started = Instant::now();
    drop(server);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(event(&mut lines)["run"], serde_json::Value::Null);
    assert_eq!(lines.map_while(Result::ok).find(|line| line.starts_with("data")), None);
}

/// A certificate for this machine.
fn certified(world: &World) -> Tls {
    let (certificate, key) = (world.data().join("cert.pem"), world.data().join("key.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "1",
            "-subj",
            "/CN=localhost",
        ])
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("openssl is there");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Tls { certificate, key }
}

#[test]
fn whoever_does_not_agree_on_tls_loses_the_connection() {
    let world = World::new(PLAIN);
    let limits = Limits { handshake: Duration::from_millis(200), ..Limits::default() };
    let server = Server::limited(ANY, Some(&certified(&world)), world.routes(), limits).unwrap();
    let mut stream = connected(&server);
    stream.read_to_end(&mut Vec::new()).expect("the other side hangs up");
}

#[test]
fn tls_is_spoken_where_there_is_a_certificate() {
    let world = World::new(PLAIN);
    let tls = certified(&world);
    let server = Server::start(ANY, Some(&tls), world.routes()).unwrap();
    assert!(server.url().starts_with("https://"));
    let asked = Command::new("openssl")
        .args(["s_client", "-quiet", "-verify_return_error", "-CAfile"])
        .arg(&tls.certificate)
        .args(["-connect", &server.address().to_string()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .and_then(|mut child| {
            let stdin = child.stdin.as_mut().expect("it is piped");
            stdin.write_all(
                b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            )?;
            child.wait_with_output()
        })
        .unwrap();
    let answer = String::from_utf8_lossy(&asked.stdout);
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains(r#"{"status":"ok"}"#),
        "{answer}"
    );

    let swapped = Tls { certificate: tls.key, key: tls.certificate };
    let refused = Server::start(ANY, Some(&swapped), world.routes());
    assert!(matches!(refused, Err(Error::Certificate { .. })), "{refused:?}");
}

//! Real connections: slow ones, huge heads, TLS, events while a run goes on.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use menace_serve::{
    AccessPolicy, ConnectionLimits, HttpServer, ListenAddress, ServeError, TlsFiles,
};
use menace_store::{RunId, RunStartRecord, Store};

use crate::sample::{
    DATABASE_URL, PLAIN_TEXT, SampleData, add_section_score, section_id, token_access,
};

const ANY_LOCAL_PORT: ListenAddress =
    ListenAddress { host: IpAddr::V4(Ipv4Addr::LOCALHOST), port: 0 };

fn start_server(world: &SampleData) -> HttpServer {
    HttpServer::start(ANY_LOCAL_PORT, None, world.routes()).unwrap()
}

fn connect(server: &HttpServer) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

#[test]
fn a_head_without_end_is_cut_off() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = start_server(&world);
    let mut stream = connect(&server);
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
fn a_silent_client_loses_its_connection_and_others_do_not_wait() {
    let world = SampleData::new(PLAIN_TEXT);
    let limits = ConnectionLimits {
        head_timeout: Duration::from_millis(300),
        ..ConnectionLimits::default()
    };
    let server =
        HttpServer::start_with_limits(ANY_LOCAL_PORT, None, world.routes(), limits).unwrap();
    let silent: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = connect(&server);
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
    let world = SampleData::new(PLAIN_TEXT);
    let access = token_access(false).with_answer_timeout(Duration::from_millis(200));
    let server = HttpServer::start(ANY_LOCAL_PORT, None, world.dashboard(access)).unwrap();
    let mut stream = connect(&server);
    // The body never comes.
    let form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 20";
    write!(stream, "POST /login HTTP/1.1\r\nHost: localhost\r\n{form}\r\n\r\ntoken=").unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
}

#[test]
fn there_is_room_for_so_many_listeners() {
    let world = SampleData::new(PLAIN_TEXT);
    let access = AccessPolicy::new(ANY_LOCAL_PORT.host, None, false).unwrap().with_max_listeners(2);
    let server = HttpServer::start(ANY_LOCAL_PORT, None, world.dashboard(access)).unwrap();
    let listen = || {
        let mut stream = connect(&server);
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
fn a_client_that_does_not_read_loses_its_connection_and_others_are_answered() {
    let world = SampleData::new(PLAIN_TEXT);
    let unread = Duration::from_millis(200);
    let limits = ConnectionLimits {
        max_connections: 4,
        write_timeout: unread,
        ..ConnectionLimits::default()
    };
    let server =
        HttpServer::start_with_limits(ANY_LOCAL_PORT, None, world.routes(), limits).unwrap();
    let request = b"GET /assets/style.css HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let asking = request.repeat(2000);
    let greedy: Vec<TcpStream> = (0..6)
        .map(|_| {
            let mut stream = connect(&server);
            stream.set_nonblocking(true).unwrap();
            // As much as fits: 24 MB of answers, which the client does not read.
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
fn a_port_that_is_taken_is_reported() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = start_server(&world);
    let taken = ListenAddress { port: server.address().port(), ..ANY_LOCAL_PORT };
    let again = HttpServer::start(taken, None, SampleData::empty().routes());
    assert!(matches!(again, Err(ServeError::Listen { .. })), "{again:?}");
    // The command that prints the error adds its source.
    let message = again.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(message.contains("another port") && !message.contains("os error"), "{message}");
    drop(server);
    HttpServer::start(taken, None, SampleData::empty().routes()).expect("the port is free again");
}

/// The next event of a stream.
fn next_event(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> serde_json::Value {
    let data =
        lines.map(Result::unwrap).find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    serde_json::from_str(&data.expect("another event")).unwrap()
}

#[test]
fn a_run_of_another_process_is_followed_while_it_goes_on() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = start_server(&world);
    let mut stream = connect(&server);
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines();
    let first = next_event(&mut lines);
    assert_eq!(
        (&first["run"], &first["last_finished_run"]),
        (&serde_json::Value::Null, &"r-2".into())
    );

    let (store, _) = Store::open(&world.data_dir(), DATABASE_URL).unwrap();
    let writer = store
        .start_run(&RunStartRecord {
            id: RunId("r-5".into()),
            seed: 1,
            repository: "/repo".into(),
            started_ms: 5_000_000,
            settings: serde_json::json!({}),
        })
        .unwrap();
    let begun = next_event(&mut lines);
    assert_eq!((&begun["run"], &begun["calls"]), (&"r-5".into(), &0.into()));
    assert_eq!(begun["cycle"], serde_json::Value::Null, "none has come to its end");
    for cycle in [0, 1] {
        add_section_score(&writer, cycle, &section_id(PLAIN_TEXT), 0.5, None);
        writer.flush().unwrap();
        assert_eq!(next_event(&mut lines)["cycle"], cycle);
    }
    writer
        .record_failure(&crate::sample::sample_failure("fd44444444", PLAIN_TEXT), 5_000_001, 1)
        .unwrap();
    let found = next_event(&mut lines);
    assert_eq!(found["failures"], 1);
    drop(writer);
    let over = next_event(&mut lines);
    assert_eq!(over["run"], serde_json::Value::Null, "its process is gone: {over}");
}

#[test]
fn events_carry_any_text() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = start_server(&world);
    let (store, _) = Store::open(&world.data_dir(), DATABASE_URL).unwrap();
    let run = RunStartRecord {
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
        menace_model::Outcome::new(menace_model::Verdict::Returned, menace_model::CallStage::Call);
    let call =
        menace_store::CallRecord::from_outcome(key, 0, menace_model::InputIntent::Valid, &outcome);
    writer.record_call(call).unwrap();
    writer.flush().unwrap();
    let mut stream = connect(&server);
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let event = next_event(&mut BufReader::new(stream).lines());
    assert_eq!(event["run"], "r-5");
    assert_eq!(
        event["current_call"],
        format!("{evil}.py::f under {evil}"),
        "it is text, all of it"
    );
}

#[test]
fn the_last_event_is_that_of_the_end_of_the_server() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = start_server(&world);
    let mut stream = connect(&server);
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines();
    next_event(&mut lines);
    let (store, _) = Store::open(&world.data_dir(), DATABASE_URL).unwrap();
    let writer = store
        .start_run(&RunStartRecord {
            id: RunId("r-5".into()),
            seed: 1,
            repository: "/repo".into(),
            started_ms: 5_000_000,
            settings: serde_json::json!({}),
        })
        .unwrap();
    assert_eq!(next_event(&mut lines)["run"], "r-5");
    // Both at once: there is no time for another look in between.
    drop(writer);
    let started = Instant::now();
    drop(server);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(next_event(&mut lines)["run"], serde_json::Value::Null);
    assert_eq!(lines.map_while(Result::ok).find(|line| line.starts_with("data")), None);
}

/// A certificate for this machine.
fn write_certificate(world: &SampleData) -> TlsFiles {
    let (certificate, key) = (world.data_dir().join("cert.pem"), world.data_dir().join("key.pem"));
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
    TlsFiles { certificate, key }
}

#[test]
fn a_client_without_a_tls_handshake_loses_its_connection() {
    let world = SampleData::new(PLAIN_TEXT);
    let limits = ConnectionLimits {
        handshake_timeout: Duration::from_millis(200),
        ..ConnectionLimits::default()
    };
    let server = HttpServer::start_with_limits(
        ANY_LOCAL_PORT,
        Some(&write_certificate(&world)),
        world.routes(),
        limits,
    )
    .unwrap();
    let mut stream = connect(&server);
    stream.read_to_end(&mut Vec::new()).expect("the other side hangs up");
}

#[test]
fn tls_is_spoken_where_there_is_a_certificate() {
    let world = SampleData::new(PLAIN_TEXT);
    let tls = write_certificate(&world);
    let server = HttpServer::start(ANY_LOCAL_PORT, Some(&tls), world.routes()).unwrap();
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

    let swapped = TlsFiles { certificate: tls.key, key: tls.certificate };
    let refused = HttpServer::start(ANY_LOCAL_PORT, Some(&swapped), world.routes());
    assert!(matches!(refused, Err(ServeError::Certificate { .. })), "{refused:?}");
}

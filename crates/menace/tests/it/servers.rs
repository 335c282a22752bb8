//! `menace report`, `menace dashboard` and the exporters, as their users meet them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{SANDBOX_VARIABLES, TestDirectory};

const HALF_MODULE: &str = "def half(n: int) -> float:\n    return 10 / n\n";

fn make_repo() -> TestDirectory {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    place.write("repo/desk.py", HALF_MODULE);
    place
}

const RUN_COMMAND: [&str; 9] = [
    "run",
    "--repo",
    "repo",
    "--no-depth",
    "--calls-per-cell",
    "2",
    "--seed",
    "1",
    "--budget=none",
];

/// A port that no process listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A program that ends with the test.
struct RunningProgram(Child);

impl RunningProgram {
    fn start(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// The first line that it prints.
    fn first_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn http_get(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn parse_port(line: &str) -> u16 {
    let after = line.split("127.0.0.1:").nth(1).unwrap_or_else(|| panic!("no address: {line}"));
    after.split('/').next().unwrap().parse().unwrap()
}

#[test]
fn a_run_leaves_a_report_and_can_be_watched_meanwhile() {
    let place = make_repo();
    let [dashboard, metrics, self_tests, synergy] = [(); 4].map(|()| free_port());
    let metrics_flag = metrics.to_string();
    let mut command =
        place.command(&[&RUN_COMMAND[..], &["--metrics-port", &metrics_flag]].concat());
    command.envs(SANDBOX_VARIABLES).env("EXPORT_SYNERGY_METRICS", "1");
    command.env("SYNERGY_METRICS_PORT", synergy.to_string());
    command.env("SELF_TEST_METRICS_PORT", self_tests.to_string());
    command.env("AUTO_DASHBOARD_PORT", dashboard.to_string());
    let mut running = RunningProgram::start(&mut command);
    let started = Instant::now();
    let listening = std::thread::spawn(move || {
        let events = std::iter::repeat_with(|| {
            std::thread::sleep(Duration::from_millis(20));
            http_get(dashboard, "/events").ok()
        });
        events.take(3000).flatten().next().expect("the dashboard listens soon")
    });
    let addresses = [
        (dashboard, "/health"),
        (metrics, "/metrics"),
        (self_tests, "/metrics"),
        (synergy, "/metrics"),
        (synergy, "/health"),
    ];
    let mut responses = addresses.map(|_| None);
    // It listens before it calls anything, and until the end.
    while running.0.try_wait().unwrap().is_none() && started.elapsed() < Duration::from_mins(2) {
        for (response, (port, path)) in responses.iter_mut().zip(addresses) {
            if response.is_none() {
                *response = http_get(port, path).ok().filter(|answer| !answer.is_empty());
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut out = String::new();
    running.0.stdout.as_mut().unwrap().read_to_string(&mut out).unwrap();
    assert!(running.0.wait().unwrap().success(), "{out}");
    let [health, scraped, tested, synergy, synergy_health] =
        responses.map(|answer| answer.expect("it answered meanwhile"));
    assert!(health.ends_with(r#"{"status":"ok"}"#), "{health}");
    assert!(scraped.contains("menace_build_info"), "{scraped}");
    for exporter in [tested, synergy] {
        assert!(
            exporter.starts_with("HTTP/1.1 200") && exporter.contains("version=0.0.4"),
            "{exporter}"
        );
        assert!(!exporter.contains("menace_build_info"), "only its own gauges: {exporter}");
    }
    assert!(synergy_health.ends_with(r#"{"status":"ok"}"#), "{synergy_health}");
    http_get(dashboard, "/health").expect_err("the port is closed with the run");
    let events = listening.join().unwrap();
    let states: Vec<Value> = events
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
        .collect();
    let ids: Vec<&str> = states.iter().filter_map(|state| state["run"].as_str()).collect();
    assert!(ids.first().is_some_and(|id| id.starts_with("r-")), "it was followed: {events}");
    let last = states.last().unwrap();
    assert_eq!(last["run"], Value::Null, "the end is sent too: {events}");
    assert_eq!(last["last_finished_run"].as_str(), ids.last().copied(), "{events}");

    assert!(out.contains("sandbox_data/report.html"), "{out}");
    let page = fs::read_to_string(place.path().join("sandbox_data/report.html")).unwrap();
    assert!(page.contains("desk.py") && page.contains("ZeroDivisionError"), "{page}");
    assert!(page.contains("<dt>Smallest call</dt><dd><code>half(0)</code>"), "{page}");

    let again = place.run(&["report", "--out", "mine.html"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    let mine = fs::read_to_string(place.path().join("mine.html")).unwrap();
    assert!(mine.contains("return 10 / n"), "the source is in it");
    let expected = ["selection everything", "isolation ", "python ", "scenarios "];
    assert!(expected.iter().all(|what| mine.contains(what)), "what was run: {mine}");
    assert!(mine.contains("Import graph of 1 module with"), "the repository was looked at");
}

#[test]
fn a_report_needs_a_run() {
    let place = TestDirectory::new();
    let ran = place.run(&["report"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("`menace run` comes first"), "{}", ran.err);
    assert!(!place.path().join("report.html").exists());
}

#[test]
fn the_dashboard_says_where_it_is_and_shows_the_history_that_is_named() {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("other")).unwrap();
    place.write("other/roi_history.json", r#"{"roi_history": [0.5], "roi_deltas": [0.25]}"#);
    let arguments = ["dashboard", "--file", "other/roi_history.json", "--port", "0"];
    let mut running = RunningProgram::start(&mut place.command(&arguments));
    let port = parse_port(&running.first_line());
    let answer = http_get(port, "/roi").unwrap();
    let body: Value = serde_json::from_str(answer.rsplit("\r\n\r\n").next().unwrap()).unwrap();
    assert_eq!(body["deltas"], serde_json::json!([0.25]));
    assert!(http_get(port, "/").unwrap().contains("Nothing has been run yet"));
    let missing = place.run(&["dashboard", "--file", "none.json", "--port", "0"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("there is no history `none.json`"), "{}", missing.err);
}

#[test]
fn a_file_that_is_no_history_is_refused_at_once() {
    let place = TestDirectory::new();
    place.write("synergy_history.db", "SQLite format 3\0 and so on");
    place.write("package.json", r#"{"name": "shop"}"#);
    for file in ["synergy_history.db", "package.json"] {
        let refused = place.run(&["dashboard", "--file", file, "--port", "0"]);
        assert_eq!(refused.code, Some(2), "{file}: {}", refused.err);
        assert!(refused.err.contains("is no history of runs"), "{file}: {}", refused.err);
        assert!(refused.err.contains("menace synergy dashboard"), "{file}: {}", refused.err);
    }
    for file in ["none.db", "package.json"] {
        let refused = place.run(&["synergy", "dashboard", "--file", file, "--port", "0"]);
        assert_eq!(refused.code, Some(2), "{file}: {}", refused.err);
        assert!(refused.err.contains(file), "{}", refused.err);
    }
}

#[test]
fn the_synergy_dashboard_shows_the_history_that_is_named() {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("other")).unwrap();
    let file = place.path().join("other/mine.db");
    let (mut history, _) = menace_store::SynergyHistory::open(&file).unwrap();
    let entry = |roi: f64| std::collections::BTreeMap::from([("synergy_roi".to_owned(), roi)]);
    history.append(&[entry(0.5), entry(-0.125)]).unwrap();
    drop(history);
    let arguments = ["synergy", "dashboard", "--file", "other/mine.db", "--port", "0"];
    let mut running = RunningProgram::start(&mut place.command(&arguments));
    let line = running.first_line();
    assert!(line.trim_end().ends_with("/synergy"), "{line}");
    let port = parse_port(&line);
    let page = http_get(port, "/synergy").unwrap();
    assert!(page.contains("synergy_roi over the last 2 cycles"), "{page}");
    assert!(http_get(port, "/metrics").unwrap().contains("\nsynergy_roi -0.125\n"));
}

#[test]
fn other_machines_are_let_in_with_a_token_only() {
    let place = TestDirectory::new();
    let arguments = ["dashboard", "--host", "0.0.0.0", "--port", "0"];
    let refused = place.run(&arguments);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("set DASHBOARD_TOKEN"), "{}", refused.err);
    let short = place.run_with(&[("DASHBOARD_TOKEN", "short")], &arguments);
    assert_eq!(short.code, Some(2));
    assert!(short.err.contains("at least 16"), "{}", short.err);

    let mut command = place.command(&arguments);
    let mut running =
        RunningProgram::start(command.env("DASHBOARD_TOKEN", "a token of some length"));
    let port = parse_port(&running.first_line());
    assert!(http_get(port, "/roi").unwrap().starts_with("HTTP/1.1 401"));
    assert!(http_get(port, "/health").unwrap().starts_with("HTTP/1.1 200"));
}

#[test]
fn a_certificate_makes_it_https() {
    let place = TestDirectory::new();
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
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(place.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut command = place.command(&["dashboard", "--port", "0"]);
    command.env("DASHBOARD_SSL_CERT", "cert.pem").env("DASHBOARD_SSL_KEY", "key.pem");
    let mut running = RunningProgram::start(&mut command);
    let line = running.first_line();
    assert!(line.contains("https://127.0.0.1:"), "{line}");
    let address = format!("127.0.0.1:{}", parse_port(&line));
    let mut asking = Command::new("openssl")
        .args(["s_client", "-quiet", "-verify_return_error", "-CAfile", "cert.pem", "-connect"])
        .arg(address)
        .current_dir(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let request = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    asking.stdin.as_mut().unwrap().write_all(request).unwrap();
    let answer = asking.wait_with_output().unwrap();
    let answer = String::from_utf8_lossy(&answer.stdout);
    assert!(answer.ends_with(r#"{"status":"ok"}"#), "{answer}");
    let isolated = place.run_with(
        &[("DASHBOARD_SSL_CERT", "none.pem"), ("DASHBOARD_SSL_KEY", "key.pem")],
        &["dashboard", "--port", "0"],
    );
    assert_eq!(isolated.code, Some(2), "{}", isolated.err);
    assert!(isolated.err.contains("none.pem"), "{}", isolated.err);
}

#[test]
fn the_synergy_exporter_offers_the_latest_values() {
    let place = TestDirectory::new();
    // A history in the oldest format is read as it is; taking it over is left to runs.
    place.write("synergy_history.json", r#"[{"synergy_roi": 0.5}, {"synergy_roi": -0.125}]"#);
    let arguments = ["synergy", "exporter", "--history-file", "synergy_history.db", "--port", "0"];
    let mut running =
        RunningProgram::start(&mut place.command(&[&arguments[..], &["--interval", "1"]].concat()));
    let line = running.first_line();
    assert!(line.contains("Synergy metrics exporter running"), "{line}");
    let port = parse_port(&line);
    assert!(http_get(port, "/metrics").unwrap().contains("\nsynergy_roi -0.125\n"));
    assert!(http_get(port, "/health").unwrap().ends_with(r#"{"status":"ok"}"#));
    assert!(!place.path().join("synergy_history.db").exists(), "looking makes nothing");
}

#[test]
fn the_dashboard_and_exporters_share_a_port() {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    let port = free_port().to_string();
    let shared = [
        ("AUTO_DASHBOARD_PORT", port.as_str()),
        ("METRICS_PORT", port.as_str()),
        ("SELF_TEST_METRICS_PORT", port.as_str()),
    ];
    // Ports are opened before the repository is looked at, and there is nothing in it.
    for ports in [&shared[..], &shared[1..]] {
        let ran = place.run_with(&[&SANDBOX_VARIABLES[..], ports].concat(), &RUN_COMMAND);
        assert!(ran.err.contains("there are no Python files"), "{}", ran.err);
    }
}

#[test]
fn a_port_that_is_taken_is_reported_before_any_call() {
    let place = make_repo();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = place
        .run_with(&SANDBOX_VARIABLES, &[&RUN_COMMAND[..], &["--dashboard-port", &port]].concat());
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("Choose another port"), "{}", ran.err);
    for name in ["METRICS_PORT", "SELF_TEST_METRICS_PORT"] {
        let ran = place
            .run_with(&[&SANDBOX_VARIABLES[..], &[(name, port.as_str())]].concat(), &RUN_COMMAND);
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.err);
        assert!(ran.err.contains("Choose another port"), "{name}: {}", ran.err);
    }
    assert!(!place.path().join("sandbox_data/menace.db").exists());
}

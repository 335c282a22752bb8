//! What no function should do, done by an import: a finding about that module, and the host is
//! fine.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use menace_model::{CallStage, Outcome, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{CallBuilder, ContractBench, build_call, build_module_call, guest};
use crate::escapes;
use crate::services::HostServices;

crate::on_every_tier![
    an_import_that_prints_a_gigabyte_is_counted_and_cut,
    an_import_that_makes_a_million_files_is_out_of_disk,
    an_import_that_recurses_is_an_exception,
    an_import_that_recurses_without_a_limit_harms_only_itself,
    an_import_that_aborts_or_stops_itself_is_ended,
    an_import_that_connects_reaches_no_service,
    an_import_that_tries_every_port_reaches_no_service,
    an_import_that_sleeps_is_ended_in_time,
    an_import_that_reads_what_is_the_hosts_gets_nothing,
    an_import_that_changes_the_interpreter_changes_nothing,
    forbidden_system_calls_of_an_import_are_reported,
];

const MIB: u64 = 1 << 20;
const BAD_GUEST: &str = guest!("bad.py");

/// A module whose import calls a function of `deeds`, with arguments as JSON.
struct ImportCase {
    bench: ContractBench,
    deed: &'static str,
    with: String,
    timeout_ms: u64,
}

impl ImportCase {
    fn new(tier: Tier, deeds: &str, deed: &'static str, with: &str) -> Self {
        let bench = ContractBench::with_options(tier, guest!("imports/deed.py"), |options| {
            fs::write(options.repo.join("deeds.py"), deeds).expect("ours");
        });
        Self { bench, deed, with: with.to_owned(), timeout_ms: 10_000 }
    }

    /// The import as a call of its own, then a function of the module: twice, and alike.
    fn outcomes(&self) -> [Outcome; 2] {
        let mut spec = self.bench.spec();
        spec.import_limits.timeout_ms = self.timeout_ms;
        spec.import_limits.memory_bytes = Some(64 * MIB);
        spec.import_limits.disk_bytes = Some(8 * MIB);
        spec.environment.push(("DEED".to_owned(), self.deed.to_owned()));
        spec.environment.push(("DEED_WITH".to_owned(), self.with.clone()));
        let limits = spec.import_limits.clone();
        let limited = |ask: CallBuilder| ask.limited(|its| its.clone_from(&limits));
        let mut session = self.bench.session_of(&spec);
        let top_level = session.run(limited(build_module_call()));
        let first = session.run(limited(build_call("fine")));
        let second = session.run(limited(build_call("fine")));
        assert_eq!((first.verdict, first.stage), (second.verdict, second.stage));
        [top_level, first]
    }

    /// Of a module that cannot be imported.
    fn broken(self) -> [Outcome; 2] {
        let outcomes = self.outcomes();
        for outcome in &outcomes {
            assert_ne!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        }
        assert_eq!(outcomes[1].stage, CallStage::Import, "{:#?}", outcomes[1]);
        outcomes
    }

    /// Of a module that can be used all the same.
    fn usable(self) -> [Outcome; 2] {
        let outcomes = self.outcomes();
        assert_eq!(outcomes[1].verdict, Verdict::Returned, "{:#?}", outcomes[1]);
        let fine = outcomes[1].value.as_ref().and_then(|value| value.value.as_ref());
        assert_eq!(fine, Some(&Value::from("fine")));
        outcomes
    }
}

fn an_import_that_prints_a_gigabyte_is_counted_and_cut(tier: Tier) {
    let mut import = ImportCase::new(tier, BAD_GUEST, "print_a_gigabyte", "[]");
    import.timeout_ms = 60_000;
    let [top_level, _] = import.usable();
    assert_eq!(top_level.verdict, Verdict::Returned, "{:?}", top_level.reason);
    assert_eq!((top_level.stdout.bytes, top_level.stdout.truncated), (1 << 30, true));
    assert_eq!(top_level.stdout.text.len(), 64 << 10);
}

fn an_import_that_makes_a_million_files_is_out_of_disk(tier: Tier) {
    let mut import = ImportCase::new(tier, BAD_GUEST, "make_a_million_files", "[]");
    // Only the limit can end it before.
    import.timeout_ms = 60_000;
    for outcome in import.broken() {
        assert_eq!(outcome.verdict, Verdict::OutOfDisk, "{:?}", outcome.reason);
        assert!(outcome.files.touched.len() <= 1000);
    }
}

fn an_import_that_recurses_is_an_exception(tier: Tier) {
    for outcome in ImportCase::new(tier, BAD_GUEST, "recurse", "[]").broken() {
        assert_eq!(outcome.verdict, Verdict::Raised, "{outcome:#?}");
        let exception = outcome.result.exception.expect("it raised");
        assert_eq!(exception.kind, "RecursionError");
        assert!(exception.frames.iter().any(|frame| frame.file == "deeds.py"), "{exception:?}");
    }
}

fn an_import_that_recurses_without_a_limit_harms_only_itself(tier: Tier) {
    let mut import = ImportCase::new(tier, BAD_GUEST, "recurse_without_limit", "[]");
    import.timeout_ms = 4000;
    for outcome in import.broken() {
        let verdict = outcome.verdict;
        assert!(
            matches!(verdict, Verdict::Crashed | Verdict::OutOfMemory | Verdict::TimedOut),
            "{outcome:#?}"
        );
    }
}

fn an_import_that_aborts_or_stops_itself_is_ended(tier: Tier) {
    for outcome in ImportCase::new(tier, BAD_GUEST, "abort", "[]").broken() {
        assert_eq!(outcome.verdict, Verdict::Crashed, "{outcome:#?}");
        assert_eq!(outcome.exit.signal, Some(libc::SIGABRT));
    }
    let mut import = ImportCase::new(tier, BAD_GUEST, "stop_itself", "[]");
    import.timeout_ms = 500;
    for outcome in import.broken() {
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    }
}

fn an_import_that_connects_reaches_no_service(tier: Tier) {
    let service = TcpListener::bind("127.0.0.1:0").expect("a port");
    service.set_nonblocking(true).expect("a socket");
    let port = service.local_addr().expect("bound").port();
    let with = format!(r#"["127.0.0.1", {port}]"#);
    for outcome in ImportCase::new(tier, guest!("network.py"), "tcp", &with).broken() {
        // Where the guest has a network of its own, no service listens there.
        let expected = if tier.has_namespaces() { Verdict::Raised } else { Verdict::Violated };
        assert_eq!(outcome.verdict, expected, "{outcome:#?}");
    }
    let arrived = service.accept().map_err(|error| error.kind());
    assert_eq!(arrived.err(), Some(std::io::ErrorKind::WouldBlock), "a connection arrived");
}

/// TCP, UDP, streams and datagrams over names and paths.
fn an_import_that_tries_every_port_reaches_no_service(tier: Tier) {
    let services = HostServices::start();
    let (ports, names) = services.addresses();
    let names = names.map(|name| format!("{name:?}")).join(", ");
    let with = format!("[{}, {}, {names}]", ports[0], ports[1]);
    let [top_level, _] = ImportCase::new(tier, guest!("network.py"), "knock", &with).usable();
    services.assert_silence();
    // Without a network of its own, asking for one is a violation.
    let expected = if tier.has_namespaces() { Verdict::Returned } else { Verdict::Violated };
    assert_eq!(top_level.verdict, expected, "{top_level:#?}");
}

fn an_import_that_sleeps_is_ended_in_time(tier: Tier) {
    let mut import = ImportCase::new(tier, BAD_GUEST, "sleep", "[]");
    import.timeout_ms = 300;
    for outcome in import.broken() {
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    }
}

fn an_import_that_reads_what_is_the_hosts_gets_nothing(tier: Tier) {
    let (_directory, canary) = escapes::canary();
    let home = escapes::host_home();
    for path in [canary.as_str(), &home, "/proc/1/environ"] {
        let import = ImportCase::new(tier, guest!("escapes.py"), "tell", &format!("[{path:?}]"));
        let [top_level, _] = import.usable();
        let said = &top_level.stdout.text;
        assert!(!said.is_empty() && !said.contains("got "), "{path}: {said}");
        // Where there are mounts, /tmp is the call's own, and nothing of this is in it.
        if !(tier.has_namespaces() && Path::new(path).starts_with("/tmp")) {
            assert_eq!(top_level.verdict, Verdict::Violated, "{path}: {top_level:#?}");
        }
    }
}

fn an_import_that_changes_the_interpreter_changes_nothing(tier: Tier) {
    let import = ImportCase::new(tier, guest!("escapes.py"), "tamper_the_interpreter", "[]");
    let python = import.bench.options().interpreter.executable.clone();
    let before = fs::metadata(&python).and_then(|found| found.modified()).expect("it is there");
    let [top_level, _] = import.usable();
    assert_eq!(top_level.stdout.text, "", "something could be changed");
    let after = fs::metadata(&python).and_then(|found| found.modified()).expect("it is there");
    assert_eq!(before, after);
}

fn forbidden_system_calls_of_an_import_are_reported(tier: Tier) {
    let raw = i64::from(libc::SOCK_RAW);
    let calls: [(&str, libc::c_long, &[i64]); 14] = [
        ("mount", libc::SYS_mount, &[0, 0, 0, 0, 0]),
        ("umount2", libc::SYS_umount2, &[0, 0]),
        ("pivot_root", libc::SYS_pivot_root, &[0, 0]),
        ("unshare", libc::SYS_unshare, &[i64::from(libc::CLONE_NEWUSER)]),
        ("setns", libc::SYS_setns, &[0, 0]),
        ("bpf", libc::SYS_bpf, &[0, 0, 0]),
        ("keyctl", libc::SYS_keyctl, &[0, -3, 0, 0, 0]),
        ("init_module", libc::SYS_init_module, &[0, 0, 0]),
        ("finit_module", libc::SYS_finit_module, &[0, 0, 0]),
        ("kexec_load", libc::SYS_kexec_load, &[0, 0, 0, 0]),
        ("userfaultfd", libc::SYS_userfaultfd, &[0]),
        ("io_uring_setup", libc::SYS_io_uring_setup, &[1, 0]),
        ("perf_event_open", libc::SYS_perf_event_open, &[0, 0, -1, -1, 0]),
        ("socket", libc::SYS_socket, &[i64::from(libc::AF_INET), raw, 1]),
    ];
    for (name, number, arguments) in calls {
        let numbers: Vec<i64> = [number].into_iter().chain(arguments.iter().copied()).collect();
        let with = format!("{numbers:?}");
        let import = ImportCase::new(tier, guest!("escapes.py"), "system_call", &with);
        let [top_level, function] = import.usable();
        assert_eq!(top_level.verdict, Verdict::Violated, "{name}: {top_level:#?}");
        let tried = format!("{name}(");
        let named = top_level.violations.iter().any(|it| it.detail.starts_with(&tried));
        assert!(named, "{name}: {:?}", top_level.violations);
        // Each call of its functions says what their module did.
        let noted = function.notes.iter().any(|note| note.contains(&tried));
        assert!(noted, "{name}: {:?}", function.notes);
    }
}

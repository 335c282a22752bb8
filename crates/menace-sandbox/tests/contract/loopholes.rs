//! Ways out that were found once, and closed.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use menace_model::{Value, Verdict};
use menace_sandbox::Tier;
use nix::fcntl::{FcntlArg, Flock, FlockArg, fcntl};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::Mode;
use tempfile::TempDir;

use crate::bench::{ContractBench, build_call, guest, text};

crate::on_every_tier![
    sockets_in_the_repository_cannot_be_connected_to,
    sockets_beside_the_interpreter_cannot_be_connected_to,
    sockets_beside_the_interpreter_cannot_be_connected_to_without_a_network,
    sockets_of_a_calls_own_can_be_connected_to,
    watches_see_nothing_of_the_host,
    locks_hold_no_file_of_the_host,
    layers_of_other_calls_are_out_of_reach,
    output_of_one_call_stays_with_it,
    a_descriptor_cannot_be_made_to_signal_init_and_zygote,
    a_trickle_on_the_control_socket_does_not_delay_init,
    a_daemon_of_the_import_is_not_shared_by_calls,
    a_small_disk_has_room_for_what_the_import_wrote,
    a_home_that_the_import_removed_breaks_nothing,
];

const GUEST: &str = guest!("loopholes.py");

fn sockets_in_the_repository_cannot_be_connected_to(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let repo = std::fs::File::open(bench.repo()).expect("ours");
    let modified = repo.metadata().and_then(|found| found.modified()).expect("ours");
    let listener = UnixListener::bind(bench.repo().join("service.sock")).expect("a socket");
    listener.set_nonblocking(true).expect("ours");
    let below = bench.repo().to_str().expect("a plain path").to_owned();
    for level in 1..=5 {
        let mut spec = bench.spec();
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        for path in [".", below.as_str(), "/layers/repo", "/sandbox/repo"] {
            let path = format!("{path}/service.sock");
            let outcome = session.run(build_call("connect").with([Value::from(path.as_str())]));
            let reached = outcome
                .result
                .value
                .is_some_and(|value| value.value == Some(Value::from("reached")));
            assert!(!reached, "{path} at level {level}");
        }
    }
    assert!(listener.accept().is_err(), "a connection arrived");
    drop(listener);
    std::fs::remove_file(bench.repo().join("service.sock")).expect("ours");
    // The repository is looked at afterwards, down to its times.
    repo.set_modified(modified).expect("ours");
}

/// A directory beside the interpreter, with sockets that every user may connect to.
struct SocketLibrary {
    /// What is mounted there, the innermost first: taken off before the place goes.
    mounts: Vec<TestMount>,
    place: TempDir,
    stream: UnixListener,
    datagram: UnixDatagram,
}

impl SocketLibrary {
    fn new() -> Self {
        Self::at(TempDir::with_prefix("library-").expect("writable"))
    }

    fn at(place: TempDir) -> Self {
        let stream = UnixListener::bind(place.path().join("stream.sock")).expect("a socket");
        let datagram = UnixDatagram::bind(place.path().join("datagram.sock")).expect("a socket");
        stream.set_nonblocking(true).expect("ours");
        datagram.set_nonblocking(true).expect("ours");
        for open in ["", "stream.sock", "datagram.sock"] {
            let mode = fs::Permissions::from_mode(0o777);
            fs::set_permissions(place.path().join(open), mode).expect("ours");
        }
        Self { mounts: Vec::new(), place, stream, datagram }
    }

    /// On a file system that cannot be shown with unmapped owners, which is what stops the guest
    /// elsewhere when Menace is root.
    fn on_overlay(layers: &Path) -> Self {
        let place = TempDir::with_prefix("library-").expect("writable");
        let [lower, upper, work] = ["lower", "upper", "work"].map(|name| {
            let layer = layers.join(name);
            fs::create_dir(&layer).expect("writable");
            layer.to_str().expect("a plain path").to_owned()
        });
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        let mounted = TestMount::new(place.path(), "overlay", Some(&options));
        Self { mounts: vec![mounted], ..Self::at(place) }
    }

    fn bench(&self, tier: Tier) -> ContractBench {
        ContractBench::with_options(tier, GUEST, |options| {
            options.interpreter.readable_paths.push(self.place.path().to_owned());
        })
    }

    fn socket(&self, name: &str) -> Value {
        Value::from(self.place.path().join(name).to_str().expect("a plain path"))
    }

    fn assert_untouched(&self, level: u8) {
        assert!(self.stream.accept().is_err(), "a connection arrived at level {level}");
        assert!(self.datagram.recv(&mut [0]).is_err(), "something was sent at level {level}");
    }
}

fn sockets_beside_the_interpreter_cannot_be_connected_to(tier: Tier) {
    cannot_be_connected_to(&SocketLibrary::new(), tier);
}

#[test]
fn sockets_on_an_overlay_beside_the_interpreter_cannot_be_connected_to() {
    let name = concat!(
        module_path!(),
        "::sockets_on_an_overlay_beside_the_interpreter_cannot_be_connected_to"
    );
    crate::process::in_own_process(name, || {
        let layers = TempDir::with_prefix("layers-").expect("writable");
        cannot_be_connected_to(&SocketLibrary::on_overlay(layers.path()), Tier::Root);
    });
}

/// Another overlay over it would show what is below the inner mount instead.
#[test]
fn what_is_mounted_on_an_overlay_beside_the_interpreter_is_what_a_guest_sees() {
    let name = concat!(
        module_path!(),
        "::what_is_mounted_on_an_overlay_beside_the_interpreter_is_what_a_guest_sees"
    );
    crate::process::in_own_process(name, || {
        let layers = TempDir::with_prefix("layers-").expect("writable");
        let mut library = SocketLibrary::on_overlay(layers.path());
        let inner = library.place.path().join("inner");
        fs::create_dir(&inner).expect("writable");
        fs::write(inner.join("covered"), "").expect("writable");
        library.mounts.insert(0, TestMount::new(&inner, "tmpfs", None));
        fs::write(inner.join("mounted"), "").expect("writable");
        let bench = library.bench(Tier::Root);
        let mut session = bench.session();
        for (file, is_there) in [("mounted", true), ("covered", false)] {
            let path = library.socket(&format!("inner/{file}"));
            assert_eq!(
                session.value(build_call("sees").with([path])),
                Value::Bool(is_there),
                "{file}"
            );
        }
        drop(session);
        cannot_be_connected_to(&library, Tier::Root);
    });
}

#[derive(Debug)]
struct TestMount(PathBuf);

impl TestMount {
    fn new(place: &Path, kind: &str, options: Option<&str>) -> Self {
        mount(Some("library"), place, Some(kind), MsFlags::empty(), options)
            .expect("only root can mount: run this test as root");
        Self(place.to_owned())
    }
}

impl Drop for TestMount {
    fn drop(&mut self) {
        umount2(&self.0, MntFlags::MNT_DETACH).expect("it was mounted");
    }
}

fn cannot_be_connected_to(library: &SocketLibrary, tier: Tier) {
    let bench = library.bench(tier);
    for level in 1..=3 {
        let mut spec = bench.spec();
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        let seen = session.value(build_call("sees").with([library.socket("stream.sock")]));
        assert_eq!(seen, Value::Bool(true), "it has to be in sight for this to mean anything");
        for (function, name) in [("connect", "stream.sock"), ("send", "datagram.sock")] {
            let outcome = session.run(build_call(function).with([library.socket(name)]));
            let answer = outcome.value.as_ref().and_then(|value| value.value.as_ref());
            assert!(answer.is_some_and(|answer| text(answer) != "reached"), "{outcome:#?}");
        }
        library.assert_untouched(level);
    }
}

fn sockets_of_a_calls_own_can_be_connected_to(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_call("own_sockets"));
    if tier == Tier::Landlock {
        // There is no network at all.
        assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
    } else {
        let answer = outcome.value.as_ref().and_then(|value| value.value.as_ref());
        assert_eq!(answer.map(text), Some("reached"), "{outcome:#?}");
    }
}

fn sockets_beside_the_interpreter_cannot_be_connected_to_without_a_network(tier: Tier) {
    let library = SocketLibrary::new();
    let bench = library.bench(tier);
    let path = library.socket("stream.sock");
    for (level, safe_mode) in [(1, true), (2, true), (3, true), (4, false), (5, false), (5, true)] {
        let mut spec = bench.spec();
        (spec.confinement.security_level, spec.confinement.safe_mode) =
            (level.try_into().unwrap(), safe_mode);
        let outcome = bench.session_of(&spec).run(build_call("connect").with([path.clone()]));
        assert_eq!(outcome.verdict, Verdict::Violated, "level {level}: {outcome:#?}");
        let tried = &outcome.violations[0].detail;
        assert!(tried.starts_with("socket(AF_UNIX, SOCK_STREAM"), "level {level}: {tried}");
        library.assert_untouched(level);
    }
}

/// A file and a named pipe beside the interpreter.
struct SharedLibrary {
    place: TempDir,
}

impl SharedLibrary {
    fn new() -> Self {
        let place = TempDir::with_prefix("library-").expect("writable");
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("ours");
        File::create(place.path().join("file")).expect("writable");
        let pipe = place.path().join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).expect("writable");
        for name in ["file", "pipe"] {
            let mode = fs::Permissions::from_mode(0o666);
            fs::set_permissions(place.path().join(name), mode).expect("ours");
        }
        Self { place }
    }

    fn bench(&self, tier: Tier) -> ContractBench {
        ContractBench::with_options(tier, GUEST, |options| {
            options.interpreter.readable_paths.push(self.place.path().to_owned());
        })
    }

    fn path(&self, name: &str) -> Value {
        Value::from(self.place.path().join(name).to_str().expect("a plain path"))
    }
}

fn watches_see_nothing_of_the_host(tier: Tier) {
    let library = SharedLibrary::new();
    let bench = library.bench(tier);
    let watch = |path: Value, touch| build_call("watch").with([path, Value::Bool(touch)]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                fs::read(library.place.path().join("file")).expect("readable");
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let seen = bench.value(watch(library.path(""), false));
        is_over.store(true, Ordering::Relaxed);
        assert!(["nothing", "EACCES"].contains(&text(&seen)), "{seen:?}");
    });
    // Of its own files it sees everything, where it may watch at all.
    let own = bench.value(watch(Value::from("."), true));
    assert_eq!(text(&own), if tier.has_namespaces() { "events" } else { "EACCES" });
}

fn locks_hold_no_file_of_the_host(tier: Tier) {
    let library = SharedLibrary::new();
    let bench = library.bench(tier);
    let mut session = bench.session();
    assert_eq!(session.value(build_call("own_locks")), Value::Int(2));
    let path = library.place.path().join("file");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let host = scope.spawn(|| {
            let mut refused = 0;
            while !is_over.load(Ordering::Relaxed) {
                let file = File::options().read(true).write(true).open(&path).expect("ours");
                let all = libc::flock {
                    l_type: libc::F_WRLCK as libc::c_short,
                    l_whence: libc::SEEK_SET as libc::c_short,
                    l_start: 0,
                    l_len: 0,
                    l_pid: 0,
                };
                refused += u32::from(fcntl(&file, FcntlArg::F_SETLK(&all)).is_err());
                refused += u32::from(Flock::lock(file, FlockArg::LockExclusiveNonblock).is_err());
                std::thread::sleep(Duration::from_millis(1));
            }
            refused
        });
        let held = build_call("hold_lock").with([library.path("file")]);
        // In the moment in which the host holds it, and sees that it does.
        let seen = (0..20).any(|_| text(&session.value(held.clone())) == "had");
        is_over.store(true, Ordering::Relaxed);
        assert!(seen, "the guest never had it");
        assert_eq!(host.join().expect("no panic"), 0, "the guest kept the host from its file");
    });
}

/// Without mounts, the pipes of the host themselves are seen.
mod with_mounts {
    use super::*;

    fn a_pipe_beside_the_interpreter_is_not_that_of_the_host(tier: Tier) {
        let library = SharedLibrary::new();
        let bench = library.bench(tier);
        let pipe = library.place.path().join("pipe");
        let mut writer = File::options().read(true).write(true).open(pipe).expect("a pipe");
        writer.write_all(b"from the host").expect("there is room");
        let read = bench.value(build_call("read_pipe").with([library.path("pipe")]));
        assert_eq!(text(&read), "");
    }

    #[test]
    fn pipes_as_root() {
        let name = concat!(module_path!(), "::pipes_as_root");
        let fact = a_pipe_beside_the_interpreter_is_not_that_of_the_host;
        crate::process::in_own_process(name, || fact(Tier::Root));
    }

    #[test]
    fn pipes_in_user_namespaces() {
        let name = concat!(module_path!(), "::pipes_in_user_namespaces");
        let fact = a_pipe_beside_the_interpreter_is_not_that_of_the_host;
        crate::process::in_own_process(name, || fact(Tier::UserNamespaces));
    }
}

fn layers_of_other_calls_are_out_of_reach(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut spec = bench.spec();
    spec.confinement.security_level = 1u8.try_into().unwrap();
    let mut session = bench.session_of(&spec);
    for _ in 0..3 {
        let outcome = session.run(build_call("plant"));
        let found = outcome.result.value.and_then(|value| value.value).expect("an answer");
        assert_eq!(text(&found), "nothing found, nothing planted");
    }
}

fn output_of_one_call_stays_with_it(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for _ in 0..3 {
        session.run(build_call("packets"));
        let quiet = session.run(build_call("quiet"));
        assert_eq!((quiet.verdict, quiet.stdout.bytes), (Verdict::Returned, 0), "{quiet:#?}");
    }
}

fn a_descriptor_cannot_be_made_to_signal_init_and_zygote(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(build_call("own_to_parent"));
    assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
    session.assert_still_works();
}

fn a_trickle_on_the_control_socket_does_not_delay_init(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/trickle.py"));
    let mut spec = bench.spec();
    spec.import_limits.timeout_ms = 1000;
    let mut session = bench.session_of(&spec);
    let start = Instant::now();
    let outcome = session.run(build_call("fine"));
    assert_ne!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

fn a_daemon_of_the_import_is_not_shared_by_calls(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/daemon.py"));
    let mut session = bench.session();
    for _ in 0..2 {
        let outcome = session.run(build_call("fine"));
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        let note = outcome.notes.iter().find(|note| note.starts_with("imported anew"));
        assert!(note.is_some(), "{outcome:#?}");
    }
}

fn a_small_disk_has_room_for_what_the_import_wrote(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/cache.py"));
    let mut session = bench.session();
    for _ in 0..2 {
        let outcome =
            session.run(build_call("fine").limited(|limits| limits.disk_bytes = Some(1 << 20)));
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    }
}

fn a_home_that_the_import_removed_breaks_nothing(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/no_home.py"));
    let mut session = bench.session();
    for _ in 0..3 {
        let outcome = session.run(build_call("fine"));
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    }
}

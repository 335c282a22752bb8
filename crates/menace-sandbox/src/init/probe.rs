//! Before the first untrusted line runs, the sandbox has to prove itself.
//!
//! A process that is confined like the guest tries to get out: to read a file of the host, to
//! reach its sockets, to fork past the limit. All of it must fail.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::waitpid;
use nix::unistd::ForkResult;

use super::zygote::{COMPLAINT, Confinement, confine_self, is_readable, receive_listener};
use super::{During, InitError};
use crate::cgroup::GroupFiles;
use crate::confine::{Answer, Listener};
use crate::error::explain;
use crate::sys;
use crate::wire::messages::Probe;
use nix::errno::Errno;

/// The limit on processes while the probe runs; few, so that it is quick.
pub(crate) const PROCESSES: u64 = 6;
const PATIENCE: Duration = Duration::from_millis(100);

/// Fails unless every attempt to get out failed.
pub(crate) fn run(probe: &Probe, confinement: &Confinement<'_>) -> Result<(), InitError> {
    let (boot, theirs) = UnixStream::pair().during(|| "cannot make a socket".to_owned())?;
    match sys::fork().during(|| "cannot fork".to_owned())? {
        ForkResult::Child => {
            let confined =
                join_group(confinement).and_then(|()| confine_self(confinement, &theirs));
            let said = match confined {
                Ok(()) => attempts(probe, confinement.processes.unwrap_or(PROCESSES)),
                Err(error) => format!("{}{error}", char::from(COMPLAINT)),
            };
            let _ = (&theirs).write_all(said.as_bytes());
            sys::exit_now(0);
        }
        ForkResult::Parent { child } => {
            drop(theirs);
            let said = listen(&boot);
            let _ = waitpid(child, None);
            let said = said?;
            if said == "sealed" {
                return Ok(());
            }
            Err(InitError::Refused(format!(
                "the sandbox does not hold: {said}. Nothing was run in it"
            )))
        }
    }
}

fn join_group(confinement: &Confinement<'_>) -> Result<(), InitError> {
    let joined = confinement.group.map_or(Ok(()), GroupFiles::attach_self);
    joined.map_err(|error| InitError::Refused(explain(&error)))
}

/// Answers denied system calls until the probe has spoken.
fn listen(boot: &UnixStream) -> Result<String, InitError> {
    let (listener, _) = receive_listener(boot)?;
    let listener = listener.map(Listener::new);
    loop {
        let mut fds = vec![PollFd::new(boot.as_fd(), PollFlags::POLLIN)];
        if let Some(listener) = &listener {
            fds.push(PollFd::new(listener.as_fd(), PollFlags::POLLIN));
        }
        poll(&mut fds, PollTimeout::NONE).during(|| "cannot wait for the probe".to_owned())?;
        let denied = fds.get(1).is_some_and(is_readable);
        if denied && let Some(listener) = &listener {
            if let Ok(Some(tried)) = listener.next() {
                let _ = listener.answer(&tried, Answer::Refuse(Errno::EPERM));
            }
            continue;
        }
        let mut said = String::new();
        boot.take(1 << 16)
            .read_to_string(&mut said)
            .during(|| "cannot hear the probe".to_owned())?;
        return Ok(said);
    }
}

/// Tries everything; says what worked.
fn attempts(probe: &Probe, most: u64) -> String {
    let mut worked = Vec::new();
    if fs::read(&probe.canary).is_ok() {
        worked.push("a file of the host could be read");
    }
    // May well succeed, in a directory of the sandbox with the same name: the host looks whether
    // its own file was meant.
    let _ = fs::write(&probe.canary, "touched");
    let address = SocketAddr::from(([127, 0, 0, 1], probe.port));
    if TcpStream::connect_timeout(&address, PATIENCE).is_ok() {
        worked.push("a TCP service of the host could be reached");
    }
    // A datagram can be sent to nobody: the host looks whether it got one.
    let _ = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b"?", address));
    let abstract_name = std::os::unix::net::SocketAddr::from_abstract_name(&probe.socket);
    if abstract_name.is_ok_and(|name| UnixStream::connect_addr(&name).is_ok()) {
        worked.push("an abstract Unix socket of the host could be reached");
    }
    if fork_past_the_limit(most) {
        worked.push("more processes could be started than allowed");
    }
    if worked.is_empty() { "sealed".to_owned() } else { worked.join(", ") }
}

/// Others of the same user may come and go meanwhile, where the limit is for all of them.
fn fork_past_the_limit(most: u64) -> bool {
    let mut children = Vec::new();
    let past = loop {
        match sys::fork() {
            Ok(ForkResult::Child) => loop {
                nix::unistd::pause();
            },
            Ok(ForkResult::Parent { child }) => children.push(child),
            Err(_) => break false,
        }
        if children.len() as u64 > most + 2 {
            break true;
        }
    };
    for child in children {
        let _ = nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGKILL);
        let _ = waitpid(child, None);
    }
    past
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};

    use super::*;
    use crate::confine::tests::sys::spawn;
    use crate::confine::{Level, Places, Policy};

    /// Nothing of what it names exists.
    fn nothing() -> Probe {
        Probe { canary: "/nowhere/canary".into(), port: 1, socket: "nobody-listens".to_owned() }
    }

    /// What the probe says of a confinement that lets everything through, but for processes.
    fn said(probe: &Probe, processes: Option<u64>) -> String {
        let confinement = Confinement {
            policy: Policy {
                level: Level::DEFAULT,
                safe_mode: false,
                namespaces: true,
                host_lets_in: false,
                watches_files: false,
                interpose: crate::confine::Interpose::default(),
            },
            places: &Places::default(),
            group: None,
            open_files: 64,
            processes,
            unsafe_tier: true,
        };
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let child = spawn(|| {
            // The kernel does not count the processes of root.
            if nix::unistd::geteuid().is_root() {
                let id = 1_200_000_000 + std::process::id();
                let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
                setgroups(&[]).unwrap();
                setresgid(gid, gid, gid).unwrap();
                setresuid(uid, uid, uid).unwrap();
            }
            let said = match run(probe, &confinement) {
                Ok(()) => "holds".to_owned(),
                Err(InitError::Refused(why)) => why,
                Err(other) => format!("failed: {other}"),
            };
            (&theirs).write_all(said.as_bytes()).unwrap();
            0
        });
        drop(theirs);
        let mut text = String::new();
        ours.read_to_string(&mut text).unwrap();
        waitpid(child, None).unwrap();
        text
    }

    fn leak(what: &str) -> String {
        format!("the sandbox does not hold: {what}. Nothing was run in it")
    }

    #[test]
    fn where_nothing_leaks_the_sandbox_holds() {
        assert_eq!(said(&nothing(), Some(PROCESSES)), "holds");
    }

    #[test]
    fn more_processes_than_allowed_are_found_out() {
        let expected = leak("more processes could be started than allowed");
        assert_eq!(said(&nothing(), None), expected);
    }

    #[test]
    fn a_file_that_can_be_read_is_found_out_and_written_for_the_host_to_see() {
        let directory = tempfile::tempdir().unwrap();
        let open = |path: &std::path::Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        open(directory.path(), 0o755);
        let canary = directory.path().join("canary");
        fs::write(&canary, "tweet").unwrap();
        open(&canary, 0o666);
        let probe = Probe { canary: canary.clone(), ..nothing() };
        assert_eq!(said(&probe, Some(PROCESSES)), leak("a file of the host could be read"));
        assert_eq!(fs::read(canary).unwrap(), b"touched");
    }

    #[test]
    fn a_tcp_service_that_can_be_reached_is_found_out() {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let probe = Probe { port: service.local_addr().unwrap().port(), ..nothing() };
        let expected = leak("a TCP service of the host could be reached");
        assert_eq!(said(&probe, Some(PROCESSES)), expected);
    }

    /// Whether it arrives is for the host to tell.
    #[test]
    fn a_udp_service_is_sent_a_datagram() {
        let service = UdpSocket::bind("127.0.0.1:0").unwrap();
        service.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let probe = Probe { port: service.local_addr().unwrap().port(), ..nothing() };
        assert_eq!(said(&probe, Some(PROCESSES)), "holds");
        assert_eq!(service.recv(&mut [0; 8]).unwrap(), 1);
    }

    #[test]
    fn an_abstract_socket_that_can_be_reached_is_found_out() {
        let socket = format!("menace-probe-test-{}", std::process::id());
        let name = std::os::unix::net::SocketAddr::from_abstract_name(&socket).unwrap();
        let _service = UnixListener::bind_addr(&name).unwrap();
        let probe = Probe { socket, ..nothing() };
        let expected = leak("an abstract Unix socket of the host could be reached");
        assert_eq!(said(&probe, Some(PROCESSES)), expected);
    }
}

//! Proves the sandbox before the first untrusted line runs.
//!
//! A process that is confined like the guest tries to get out: to read a file of the host, to
//! reach its sockets, to fork past the limit. All of it must fail.

#![expect(clippy::disallowed_methods, reason = "it tries what must not be possible")]

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

use super::zygote::{ERROR_MARK, ProcessConfinement, confine_self, is_readable, receive_listener};
use super::{InitError, InitErrorContext};
use crate::cgroup::CgroupFiles;
use crate::confine::{NotifyListener, SyscallResponse};
use crate::sys;
use crate::wire::messages::EscapeProbe;
use menace_model::format_error_chain;
use nix::errno::Errno;

/// The limit on processes while the probe runs; few, so that it is quick.
pub(crate) const PROBE_PROCESS_LIMIT: u64 = 6;
const CONNECT_TIMEOUT: Duration = Duration::from_millis(100);

/// Runs the probe; fails unless every attempt to escape failed.
pub(crate) fn run(
    probe: &EscapeProbe,
    confinement: &ProcessConfinement<'_>,
) -> Result<(), InitError> {
    let (startup_socket, theirs) =
        UnixStream::pair().with_context(|| "cannot make a socket".to_owned())?;
    match sys::fork().with_context(|| "cannot fork".to_owned())? {
        ForkResult::Child => {
            let confined =
                join_group(confinement).and_then(|()| confine_self(confinement, &theirs));
            let said = match confined {
                Ok(()) => {
                    try_to_escape(probe, confinement.processes.unwrap_or(PROBE_PROCESS_LIMIT))
                }
                Err(error) => format!("{}{error}", char::from(ERROR_MARK)),
            };
            let _ = (&theirs).write_all(said.as_bytes());
            sys::exit_now(0);
        }
        ForkResult::Parent { child } => {
            drop(theirs);
            let said = receive_result(&startup_socket);
            let _ = waitpid(child, None);
            let said = said?;
            if said == "sealed" {
                return Ok(());
            }
            Err(InitError::Failed(format!(
                "the sandbox does not hold: {said}. Nothing was run in it"
            )))
        }
    }
}

fn join_group(confinement: &ProcessConfinement<'_>) -> Result<(), InitError> {
    let joined = confinement.group.map_or(Ok(()), CgroupFiles::attach_self);
    joined.map_err(|error| InitError::Failed(format_error_chain(&error)))
}

/// Answers notified system calls until the probe has reported.
fn receive_result(startup_socket: &UnixStream) -> Result<String, InitError> {
    let (listener, _) = receive_listener(startup_socket)?;
    let listener = listener.map(NotifyListener::new);
    loop {
        let mut fds = vec![PollFd::new(startup_socket.as_fd(), PollFlags::POLLIN)];
        if let Some(listener) = &listener {
            fds.push(PollFd::new(listener.as_fd(), PollFlags::POLLIN));
        }
        poll(&mut fds, PollTimeout::NONE)
            .with_context(|| "cannot wait for the probe".to_owned())?;
        let denied = fds.get(1).is_some_and(is_readable);
        if denied && let Some(listener) = &listener {
            if let Ok(Some(tried)) = listener.next_notification() {
                let _ = listener.respond(&tried, SyscallResponse::Refuse(Errno::EPERM));
            }
            continue;
        }
        let mut said = String::new();
        startup_socket
            .take(1 << 16)
            .read_to_string(&mut said)
            .with_context(|| "cannot read the answer of the probe".to_owned())?;
        return Ok(said);
    }
}

/// Makes all attempts; returns what succeeded.
fn try_to_escape(probe: &EscapeProbe, max_processes: u64) -> String {
    let mut worked = Vec::new();
    if fs::read(&probe.canary).is_ok() {
        worked.push("a file of the host could be read");
    }
    // May succeed, in a directory of the sandbox with the same path: the host checks whether its
    // own file was changed.
    let _ = fs::write(&probe.canary, "touched");
    let address = SocketAddr::from(([127, 0, 0, 1], probe.port));
    if TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_ok() {
        worked.push("a TCP service of the host could be reached");
    }
    // Sending a datagram always succeeds: the host checks whether it arrived.
    let _ = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b"?", address));
    let abstract_name = std::os::unix::net::SocketAddr::from_abstract_name(&probe.socket);
    if abstract_name.is_ok_and(|name| UnixStream::connect_addr(&name).is_ok()) {
        worked.push("an abstract Unix socket of the host could be reached");
    }
    if can_fork_past_limit(max_processes) {
        worked.push("more processes could be started than allowed");
    }
    if worked.is_empty() { "sealed".to_owned() } else { worked.join(", ") }
}

/// Where the limit counts all processes of the user, others may start and end meanwhile.
fn can_fork_past_limit(max_processes: u64) -> bool {
    let mut children = Vec::new();
    let past = loop {
        match sys::fork() {
            Ok(ForkResult::Child) => loop {
                nix::unistd::pause();
            },
            Ok(ForkResult::Parent { child }) => children.push(child),
            Err(_) => break false,
        }
        if children.len() as u64 > max_processes + 2 {
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
    use menace_model::CallConfinement;

    use crate::confine::{AllowedPaths, ConfinementPolicy};

    /// A probe whose file, port and socket do not exist.
    fn unreachable_probe() -> EscapeProbe {
        EscapeProbe { canary: "/nowhere/canary".into(), port: 1, socket: "no-listener".to_owned() }
    }

    /// Runs the probe under a confinement that allows everything but further processes.
    fn run_unconfined_probe(probe: &EscapeProbe, processes: Option<u64>) -> String {
        let confinement = ProcessConfinement {
            policy: ConfinementPolicy {
                confinement: CallConfinement::DEFAULT,
                namespaces: true,
                host_sockets_visible: false,
                records_path_access: false,
                interposition: menace_model::SyscallInterposition::default(),
            },
            allowed_paths: &AllowedPaths::default(),
            group: None,
            open_files: 64,
            processes,
            unsafe_tier: true,
        };
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let child = spawn(|| {
            // The limit does not apply to root.
            if nix::unistd::geteuid().is_root() {
                let id = 1_200_000_000 + std::process::id();
                let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
                setgroups(&[]).unwrap();
                setresgid(gid, gid, gid).unwrap();
                setresuid(uid, uid, uid).unwrap();
            }
            let said = match run(probe, &confinement) {
                Ok(()) => "holds".to_owned(),
                Err(InitError::Failed(why)) => why,
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

    fn leak_message(what: &str) -> String {
        format!("the sandbox does not hold: {what}. Nothing was run in it")
    }

    #[test]
    fn where_nothing_leaks_the_sandbox_holds() {
        assert_eq!(run_unconfined_probe(&unreachable_probe(), Some(PROBE_PROCESS_LIMIT)), "holds");
    }

    #[test]
    fn more_processes_than_allowed_are_found_out() {
        let expected = leak_message("more processes could be started than allowed");
        assert_eq!(run_unconfined_probe(&unreachable_probe(), None), expected);
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
        let probe = EscapeProbe { canary: canary.clone(), ..unreachable_probe() };
        assert_eq!(
            run_unconfined_probe(&probe, Some(PROBE_PROCESS_LIMIT)),
            leak_message("a file of the host could be read")
        );
        assert_eq!(fs::read(canary).unwrap(), b"touched");
    }

    #[test]
    fn a_tcp_service_that_can_be_reached_is_found_out() {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let probe =
            EscapeProbe { port: service.local_addr().unwrap().port(), ..unreachable_probe() };
        let expected = leak_message("a TCP service of the host could be reached");
        assert_eq!(run_unconfined_probe(&probe, Some(PROBE_PROCESS_LIMIT)), expected);
    }

    /// The host checks whether it arrives.
    #[test]
    fn a_udp_service_is_sent_a_datagram() {
        let service = UdpSocket::bind("127.0.0.1:0").unwrap();
        service.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let probe =
            EscapeProbe { port: service.local_addr().unwrap().port(), ..unreachable_probe() };
        assert_eq!(run_unconfined_probe(&probe, Some(PROBE_PROCESS_LIMIT)), "holds");
        assert_eq!(service.recv(&mut [0; 8]).unwrap(), 1);
    }

    #[test]
    fn an_abstract_socket_that_can_be_reached_is_found_out() {
        let socket = format!("menace-probe-test-{}", std::process::id());
        let name = std::os::unix::net::SocketAddr::from_abstract_name(&socket).unwrap();
        let _service = UnixListener::bind_addr(&name).unwrap();
        let probe = EscapeProbe { socket, ..unreachable_probe() };
        let expected = leak_message("an abstract Unix socket of the host could be reached");
        assert_eq!(run_unconfined_probe(&probe, Some(PROBE_PROCESS_LIMIT)), expected);
    }
}

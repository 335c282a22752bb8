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

use super::zygote::{Confinement, confine_self, explain, is_readable, receive_listener};
use super::{During, InitError};
use crate::cgroup::GroupFiles;
use crate::confine::{Answer, Listener};
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
                Err(error) => format!("!{error}"),
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
    // A datagram to nobody is refused at once; the host's own socket would take it.
    if let Ok(socket) = UdpSocket::bind("127.0.0.1:0")
        && socket.connect(address).is_ok()
        && socket.send(b"?").is_ok()
        && socket.set_read_timeout(Some(PATIENCE)).is_ok()
        && socket.recv(&mut [0; 8]).is_ok()
    {
        worked.push("a UDP service of the host could be reached");
    }
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

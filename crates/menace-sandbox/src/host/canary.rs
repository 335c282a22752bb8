//! Things of the host that a sandbox must not reach: a file, two ports, a Unix socket.

#![expect(
    clippy::disallowed_methods,
    reason = "a file of its own, which no other user can replace"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use super::leftovers;
use crate::cgroup;
use crate::wire::messages::EscapeProbe;

/// The name continues with that of a control group, which contains the process id of its owner.
const CANARY_PREFIX: &str = "canary-of-";
const CANARY_CONTENT: &[u8] = b"tweet";

/// The file, ports and socket that exist while a sandbox is probed.
#[derive(Debug)]
pub(crate) struct HostCanary {
    file: PathBuf,
    /// Shows other Menace processes that this canary is in use.
    _lock: File,
    tcp: TcpListener,
    udp: UdpSocket,
    name: String,
    unix: UnixListener,
}

impl HostCanary {
    pub(crate) fn new(below: &Path) -> io::Result<Self> {
        Self::create(below, &cgroup::next_name().map_err(io::Error::other)?)
    }

    fn create(below: &Path, owner: &str) -> io::Result<Self> {
        let name = format!("{CANARY_PREFIX}{owner}");
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let udp = UdpSocket::bind(tcp.local_addr()?)?;
        let unix = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        unix.set_nonblocking(true)?;
        let file = below.join(&name);
        // `create_new` does not follow a link that another user put there. Every user may read it,
        // or the probe would prove nothing about the sandbox.
        let made = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&file)?;
        let write_content = |mut made: File| made.write_all(CANARY_CONTENT).map(|()| made);
        let lock = leftovers::lock_shared(made).and_then(write_content);
        let lock = lock.inspect_err(|_| drop(fs::remove_file(&file)))?;
        Ok(Self { file, _lock: lock, tcp, udp, name, unix })
    }

    pub(crate) fn probe(&self) -> io::Result<EscapeProbe> {
        Ok(EscapeProbe {
            canary: self.file.clone(),
            port: self.tcp.local_addr()?.port(),
            socket: self.name.clone(),
        })
    }

    /// Whether the file is unchanged and nothing arrived at ports and socket: the probe itself
    /// cannot know that.
    pub(crate) fn is_untouched(&self) -> io::Result<bool> {
        Ok(fs::read(&self.file)? == CANARY_CONTENT
            && self.tcp.accept().is_err()
            && self.udp.recv(&mut [0; 8]).is_err()
            && self.unix.accept().is_err())
    }
}

impl Drop for HostCanary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

/// Removes the canaries' files whose owner is dead; returns how many.
pub(crate) fn purge_canaries(below: &Path) -> usize {
    let own = nix::unistd::geteuid().as_raw();
    let entries = fs::read_dir(below).into_iter().flatten().flatten();
    let removed = entries.filter(|entry| {
        let (name, path) = (entry.file_name(), entry.path());
        // Any user can create a file of that name in a directory for temporary files.
        let is_ours = entry.metadata().is_ok_and(|it| it.is_file() && it.uid() == own);
        let owner =
            name.to_str().and_then(|name| name.strip_prefix(CANARY_PREFIX)).filter(|_| is_ours);
        let lock = owner.and_then(|owner| leftovers::lock_abandoned(&path, owner));
        lock.is_some_and(|_lock| fs::remove_file(&path).is_ok())
    });
    removed.count()
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn is_touched(touch: impl FnOnce(&EscapeProbe)) -> bool {
        let directory = tempfile::tempdir().unwrap();
        let canary = HostCanary::new(directory.path()).unwrap();
        assert!(canary.is_untouched().unwrap());
        touch(&canary.probe().unwrap());
        !canary.is_untouched().unwrap()
    }

    #[test]
    fn whatever_arrives_is_noticed() {
        assert!(!is_touched(|_| {}));
        assert!(is_touched(|probe| fs::write(&probe.canary, "touched").unwrap()));
        assert!(is_touched(|probe| drop(TcpStream::connect(("127.0.0.1", probe.port)).unwrap())));
        assert!(is_touched(|probe| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.send_to(b"?", ("127.0.0.1", probe.port)).unwrap();
        }));
        assert!(is_touched(|probe| {
            let name = SocketAddr::from_abstract_name(&probe.socket).unwrap();
            drop(UnixStream::connect_addr(&name).unwrap());
        }));
    }

    #[test]
    fn a_canary_that_is_gone_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let canary = HostCanary::new(directory.path()).unwrap();
        fs::remove_file(&canary.file).unwrap();
        assert!(canary.is_untouched().is_err());
    }

    #[test]
    fn links_that_another_user_made_are_neither_followed_nor_removed() {
        let directory = tempfile::tempdir().unwrap();
        let victim = directory.path().join("victim");
        fs::write(&victim, CANARY_CONTENT).unwrap();
        let link = directory.path().join("canary-of-menace-4194305-1-7");
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(HostCanary::create(directory.path(), "menace-4194305-1-7").is_err());
        assert_eq!(fs::read(&victim).unwrap(), CANARY_CONTENT);
        assert_eq!(purge_canaries(directory.path()), 0);
        assert!(link.is_symlink() && victim.exists());
        let mask = nix::sys::stat::umask(nix::sys::stat::Mode::empty());
        let canary = HostCanary::create(directory.path(), "menace-4194305-1-8").unwrap();
        nix::sys::stat::umask(mask);
        assert_eq!(fs::metadata(&canary.file).unwrap().mode() & 0o777, 0o644);
    }

    #[test]
    fn only_what_a_dead_owner_left_is_purged() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let alive = HostCanary::new(directory.path()).unwrap();
        let dead = at("canary-of-menace-4194305-1-0");
        let others = ["canary-of-", "canary-of-me", "menace-4194305-1-0"].map(at);
        for file in others.iter().chain([&dead]) {
            fs::write(file, CANARY_CONTENT).unwrap();
        }
        fs::create_dir(at("canary-of-menace-4194305-1-1")).unwrap();
        assert_eq!(purge_canaries(directory.path()), 1);
        assert!(!dead.exists() && alive.file.exists());
        assert!(others.iter().all(|file| file.exists()));
        // As of another container: no such process on this machine, but the lock is held.
        let elsewhere = HostCanary::create(directory.path(), "menace-4194305-1-2").unwrap();
        assert_eq!(purge_canaries(directory.path()), 0);
        assert!(elsewhere.is_untouched().unwrap());
        let file = alive.file.clone();
        drop(alive);
        assert!(!file.exists());
        assert_eq!(purge_canaries(&at("nowhere")), 0);
    }
}

//! Tries what is forbidden, and what is not, in real confined processes.
//!
//! Everything is tried in children, so that the test's own process stays free. No try could do harm
//! if it succeeded: arguments are zeros, signals are number 0.

mod files;
mod lowest_tier;
mod never;
mod ordinary;
mod processes;
mod sockets;
pub(crate) mod sys;

use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::cmsg_space;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use super::{
    Attempt, Interpose, Kind, Landlocked, Level, Listener, Places, Policy, Reach, Warden, confine,
    filter, landlock, privileges, rules::UNASKED, seccomp,
};

fn policy(level: u8) -> Policy {
    Policy {
        level: Level::try_from(level).unwrap(),
        safe_mode: false,
        namespaces: true,
        host_lets_in: false,
        watches_files: false,
        interpose: Interpose::default(),
    }
}

/// A C `int` as a register holds it.
fn int(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

fn everywhere() -> Places {
    Places {
        read: vec!["/".into()],
        write: vec![std::env::temp_dir(), "/dev/shm".into()],
        devices: vec!["/dev".into()],
    }
}

/// What came of a confined process.
#[derive(Debug)]
struct Seen {
    ended: WaitStatus,
    attempts: Vec<Attempt>,
    /// The files that it was seen to reach for.
    reached: Vec<String>,
    /// What it wrote.
    said: String,
}

impl Seen {
    fn details(&self) -> Vec<&str> {
        self.attempts.iter().map(|attempt| attempt.detail.as_str()).collect()
    }

    fn kinds(&self) -> Vec<Kind> {
        self.attempts.iter().map(|attempt| attempt.what).collect()
    }

    fn numbers(&self) -> Vec<i64> {
        self.said.split_whitespace().map(|word| word.parse().unwrap()).collect()
    }
}

/// A confined process to be.
struct Trial {
    policy: Policy,
    places: Places,
    /// Behave as if Landlock had this to offer, without using it.
    landlocked: Option<Landlocked>,
    forks: bool,
    sweeps: bool,
}

impl Trial {
    fn new(policy: Policy) -> Self {
        Self { policy, places: everywhere(), landlocked: None, forks: false, sweeps: false }
    }

    /// Runs `body` confined; what it returns is said.
    fn run(self, body: impl FnOnce(OwnedFd) -> String) -> Seen {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let pid = sys::spawn(|| {
            nix::unistd::setsid().unwrap();
            let (landlocked, listener) = if let Some(landlocked) = &self.landlocked {
                privileges::no_new_privs().unwrap();
                privileges::drop_capabilities().unwrap();
                (landlocked.clone(), seccomp::install(self.policy, landlocked).unwrap())
            } else {
                let landlocked = confine(self.policy, &self.places).unwrap();
                let listener = filter(self.policy, &landlocked).unwrap();
                (landlocked, listener)
            };
            send(&theirs, &listener, landlocked.scoped);
            drop(listener);
            let mut output = theirs.try_clone().unwrap();
            let said = body(theirs.into());
            output.write_all(said.as_bytes()).unwrap();
            0
        });
        let (listener, scoped) = receive(&ours);
        let landlocked = Landlocked { scoped, ..Landlocked::default() };
        let interpreter = pid.as_raw().cast_unsigned();
        let mut warden = Warden::new(self.policy, &landlocked, interpreter, Reach::default());
        if self.forks {
            warden.permit_fork();
        }
        if self.sweeps {
            warden.permit_sweep();
        }
        attend(pid, &Listener::new(listener), &mut warden, &ours)
    }

    /// Makes system calls one after the other; says what they return.
    fn calls(self, calls: &[(i64, [u64; 6])]) -> Seen {
        self.run(|_| {
            let results = calls.iter().map(|(number, args)| sys::syscall(*number, *args));
            results.map(|result| result.to_string()).collect::<Vec<_>>().join(" ")
        })
    }

    /// Becomes Python.
    fn python(self, script: &str) -> Seen {
        use std::os::unix::process::CommandExt;
        self.run(|output| {
            let errors = output.try_clone().unwrap();
            let failed = std::process::Command::new("/usr/bin/python3")
                .args(["-I", "-B", "-c", script])
                .stdin(std::process::Stdio::null())
                .stdout(output)
                .stderr(errors)
                .exec();
            format!("no Python: {failed}")
        })
    }
}

fn attend(
    pid: nix::unistd::Pid,
    listener: &Listener,
    warden: &mut Warden,
    output: &UnixStream,
) -> Seen {
    let mut attempts = Vec::new();
    let mut said = Vec::new();
    output.set_nonblocking(true).unwrap();
    loop {
        let mut fds = [
            PollFd::new(listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(output.as_fd(), PollFlags::POLLIN),
        ];
        let ended = waitpid(pid, Some(WaitPidFlag::WNOHANG)).unwrap();
        poll(&mut fds, PollTimeout::from(10_u8)).unwrap();
        attempts.extend(listener.attend(warden).unwrap());
        let _ = { output }.read_to_end(&mut said);
        if ended != WaitStatus::StillAlive {
            let reached = warden.take_reached().into_iter().map(|(_, path)| path).collect();
            let said = String::from_utf8_lossy(&said).into_owned();
            return Seen { ended, attempts, reached, said };
        }
    }
}

fn send(stream: &UnixStream, listener: &OwnedFd, scoped: bool) {
    let fds = [listener.as_raw_fd()];
    let message = [u8::from(scoped)];
    sendmsg::<()>(
        stream.as_raw_fd(),
        &[IoSlice::new(&message)],
        &[ControlMessage::ScmRights(&fds)],
        MsgFlags::empty(),
        None,
    )
    .unwrap();
}

fn receive(stream: &UnixStream) -> (OwnedFd, bool) {
    let mut byte = [0];
    let mut space = cmsg_space!(RawFd);
    let mut slices = [IoSliceMut::new(&mut byte)];
    let message =
        recvmsg::<()>(stream.as_raw_fd(), &mut slices, Some(&mut space), MsgFlags::empty())
            .unwrap();
    let fd = message.cmsgs().unwrap().find_map(|message| match message {
        ControlMessageOwned::ScmRights(fds) => fds.first().copied(),
        _ => None,
    });
    (sys::own(fd.expect("a listener: the child has failed to confine itself")), byte[0] == 1)
}

#[test]
fn levels_are_one_to_five() {
    for number in 1..=5 {
        assert_eq!(u8::from(Level::try_from(number).unwrap()), number);
    }
    assert!(Level::try_from(0).is_err());
    assert_eq!(
        Level::try_from(6).unwrap_err().to_string(),
        "security level 6 does not exist: choose 1 (loosest) to 5 (strictest)"
    );
}

#[test]
fn a_confined_process_has_no_capability_and_cannot_get_any() {
    let seen = Trial::new(policy(1)).python("print(open('/proc/self/status').read())");
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let none = format!("{set}:\t0000000000000000");
        // Who is not root may be unable to empty the bounding set, and gains nothing from it.
        assert!(
            seen.said.contains(&none) || (set == "CapBnd" && !nix::unistd::getuid().is_root()),
            "{set} in {}",
            seen.said
        );
    }
    assert!(seen.said.contains("NoNewPrivs:\t1"), "{}", seen.said);
    assert!(seen.said.contains("Seccomp:\t2"), "{}", seen.said);
}

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

use menace_model::{CallConfinement, SecurityLevel};
use nix::cmsg_space;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use super::{
    AllowedPaths, ConfinementPolicy, LandlockStatus, NotifyListener, PathAccessRecorder,
    SyscallSupervisor, SyscallViolation, ViolationKind, confine, install_filter, landlock,
    privileges, rules::HARNESS_OPEN_FLAG, seccomp,
};

fn policy(level: u8) -> ConfinementPolicy {
    let security_level = SecurityLevel::try_from(level).unwrap();
    ConfinementPolicy {
        confinement: CallConfinement { security_level, safe_mode: false },
        namespaces: true,
        host_sockets_visible: false,
        records_path_access: false,
        interposition: menace_model::SyscallInterposition::default(),
    }
}

fn safe_policy(level: u8) -> ConfinementPolicy {
    let mut policy = policy(level);
    policy.confinement.safe_mode = true;
    policy
}

/// A C `int` as a register holds it.
fn int(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

fn unrestricted_paths() -> AllowedPaths {
    AllowedPaths {
        read: vec!["/".into()],
        write: vec![std::env::temp_dir(), "/dev/shm".into()],
        devices: vec!["/dev".into()],
    }
}

/// What came of a confined process.
#[derive(Debug)]
struct ConfinedRun {
    exit_status: WaitStatus,
    violations: Vec<SyscallViolation>,
    /// The files that it was seen to reach for.
    accessed_paths: Vec<String>,
    /// What it wrote.
    output: String,
}

impl ConfinedRun {
    fn details(&self) -> Vec<&str> {
        self.violations.iter().map(|violation| violation.detail.as_str()).collect()
    }

    fn kinds(&self) -> Vec<ViolationKind> {
        self.violations.iter().map(|violation| violation.kind).collect()
    }

    fn numbers(&self) -> Vec<i64> {
        self.output.split_whitespace().map(|word| word.parse().unwrap()).collect()
    }
}

/// A confined process to be.
struct ConfinementTrial {
    policy: ConfinementPolicy,
    allowed_paths: AllowedPaths,
    /// Behave as if Landlock had this to offer, without using it.
    landlock_status: Option<LandlockStatus>,
    permits_fork: bool,
    permits_sweep: bool,
}

impl ConfinementTrial {
    fn new(policy: ConfinementPolicy) -> Self {
        Self {
            policy,
            allowed_paths: unrestricted_paths(),
            landlock_status: None,
            permits_fork: false,
            permits_sweep: false,
        }
    }

    /// Runs `body` confined; what it returns is said.
    fn run(self, body: impl FnOnce(OwnedFd) -> String) -> ConfinedRun {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let pid = sys::spawn(|| {
            nix::unistd::setsid().unwrap();
            let (landlock_status, listener) = if let Some(landlock_status) = &self.landlock_status {
                privileges::set_no_new_privs().unwrap();
                privileges::drop_capabilities().unwrap();
                (landlock_status.clone(), seccomp::install(self.policy, landlock_status).unwrap())
            } else {
                let landlock_status = confine(self.policy, &self.allowed_paths).unwrap();
                let listener = install_filter(self.policy, &landlock_status).unwrap();
                (landlock_status, listener)
            };
            send(&theirs, &listener, landlock_status.is_scoped);
            drop(listener);
            let mut output = theirs.try_clone().unwrap();
            let said = body(theirs.into());
            output.write_all(said.as_bytes()).unwrap();
            0
        });
        let (listener, scoped) = receive(&ours);
        let landlock_status = LandlockStatus { is_scoped: scoped, ..LandlockStatus::default() };
        let interpreter = pid.as_raw().cast_unsigned();
        let mut supervisor = SyscallSupervisor::new(
            self.policy,
            &landlock_status,
            interpreter,
            PathAccessRecorder::default(),
        );
        if self.permits_fork {
            supervisor.permit_fork();
        }
        if self.permits_sweep {
            supervisor.permit_sweep();
        }
        supervise(pid, &NotifyListener::new(listener), &mut supervisor, &ours)
    }

    /// Makes system calls one after the other; says what they return.
    fn calls(self, calls: &[(i64, [u64; 6])]) -> ConfinedRun {
        self.run(|_| {
            let results = calls.iter().map(|(number, args)| sys::syscall(*number, *args));
            results.map(|result| result.to_string()).collect::<Vec<_>>().join(" ")
        })
    }

    /// Becomes Python.
    fn python(self, script: &str) -> ConfinedRun {
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

fn supervise(
    pid: nix::unistd::Pid,
    listener: &NotifyListener,
    supervisor: &mut SyscallSupervisor,
    output: &UnixStream,
) -> ConfinedRun {
    let mut violations = Vec::new();
    let mut said = Vec::new();
    output.set_nonblocking(true).unwrap();
    loop {
        let mut fds = [
            PollFd::new(listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(output.as_fd(), PollFlags::POLLIN),
        ];
        let ended = waitpid(pid, Some(WaitPidFlag::WNOHANG)).unwrap();
        poll(&mut fds, PollTimeout::from(10_u8)).unwrap();
        violations.extend(listener.answer_next(supervisor).unwrap());
        let _ = { output }.read_to_end(&mut said);
        if ended != WaitStatus::StillAlive {
            let reached = supervisor.take_accesses().0.into_iter().map(|(_, path)| path).collect();
            let said = String::from_utf8_lossy(&said).into_owned();
            return ConfinedRun {
                exit_status: ended,
                violations,
                accessed_paths: reached,
                output: said,
            };
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
fn a_confined_process_has_no_capability_and_cannot_get_any() {
    let seen = ConfinementTrial::new(policy(1)).python("print(open('/proc/self/status').read())");
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let none = format!("{set}:\t0000000000000000");
        // Without root, the bounding set may stay as it is; it grants nothing then.
        assert!(
            seen.output.contains(&none) || (set == "CapBnd" && !nix::unistd::getuid().is_root()),
            "{set} in {}",
            seen.output
        );
    }
    assert!(seen.output.contains("NoNewPrivs:\t1"), "{}", seen.output);
    assert!(seen.output.contains("Seccomp:\t2"), "{}", seen.output);
}

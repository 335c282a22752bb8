//! Programs, processes and signals.

use nix::sys::signal::{Signal, raise};
use nix::sys::wait::WaitStatus;
use nix::unistd::{getpid, getppid};

use super::{Kind, Seen, Trial, int, policy, sys};

const START_A_PROGRAM: &str = "import subprocess, sys; print(subprocess.run(['/bin/true']))";

fn ended_well(seen: &Seen) -> bool {
    matches!(seen.ended, WaitStatus::Exited(_, 0))
}

/// What a guest's kill returns, tried from a process that the interpreter has forked.
fn kill(target: impl FnOnce() -> i32) -> Seen {
    Trial::new(policy(3)).run(|_| {
        let target = target();
        let ended = sys::in_child(|| {
            let result = sys::syscall(libc::SYS_kill, [int(target), 0, 0, 0, 0, 0]);
            i32::try_from(-result).unwrap()
        });
        format!("{ended:?}")
    })
}

#[test]
fn programs_can_be_started_up_to_level_3() {
    for level in 1..=3 {
        let seen = Trial::new(policy(level)).python(START_A_PROGRAM);
        assert!(seen.said.contains("returncode=0"), "{seen:?}");
        assert!(seen.attempts.is_empty(), "{seen:?}");
    }
}

#[test]
fn from_level_4_on_the_interpreter_starts_and_nothing_else_does() {
    let seen = Trial::new(policy(4)).python(START_A_PROGRAM);
    assert!(seen.said.contains("PermissionError: [Errno 13]"), "{seen:?}");
    assert_eq!(seen.details(), ["execve(\"/bin/true\")"]);
    assert_eq!(seen.kinds(), [Kind::Program]);
}

#[test]
fn at_level_5_the_interpreter_forks_when_it_was_asked_to_and_only_then() {
    let script = "import os
def fork(within):
    try:
        pid = os.fork()
    except PermissionError as error:
        print(error.errno, flush=True)
        return
    if pid == 0:
        if within: fork(within - 1)
        os._exit(0)
    os.waitpid(pid, 0)
    print('forked', flush=True)
fork(1)
fork(0)
";
    let seen = Trial { forks: true, ..Trial::new(policy(5)) }.python(script);
    assert_eq!(seen.said, "1\nforked\n1\n", "{seen:?}");
    assert_eq!(seen.kinds(), [Kind::Process; 2], "{seen:?}");
    assert_eq!(Trial::new(policy(4)).python(script).said, "forked\nforked\nforked\n");
}

#[test]
fn threads_can_be_started_at_every_level() {
    for level in 1..=5 {
        let seen = Trial::new(policy(level)).python(
            "import threading as t; x = t.Thread(target=lambda: print('ran')); x.start(); x.join()",
        );
        assert_eq!(seen.said, "ran\n", "{seen:?}");
        assert!(seen.attempts.is_empty(), "{seen:?}");
    }
}

#[test]
fn signals_to_the_keepers_and_to_everyone_are_refused_and_recorded() {
    for (target, shown) in [(1, "1"), (-1, "-1")] {
        let seen = kill(|| target);
        assert!(seen.said.contains(", 1)"), "{seen:?}");
        assert_eq!(seen.details(), [format!("kill({shown}, 0)")]);
        assert_eq!(seen.kinds(), [Kind::Signal]);
    }
    for target in [|| getpid().as_raw(), || -getpid().as_raw(), || getppid().as_raw()] {
        let seen = kill(target);
        assert!(seen.said.contains(", 1)"), "{seen:?}");
        assert_eq!(seen.kinds(), [Kind::Signal], "{seen:?}");
    }
}

#[test]
fn a_sweep_is_permitted_to_the_interpreter_once() {
    let everyone = (libc::SYS_kill, [u64::MAX, 0, 0, 0, 0, 0]);
    let seen = Trial { sweeps: true, ..Trial::new(policy(3)) }.calls(&[everyone, everyone]);
    assert_eq!(seen.details(), ["kill(-1, 0)"], "{seen:?}");
    // Whom Landlock protects the first one may not reach; what counts is that the kernel was asked.
    assert_eq!(seen.numbers()[1], -i64::from(libc::EPERM));

    let seen = Trial { sweeps: true, ..Trial::new(policy(3)) }.run(|_| {
        sys::in_child(|| sys::syscall(everyone.0, everyone.1) as i32);
        String::new()
    });
    assert_eq!(seen.details(), ["kill(-1, 0)"], "{seen:?}");
}

#[test]
fn the_interpreter_may_signal_itself_and_its_children() {
    let seen = Trial::new(policy(3)).python(
        "import os, signal, subprocess
signal.signal(signal.SIGUSR1, lambda *_: print('caught', flush=True))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
child = subprocess.Popen(['/bin/sleep', '60'])
child.terminate()
print(child.wait())
child = subprocess.Popen(['/bin/sleep', '60'])
signal.pidfd_send_signal(os.pidfd_open(child.pid), 9)
print(child.wait())",
    );
    assert_eq!(seen.said, "caught\ncaught\n-15\n-9\n", "{seen:?}");
    assert!(seen.attempts.is_empty(), "{seen:?}");

    let seen = Trial::new(policy(3)).run(|_| {
        raise(Signal::SIGKILL).unwrap();
        String::new()
    });
    assert!(matches!(seen.ended, WaitStatus::Signaled(_, Signal::SIGKILL, _)), "{seen:?}");
}

#[test]
fn a_pidfd_does_not_help_against_the_keepers() {
    let seen = Trial::new(policy(1)).python(
        "import os, signal
for fd in os.pidfd_open(1), os.pidfd_open(os.getppid()), os.open('/proc/1', os.O_RDONLY):
    try: signal.pidfd_send_signal(fd, 0)
    except PermissionError: print('refused')",
    );
    assert_eq!(seen.said, "refused\nrefused\nrefused\n", "{seen:?}");
    assert_eq!(seen.kinds(), [Kind::Signal; 3]);
}

#[test]
fn limits_and_priorities_of_the_keepers_cannot_be_changed() {
    let keeper = 1;
    let seen = Trial::new(policy(1)).calls(&[
        (libc::SYS_prlimit64, [keeper, 0, 0, 0, 0, 0]),
        (libc::SYS_sched_setaffinity, [keeper, 0, 0, 0, 0, 0]),
        (libc::SYS_sched_setscheduler, [keeper, 0, 0, 0, 0, 0]),
        (libc::SYS_setpriority, [0, keeper, 0, 0, 0, 0]),
        (libc::SYS_setpriority, [2, 0, 0, 0, 0, 0]),
        (libc::SYS_ioprio_set, [1, keeper, 0, 0, 0, 0]),
        (libc::SYS_setpriority, [0, 0, 19, 0, 0, 0]),
    ]);
    assert_eq!(seen.kinds(), [Kind::Signal; 6], "{seen:?}");
    assert_eq!(seen.numbers(), [-1, -1, -1, -1, -1, -1, 0]);
}

#[test]
fn an_asker_that_is_killed_while_it_waits_harms_nobody() {
    let seen = Trial::new(policy(3)).run(|_| {
        for _ in 0..50 {
            let asker = sys::spawn(|| {
                loop {
                    sys::syscall(libc::SYS_ptrace, [0; 6]);
                }
            });
            nix::sys::signal::kill(asker, Signal::SIGKILL).unwrap();
            nix::sys::wait::waitpid(asker, None).unwrap();
        }
        "done".to_owned()
    });
    assert_eq!(seen.said, "done");
    assert!(ended_well(&seen), "{seen:?}");
}

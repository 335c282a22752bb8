//! Programs, processes and signals.

use nix::sys::signal::{Signal, raise};
use nix::sys::wait::WaitStatus;
use nix::unistd::{getpid, getppid};

use super::{ConfinedRun, ConfinementTrial, ViolationKind, int, policy, sys};

const START_A_PROGRAM: &str = "import subprocess, sys; print(subprocess.run(['/bin/true']))";

fn exited_cleanly(seen: &ConfinedRun) -> bool {
    matches!(seen.exit_status, WaitStatus::Exited(_, 0))
}

/// What a guest's kill returns, tried from a process that the interpreter has forked.
fn kill(target: impl FnOnce() -> i32) -> ConfinedRun {
    ConfinementTrial::new(policy(3)).run(|_| {
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
        let seen = ConfinementTrial::new(policy(level)).python(START_A_PROGRAM);
        assert!(seen.output.contains("returncode=0"), "{seen:?}");
        assert!(seen.violations.is_empty(), "{seen:?}");
    }
}

#[test]
fn from_level_4_on_the_interpreter_starts_and_nothing_else_does() {
    let seen = ConfinementTrial::new(policy(4)).python(START_A_PROGRAM);
    assert!(seen.output.contains("PermissionError: [Errno 13]"), "{seen:?}");
    assert_eq!(seen.details(), ["execve(\"/bin/true\")"]);
    assert_eq!(seen.kinds(), [ViolationKind::Program]);
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
    let seen =
        ConfinementTrial { permits_fork: true, ..ConfinementTrial::new(policy(5)) }.python(script);
    assert_eq!(seen.output, "1\nforked\n1\n", "{seen:?}");
    assert_eq!(seen.kinds(), [ViolationKind::Process; 2], "{seen:?}");
    assert_eq!(ConfinementTrial::new(policy(4)).python(script).output, "forked\nforked\nforked\n");
}

#[test]
fn threads_can_be_started_at_every_level() {
    for level in 1..=5 {
        let seen = ConfinementTrial::new(policy(level)).python(
            "import threading as t; x = t.Thread(target=lambda: print('ran')); x.start(); x.join()",
        );
        assert_eq!(seen.output, "ran\n", "{seen:?}");
        assert!(seen.violations.is_empty(), "{seen:?}");
    }
}

#[test]
fn signals_to_init_zygote_and_all_processes_are_refused_and_recorded() {
    for (target, shown) in [(1, "1"), (-1, "-1")] {
        let seen = kill(|| target);
        assert!(seen.output.contains(", 1)"), "{seen:?}");
        assert_eq!(seen.details(), [format!("kill({shown}, 0)")]);
        assert_eq!(seen.kinds(), [ViolationKind::Signal]);
    }
    for target in [|| getpid().as_raw(), || -getpid().as_raw(), || getppid().as_raw()] {
        let seen = kill(target);
        assert!(seen.output.contains(", 1)"), "{seen:?}");
        assert_eq!(seen.kinds(), [ViolationKind::Signal], "{seen:?}");
    }
}

#[test]
fn a_sweep_is_permitted_to_the_interpreter_once() {
    let kill_all = (libc::SYS_kill, [u64::MAX, 0, 0, 0, 0, 0]);
    let seen = ConfinementTrial { permits_sweep: true, ..ConfinementTrial::new(policy(3)) }
        .calls(&[kill_all, kill_all]);
    assert_eq!(seen.details(), ["kill(-1, 0)"], "{seen:?}");
    // Landlock may protect all others from the first one; it counts that the kernel was asked.
    assert_eq!(seen.numbers()[1], -i64::from(libc::EPERM));

    let seen =
        ConfinementTrial { permits_sweep: true, ..ConfinementTrial::new(policy(3)) }.run(|_| {
            sys::in_child(|| sys::syscall(kill_all.0, kill_all.1) as i32);
            String::new()
        });
    assert_eq!(seen.details(), ["kill(-1, 0)"], "{seen:?}");
}

#[test]
fn the_interpreter_may_signal_itself_and_its_children() {
    let seen = ConfinementTrial::new(policy(3)).python(
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
    assert_eq!(seen.output, "caught\ncaught\n-15\n-9\n", "{seen:?}");
    assert!(seen.violations.is_empty(), "{seen:?}");

    let seen = ConfinementTrial::new(policy(3)).run(|_| {
        raise(Signal::SIGKILL).unwrap();
        String::new()
    });
    assert!(matches!(seen.exit_status, WaitStatus::Signaled(_, Signal::SIGKILL, _)), "{seen:?}");
}

#[test]
fn a_pidfd_gives_no_access_to_init_and_zygote() {
    let seen = ConfinementTrial::new(policy(1)).python(
        "import os, signal
for fd in os.pidfd_open(1), os.pidfd_open(os.getppid()), os.open('/proc/1', os.O_RDONLY):
    try: signal.pidfd_send_signal(fd, 0)
    except PermissionError: print('refused')",
    );
    assert_eq!(seen.output, "refused\nrefused\nrefused\n", "{seen:?}");
    assert_eq!(seen.kinds(), [ViolationKind::Signal; 3]);
}

#[test]
fn limits_and_priorities_of_init_and_zygote_cannot_be_changed() {
    let trusted_pid = 1;
    let seen = ConfinementTrial::new(policy(1)).calls(&[
        (libc::SYS_prlimit64, [trusted_pid, 0, 0, 0, 0, 0]),
        (libc::SYS_sched_setaffinity, [trusted_pid, 0, 0, 0, 0, 0]),
        (libc::SYS_sched_setscheduler, [trusted_pid, 0, 0, 0, 0, 0]),
        (libc::SYS_setpriority, [0, trusted_pid, 0, 0, 0, 0]),
        (libc::SYS_setpriority, [2, 0, 0, 0, 0, 0]),
        (libc::SYS_ioprio_set, [1, trusted_pid, 0, 0, 0, 0]),
        (libc::SYS_setpriority, [0, 0, 19, 0, 0, 0]),
    ]);
    assert_eq!(seen.kinds(), [ViolationKind::Signal; 6], "{seen:?}");
    assert_eq!(seen.numbers(), [-1, -1, -1, -1, -1, -1, 0]);
}

#[test]
fn a_process_killed_while_its_notification_waits_does_no_harm() {
    let seen = ConfinementTrial::new(policy(3)).run(|_| {
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
    assert_eq!(seen.output, "done");
    assert!(exited_cleanly(&seen), "{seen:?}");
}

//! The never list, at every level.

use super::super::syscalls;
use super::{ConfinementTrial, ViolationKind, policy, sys};

fn zeros(calls: impl Iterator<Item = i64>) -> Vec<(i64, [u64; 6])> {
    calls.map(|number| (number, [0; 6])).collect()
}

#[test]
fn every_call_of_the_never_list_is_refused_and_recorded_at_every_level() {
    let never: Vec<_> = syscalls::FORBIDDEN_SYSCALLS
        .iter()
        .flat_map(|(kind, calls)| calls.iter().map(|call| (*kind, *call)))
        .collect();
    for level in 1..=5 {
        let seen = ConfinementTrial::new(policy(level))
            .calls(&zeros(never.iter().map(|(_, call)| call.number)));
        assert_eq!(seen.violations.len(), never.len(), "{seen:?}");
        for ((kind, call), (violation, result)) in
            never.iter().zip(seen.violations.iter().zip(seen.numbers()))
        {
            assert_eq!(violation.kind, *kind, "{violation:?}");
            assert!(violation.detail.starts_with(&format!("{}(", call.name)), "{violation:?}");
            let expected = if *kind == ViolationKind::Ipc { libc::ENOSYS } else { libc::EPERM };
            assert_eq!(result, -i64::from(expected), "{}", call.name);
        }
    }
}

#[test]
fn rare_calls_are_closed_from_level_3_on() {
    let rare: Vec<_> =
        syscalls::RARE_SYSCALLS.iter().copied().flatten().map(|call| call.number).collect();
    assert!(
        ConfinementTrial::new(policy(2)).calls(&zeros(rare.iter().copied())).violations.is_empty()
    );
    let seen = ConfinementTrial::new(policy(3)).calls(&zeros(rare.iter().copied()));
    assert_eq!(seen.kinds(), vec![ViolationKind::Rare; rare.len()]);
}

#[test]
fn probes_of_ordinary_programs_find_nothing_and_are_not_recorded() {
    let absent = syscalls::ABSENT_SYSCALLS.iter().map(|call| call.number);
    // Newer than this program.
    let seen = ConfinementTrial::new(policy(1)).calls(&zeros(absent.chain([4000])));
    assert!(seen.violations.is_empty(), "{seen:?}");
    assert!(seen.numbers().iter().all(|result| *result == -i64::from(libc::ENOSYS)), "{seen:?}");
}

#[test]
fn violations_read_like_the_calls_they_were() {
    let (proc, place) = (c"proc", c"/x\n");
    let (path, name) = (place.as_ptr() as u64, proc.as_ptr() as u64);
    let seen = ConfinementTrial::new(policy(3)).calls(&[
        (libc::SYS_mount, [name, path, name, 0, 0, 0]),
        (libc::SYS_mount, [0, 1, 0, 0, 0, 0]),
        (libc::SYS_ptrace, [16, 1, 0, 0, 0, 0]),
        (libc::SYS_unshare, [(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) as u64, 0, 0, 0, 0, 0]),
        (libc::SYS_clone, [libc::CLONE_NEWNET as u64, 0, 0, 0, 0, 0]),
        (libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0]),
        (libc::SYS_prctl, [libc::PR_SET_SECCOMP as u64, 2, 0, 0, 0, 0]),
        (libc::SYS_personality, [0x0004_0000, 0, 0, 0, 0, 0]),
        (libc::SYS_fcntl, [0, libc::F_SETLEASE as u64, 0, 0, 0, 0]),
    ]);
    assert_eq!(
        seen.details(),
        [
            r#"mount("proc", "/x\n", "proc", 0x0)"#,
            "mount(NULL, ?, NULL, 0x0)",
            "ptrace(ATTACH, 1)",
            "unshare(NEWNS|NEWUSER)",
            "clone(NEWNET)",
            "ioctl(0, 0x5412)",
            "prctl(22)",
            "personality(0x40000)",
            "fcntl(0, 1024)",
        ]
    );
    assert_eq!(seen.kinds()[3..5], [ViolationKind::Namespace, ViolationKind::Namespace]);
}

#[test]
fn no_device_can_be_made_but_a_pipe_can() {
    let directory = tempfile::tempdir().unwrap();
    let path = std::ffi::CString::new(directory.path().join("node").to_str().unwrap()).unwrap();
    let at = |mode: u32| {
        let here = i64::from(libc::AT_FDCWD).cast_unsigned();
        (libc::SYS_mknodat, [here, path.as_ptr() as u64, u64::from(mode | 0o600), 0, 0, 0])
    };
    let seen = ConfinementTrial::new(policy(3)).calls(&[
        at(libc::S_IFCHR),
        at(libc::S_IFBLK),
        at(libc::S_IFIFO),
    ]);
    assert_eq!(seen.kinds(), [ViolationKind::File; 2]);
    assert_eq!(seen.numbers(), [-1, -1, 0]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_other_architectures_are_refused_and_recorded() {
    const GETPID_X32: i64 = 0x4000_0000 | libc::SYS_getpid;
    const GETPID_32_BIT: u32 = 20;
    let seen = ConfinementTrial::new(policy(1)).run(|_| {
        format!("{} {}", sys::syscall(GETPID_X32, [0; 6]), sys::syscall_32_bit(GETPID_32_BIT))
    });
    assert_eq!(seen.kinds(), [ViolationKind::Foreign; 2], "{seen:?}");
    assert_eq!(seen.numbers(), [-i64::from(libc::ENOSYS); 2]);
}

#[test]
fn each_call_is_in_one_group_only() {
    let mut numbers: Vec<_> = syscalls::all_syscalls().map(|(call, _)| call.number).collect();
    numbers.sort_unstable();
    let twice: Vec<_> = numbers.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn every_call_up_to_linux_6_18_has_a_group() {
    let missing: Vec<_> =
        (0..=334).chain(424..=469).filter(|n| syscalls::look_up(*n).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

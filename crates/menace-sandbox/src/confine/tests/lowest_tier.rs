//! Without namespaces: everything that can be named is the host's.

use super::{ConfinementPolicy, ConfinementTrial, LandlockStatus, ViolationKind, int, policy, sys};

fn lowest(level: u8) -> ConfinementPolicy {
    ConfinementPolicy { namespaces: false, ..policy(level) }
}

/// A kernel whose Landlock does not keep signals inside.
fn old_kernel() -> LandlockStatus {
    LandlockStatus { abi: 2, restricts_files: true, ..LandlockStatus::default() }
}

fn socket(family: i32, kind: i32) -> (i64, [u64; 6]) {
    (libc::SYS_socket, [int(family), int(kind), 0, 0, 0, 0])
}

#[test]
fn the_only_sockets_are_pairs_that_cannot_be_pointed_elsewhere() {
    let mut into = [0; 2];
    let mut pair =
        |kind: i32| (libc::SYS_socketpair, [1, int(kind), 0, into.as_mut_ptr() as u64, 0, 0]);
    let address = *b"\x02\0\0\x50\x7f\0\0\x01\0\0\0\0\0\0\0\0";
    for level in 1..=5 {
        let seen = ConfinementTrial::new(lowest(level)).calls(&[
            socket(libc::AF_UNIX, libc::SOCK_STREAM),
            socket(libc::AF_INET, libc::SOCK_DGRAM),
            pair(libc::SOCK_DGRAM),
            (libc::SYS_connect, [3, address.as_ptr() as u64, 16, 0, 0, 0]),
            pair(libc::SOCK_STREAM),
        ]);
        assert_eq!(
            seen.details(),
            [
                "socket(AF_UNIX, SOCK_STREAM, 0)",
                "socket(AF_INET, SOCK_DGRAM, 0)",
                "socketpair(AF_UNIX, SOCK_DGRAM, 0)",
                "connect(3, 127.0.0.1:80)",
            ]
        );
        assert_eq!(seen.numbers()[4], 0);
    }
}

#[test]
fn signals_go_to_oneself_only_where_the_kernel_does_not_keep_them_inside() {
    let trial = ConfinementTrial {
        landlock_status: Some(old_kernel()),
        ..ConfinementTrial::new(lowest(3))
    };
    let seen = trial.python(
        "import os, signal, threading
signal.signal(signal.SIGUSR1, lambda *_: print('caught', flush=True))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1)).start()
for pid in os.getppid(), 1, 0, -1:
    try: os.kill(pid, 0)
    except PermissionError: print('refused', flush=True)",
    );
    assert_eq!(seen.output.matches("caught").count(), 4, "{seen:?}");
    assert_eq!(seen.output.matches("refused").count(), 4, "{seen:?}");
    assert_eq!(seen.kinds(), [ViolationKind::Signal; 4], "{seen:?}");
}

#[test]
fn limits_and_priorities_are_for_oneself_only() {
    let seen = ConfinementTrial::new(lowest(1)).run(|_| {
        let me = u64::from(std::process::id());
        let parent = int(nix::unistd::getppid().as_raw());
        let limit = |pid| sys::syscall(libc::SYS_prlimit64, [pid, 0, 0, 0, 0, 0]);
        let priority = |which, pid| sys::syscall(libc::SYS_setpriority, [which, pid, 19, 0, 0, 0]);
        format!(
            "{} {} {} {} {} {}",
            limit(0),
            limit(me),
            limit(parent),
            priority(0, me),
            priority(0, parent),
            priority(2, 0)
        )
    });
    assert_eq!(seen.numbers(), [0, 0, -1, 0, -1, -1], "{seen:?}");
    assert_eq!(seen.kinds(), [ViolationKind::Signal; 3]);
}

#[test]
fn descriptors_cannot_be_made_to_signal_others() {
    for policy in [lowest(1), policy(1), policy(3)] {
        let seen = ConfinementTrial::new(policy).calls(&[
            (libc::SYS_fcntl, [0, libc::F_SETOWN as u64, 1, 0, 0, 0]),
            (libc::SYS_fcntl, [0, 10, 9, 0, 0, 0]),
            (libc::SYS_ioctl, [0, 0x8901, 0, 0, 0, 0]),
        ]);
        assert_eq!(seen.violations.len(), 3, "{seen:?}");
    }
}

#[test]
fn the_signal_at_the_parents_death_can_be_set_but_not_cleared() {
    let death = |signal| (libc::SYS_prctl, [libc::PR_SET_PDEATHSIG as u64, signal, 0, 0, 0, 0]);
    let seen = ConfinementTrial::new(lowest(3)).calls(&[death(9), death(0)]);
    assert_eq!(seen.numbers(), [0, -1]);
    assert_eq!(seen.details(), ["prctl(1)"]);
}

/// Landlock covers neither modes nor times, and these files would be the host's.
#[test]
fn changes_of_metadata_are_pretended() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let before = std::fs::metadata(&file).unwrap().permissions();
    let path = file.display();
    let seen = ConfinementTrial::new(lowest(1)).python(&format!(
        "import os; os.chmod({path:?}, 0o777); os.utime({path:?}, (0, 0)); os.sync()",
        path = path.to_string()
    ));
    assert!(seen.output.is_empty() && seen.violations.is_empty(), "{seen:?}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions(), before);
    let file_setattr = (469, [0; 6]);
    for level in [1, 2] {
        let seen = ConfinementTrial::new(lowest(level)).calls(&[file_setattr]);
        assert_eq!((seen.numbers(), seen.violations.len()), (vec![0], 0), "{seen:?}");
    }
}

/// `ioctl` through a descriptor that only reads cannot change them either.
#[test]
fn flags_and_attributes_of_files_cannot_be_changed() {
    const GET_FLAGS: u64 = 0x8008_6601;
    const SET_FLAGS: u64 = 0x4008_6602;
    const SET_ATTRIBUTES: u64 = 0x401c_5820;
    const ENABLE_VERITY: u64 = 0x4080_6685;
    const TERMINAL: u64 = libc::TCGETS;
    const NO_DUMP: u64 = 0x40;
    let file = tempfile::NamedTempFile::new().unwrap();
    let reader = std::fs::File::open(file.path()).unwrap();
    let fd = int(std::os::fd::AsRawFd::as_raw_fd(&reader));
    let (mut flags, wanted, nothing) = (0_u64, NO_DUMP, [0_u64; 16]);
    let request =
        |request, into: *const u64| (libc::SYS_ioctl, [fd, request, into as u64, 0, 0, 0]);
    for level in 1..=5 {
        let seen = ConfinementTrial::new(lowest(level)).calls(&[
            request(SET_FLAGS, &raw const wanted),
            request(SET_ATTRIBUTES, nothing.as_ptr()),
            request(ENABLE_VERITY, nothing.as_ptr()),
            request(TERMINAL, nothing.as_ptr()),
        ]);
        assert_eq!(seen.numbers(), [-i64::from(libc::ENOTTY); 4], "{seen:?}");
        assert_eq!(seen.details(), Vec::<&str>::new());
    }
    let (number, arguments) = request(GET_FLAGS, &raw mut flags);
    assert_eq!(sys::syscall(number, arguments), 0);
    assert_eq!(flags & NO_DUMP, 0);
    // Where there are namespaces, the file is the sandbox's.
    let seen = ConfinementTrial::new(policy(1)).calls(&[request(SET_FLAGS, &raw const wanted)]);
    assert_eq!(seen.numbers(), [0], "{seen:?}");
}

#[test]
fn truncating_by_path_is_refused_where_landlock_does_not_cover_it() {
    let truncate = [(libc::SYS_truncate, [0; 6])];
    let old = ConfinementTrial {
        landlock_status: Some(old_kernel()),
        ..ConfinementTrial::new(lowest(1))
    };
    assert_eq!(old.calls(&truncate).details(), ["truncate(NULL)"]);
    let new = LandlockStatus { abi: 3, ..old_kernel() };
    let new = ConfinementTrial { landlock_status: Some(new), ..ConfinementTrial::new(lowest(1)) };
    assert!(new.calls(&truncate).violations.is_empty());
}

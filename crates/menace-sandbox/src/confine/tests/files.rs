//! Landlock.

use std::ffi::CStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::WaitStatus;

use menace_model::SyscallInterposition;

use super::{
    AllowedPaths, ConfinedRun, ConfinementPolicy, ConfinementTrial, HARNESS_OPEN_FLAG, landlock,
    policy, privileges, sys,
};

/// A directory with a place to read, a place to write and a secret.
fn test_directories() -> (tempfile::TempDir, AllowedPaths) {
    let house = tempfile::tempdir().unwrap();
    for room in ["read", "write", "secret"] {
        fs::create_dir(house.path().join(room)).unwrap();
        fs::write(house.path().join(room).join("file"), room).unwrap();
    }
    let allowed_paths = AllowedPaths {
        read: vec![house.path().join("read"), house.path().join("nowhere")],
        write: vec![house.path().join("write")],
        devices: vec!["/dev/null".into()],
    };
    (house, allowed_paths)
}

fn outcome<T>(result: io::Result<T>) -> i64 {
    result.map_or_else(|error| i64::from(error.raw_os_error().unwrap()), |_| 0)
}

fn try_file_accesses(policy: ConfinementPolicy) -> ConfinedRun {
    let (house, allowed_paths) = test_directories();
    let at = |path: &str| house.path().join(path);
    let (allowed, forbidden) =
        ([at("read/file"), at("write/file"), "/dev/null".into()], [at("secret/file")]);
    ConfinementTrial { allowed_paths, ..ConfinementTrial::new(policy) }.run(|_| {
        let mut results: Vec<_> =
            allowed.iter().chain(&forbidden).map(|path| outcome(fs::read(path))).collect();
        results.push(outcome(fs::write(at("write/new"), "new")));
        results.push(outcome(fs::create_dir(at("write/directory"))));
        results.push(outcome(fs::rename(at("write/new"), at("write/directory/moved"))));
        results.push(outcome(fs::write(at("read/file"), "changed")));
        results.push(outcome(fs::write(at("secret/new"), "new")));
        results.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    })
}

#[test]
fn from_level_2_on_only_the_places_given_can_be_used() {
    const NO: i64 = libc::EACCES as i64;
    for level in 2..=5 {
        assert_eq!(
            try_file_accesses(policy(level)).numbers(),
            [0, 0, 0, NO, 0, 0, 0, NO, NO],
            "{level}"
        );
    }
}

#[test]
fn level_1_leaves_files_to_the_mount_namespace() {
    assert_eq!(try_file_accesses(policy(1)).numbers(), [0; 9]);
}

#[test]
fn without_namespaces_files_are_restricted_at_every_level() {
    for level in 1..=5 {
        let seen = try_file_accesses(ConfinementPolicy { namespaces: false, ..policy(level) });
        assert_eq!(seen.numbers()[3], i64::from(libc::EACCES), "{seen:?}");
    }
}

#[test]
fn the_report_says_what_holds_and_what_does_not() {
    let (_house, allowed_paths) = test_directories();
    let ended = sys::in_child(|| {
        privileges::set_no_new_privs().unwrap();
        let landlock_status = landlock::restrict(policy(4), &allowed_paths).unwrap();
        assert_eq!(landlock_status.abi, landlock::kernel_abi());
        assert!(landlock_status.restricts_files);
        assert_eq!(landlock_status.restricts_tcp, landlock_status.abi >= 4);
        assert_eq!(landlock_status.is_scoped, landlock_status.abi >= 6);
        assert_eq!(landlock_status.unenforced.is_empty(), landlock_status.abi >= 6);
        0
    });
    assert!(matches!(ended, WaitStatus::Exited(_, 0)), "{ended:?}");
}

#[test]
fn what_the_harness_opens_is_not_asked_about_even_where_faults_listen() {
    let here = i64::from(libc::AT_FDCWD).cast_unsigned();
    let open =
        |path: &CStr, flags: u64| (libc::SYS_openat, [here, path.as_ptr() as u64, flags, 0, 0, 0]);
    for files in [false, true] {
        let interpose = SyscallInterposition { files, ..SyscallInterposition::default() };
        let policy =
            ConfinementPolicy { records_path_access: true, interposition: interpose, ..policy(3) };
        #[allow(unused_mut, reason = "other architectures have no other way to open")]
        let mut calls = vec![open(c"/harness", HARNESS_OPEN_FLAG), open(c"/guest", 0)];
        #[cfg(target_arch = "x86_64")]
        for (path, flags) in [(c"/old/harness", HARNESS_OPEN_FLAG), (c"/old/guest", 0)] {
            calls.push((libc::SYS_open, [path.as_ptr() as u64, flags, 0, 0, 0, 0]));
        }
        let seen = ConfinementTrial::new(policy).calls(&calls);
        assert!(seen.numbers().iter().all(|answer| *answer < 0), "{seen:?}");
        let guests = seen.accessed_paths.iter().filter(|path| path.ends_with("guest")).count();
        assert_eq!((guests, seen.accessed_paths.len()), (calls.len() / 2, guests), "{seen:?}");
    }
}

/// Enters namespaces in which mounting is possible.
fn own_mounts() -> io::Result<()> {
    let (uid, gid) = (nix::unistd::getuid(), nix::unistd::getgid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

fn mount_with_file(at: &Path) -> io::Result<()> {
    fs::create_dir(at)?;
    mount(Some("tmpfs"), at, Some("tmpfs"), MsFlags::empty(), None::<&str>)?;
    fs::write(at.join("file"), "mounted")
}

#[test]
fn a_rule_holds_for_what_is_mounted_beneath_later_and_for_nothing_else() {
    let (house, allowed_paths) = test_directories();
    let inside = house.path().join("read/mount");
    let outside = house.path().join("secret/mount");
    let ended = sys::in_child(|| {
        own_mounts().unwrap();
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let guest = sys::spawn(|| {
            privileges::set_no_new_privs().unwrap();
            landlock::restrict(policy(2), &allowed_paths).unwrap();
            theirs.write_all(&[1]).unwrap();
            theirs.read_exact(&mut [0]).unwrap();
            assert_eq!(fs::read_to_string(inside.join("file")).unwrap(), "mounted");
            assert_eq!(outcome(fs::write(inside.join("file"), "")), i64::from(libc::EACCES));
            assert_eq!(outcome(fs::read(outside.join("file"))), i64::from(libc::EACCES));
            0
        });
        ours.read_exact(&mut [0]).unwrap();
        mount_with_file(&inside).unwrap();
        mount_with_file(&outside).unwrap();
        ours.write_all(&[1]).unwrap();
        match nix::sys::wait::waitpid(guest, None).unwrap() {
            WaitStatus::Exited(_, code) => code,
            _ => 102,
        }
    });
    assert!(matches!(ended, WaitStatus::Exited(_, 0)), "{ended:?}");
}

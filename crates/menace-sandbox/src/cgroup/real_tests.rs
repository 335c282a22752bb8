//! Groups of the kernel that runs the tests. As root, which the test machine is, a missing
//! controller fails the test; otherwise the test prints that it proved nothing.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::*;

const MIB: u64 = 1 << 20;
const SIGKILL: i32 = 9;

fn group() -> Option<SandboxCgroup> {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let available = detect_cgroups();
    for controller in CgroupController::ALL {
        let why = available.explain_missing(controller);
        if !is_root && why.is_some() {
            not_tested(&format!("control groups, not being root: {why:?}"));
            return None;
        }
        assert!(available.version(controller).is_some(), "{why:?}");
    }
    let name = next_name().unwrap();
    Some(SandboxCgroup::create(&available, &name).unwrap().unwrap())
}

#[expect(clippy::print_stderr, reason = "a test that proves nothing must say so")]
fn not_tested(what: &str) {
    eprintln!("NOT TESTED: {what}");
}

/// Only version 2 before Linux 6.12 cannot reset the peak.
fn has_peak(files: &CgroupFiles) -> bool {
    let has = files.reset_peak_memory().unwrap();
    if !has {
        assert_eq!(files.version(CgroupController::Memory), Some(CgroupVersion::CgroupV2));
        not_tested("the peak, which this kernel cannot reset");
    }
    has
}

/// A Python that starts, waits to be attached, then runs `code`.
struct CgroupGuest(Child);

impl CgroupGuest {
    fn start(files: &CgroupFiles, code: &str) -> Self {
        let code = format!("import sys; print(flush=True); sys.stdin.readline()\n{code}");
        let mut child = Command::new("/usr/bin/python3")
            .args(["-I", "-S", "-c", &code])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ready = [0];
        let stdout = child.stdout.as_mut().unwrap();
        stdout.read_exact(&mut ready).unwrap();
        files.attach(child.id()).unwrap();
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        Self(child)
    }

    fn wait_with_output(mut self) -> (ExitStatus, String) {
        let mut output = String::new();
        let mut stdout = self.0.stdout.take().unwrap();
        stdout.read_to_string(&mut output).unwrap();
        (self.0.wait().unwrap(), output)
    }
}

const ALLOCATE_200_MB: &str = "b = bytearray(200 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1";

#[test]
fn other_users_can_change_nothing_of_a_group() {
    let mask = nix::sys::stat::umask(nix::sys::stat::Mode::empty());
    let group = group();
    nix::sys::stat::umask(mask);
    let Some(group) = group else { return };
    let own = nix::unistd::geteuid().as_raw();
    let mut count = 0;
    for path in group.directories() {
        let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        for path in files.chain([path.to_owned()]) {
            let found = fs::metadata(&path).unwrap();
            // `cgroup.event_control` of version 1 takes no write without the right to another file.
            if path.ends_with("cgroup.event_control") {
                continue;
            }
            assert_eq!((found.uid(), found.mode() & 0o022), (own, 0), "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 5, "only {count} files were found");
}

#[test]
fn a_guest_that_takes_more_than_its_memory_is_killed_and_counted() {
    let Some(mut group) = group() else { return };
    group.files_mut().set_memory_limit(Some(64 * MIB)).unwrap();
    let files = group.files();
    let has_peak = has_peak(files);
    assert_eq!(files.oom_kills().unwrap(), 0);
    let (status, _) = CgroupGuest::start(files, ALLOCATE_200_MB).wait_with_output();
    assert_eq!(status.signal(), Some(SIGKILL));
    assert_eq!(files.oom_kills().unwrap(), 1);
    if has_peak {
        let peak = files.peak_memory().unwrap().unwrap();
        assert!((60 * MIB..=64 * MIB).contains(&peak), "{peak}");
    }
}

#[test]
fn a_raised_limit_lets_the_same_guest_live_and_a_lowered_one_kills_it_again() {
    let Some(mut group) = group() else { return };
    let limits = [Some(64), Some(400), Some(32), None, Some(48)];
    for limit in limits.map(|mib: Option<u64>| mib.map(|mib| mib * MIB)) {
        group.files_mut().set_memory_limit(limit).unwrap();
        let (status, _) = CgroupGuest::start(group.files(), ALLOCATE_200_MB).wait_with_output();
        let fits = limit.is_none_or(|limit| limit > 300 * MIB);
        assert_eq!(status.success(), fits, "{limit:?}");
    }
    assert_eq!(group.files().oom_kills().unwrap(), 3);
}

#[test]
fn a_limit_below_the_usage_is_refused_and_kills_no_process() {
    let Some(mut group) = group() else { return };
    let code = "b = bytearray(80 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\n\
                print(flush=True); sys.stdin.readline()";
    let mut guest = CgroupGuest::start(group.files(), code);
    let mut ready = [0];
    guest.0.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    let refused = group.files_mut().set_memory_limit(Some(16 * MIB)).unwrap_err();
    assert!(matches!(refused, CgroupError::MemoryInUse { .. }), "{refused:?}");
    group.files_mut().set_memory_limit(Some(200 * MIB)).unwrap();
    assert_eq!(group.files().oom_kills().unwrap(), 0);
    drop(guest.0.stdin.take());
    assert!(guest.wait_with_output().0.success());
}

#[test]
fn the_second_call_of_a_group_starts_with_a_peak_of_its_own() {
    let Some(group) = group() else { return };
    let files = group.files();
    let allocate =
        |mib: u64| format!("b = bytearray({mib} << 20)\nfor i in range(0, len(b), 4096): b[i] = 1");
    if !has_peak(files) {
        return;
    }
    CgroupGuest::start(files, &allocate(100)).wait_with_output();
    let first = files.peak_memory().unwrap().unwrap();
    assert!(files.reset_peak_memory().unwrap());
    CgroupGuest::start(files, &allocate(20)).wait_with_output();
    let second = files.peak_memory().unwrap().unwrap();
    assert!(first > 100 * MIB, "{first}");
    assert!((20 * MIB..70 * MIB).contains(&second), "{second}");
}

#[test]
fn files_that_are_read_are_used_but_not_held() {
    let Some(group) = group() else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("unread");
    fs::File::create(&file).unwrap().set_len(100 * MIB).unwrap();
    let code = format!(
        "b = bytearray(20 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\n\
         f = open({file:?}, 'rb', buffering=0)\nwhile f.read(1 << 20): pass\n\
         print(flush=True); sys.stdin.readline()"
    );
    let mut guest = CgroupGuest::start(group.files(), &code);
    guest.0.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let (used, held) =
        (group.files().memory_usage().unwrap(), group.files().process_memory().unwrap());
    assert!(used > 110 * MIB, "{used}");
    assert!((18 * MIB..60 * MIB).contains(&held), "{held}");
    drop(guest.0.stdin.take());
    assert!(guest.wait_with_output().0.success());
}

#[test]
fn forks_beyond_the_limit_fail_and_are_counted() {
    let Some(mut group) = group() else { return };
    group.files_mut().set_pids_limit(Some(5)).unwrap();
    let code = "import os, time\nn = 0\nwhile n < 20:\n  try: pid = os.fork()\n  \
                except OSError: break\n  if pid == 0: time.sleep(60); os._exit(0)\n  n += 1\n\
                print(n, flush=True)\n\
                os.killpg(0, 9) if os.getpgrp() == os.getpid() else os._exit(0)";
    let mut guest = CgroupGuest::start(group.files(), code);
    let mut forks = [0];
    guest.0.stdout.as_mut().unwrap().read_exact(&mut forks).unwrap();
    assert_eq!(&forks, b"4");
    assert_eq!(group.files().pids_limit_hits().unwrap(), 1);
    assert!(group.files().pids_usage().unwrap() >= 4);
    // Four sleeping children are left behind.
    let paths: Vec<_> = group.paths().map(Path::to_owned).collect();
    group.remove().unwrap();
    assert!(paths.iter().all(|path| !path.exists()));
    guest.0.wait().unwrap();
}

#[test]
fn a_processor_share_slows_a_spinner_and_the_usage_tells() {
    let Some(mut group) = group() else { return };
    let spin = "import time\nend = time.process_time() + 0.3\n\
                while time.process_time() < end: sum(range(20000))";
    let mut walls = Vec::new();
    for share in [None, Some(0.25)] {
        group.files_mut().set_cpu_share(share).unwrap();
        let before = group.files().cpu_usage().unwrap();
        let start = Instant::now();
        let (status, _) = CgroupGuest::start(group.files(), spin).wait_with_output();
        assert!(status.success());
        walls.push(start.elapsed());
        let spent = group.files().cpu_usage().unwrap().since(before);
        assert!((290_000_000..900_000_000).contains(&spent.total_ns), "{spent:?}");
        assert!(spent.user_ns > spent.system_ns, "{spent:?}");
    }
    // 0.3 s at a quarter of a core are 1.2 s, less the first and the last period; a busy machine
    // can only make it longer.
    assert!(walls[1] > Duration::from_millis(950), "{walls:?}");
}

#[test]
fn very_small_and_very_large_shares_are_accepted() {
    let Some(mut group) = group() else { return };
    for share in [Some(0.001), Some(64.0), Some(0.5), None, Some(1e-6), Some(1.0)] {
        group.files_mut().set_cpu_share(share).unwrap();
    }
}

#[test]
fn everything_in_a_group_dies_with_it_however_it_was_started() {
    let Some(group) = group() else { return };
    let daemon = "import os, signal, time\nsignal.signal(15, signal.SIG_IGN)\n\
                  if os.fork(): os._exit(0)\n\
                  os.setsid()\nif os.fork(): os._exit(0)\nprint(os.getpid(), flush=True)\n\
                  os.close(1); os.close(0)\nwhile True: time.sleep(60)";
    let (_, pid) = CgroupGuest::start(group.files(), daemon).wait_with_output();
    let process = Path::new("/proc").join(pid.trim());
    assert!(process.exists());
    group.files().kill_all().unwrap();
    drop(group);
    assert!(!is_running(&process));
}

fn is_running(process: &Path) -> bool {
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end {
        // An orphan may stay a zombie for as long as its new parent likes.
        match fs::read_to_string(process.join("stat")) {
            Ok(stat) if !stat.contains(") Z ") => thread::sleep(Duration::from_millis(1)),
            _ => return false,
        }
    }
    true
}

#[test]
fn a_process_that_inherits_the_descriptors_attaches_itself() {
    let Some(group) = group() else { return };
    for (path, procs) in group.paths().zip(group.files().procs_files()) {
        let output = Command::new("/bin/sh")
            .args(["-c", "echo 0 >&0; cat /proc/$$/cgroup"])
            .stdin(procs.try_clone().unwrap())
            .output()
            .unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().contains(name));
    }
}

#[test]
fn without_cgroup_kill_the_freezer_or_a_loop_kills() {
    let Some(group) = group() else { return };
    let name = next_name().unwrap();
    let base = Path::new("/sys/fs/cgroup/freezer");
    if !base.exists() {
        return;
    }
    drop(group);
    for controllers in [vec![CgroupController::Kill], vec![]] {
        let place = available::CgroupLocation {
            version: CgroupVersion::CgroupV1,
            base: base.to_owned(),
            controllers,
            to_enable: vec![],
        };
        let only_freezer = AvailableCgroups { locations: vec![place], missing: vec![] };
        let group = SandboxCgroup::create(&only_freezer, &name).unwrap().unwrap();
        let code = "import os, time\nwhile True:\n  if os.fork() == 0: os._exit(0)\n  os.wait()";
        let guest = CgroupGuest::start(group.files(), code);
        group.files().kill_all().unwrap();
        assert_eq!(guest.wait_with_output().0.signal(), Some(SIGKILL));
        group.remove().unwrap();
    }
}

#[test]
fn leftovers_of_the_dead_are_removed_and_groups_of_the_living_are_not() {
    let Some(living) = group() else { return };
    let mut dead = Command::new("/bin/true").spawn().unwrap();
    dead.wait().unwrap();
    let bases: Vec<_> = living.paths().map(|path| path.parent().unwrap().to_owned()).collect();
    let leftover = format!("menace-{}-1-0", dead.id());
    for base in &bases {
        fs::create_dir(base.join(&leftover)).unwrap();
    }
    // One process still runs in it.
    let mut orphan = Command::new("/bin/sleep").arg("60").spawn().unwrap();
    for base in &bases {
        let procs = base.join(&leftover).join("cgroup.procs");
        fs::write(procs, orphan.id().to_string()).unwrap();
    }
    // A name of the dead whose lock is held: a Menace of another PID namespace.
    let hidden = bases[0].join(format!("menace-{}-2-0", dead.id()));
    fs::create_dir(&hidden).unwrap();
    let lock = fs::File::open(&hidden).unwrap();
    lock.lock_shared().unwrap();
    // A group that its living owner has made, but not locked yet.
    let young = bases[0].join(next_name().unwrap());
    fs::create_dir(&young).unwrap();

    let purged = purge_leftovers().unwrap();

    assert_eq!(purged.failed.len(), 0, "{purged:?}");
    assert!(purged.groups >= 1);
    assert!(bases.iter().all(|base| !base.join(&leftover).exists()));
    assert_eq!(orphan.wait().unwrap().signal(), Some(SIGKILL));
    assert!(living.paths().all(Path::exists));
    assert!(hidden.exists());
    assert!(young.exists());
    fs::remove_dir(young).unwrap();
    drop(lock);
    purge_leftovers().unwrap();
    assert!(!hidden.exists());
}

#[test]
fn a_group_that_cannot_be_made_whole_leaves_nothing() {
    let Some(group) = group() else { return };
    let name = group.paths().next().unwrap().file_name().unwrap();
    let name = format!("{}0", name.to_str().unwrap());
    let mut available = detect_cgroups();
    let last = available.locations.last_mut().unwrap();
    last.base = "/sys/fs/cgroup/nowhere".into();
    assert!(SandboxCgroup::create(&available, &name).is_err());
    let first = &available.locations[0].base;
    assert!(!first.join(&name).exists());
}

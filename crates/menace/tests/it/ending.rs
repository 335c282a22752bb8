//! However `menace exec` is ended, nothing of it stays: no process, no group, no directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::exec::repo;
use crate::processes::{descendants, groups_of, is_alive, until};
use crate::program::{PYTHON_PATH, Place, Ran, SANDBOXES};

const SLEEPER: &str = "import time\ndef nap(): time.sleep(60)\n";
/// Of the user, for a command that was asked to end.
const PATIENCE: Duration = Duration::from_secs(1);

const NAP: [&str; 6] = ["exec", "--repo", "repo", "mod:nap", "--preset", r#"{"TIMEOUT": "100"}"#];

/// Of a sandbox with namespaces: the init, PID 1, the warm interpreter, and the one that sleeps.
const NAMESPACED: usize = 4;
/// Without namespaces the init is no PID 1.
const LANDLOCKED: usize = 3;

/// Enough that copying them is not over before it is noticed.
const FILES: usize = 5000;

/// Starts a command that calls the sleeper, and returns once it sleeps.
fn asleep(mut command: Command, processes: usize) -> (Child, Vec<i32>) {
    command.envs(SANDBOXES).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let pid = child.id().cast_signed();
    let appeared = until(Duration::from_mins(1), || descendants(pid).len() >= processes);
    assert!(appeared, "no guest appeared");
    // Its last step before it sleeps is a few microseconds of Python.
    std::thread::sleep(Duration::from_millis(100));
    (child, descendants(pid))
}

/// Ends a command in the one way that it cannot notice, and waits for those who should follow it.
fn killed((mut child, processes): (Child, Vec<i32>)) {
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = until(PATIENCE, || !processes.iter().any(|pid| is_alive(*pid)));
    let alive: Vec<_> = processes.into_iter().filter(|pid| is_alive(*pid)).collect();
    for pid in &alive {
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
    assert!(ended, "still alive after a second: {alive:?}");
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Runs a call that begins with a purge.
fn next(mut command: Command) -> Ran {
    let ran = Ran::from(command.envs([PYTHON_PATH]).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran
}

const NEXT: [&str; 4] = ["exec", "--repo", "repo", "mod:f"];

/// Starts a command without namespaces, and returns once it copies a repository that takes a while.
/// Who copies is stopped, so that it stays there; whoever it is.
fn copying(place: &Place) -> (Child, Vec<i32>) {
    for number in 0..FILES {
        fs::write(place.path().join(format!("repo/{number}.txt")), "").unwrap();
    }
    let mut command = place.unprivileged(&[&NAP[..], &["--tier", "landlock"]].concat());
    command.envs(SANDBOXES).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let has_begun = || {
        let made = entries(&place.temporary());
        made.iter().any(|path| path.join("original").exists())
    };
    assert!(until(Duration::from_mins(1), has_begun), "nothing is copied");
    let processes = descendants(child.id().cast_signed());
    for pid in &processes {
        kill(Pid::from_raw(*pid), Signal::SIGSTOP).unwrap();
    }
    assert_eq!(processes.len(), 1, "there is more than who copies: {processes:?}");
    (child, processes)
}

#[test]
fn ctrl_c_leaves_no_copy_of_a_repository_that_is_being_copied() {
    let place = repo(SLEEPER);
    let (child, processes) = copying(&place);
    let asked = Instant::now();
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(asked.elapsed() < PATIENCE, "{:?}", asked.elapsed());
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""), "{}", ran.err);
    assert!(!processes.iter().any(|pid| is_alive(*pid)), "{processes:?}");
    assert_eq!(entries(&place.temporary()), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_menace_leaves_nobody_who_copies_a_repository() {
    let place = repo(SLEEPER);
    killed(copying(&place));
}

#[test]
fn ctrl_c_ends_everything_within_a_second() {
    let place = repo(SLEEPER);
    let (child, processes) =
        asleep(place.command(&[&NAP[..], &["--repeat", "4", "--jobs", "2"]].concat()), NAMESPACED);
    let pid = child.id();
    let asked = Instant::now();
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGINT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(asked.elapsed() < PATIENCE, "{:?}", asked.elapsed());
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""), "{}", ran.err);
    let left = PATIENCE.saturating_sub(asked.elapsed());
    assert!(until(left, || !processes.iter().any(|pid| is_alive(*pid))), "{processes:?}");
    assert_eq!(groups_of(pid), Vec::<PathBuf>::new());
    assert_eq!(entries(&place.temporary()), Vec::<PathBuf>::new());
}

/// Without root, since other runs would remove the control group and what is in it.
#[test]
fn a_killed_menace_leaves_no_process() {
    let place = repo(SLEEPER);
    killed(asleep(place.unprivileged(&NAP), NAMESPACED));
}

/// PID 1 of each sandbox dies with Menace, whether or not anybody removes its control group.
#[test]
fn a_killed_menace_of_root_leaves_neither_process_nor_mount() {
    assert!(nix::unistd::geteuid().is_root(), "only root can find out");
    let place = repo(SLEEPER);
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    killed(asleep(place.command(&NAP), NAMESPACED));
    assert_eq!(mounts(), before);
    assert_eq!(entries(&place.temporary()), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_menace_leaves_no_process_without_namespaces_either() {
    let place = repo(SLEEPER);
    place.write("repo/mod.py", &format!("{SLEEPER}def f(): return 1\n"));
    let landlock = ["--tier", "landlock"];
    killed(asleep(place.unprivileged(&[&NAP[..], &landlock].concat()), LANDLOCKED));
    // Its copy of the repository stays until the next run that may look for it.
    let left = entries(&place.temporary());
    assert_eq!(left.len(), 1, "{left:?}");
    let mut light = place.unprivileged(&[&NEXT[..], &landlock].concat());
    assert!(light.envs(SANDBOXES).output().unwrap().status.success());
    assert_eq!(entries(&place.temporary()), left);
    let ran = next(place.unprivileged(&[&NEXT[..], &landlock].concat()));
    assert_eq!(ran.err, " INFO removed 1 leftovers of runs that were killed\n");
    assert_eq!(entries(&place.temporary()), Vec::<PathBuf>::new());
}

#[test]
fn the_groups_of_a_killed_menace_are_removed_by_the_next() {
    let place = repo(&format!("{SLEEPER}def f(): return 1\n"));
    let (mut child, _) = asleep(place.command(&NAP), NAMESPACED);
    child.kill().unwrap();
    child.wait().unwrap();
    // Somebody else cannot remove them, and is not bothered with that.
    let ran = next(place.unprivileged(&NEXT));
    assert!(!ran.err.contains("cannot remove"), "{}", ran.err);
    next(place.command(&NEXT));
    assert_eq!(groups_of(child.id()), Vec::<PathBuf>::new());
}

/// What is left of a probe that was under way.
#[test]
fn the_canary_of_a_killed_menace_is_removed_by_the_next() {
    let place = repo("def f(): return 1\n");
    let canary = place.temporary().join("canary-of-menace-4194303-1-0");
    fs::write(&canary, "tweet").unwrap();
    let ran = next(place.command(&NEXT));
    assert!(ran.err.contains("leftovers of runs that were killed"), "{}", ran.err);
    assert_eq!(entries(&place.temporary()), Vec::<PathBuf>::new());
}

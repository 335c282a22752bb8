//! However `menace exec` is ended, nothing of it stays: no process, no group, no directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::exec::repo;
use crate::processes::{control_groups_of, descendants, is_alive, wait_until};
use crate::program::{CommandOutput, PYTHON_PATH, SANDBOX_VARIABLES, TestDirectory};

const SLEEPER_MODULE: &str = "import time\ndef nap(): time.sleep(60)\n";
/// Of the user, for a command that was asked to end.
const TERMINATION_TIMEOUT: Duration = Duration::from_secs(1);

const NAP_COMMAND: [&str; 6] =
    ["exec", "--repo", "repo", "mod:nap", "--preset", r#"{"TIMEOUT": "100"}"#];

/// Of a sandbox with namespaces: the init, PID 1, the warm interpreter, and the one that sleeps.
const NAMESPACED_PROCESS_COUNT: usize = 4;
/// Without namespaces the init is no PID 1.
const LANDLOCKED_PROCESS_COUNT: usize = 3;

/// Enough that copying them is not over before it is noticed.
const FILE_COUNT: usize = 5000;

/// Starts a command that calls the sleeper, and returns once it sleeps.
fn start_sleeping(
    place: &TestDirectory,
    mut command: Command,
    processes: usize,
) -> (Child, Vec<i32>) {
    command.envs(SANDBOX_VARIABLES).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let pid = child.id().cast_signed();
    // The probe of the sandbox forks too, and its canary exists until the probe is over.
    let is_probing = || {
        let made = entries(&place.temp_dir());
        made.iter().any(|path| path.display().to_string().contains("canary-of-"))
    };
    let appeared =
        wait_until(Duration::from_mins(1), || descendants(pid).len() >= processes && !is_probing());
    assert!(appeared, "no guest appeared");
    // Its last step before it sleeps is a few microseconds of Python.
    std::thread::sleep(Duration::from_millis(100));
    (child, descendants(pid))
}

/// Kills a command with SIGKILL, and waits until its processes have ended too.
fn kill_and_wait((mut child, processes): (Child, Vec<i32>)) {
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = wait_until(TERMINATION_TIMEOUT, || !processes.iter().any(|pid| is_alive(*pid)));
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
fn run_next_call(mut command: Command) -> CommandOutput {
    let ran = CommandOutput::from(command.envs([PYTHON_PATH]).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran
}

const NEXT_CALL_COMMAND: [&str; 4] = ["exec", "--repo", "repo", "mod:f"];

/// Starts a command without namespaces, and returns once it copies a repository that takes a while.
/// The process that copies is stopped, so that it stays there.
fn start_copying(place: &TestDirectory) -> (Child, Vec<i32>) {
    for number in 0..FILE_COUNT {
        fs::write(place.path().join(format!("repo/{number}.txt")), "").unwrap();
    }
    let mut command =
        place.unprivileged_command(&[&NAP_COMMAND[..], &["--tier", "landlock"]].concat());
    command.envs(SANDBOX_VARIABLES).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let has_begun = || {
        let made = entries(&place.temp_dir());
        made.iter().any(|path| path.join("original").exists())
    };
    assert!(wait_until(Duration::from_mins(1), has_begun), "nothing is copied");
    let processes = descendants(child.id().cast_signed());
    for pid in &processes {
        kill(Pid::from_raw(*pid), Signal::SIGSTOP).unwrap();
    }
    assert_eq!(processes.len(), 1, "there is more than the copying process: {processes:?}");
    (child, processes)
}

#[test]
fn ctrl_c_leaves_no_copy_of_a_repository_that_is_being_copied() {
    let place = repo(SLEEPER_MODULE);
    let (child, processes) = start_copying(&place);
    let asked = Instant::now();
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let ran = CommandOutput::from(child.wait_with_output().unwrap());
    assert!(asked.elapsed() < TERMINATION_TIMEOUT, "{:?}", asked.elapsed());
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""), "{}", ran.err);
    assert!(!processes.iter().any(|pid| is_alive(*pid)), "{processes:?}");
    assert_eq!(entries(&place.temp_dir()), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_menace_leaves_no_process_that_copies_a_repository() {
    let place = repo(SLEEPER_MODULE);
    kill_and_wait(start_copying(&place));
}

#[test]
fn ctrl_c_ends_everything_within_a_second() {
    let place = repo(SLEEPER_MODULE);
    let (child, processes) = start_sleeping(
        &place,
        place.command(&[&NAP_COMMAND[..], &["--repeat", "4", "--jobs", "2"]].concat()),
        NAMESPACED_PROCESS_COUNT,
    );
    let pid = child.id();
    let asked = Instant::now();
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGINT).unwrap();
    let ran = CommandOutput::from(child.wait_with_output().unwrap());
    assert!(asked.elapsed() < TERMINATION_TIMEOUT, "{:?}", asked.elapsed());
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""), "{}", ran.err);
    let left = TERMINATION_TIMEOUT.saturating_sub(asked.elapsed());
    assert!(wait_until(left, || !processes.iter().any(|pid| is_alive(*pid))), "{processes:?}");
    assert_eq!(control_groups_of(pid), Vec::<PathBuf>::new());
    assert_eq!(entries(&place.temp_dir()), Vec::<PathBuf>::new());
}

/// Without root, since other runs would remove the control group and what is in it.
#[test]
fn a_killed_menace_leaves_no_process() {
    let place = repo(SLEEPER_MODULE);
    kill_and_wait(start_sleeping(
        &place,
        place.unprivileged_command(&NAP_COMMAND),
        NAMESPACED_PROCESS_COUNT,
    ));
}

/// PID 1 of each sandbox dies with Menace, whether or not its control group is removed.
#[test]
fn a_killed_menace_of_root_leaves_neither_process_nor_mount() {
    assert!(nix::unistd::geteuid().is_root(), "only root can find out");
    let place = repo(SLEEPER_MODULE);
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    kill_and_wait(start_sleeping(&place, place.command(&NAP_COMMAND), NAMESPACED_PROCESS_COUNT));
    assert_eq!(mounts(), before);
    assert_eq!(entries(&place.temp_dir()), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_menace_leaves_no_process_without_namespaces_either() {
    let place = repo(SLEEPER_MODULE);
    place.write("repo/mod.py", &format!("{SLEEPER_MODULE}def f(): return 1\n"));
    let landlock = ["--tier", "landlock"];
    kill_and_wait(start_sleeping(
        &place,
        place.unprivileged_command(&[&NAP_COMMAND[..], &landlock].concat()),
        LANDLOCKED_PROCESS_COUNT,
    ));
    // Its copy of the repository stays until the next run that may look for it.
    let left = entries(&place.temp_dir());
    assert_eq!(left.len(), 1, "{left:?}");
    let mut light = place.unprivileged_command(&[&NEXT_CALL_COMMAND[..], &landlock].concat());
    assert!(light.envs(SANDBOX_VARIABLES).output().unwrap().status.success());
    assert_eq!(entries(&place.temp_dir()), left);
    let ran =
        run_next_call(place.unprivileged_command(&[&NEXT_CALL_COMMAND[..], &landlock].concat()));
    assert_eq!(ran.err, " INFO removed 1 leftovers of runs that were killed\n");
    assert_eq!(entries(&place.temp_dir()), Vec::<PathBuf>::new());
}

#[test]
fn the_groups_of_a_killed_menace_are_removed_by_the_next() {
    let place = repo(&format!("{SLEEPER_MODULE}def f(): return 1\n"));
    let (mut child, _) =
        start_sleeping(&place, place.command(&NAP_COMMAND), NAMESPACED_PROCESS_COUNT);
    child.kill().unwrap();
    child.wait().unwrap();
    // Another user cannot remove them, and gets no warning about that.
    let ran = run_next_call(place.unprivileged_command(&NEXT_CALL_COMMAND));
    assert!(!ran.err.contains("cannot remove"), "{}", ran.err);
    run_next_call(place.command(&NEXT_CALL_COMMAND));
    assert_eq!(control_groups_of(child.id()), Vec::<PathBuf>::new());
}

/// What is left of a probe that was under way.
#[test]
fn the_canary_of_a_killed_menace_is_removed_by_the_next() {
    let place = repo("def f(): return 1\n");
    let canary = place.temp_dir().join("canary-of-menace-4194303-1-0");
    fs::write(&canary, "tweet").unwrap();
    let ran = run_next_call(place.command(&NEXT_CALL_COMMAND));
    assert!(ran.err.contains("leftovers of runs that were killed"), "{}", ran.err);
    assert_eq!(entries(&place.temp_dir()), Vec::<PathBuf>::new());
}

//! Hostile repositories and hostile guests: nothing in a checkout acts on the host, and no guest
//! gets out or lies.
//!
//! Each attempt is a row of data: a function of `guests/*.py`, a line of `system_calls.txt`, or a
//! row of `checkouts/*.yaml`. All of them are tried on every tier that a machine must have, as root
//! and without root; without root, on the tiers that need none, and the others are named. An
//! attempt that is known to succeed is marked `open`, with the reason; once it is contained, the
//! suite fails until the mark is removed. An attempt that does not do what it says fails the suite.
//!
//! `MENACE_HOSTILE_ONLY=text` runs the attempts with that text in their names.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

mod attempt;
mod backends;
#[expect(dead_code, unused_imports, unused_macros, reason = "shared with the contract tests")]
#[path = "../../../menace-sandbox/tests/contract/bench.rs"]
mod bench;
mod checkouts;
mod guests;
#[expect(dead_code, reason = "shared with the contract tests")]
#[path = "../../../menace-sandbox/tests/contract/host.rs"]
mod host;
mod process;
#[expect(dead_code, reason = "shared with the other tests of commands")]
#[path = "../it/processes.rs"]
mod processes;
#[expect(dead_code, reason = "shared with the other tests of commands")]
#[path = "../it/program.rs"]
mod program;
#[expect(dead_code, reason = "shared with the contract tests")]
#[path = "../../../menace-sandbox/tests/contract/services.rs"]
mod services;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use attempt::{
    AttackGround, AttemptFailure, AttemptResult, GROUNDS, USER_GROUND, count_names,
    reachable_grounds, summarize,
};
use checkouts::CheckoutSuite;
use process::{PROGRAMS_VAR, say, variable};
use services::HostServices;

/// Names the ground whose guests a process is to run.
const GROUND_VAR: &str = "MENACE_HOSTILE_GROUND";
const SECRET_VAR: &str = "HOSTILE_HOST_SECRET";
const FILTER_VAR: &str = "MENACE_HOSTILE_ONLY";
const TEST_NAME: &str = "every_attempt_is_contained";
/// Fewer with names of their own on one ground would mean that rows were lost.
const MIN_GUEST_ATTEMPTS: usize = 300;
/// Of rows that are tried once.
const MIN_CHECKOUT_ATTEMPTS: usize = 150;
const WORKER_COUNT: usize = 2;

#[test]
fn every_attempt_is_contained() {
    let filter = variable(FILTER_VAR).unwrap_or_default();
    if let Some(name) = variable(GROUND_VAR) {
        let ground = GROUNDS.into_iter().find(|ground| ground.name == name).expect("a ground");
        guests::run_ground(ground, &variable(SECRET_VAR).expect("set with the ground"), &filter);
        return;
    }
    let (grounds, unreachable) = reachable_grounds();
    if !unreachable.is_empty() {
        say(&format!("left out, since they need root: {}", unreachable.join(", ")));
        assert!(variable("MENACE_CI").is_none(), "run this as root: nothing may be left out");
    }
    let programs = copy_programs();
    let secret = make_secret();
    let services = HostServices::start();
    let suite = CheckoutSuite::new(&secret, services.addresses().0[0], programs.path().to_owned());
    let rows: Vec<_> = checkouts::all_attempts()
        .into_iter()
        .filter(|attempt| attempt.name().contains(&filter))
        .collect();
    let (results, next) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..WORKER_COUNT {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let found = if let Some(ground) = grounds.get(number) {
                        run_guests(*ground, programs.path(), &secret, &filter)
                    } else if let Some(attempt) = rows.get(number - grounds.len()) {
                        vec![suite.run(attempt)]
                    } else {
                        return;
                    };
                    results.lock().expect("no panic").extend(found);
                }
            });
        }
    });
    services.assert_silence();
    let results = results.into_inner().expect("no panic");
    let (lines, is_right) = summarize(&results);
    let counts = count_names(&results);
    let count = |ground: &str| counts.get(ground).copied().unwrap_or_default();
    let is_whole = count(USER_GROUND) >= MIN_CHECKOUT_ATTEMPTS
        && grounds.iter().all(|ground| count(ground.name) >= MIN_GUEST_ATTEMPTS);
    for line in &lines {
        say(line);
    }
    assert!(is_whole || !filter.is_empty(), "attempts are missing: {counts:?}");
    assert!(is_right, "{}", lines.join("\n"));
}

/// Programs that every user can run, and directories that those users may write to.
fn copy_programs() -> TempDir {
    let programs = TempDir::with_prefix("hostile-programs-").expect("writable");
    let open = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    };
    open(programs.path(), 0o755);
    let this = std::env::current_exe().expect("this test has a program");
    for (program, name) in [(this.as_path(), "hostile"), (Path::new(MENACE), "menace")] {
        let copy = programs.path().join(name);
        fs::copy(program, &copy).expect("readable");
        open(&copy, 0o755);
    }
    let grounds = reachable_grounds().0;
    for user in grounds.iter().filter_map(|ground| ground.user) {
        let directory = programs.path().join(user.to_string());
        fs::create_dir(&directory).expect("writable");
        chown(&directory, Some(user), Some(user)).expect("root may");
    }
    let interpreters = programs.path().join("interpreters");
    fs::create_dir(&interpreters).expect("writable");
    open(&interpreters, 0o1777);
    programs
}

const MENACE: &str = env!("CARGO_BIN_EXE_menace");

/// A text that stands nowhere else on this machine.
fn make_secret() -> String {
    let random = fs::read_to_string("/proc/sys/kernel/random/uuid").expect("the kernel's");
    random.trim().replace('-', "")
}

/// All guests of one ground, in a process of its user.
fn run_guests(
    ground: AttackGround,
    programs: &Path,
    secret: &str,
    filter: &str,
) -> Vec<AttemptResult> {
    let mut command = Command::new(programs.join("hostile"));
    command.args(["--exact", TEST_NAME, "--nocapture"]).env_clear().current_dir("/");
    command.env("PATH", "/usr/bin:/bin").env("RUST_BACKTRACE", "0");
    command.envs([(GROUND_VAR, ground.name), (SECRET_VAR, secret), (FILTER_VAR, filter)]);
    command.env(PROGRAMS_VAR, programs);
    if let Some(user) = ground.user {
        command.uid(user).gid(user).env("TMPDIR", programs.join(user.to_string()));
    }
    let output = command.output().expect("a copy of this program");
    let said = String::from_utf8_lossy(&output.stdout);
    let lines = said.lines().filter_map(|line| line.split_once(guests::RESULT_PREFIX));
    let mut results: Vec<AttemptResult> =
        lines.map(|(_, json)| serde_json::from_str(json).expect("a result")).collect();
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        results.push(AttemptResult {
            class: "suite".to_owned(),
            name: "all guests end".to_owned(),
            ground: ground.name.to_owned(),
            open: None,
            failure: Some(AttemptFailure::broken(format!("{}: {said} {error}", output.status))),
        });
    }
    results
}

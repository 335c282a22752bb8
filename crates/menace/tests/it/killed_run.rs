//! `menace run`, killed at any instant, loses nothing that was stored and leaves nothing behind.
//!
//! Runs on one data directory, each killed at another moment of its life. Each has a failure to
//! find that none before it had. Of every call that has ended there is a line in the logs, written
//! before the call goes to the store: of those, a kill may cost the one that is being written, and
//! no other. Eight of them belong to the usual tests; `cargo xtask long` makes it fifty.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use menace_model::Seed;
use menace_scenario::explore::ExploreBudget;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rusqlite::{Connection, OpenFlags};

use crate::processes::{control_groups_of, descendants, is_alive, wait_until};
use crate::program::{CommandOutput, PYTHON_PATH, SANDBOX_VARIABLES, TestDirectory};
use crate::store_contents::read_call_counts;

const FEW_KILLS_COUNT: u64 = 8;
const MANY_KILLS_COUNT: u64 = 50;
const SEED: Seed = Seed(50);
/// Of the user, for what should be gone.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(1);
/// Until a run has made all of its calls, on a busy machine.
const RUN_TIMEOUT: Duration = Duration::from_mins(2);
const DATA_DIR: &str = "data";
const LOG_DIR: &str = "logs";
/// What is in the logs once for each call.
const CALL_ENDED_MESSAGE: &str = "a call has ended";

const DESK_MODULE: &str = include_str!("killed/desk.py");
/// What is written into the failing line: another line is another failure.
const NAME_PLACEHOLDER: &str = "NAME";

/// One in so many goes into depth.
const RUNS_PER_DEEP_RUN: u64 = 4;

const RUN_COMMAND: [&str; 9] =
    ["run", "--repo", "repo", "--sandbox-data-dir", DATA_DIR, "--seed", "3", "--budget", "none"];
const BREADTH_ARGS: &[&str] = &["--calls-per-cell", "2", "--no-depth"];
const DEPTH_ARGS: &[&str] = &["--calls-per-cell", "2"];

/// What is stored.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct StoredResults {
    calls: u64,
    failures: BTreeSet<String>,
}

/// Reads through a read-only connection.
fn read_stored_results(database: &Path) -> StoredResults {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read = || -> rusqlite::Result<StoredResults> {
        let connection = Connection::open_with_flags(database, flags)?;
        connection.busy_timeout(CLEANUP_TIMEOUT)?;
        let count = "SELECT count(*) FROM calls";
        let calls = connection.query_row(count, [], |row| row.get::<_, i64>(0))?;
        let mut failures = connection.prepare("SELECT id FROM failures")?;
        let failures = failures.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(StoredResults { calls: calls.cast_unsigned(), failures })
    };
    // There is no database yet, or it is just being made.
    read().unwrap_or_default()
}

/// What `menace failures` lists.
fn listed_failures(place: &TestDirectory) -> BTreeSet<String> {
    let list = ["failures", "--all", "--sandbox-data-dir", DATA_DIR, "--format", "json"];
    let failures = place.run_with(&SANDBOX_VARIABLES, &list).json();
    let ids = failures.as_array().unwrap().iter().map(|failure| &failure["id"]);
    ids.map(|id| id.as_str().unwrap().to_owned()).collect()
}

fn write_module(place: &TestDirectory, name: &str) {
    place.write("repo/desk.py", &DESK_MODULE.replace(NAME_PLACEHOLDER, name));
}

fn check_integrity(database: &Path) -> String {
    let connection = Connection::open(database).unwrap();
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

/// Stops the run first: a stopped process starts no child after its descendants were counted.
fn kill_run(mut child: Child) -> Vec<i32> {
    let pid = Pid::from_raw(child.id().cast_signed());
    // It may have come to its end already.
    let _ = kill(pid, Signal::SIGSTOP);
    let processes = descendants(pid.as_raw());
    child.kill().unwrap();
    child.wait().unwrap();
    processes
}

/// What a run that is not killed does.
struct CompleteRun {
    calls: u64,
}

impl CompleteRun {
    /// Runs to the end.
    fn run_to_end(place: &TestDirectory, how: &[&str], database: &Path) -> Self {
        let before = read_stored_results(database).calls;
        let status = start_run(place, how).wait().unwrap();
        assert!(status.success(), "{status}");
        let calls = read_stored_results(database).calls - before;
        assert_eq!(
            calls,
            ended_calls(place),
            "not every call that has ended is stored, or not every one is logged"
        );
        assert!(calls > 0, "nothing is stored in {}", database.display());
        Self { calls }
    }
}

fn start_run(place: &TestDirectory, how: &[&str]) -> Child {
    let logs = File::create(place.path().join(LOG_DIR)).unwrap();
    let mut command = place.command(&[&RUN_COMMAND, how, &["--log-level", "trace"]].concat());
    command.envs(SANDBOX_VARIABLES).stdin(Stdio::null()).stdout(Stdio::null()).stderr(logs);
    command.spawn().unwrap()
}

/// How many calls of the last run have ended, as far as it could say.
fn ended_calls(place: &TestDirectory) -> u64 {
    let logs = fs::read_to_string(place.path().join(LOG_DIR)).unwrap();
    logs.lines().filter(|line| line.ends_with(CALL_ENDED_MESSAGE)).count() as u64
}

#[test]
fn a_killed_run_loses_nothing_that_was_stored_and_leaves_nothing_running() {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    write_module(&place, "first");
    let data = place.path().join(DATA_DIR);
    let database = data.join("menace.db");
    let broad = CompleteRun::run_to_end(&place, BREADTH_ARGS, &database);
    assert_eq!(read_stored_results(&database).failures.len(), 1);
    let deep = CompleteRun::run_to_end(&place, DEPTH_ARGS, &database);
    assert!(deep.calls > broad.calls, "{} calls are all of a deep run", deep.calls);

    let kills = if crate::program::is_long() { MANY_KILLS_COUNT } else { FEW_KILLS_COUNT };
    let mut random = SEED.rng();
    let mut pids = Vec::new();
    let mut unfinished = 0;
    let mut found = 0;
    let mut logged_in_all = 0;
    let mut most_lost = 0;
    for number in 0..kills {
        write_module(&place, &format!("other_{number}"));
        let before = read_stored_results(&database);
        let is_deep = number % RUNS_PER_DEEP_RUN == RUNS_PER_DEEP_RUN / 2;
        let (whole, how) = if is_deep { (&deep, DEPTH_ARGS) } else { (&broad, BREADTH_ARGS) };
        // One in every part of a run's life, measured in calls: a busy machine makes it longer.
        let part = (number as f64 + random.next_unit()) / kills as f64;
        let call_count = before.calls + (part * whole.calls as f64) as u64;
        let child = start_run(&place, how);
        pids.push(child.id());
        let seen = RefCell::new(before.clone());
        wait_until(RUN_TIMEOUT, || {
            let now = read_stored_results(&database);
            let mut seen = seen.borrow_mut();
            seen.calls = seen.calls.max(now.calls);
            seen.failures.extend(now.failures);
            seen.calls >= call_count
        });
        let processes = kill_run(child);
        let seen = seen.into_inner();
        unfinished += u64::from(seen.calls < before.calls + whole.calls);
        found += u64::from(seen.failures.len() > before.failures.len());

        let are_gone = wait_until(CLEANUP_TIMEOUT, || !processes.iter().any(|pid| is_alive(*pid)));
        assert!(are_gone, "kill {number}: still alive: {processes:?}");
        let after = read_stored_results(&database);
        assert!(
            after.calls >= seen.calls,
            "kill {number}: {seen:?} were stored, {after:?} are left"
        );
        let logged = ended_calls(&place);
        let stored = after.calls - before.calls;
        assert!(stored + 1 >= logged, "kill {number}: {logged} calls ended, {stored} are stored");
        most_lost = most_lost.max(logged.saturating_sub(stored));
        logged_in_all += logged;
        assert_eq!(check_integrity(&database), "ok", "kill {number}");
        let listed = listed_failures(&place);
        assert!(listed.is_superset(&seen.failures), "kill {number}: {seen:?}, but {listed:?}");
        if let Ok(history) = fs::read_to_string(data.join("roi_history.json")) {
            let read: Result<serde_json::Value, _> = serde_json::from_str(&history);
            assert!(read.is_ok(), "kill {number}: {history}");
        }
    }
    println!(
        "{logged_in_all} calls ended before {kills} kills; no kill cost more than {most_lost}"
    );
    assert!(logged_in_all > kills, "{logged_in_all} calls in {kills} runs show nothing");
    // Else all kills came too late or too early, and nothing was shown.
    assert!(unfinished > kills / 2, "{unfinished} of {kills} were killed before their end");
    assert!(found > kills / 10, "{found} of {kills} had found their failure");

    // One that may clean up after all of them.
    write_module(&place, "first");
    // Inputs that deep runs found worth keeping would be called with, too.
    fs::remove_file(data.join("input_history.jsonl")).unwrap();
    let before = read_stored_results(&database);
    let mut last = place.command(&[&RUN_COMMAND, BREADTH_ARGS].concat());
    let ran = CommandOutput::from(last.envs([PYTHON_PATH]).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(read_stored_results(&database).calls, before.calls + broad.calls);
    for pid in pids {
        assert!(control_groups_of(pid).is_empty(), "{:?}", control_groups_of(pid));
    }
    let left: Vec<_> = fs::read_dir(place.temp_dir()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Each call takes so long that no look at the store sees a whole generation end at once.
const SLOW_MODULE: &str = "
import time

def paced(count: int) -> int:
    time.sleep(0.1)
    return count + 1
";

fn depth_calls(database: &Path) -> u64 {
    let calls = read_call_counts(database);
    calls.iter().filter(|one| one.scenario == "depth").map(|one| one.count).sum()
}

#[test]
fn calls_in_depth_are_stored_as_they_end_not_as_generations_do() {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    place.write("repo/desk.py", SLOW_MODULE);
    let database = place.path().join(DATA_DIR).join("menace.db");
    let child = start_run(&place, &["--calls-per-cell", "1"]);
    let has_some = wait_until(Duration::from_mins(2), || depth_calls(&database) > 0);
    kill_run(child);
    assert!(has_some, "nothing was stored");
    let made = depth_calls(&database);
    assert!(made < ExploreBudget::default().inputs as u64, "{made} calls came at once");
}

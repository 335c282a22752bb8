//! `menace run`, killed at any instant, loses nothing that was stored and leaves nothing behind.
//!
//! Runs on one data directory, each killed at another moment of its life. Each has a failure to find
//! that none before it had. Of every call that has ended there is a line in the logs, written before the call goes to
//! the store: of those, a kill may cost the one that is being written, and no other. Eight of them belong to the usual tests; `cargo xtask long` makes it fifty.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use menace_model::Seed;
use menace_scenario::explore::Budget;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rusqlite::{Connection, OpenFlags};

use crate::processes::{descendants, groups_of, is_alive, until};
use crate::program::{PYTHON_PATH, Place, Ran, SANDBOXES};
use crate::stored::calls;

const FEW_KILLS: u64 = 8;
const MANY_KILLS: u64 = 50;
const SEED: Seed = Seed(50);
/// Of the user, for what should be gone.
const PATIENCE: Duration = Duration::from_secs(1);
const DATA: &str = "data";
const LOGS: &str = "logs";
/// What is in the logs once for each call.
const ENDED: &str = "a call has ended";

const DESK: &str = include_str!("killed/desk.py");
/// What is written into the failing line: another line is another failure.
const NAME: &str = "NAME";

/// One in so many goes into depth.
const IN_DEPTH: u64 = 4;

const RUN: [&str; 9] =
    ["run", "--repo", "repo", "--sandbox-data-dir", DATA, "--seed", "3", "--budget", "none"];
const BROAD: &[&str] = &["--calls-per-cell", "2", "--no-depth"];
const DEEP: &[&str] = &["--calls-per-cell", "2"];

/// What is stored.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Stored {
    calls: u64,
    failures: BTreeSet<String>,
}

/// As somebody sees it who only reads.
fn stored(database: &Path) -> Stored {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read = || -> rusqlite::Result<Stored> {
        let connection = Connection::open_with_flags(database, flags)?;
        connection.busy_timeout(PATIENCE)?;
        let count = "SELECT count(*) FROM calls";
        let calls = connection.query_row(count, [], |row| row.get::<_, i64>(0))?;
        let mut failures = connection.prepare("SELECT id FROM failures")?;
        let failures = failures.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(Stored { calls: calls.cast_unsigned(), failures })
    };
    // There is no database yet, or it is just being made.
    read().unwrap_or_default()
}

/// What `menace failures` lists.
fn listed(place: &Place) -> BTreeSet<String> {
    let list = ["failures", "--all", "--sandbox-data-dir", DATA, "--format", "json"];
    let failures = place.run_with(&SANDBOXES, &list).json();
    let ids = failures.as_array().unwrap().iter().map(|failure| &failure["id"]);
    ids.map(|id| id.as_str().unwrap().to_owned()).collect()
}

fn write(place: &Place, name: &str) {
    place.write("repo/desk.py", &DESK.replace(NAME, name));
}

fn integrity(database: &Path) -> String {
    let connection = Connection::open(database).unwrap();
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

/// Stops it first: what cannot go on cannot start anybody whom nobody has counted.
fn end(mut child: Child) -> Vec<i32> {
    let pid = Pid::from_raw(child.id().cast_signed());
    // It may have come to its end already.
    let _ = kill(pid, Signal::SIGSTOP);
    let processes = descendants(pid.as_raw());
    child.kill().unwrap();
    child.wait().unwrap();
    processes
}

/// What a run that is not killed does.
struct Whole {
    took: Duration,
    calls: u64,
}

impl Whole {
    /// Runs to the end.
    fn of(place: &Place, how: &[&str], database: &Path) -> Self {
        let before = stored(database).calls;
        let began = Instant::now();
        let status = start(place, how).wait().unwrap();
        assert!(status.success(), "{status}");
        let took = began.elapsed();
        let calls = stored(database).calls - before;
        assert_eq!(
            calls,
            ended(place),
            "not every call that has ended is stored, or not every one is told"
        );
        assert!(calls > 0, "nothing is stored in {}", database.display());
        Self { took, calls }
    }
}

fn start(place: &Place, how: &[&str]) -> Child {
    let logs = File::create(place.path().join(LOGS)).unwrap();
    let mut command = place.command(&[&RUN, how, &["--log-level", "trace"]].concat());
    command.envs(SANDBOXES).stdin(Stdio::null()).stdout(Stdio::null()).stderr(logs);
    command.spawn().unwrap()
}

/// How many calls of the last run have ended, as far as it could say.
fn ended(place: &Place) -> u64 {
    let logs = fs::read_to_string(place.path().join(LOGS)).unwrap();
    logs.lines().filter(|line| line.ends_with(ENDED)).count() as u64
}

#[test]
fn a_killed_run_loses_nothing_that_was_stored_and_leaves_nothing_running() {
    let place = Place::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    write(&place, "first");
    let data = place.path().join(DATA);
    let database = data.join("menace.db");
    let broad = Whole::of(&place, BROAD, &database);
    assert_eq!(stored(&database).failures.len(), 1);
    let deep = Whole::of(&place, DEEP, &database);
    assert!(deep.calls > broad.calls, "{} calls are all of a deep run", deep.calls);

    let kills = if crate::program::is_long() { MANY_KILLS } else { FEW_KILLS };
    let mut random = SEED.random();
    let mut pids = Vec::new();
    let (mut unfinished, mut found, mut heard, mut most_lost) = (0, 0, 0, 0);
    for number in 0..kills {
        write(&place, &format!("other_{number}"));
        let before = stored(&database);
        let is_deep = number % IN_DEPTH == IN_DEPTH / 2;
        let (whole, how) = if is_deep { (&deep, DEEP) } else { (&broad, BROAD) };
        // One in every part of a run's life.
        let moment = whole.took.mul_f64((number as f64 + random.unit()) / kills as f64);
        let child = start(&place, how);
        pids.push(child.id());
        let seen = RefCell::new(before.clone());
        until(moment, || {
            let now = stored(&database);
            let mut seen = seen.borrow_mut();
            seen.calls = seen.calls.max(now.calls);
            seen.failures.extend(now.failures);
            false
        });
        let processes = end(child);
        let seen = seen.into_inner();
        unfinished += u64::from(seen.calls < before.calls + whole.calls);
        found += u64::from(seen.failures.len() > before.failures.len());

        let are_gone = until(PATIENCE, || !processes.iter().any(|pid| is_alive(*pid)));
        assert!(are_gone, "kill {number}: still alive: {processes:?}");
        let after = stored(&database);
        assert!(
            after.calls >= seen.calls,
            "kill {number}: {seen:?} were stored, {after:?} are left"
        );
        let (told, kept) = (ended(&place), after.calls - before.calls);
        assert!(kept + 1 >= told, "kill {number}: {told} calls had ended, {kept} are stored");
        most_lost = most_lost.max(told.saturating_sub(kept));
        heard += told;
        assert_eq!(integrity(&database), "ok", "kill {number}");
        let listed = listed(&place);
        assert!(listed.is_superset(&seen.failures), "kill {number}: {seen:?}, but {listed:?}");
        if let Ok(history) = fs::read_to_string(data.join("roi_history.json")) {
            let read: Result<serde_json::Value, _> = serde_json::from_str(&history);
            assert!(read.is_ok(), "kill {number}: {history}");
        }
    }
    println!("{heard} calls had ended before {kills} kills; no kill cost more than {most_lost}");
    assert!(heard > kills, "{heard} calls in {kills} runs show nothing");
    // Else all kills came too late or too early, and nothing was shown.
    assert!(unfinished > kills / 2, "{unfinished} of {kills} were killed before their end");
    assert!(found > kills / 10, "{found} of {kills} had found their failure");

    // One that may clean up after all of them.
    write(&place, "first");
    // Inputs that deep runs found worth keeping would be called with, too.
    fs::remove_file(data.join("input_history.jsonl")).unwrap();
    let before = stored(&database);
    let mut last = place.command(&[&RUN, BROAD].concat());
    let ran = Ran::from(last.envs([PYTHON_PATH]).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(stored(&database).calls, before.calls + broad.calls);
    for pid in pids {
        assert!(groups_of(pid).is_empty(), "{:?}", groups_of(pid));
    }
    let left: Vec<_> = fs::read_dir(place.temporary()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Each call takes so long that nobody can see a whole generation of them end at once.
const SLOW: &str = "
import time

def paced(count: int) -> int:
    time.sleep(0.1)
    return count + 1
";

fn in_depth(database: &Path) -> u64 {
    let calls = calls(database);
    calls.iter().filter(|one| one.scenario == "depth").map(|one| one.count).sum()
}

#[test]
fn calls_in_depth_are_stored_as_they_end_not_as_generations_do() {
    let place = Place::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    place.write("repo/desk.py", SLOW);
    let database = place.path().join(DATA).join("menace.db");
    let child = start(&place, &["--calls-per-cell", "1"]);
    let has_some = until(Duration::from_mins(2), || in_depth(&database) > 0);
    end(child);
    assert!(has_some, "nothing was stored");
    let made = in_depth(&database);
    assert!(made < Budget::default().inputs as u64, "{made} calls came at once");
}

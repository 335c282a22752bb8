//! Several processes, and what becomes of the rows of those that are killed.

use std::io::{BufRead, BufReader, IsTerminal, Lines, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use menace_model::Seed;
use menace_store::{RunId, RunStatus, StoreNotice};
use tempfile::tempdir;

use crate::disks;
use crate::sample::{call_record, check_integrity, end, failure, open, query_number, run};

/// Rows between two flushes: each of them several pages.
const ROWS_PER_FLUSH: u32 = 7;

/// This program once more, in a process of its own, doing one [`Deed`].
pub(crate) struct WriterProcess {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl WriterProcess {
    pub(crate) fn start(deed: &str, directory: &Path, run: &str) -> Self {
        let this = std::env::current_exe().expect("this test has a program");
        Self::start_with_command(Command::new(this), deed, directory, run)
    }

    /// `command` must end up in this program, with the arguments that it is given.
    pub(crate) fn start_with_command(
        mut command: Command,
        deed: &str,
        directory: &Path,
        run: &str,
    ) -> Self {
        let mut child = command
            .args(["--exact", "processes::what_other_processes_do", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started once more");
        let stdin = child.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{deed}\n{}\n{run}", directory.display()).expect("it listens");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, lines }
    }

    /// What it says next; nothing once it has ended.
    pub(crate) fn read_message(&mut self) -> Option<String> {
        let mut said = self.lines.by_ref().map(|line| line.expect("text"));
        said.find_map(|line| line.strip_prefix("> ").map(str::to_owned))
    }

    fn kill(mut self) -> Option<String> {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
        // What it said before it died counts.
        let mut last = None;
        while let Some(line) = self.read_message() {
            last = Some(line);
        }
        last
    }

    pub(crate) fn wait_for_success(mut self) {
        while self.read_message().is_some() {}
        assert!(self.child.wait().expect("it is ours").success());
    }
}

pub(crate) fn print_message(text: &str) {
    // The test harness may be in the middle of a line.
    println!("\n> {text}");
}

#[test]
#[ignore = "not a fact but what the others here start"]
fn what_other_processes_do() {
    if std::io::stdin().is_terminal() {
        return;
    }
    let mut input_lines = std::io::stdin().lines().map(|line| line.expect("text"));
    let (Some(deed), Some(directory), Some(run)) =
        (input_lines.next(), input_lines.next(), input_lines.next())
    else {
        return;
    };
    let directory = Path::new(&directory);
    match &*deed {
        "write" => write_rows(directory, &run, u32::MAX),
        "write some" => write_rows(directory, &run, 3000),
        "hold" => hold_run(directory, &run),
        "fill" => disks::fill_disk(directory),
        "open" => disks::open_store(directory),
        _ => panic!("unknown deed {deed}"),
    }
}

fn write_rows(directory: &Path, id: &str, rows: u32) {
    let (store, _) = open(directory);
    let writer = store.start_run(&run(id, 1)).expect("a run");
    for number in 0..rows {
        writer.record_call(call_record("total", number)).expect("a row");
        if number % ROWS_PER_FLUSH == ROWS_PER_FLUSH - 1 {
            writer.record_failure(&failure("fa"), 1, 1).expect("a failure");
            writer.flush().expect("stored");
            print_message(&(number + 1).to_string());
        }
    }
    writer.finish(end(RunStatus::Finished, 2)).expect("all is stored");
}

fn hold_run(directory: &Path, id: &str) {
    let (store, _) = open(directory);
    let _writer = store.start_run(&run(id, 1)).expect("a run");
    print_message("started");
    // Until killed, or until the pipe is closed.
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn what_was_acknowledged_survives_a_kill_at_any_instant() {
    let directory = tempdir().unwrap();
    let mut random = Seed(5).derive("kill").rng();
    let mut failures = 0;
    for round in 0..50 {
        let id = format!("r-{round}");
        let mut other = WriterProcess::start("write", directory.path(), &id);
        for _ in 0..random.next_below(30) {
            other.read_message().expect("it writes until it is killed");
        }
        let last_message = other.read_message().expect("it writes until it is killed");
        let acknowledged: i64 = other.kill().unwrap_or(last_message).parse().unwrap();

        let (store, notices) = open(directory.path());
        assert_eq!(notices, [StoreNotice::InterruptedRuns { runs: vec![RunId(id.clone())] }]);
        let calls = format!(
            "FROM calls WHERE cell = (SELECT cells.key FROM cells JOIN runs ON runs.key = run
             WHERE runs.id = '{id}')"
        );
        let stored = query_number(store.path(), &format!("SELECT count(*) {calls}"));
        assert!(stored >= acknowledged, "round {round}: {stored} of {acknowledged}");
        // Nothing is missing in between.
        assert_eq!(query_number(store.path(), &format!("SELECT max(number) {calls}")), stored - 1);
        let seen = query_number(store.path(), "SELECT count FROM failures") - failures;
        assert!(seen >= acknowledged / i64::from(ROWS_PER_FLUSH), "round {round}");
        failures += seen;
        assert_eq!(check_integrity(store.path()), "ok", "round {round}");
    }
    assert_eq!(query_number(&directory.path().join("menace.db"), "SELECT count(*) FROM runs"), 50);
}

#[test]
fn two_processes_write_to_one_directory_at_once() {
    let directory = tempdir().unwrap();
    // Both of them create it, too.
    let others: Vec<WriterProcess> = ["r-1", "r-2", "r-3"]
        .map(|id| WriterProcess::start("write some", directory.path(), id))
        .into();
    others.into_iter().for_each(WriterProcess::wait_for_success);
    let (store, notices) = open(directory.path());
    assert_eq!(notices, []);
    for id in ["r-1", "r-2", "r-3"] {
        assert_eq!(store.run(id).unwrap().status, RunStatus::Finished);
    }
    assert_eq!(query_number(store.path(), "SELECT count(*) FROM calls"), 3 * 3000);
    assert_eq!(
        query_number(store.path(), "SELECT count FROM failures"),
        3 * i64::from(3000 / ROWS_PER_FLUSH)
    );
    assert_eq!(check_integrity(store.path()), "ok");
}

#[test]
fn a_run_goes_on_as_long_as_its_process() {
    let directory = tempdir().unwrap();
    let mut other = WriterProcess::start("hold", directory.path(), "r-1");
    assert_eq!(other.read_message().as_deref(), Some("started"));
    let (store, notices) = open(directory.path());
    assert_eq!(notices, []);
    assert_eq!(store.run("r-1").unwrap().status, RunStatus::Running);
    other.kill();
    let (store, notices) = open(directory.path());
    assert_eq!(notices, [StoreNotice::InterruptedRuns { runs: vec![RunId("r-1".into())] }]);
    assert_eq!(store.run("r-1").unwrap().status, RunStatus::Interrupted);
}

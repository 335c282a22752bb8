//! Sandboxes that are lost in the middle of a call, and calls that outlast the budget.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::make_repo;
use crate::processes::{descendants, name_of, parent_of};
use crate::program::{CommandOutput, SANDBOX_VARIABLES, TestDirectory};

const SOUND_MODULE: &str = "def half(n: int) -> int:\n    return n // 2\n";
/// Gives its process a name by which it is known outside, and waits.
const HOSTILE_MODULE: &str = "\
import ctypes
import time


def stall(n: int) -> int:
    ctypes.CDLL(None).prctl(15, b'stall-init', 0, 0, 0)
    time.sleep(n % 2 + 60)
    return n
";
/// Fills a pipe while its writes are being corrupted.
const BLOCKING_MODULE: &str = "\
import os


def fill(n: int) -> int:
    os.mkfifo('pipe')
    pipe = os.open('pipe', os.O_RDWR)
    while True:
        os.write(pipe, bytes(1 << 20))
";
/// What a run may take beyond its budget.
const MAX_OVERTIME: Duration = Duration::from_secs(2);

/// Runs with this budget; `meanwhile` is called again and again with the number of the process.
fn report_within(place: &TestDirectory, budget: Duration, meanwhile: impl Fn(i32)) -> Value {
    let seconds = format!("{}s", budget.as_secs());
    let arguments = ["run", "--repo", "repo", "--seed", "1", "--jobs", "2", "--budget", &seconds];
    let short = ["--calls-per-cell", "1", "--no-depth", "--format", "json", "--out", "report.json"];
    let mut command = place.command(&[&arguments[..], &short].concat());
    command.envs(SANDBOX_VARIABLES).stdout(std::process::Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        meanwhile(child.id().cast_signed());
    }
    let took = began.elapsed();
    let ran = CommandOutput::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0));
    assert!(took < budget + MAX_OVERTIME, "{took:?}");
    serde_json::from_slice(&std::fs::read(place.path().join("report.json")).unwrap()).unwrap()
}

fn assert_sound_module_was_called(report: &Value) {
    let modules = report["modules"].as_array().unwrap();
    assert!(modules.iter().any(|module| module["path"] == "sound.py"), "{report:#}");
    assert!(report["verdicts"]["returned"].as_u64() > Some(0), "{report:#}");
    let failing = report["failures"].as_array().unwrap().iter();
    assert!(!failing.into_iter().any(|one| one["section"] == "sound.py::half"), "{report:#}");
}

#[test]
fn a_module_that_stops_the_inits_of_its_sandboxes_costs_its_calls_and_not_the_run() {
    let place = make_repo(&[("sound.py", SOUND_MODULE), ("hostile.py", HOSTILE_MODULE)]);
    place.write("presets.json", "[{\"SCENARIO_NAME\": \"normal\", \"TIMEOUT\": \"1s\"}]");
    let report = report_within(&place, Duration::from_secs(15), |run| {
        let hostile = descendants(run).into_iter().filter(|pid| name_of(*pid) == "stall-init");
        // Its parent is the interpreter that forked it, whose parent is init.
        for init in hostile.filter_map(|pid| parent_of(parent_of(pid)?)) {
            let _ = kill(Pid::from_raw(init), Signal::SIGSTOP);
        }
        std::thread::sleep(Duration::from_millis(20));
    });
    assert_sound_module_was_called(&report);
    assert!(report["verdicts"]["crashed"].as_u64() > Some(0), "{report:#}");
}

#[test]
fn a_module_that_fills_pipes_under_corruption_costs_its_calls_and_not_the_run() {
    let place = make_repo(&[("sound.py", SOUND_MODULE), ("hostile.py", BLOCKING_MODULE)]);
    let corruption = json!([
        {"SCENARIO_NAME": "normal", "TIMEOUT": "1s"},
        {"SCENARIO_NAME": "corrupted", "TIMEOUT": "1s", "FAILURE_MODES": "disk_corruption"},
    ]);
    place.write("presets.json", &corruption.to_string());
    let report = report_within(&place, Duration::from_secs(20), |_| {
        std::thread::sleep(Duration::from_millis(20));
    });
    assert_sound_module_was_called(&report);
    assert_eq!(report["verdicts"]["crashed"], Value::Null, "{report:#}");
}

#[test]
fn a_call_that_outlasts_the_budget_is_ended_with_it() {
    let place = make_repo(&[("sound.py", SOUND_MODULE), ("hostile.py", HOSTILE_MODULE)]);
    place.write("presets.json", "[{\"SCENARIO_NAME\": \"normal\", \"TIMEOUT\": \"60s\"}]");
    let report = report_within(&place, Duration::from_secs(6), |_| {
        std::thread::sleep(Duration::from_millis(20));
    });
    assert_eq!(report["status"], "cut_short", "{report:#}");
    assert_sound_module_was_called(&report);
}

//! What `menace run` costs beside the calls themselves: `cargo xtask bench run`.
//!
//! A repository of 500 ordinary sections, five presets and eight inputs each, which makes 20,000
//! calls; then one of ten times as many. A sixth preset, of bursts, is a call per section more:
//! Menace would add it anyway. Everything is read from outside, off the kernel's own accounts of
//! the machine and of Menace's threads, off its log, and off the database afterwards. What is
//! counted as what stands beside each number. Nothing else should run meanwhile: it would be taken
//! for sandboxes.
//!
//! Exceeded limits fail the benchmark where the first repository has 500 sections or more; with
//! fewer, startup is most of the cost, and they are only printed.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use serde_json::Value;

const MODULE_SOURCE: &str = include_str!("run/ordinary.py");
const PRESETS_JSON: &str = include_str!("run/presets.json");
/// Functions and methods; the top level takes no inputs, and is not counted.
const SECTIONS_PER_MODULE: usize = 9;
/// Presets times inputs.
const CALLS_PER_SECTION: u64 = 5 * 8;
/// From so many sections on, the limits are held.
const MIN_SECTIONS_FOR_LIMITS: usize = 500;
const MIN_SANDBOX_PERCENT: f64 = 70.0;
const MAX_WRITING_PERCENT: f64 = 5.0;
const MAX_PEAK_BYTES: u64 = 300_000_000;
const MAX_TIME_GROWTH: f64 = 11.0;
const MODULES_PER_PACKAGE: usize = 25;
const CORE_COUNT: f64 = 2.0;
/// The thread that writes calls to the database, by its name.
const WRITER_THREAD: &str = "menace-store";
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);

/// What one run was seen to do.
struct RunMeasurement {
    sections: u64,
    calls: u64,
    wall_s: f64,
    /// Of the sections alone, as the guests measured it.
    sections_cpu_s: f64,
    /// Of all processes of the machine but Menace and this one: interpreters, their forks, and the
    /// inits around them. They come and go too quickly to be counted one by one.
    sandboxes_cpu_s: f64,
    /// Wall time in which the main thread wrote histories while no other thread worked.
    histories_s: f64,
    /// Of the threads of Menace itself, by name.
    threads_cpu_s: BTreeMap<String, f64>,
    peak_bytes: u64,
    database_bytes: u64,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let small: usize = arguments.next().map_or(Ok(500), |sections| sections.parse())?;
    let one = measure_run(small)?;
    print(&one);
    let ten = measure_run(small * 10)?;
    print(&ten);
    let growth = ten.wall_s / one.wall_s;
    println!("\n{:<44}{growth:>10.1}   (at most {MAX_TIME_GROWTH})", "ten times the sections take");
    if small >= MIN_SECTIONS_FOR_LIMITS {
        one.check_limits()?;
        ten.check_limits()?;
        ensure!(growth <= MAX_TIME_GROWTH, "ten times the sections take {growth:.1} times as long");
    } else {
        println!("with fewer than {MIN_SECTIONS_FOR_LIMITS} sections, no limit is held");
    }
    Ok(())
}

impl RunMeasurement {
    /// Of the wall time of both cores, in percent.
    fn percent_of_wall(&self, seconds: f64) -> f64 {
        100.0 * seconds / (CORE_COUNT * self.wall_s)
    }

    /// By the thread that writes calls, and by the main thread, which keeps both cores waiting.
    fn writing_percent(&self) -> f64 {
        let writer = self.threads_cpu_s.get(WRITER_THREAD).copied().unwrap_or_default();
        self.percent_of_wall(writer + CORE_COUNT * self.histories_s)
    }

    fn check_limits(&self) -> Result<()> {
        let in_sandboxes = self.percent_of_wall(self.sandboxes_cpu_s);
        let what = format!("{} sections", self.sections);
        ensure!(
            in_sandboxes >= MIN_SANDBOX_PERCENT,
            "{what}: {in_sandboxes:.1} % of the time is spent in sandboxes"
        );
        let writing = self.writing_percent();
        ensure!(writing < MAX_WRITING_PERCENT, "{what}: histories take {writing:.1} % of the time");
        ensure!(self.peak_bytes < MAX_PEAK_BYTES, "{what}: Menace took {} bytes", self.peak_bytes);
        Ok(())
    }
}

fn measure_run(sections: usize) -> Result<RunMeasurement> {
    let directory = tempfile::tempdir()?;
    let repository = directory.path().join("repository");
    generate(&repository, sections.div_ceil(SECTIONS_PER_MODULE))?;
    let presets = directory.path().join("presets.json");
    fs::write(&presets, PRESETS_JSON)?;
    let data = directory.path().join("data");
    let report = directory.path().join("report.json");

    let mut command = Command::new(env!("CARGO_BIN_EXE_menace"));
    command.args(["run", "--calls-per-cell", "8", "--no-depth", "--seed", "1", "--budget", "none"]);
    command.args(["--jobs", "2", "--format", "json", "--repo"]).arg(&repository);
    command.arg("--preset-file").arg(&presets).arg("--sandbox-data-dir").arg(&data);
    command.arg("--out").arg(&report).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::piped());
    command.env("XDG_CACHE_HOME", directory.path().join("cache"));
    let log = directory.path().join("log");
    command.env("SANDBOX_LOG_LEVEL", "debug").env("SANDBOX_LOG_FILE", &log);
    let busy_before = busy_s()? - own_s();
    let began = Instant::now();
    let mut child = command.spawn().context("cannot start menace")?;
    let errors = child.stderr.take().map(|mut pipe| {
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = std::io::Read::read_to_string(&mut pipe, &mut text);
            text
        })
    });
    let mut accounts = ProcessAccounts::default();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        accounts.sample_process(child.id());
        std::thread::sleep(SAMPLE_INTERVAL);
    };
    let wall_s = began.elapsed().as_secs_f64();
    let busy = busy_s()? - own_s() - busy_before;
    let errors = errors.and_then(|thread| thread.join().ok()).unwrap_or_default();
    ensure!(status.success(), "menace run failed: {status}\n{errors}");

    let report: Value = serde_json::from_str(&fs::read_to_string(&report)?)?;
    let database = data.join("menace.db");
    let cpu_us: i64 = Connection::open(&database)?.query_row(
        "SELECT coalesce(sum(cpu_us), 0) FROM calls",
        [],
        |row| row.get(0),
    )?;
    let threads_cpu_s = accounts.threads_s();
    let calls = report["calls"].as_u64().context("no `calls`")?;
    let least = sections as u64 * CALLS_PER_SECTION;
    ensure!(calls >= least, "{calls} calls were made of {sections} sections, and not {least}");
    Ok(RunMeasurement {
        sections: report["sections"].as_u64().context("no `sections`")?,
        calls,
        histories_s: histories_s(&fs::read_to_string(&log)?)?,
        wall_s,
        sections_cpu_s: cpu_us as f64 / 1e6,
        sandboxes_cpu_s: busy - threads_cpu_s.values().sum::<f64>(),
        threads_cpu_s,
        peak_bytes: accounts.peak_bytes,
        database_bytes: fs::metadata(&database)?.len(),
    })
}

fn print(measurement: &RunMeasurement) {
    let both = CORE_COUNT * measurement.wall_s;
    let share = |seconds: f64| measurement.percent_of_wall(seconds);
    let line = |what: &str, value: f64, unit: &str| println!("{what:<44}{value:>10.1} {unit}");
    let own: f64 = measurement.threads_cpu_s.values().sum();
    println!("\n{} sections, {} calls", measurement.sections, measurement.calls);
    line("wall time", measurement.wall_s, "s");
    line("calls per second", measurement.calls as f64 / measurement.wall_s, "");
    println!("of the wall time of both cores:");
    line(
        "  in sandboxes: guests, forks, inits",
        share(measurement.sandboxes_cpu_s),
        "%  (at least 70)",
    );
    line("    of it in the sections' own code", share(measurement.sections_cpu_s), "%");
    line("  in Menace itself", share(own), "%");
    line("  writing calls and histories", measurement.writing_percent(), "%  (below 5)");
    line("  idle", share(both - own - measurement.sandboxes_cpu_s), "%");
    line("peak memory of Menace", measurement.peak_bytes as f64 / 1e6, "MB (below 300)");
    line("database", measurement.database_bytes as f64 / 1e6, "MB");
    println!("threads of Menace:");
    for (name, seconds) in measurement.threads_cpu_s.iter().filter(|(_, seconds)| **seconds >= 0.1)
    {
        line(&format!("  {name}"), *seconds, "s");
    }
}

/// Seconds that writing histories took, from the log lines of each cycle.
fn histories_s(log: &str) -> Result<f64> {
    let durations =
        log.lines().filter_map(|line| line.split_once("histories_ms=").map(|two| two.1));
    let millis =
        durations.map(|rest| rest.split_whitespace().next().unwrap_or_default().parse::<f64>());
    let millis = millis.collect::<Result<Vec<f64>, _>>()?;
    ensure!(!millis.is_empty(), "the log does not say how long writing histories took");
    Ok(millis.iter().sum::<f64>() / 1e3)
}

/// Packages of modules that are all alike.
fn generate(repository: &Path, modules: usize) -> Result<()> {
    for module in 0..modules {
        let package = repository.join(format!("package_{:03}", module / MODULES_PER_PACKAGE));
        fs::create_dir_all(&package)?;
        fs::write(package.join(format!("part_{module:04}.py")), MODULE_SOURCE)?;
    }
    Ok(())
}

/// What the kernel knows of a process, as of the last look.
#[derive(Default)]
struct ProcessAccounts {
    /// By number: a thread that has ended keeps what it had.
    threads: BTreeMap<u32, (String, f64)>,
    peak_bytes: u64,
}

impl ProcessAccounts {
    fn sample_process(&mut self, pid: u32) {
        let process = format!("/proc/{pid}");
        let status = fs::read_to_string(format!("{process}/status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        self.peak_bytes = self.peak_bytes.max(peak.unwrap_or_default() * 1024);
        for entry in fs::read_dir(format!("{process}/task")).into_iter().flatten().flatten() {
            let path = entry.path();
            let number = entry.file_name().to_string_lossy().parse().unwrap_or_default();
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
            if let Some([user, system]) = cpu_times(&path.join("stat").to_string_lossy()) {
                self.threads.insert(number, (name.trim().to_owned(), user + system));
            }
        }
    }

    fn threads_s(&self) -> BTreeMap<String, f64> {
        let mut threads = BTreeMap::new();
        for (name, seconds) in self.threads.values() {
            *threads.entry(name.clone()).or_default() += seconds;
        }
        threads
    }
}

/// `USER_HZ`, which Linux never changes.
const TICKS_PER_SECOND: f64 = 100.0;

/// User and system time, in seconds.
fn cpu_times(stat: &str) -> Option<[f64; 2]> {
    let text = fs::read_to_string(stat).ok()?;
    // The name of the program may hold spaces and parentheses.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |at: usize| Some(fields.get(at)?.parse::<f64>().ok()? / TICKS_PER_SECOND);
    Some([field(11)?, field(12)?])
}

/// Of this process.
fn own_s() -> f64 {
    cpu_times("/proc/self/stat").map_or(0.0, |times| times.iter().sum())
}

/// What all processors of the machine have done so far, in seconds.
fn busy_s() -> Result<f64> {
    let text = fs::read_to_string("/proc/stat")?;
    let all = text.lines().next().context("`/proc/stat` is empty")?;
    let numbers: Vec<f64> = all.split_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
    // User, nice, system, idle, waiting, interrupts, soft interrupts; guests are users already.
    let [user, nice, system, _, _, hard, soft, ..] = numbers[..] else {
        anyhow::bail!("`/proc/stat` begins with {all}");
    };
    Ok((user + nice + system + hard + soft) / TICKS_PER_SECOND)
}

//! What `menace run` costs beside the calls themselves: `cargo xtask bench run`.
//!
//! A repository of 500 ordinary sections, five presets and eight inputs each; then one of ten times as
//! many. Everything is read from outside, off the kernel's own accounts of the machine and of Menace's
//! threads, and off the database afterwards. What is counted as what stands beside each number.
//! Nothing else should run meanwhile: it would be taken for sandboxes.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use serde_json::Value;

const ORDINARY: &str = include_str!("run/ordinary.py");
const PRESETS: &str = include_str!("run/presets.json");
/// Nine functions and methods, and the top level.
const SECTIONS_PER_MODULE: usize = 10;
const MODULES_PER_PACKAGE: usize = 25;
const CORES: f64 = 2.0;
/// The thread that writes calls to the database, by its name.
const WRITER: &str = "menace-store";
const EVERY: Duration = Duration::from_millis(100);

/// What one run was seen to do.
struct Seen {
    sections: u64,
    calls: u64,
    wall_s: f64,
    /// Of the sections alone, as the guests measured it.
    sections_cpu_s: f64,
    /// Of all processes of the machine but Menace and this one: interpreters, their forks, and the
    /// inits around them. They come and go too quickly to be counted one by one.
    sandboxes_cpu_s: f64,
    /// Of the threads of Menace itself, by name.
    threads_cpu_s: BTreeMap<String, f64>,
    peak_bytes: u64,
    database_bytes: u64,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let small: usize = arguments.next().map_or(Ok(500), |sections| sections.parse())?;
    let one = measured(small)?;
    print(&one);
    let ten = measured(small * 10)?;
    print(&ten);
    println!(
        "\n{:<44}{:>10.1}   (at most 11)",
        "ten times the sections take",
        ten.wall_s / one.wall_s
    );
    Ok(())
}

fn measured(sections: usize) -> Result<Seen> {
    let directory = tempfile::tempdir()?;
    let repository = directory.path().join("repository");
    generate(&repository, sections / SECTIONS_PER_MODULE)?;
    let presets = directory.path().join("presets.json");
    fs::write(&presets, PRESETS)?;
    let data = directory.path().join("data");
    let report = directory.path().join("report.json");

    let mut command = Command::new(env!("CARGO_BIN_EXE_menace"));
    command.args(["run", "--calls-per-cell", "8", "--no-depth", "--seed", "1", "--budget", "none"]);
    command.args(["--jobs", "2", "--format", "json", "--repo"]).arg(&repository);
    command.arg("--preset-file").arg(&presets).arg("--sandbox-data-dir").arg(&data);
    command.arg("--out").arg(&report).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::piped());
    command.env("XDG_CACHE_HOME", directory.path().join("cache"));
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
    let mut accounts = Accounts::default();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        accounts.look_at(child.id());
        std::thread::sleep(EVERY);
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
    Ok(Seen {
        sections: report["sections"].as_u64().context("no `sections`")?,
        calls: report["calls"].as_u64().context("no `calls`")?,
        wall_s,
        sections_cpu_s: cpu_us as f64 / 1e6,
        sandboxes_cpu_s: busy - threads_cpu_s.values().sum::<f64>(),
        threads_cpu_s,
        peak_bytes: accounts.peak_bytes,
        database_bytes: fs::metadata(&database)?.len(),
    })
}

fn print(seen: &Seen) {
    let both = CORES * seen.wall_s;
    let share = |seconds: f64| 100.0 * seconds / both;
    let line = |what: &str, value: f64, unit: &str| println!("{what:<44}{value:>10.1} {unit}");
    let own: f64 = seen.threads_cpu_s.values().sum();
    let writer = seen.threads_cpu_s.get(WRITER).copied().unwrap_or_default();
    println!("\n{} sections, {} calls", seen.sections, seen.calls);
    line("wall time", seen.wall_s, "s");
    line("calls per second", seen.calls as f64 / seen.wall_s, "");
    println!("of the wall time of both cores:");
    line("  in sandboxes: guests, forks, inits", share(seen.sandboxes_cpu_s), "%  (at least 70)");
    line("    of it in the sections' own code", share(seen.sections_cpu_s), "%");
    line("  in Menace itself", share(own), "%");
    line("    of it writing the history", share(writer), "%  (below 5)");
    line("  idle", share(both - own - seen.sandboxes_cpu_s), "%");
    line("peak memory of Menace", seen.peak_bytes as f64 / 1e6, "MB (below 300)");
    line("database", seen.database_bytes as f64 / 1e6, "MB");
    println!("threads of Menace:");
    for (name, seconds) in seen.threads_cpu_s.iter().filter(|(_, seconds)| **seconds >= 0.1) {
        line(&format!("  {name}"), *seconds, "s");
    }
}

/// Packages of modules that are all alike.
fn generate(repository: &Path, modules: usize) -> Result<()> {
    for module in 0..modules {
        let package = repository.join(format!("package_{:03}", module / MODULES_PER_PACKAGE));
        fs::create_dir_all(&package)?;
        fs::write(package.join(format!("part_{module:04}.py")), ORDINARY)?;
    }
    Ok(())
}

/// What the kernel knows of a process, as of the last look.
#[derive(Default)]
struct Accounts {
    /// By number: a thread that has ended keeps what it had.
    threads: BTreeMap<u32, (String, f64)>,
    peak_bytes: u64,
}

impl Accounts {
    fn look_at(&mut self, pid: u32) {
        let process = format!("/proc/{pid}");
        let status = fs::read_to_string(format!("{process}/status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        self.peak_bytes = self.peak_bytes.max(peak.unwrap_or_default() * 1024);
        for entry in fs::read_dir(format!("{process}/task")).into_iter().flatten().flatten() {
            let path = entry.path();
            let number = entry.file_name().to_string_lossy().parse().unwrap_or_default();
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
            if let Some([user, system]) = times(&path.join("stat").to_string_lossy()) {
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
const TICKS: f64 = 100.0;

/// User and system time, in seconds.
fn times(stat: &str) -> Option<[f64; 2]> {
    let text = fs::read_to_string(stat).ok()?;
    // The name of the program may hold spaces and parentheses.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |at: usize| Some(fields.get(at)?.parse::<f64>().ok()? / TICKS);
    Some([field(11)?, field(12)?])
}

/// Of this process.
fn own_s() -> f64 {
    times("/proc/self/stat").map_or(0.0, |times| times.iter().sum())
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
    Ok((user + nice + system + hard + soft) / TICKS)
}

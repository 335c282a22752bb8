//! Measures the analysis beside ruff and radon, on one tree in one run, so that ratios count.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Interleaved, so that a slow moment of the machine hits all tools.
const ROUNDS_PER_TOOL: usize = 15;

struct BenchmarkedTool {
    name: &'static str,
    command: Vec<String>,
    /// `XDG_CACHE_HOME`.
    cache: PathBuf,
    times: Vec<Duration>,
}

impl BenchmarkedTool {
    fn new(name: &'static str, cache: &Path, command: &[&str]) -> Self {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        Self { name, command, cache: cache.to_owned(), times: Vec::new() }
    }

    fn measure(&mut self) -> Result<()> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("XDG_CACHE_HOME", &self.cache);
        let started = Instant::now();
        let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
        self.times.push(started.elapsed());
        ensure!(status.success(), "{command:?} failed: {status}");
        Ok(())
    }

    fn median(&mut self) -> Duration {
        self.times.sort();
        self.times[self.times.len() / 2]
    }
}

#[expect(clippy::print_stdout, reason = "this is the result of the benchmark")]
fn main() -> Result<()> {
    let venv = tools_venv()?;
    let menace = env!("CARGO_BIN_EXE_menace");
    let tool = |name: &str| venv.join("bin").join(name).display().to_string();
    let stdlib = command_output(
        Command::new(tool("python"))
            .args(["-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"]),
    )?;
    let tree = stdlib.trim();
    let cache = tempfile::tempdir()?;
    let contender = |name, command: &[&str]| BenchmarkedTool::new(name, cache.path(), command);

    let analyze = [menace, "analyze", "--repo", tree, "--scanner", "builtin"];
    let with = |more: &[&'static str]| [&analyze[..], more].concat();
    let (ruff, radon) = (tool("ruff"), tool("radon"));
    let skip = "*/site-packages/*";
    let mut contenders = [
        contender("ruff analyze graph", &[&*ruff, "analyze", "graph", "--isolated", tree]),
        contender("menace analyze --no-cache", &with(&["--no-cache"])),
        contender("the same, --format json", &with(&["--no-cache", "--format", "json"])),
        contender("menace analyze, warm cache", &with(&[])),
    ];
    for _ in 0..ROUNDS_PER_TOOL {
        for contender in &mut contenders {
            contender.measure()?;
        }
    }
    // Minutes each: once will do, and last, so that nothing else waits for them.
    let mut radons = [
        contender("radon cc", &[&*radon, "cc", "--json", "--exclude", skip, tree]),
        contender("radon mi", &[&*radon, "mi", "--json", "--exclude", skip, tree]),
    ];
    let with_radon = !std::env::args().any(|argument| argument == "--without-radon");
    let radons = if with_radon { &mut radons[..] } else { &mut [] };
    for contender in &mut *radons {
        contender.measure()?;
    }
    println!("| what | median | rounds |\n|---|---|---|");
    for contender in contenders.iter_mut().chain(&mut *radons) {
        let median = contender.median().as_secs_f64();
        println!("| {} | {median:.3} s | {} |", contender.name, contender.times.len());
    }
    let [graph, cold, json, warm] = contenders.each_mut().map(BenchmarkedTool::median);
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    println!("\nmenace / ruff analyze graph: {:.2} (at most 2)", ratio(cold, graph));
    println!("with JSON / ruff analyze graph: {:.2}", ratio(json, graph));
    println!("warm / ruff analyze graph: {:.2}", ratio(warm, graph));
    if with_radon {
        let both = radons.iter_mut().map(BenchmarkedTool::median).sum();
        println!("(radon cc + radon mi) / menace: {:.0} (at least 20)", ratio(both, cold));
    }
    println!("peak memory of menace: {} MB (below 500)", peak_memory(menace, tree)?);
    Ok(())
}

/// Megabytes that one cold run holds at most, as the kernel counts them.
fn peak_memory(menace: &str, tree: &str) -> Result<u64> {
    let script = "import resource, subprocess, sys\n\
        subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n\
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)";
    let mut command = Command::new("python3");
    command.args(["-c", script, menace, "analyze", "--no-cache", "--scanner", "builtin"]);
    command.args(["--format", "json", "--repo", tree]);
    Ok(command_output(&mut command)?.trim().parse()?)
}

/// The environment with ruff and radon that `cargo xtask bench` has filled.
#[expect(clippy::disallowed_methods, reason = "where the tools are is no setting of Menace")]
fn tools_venv() -> Result<PathBuf> {
    let venv = std::env::var_os("MENACE_TEST_VENV").map(PathBuf::from);
    venv.context("run this with `cargo xtask bench`, which installs ruff and radon")
}

fn command_output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

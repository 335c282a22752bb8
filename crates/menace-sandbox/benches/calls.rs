//! What isolation costs, as ratios in one run: `cargo xtask bench sandbox`.
//!
//! Everything that is compared takes turns, round after round, so that a busy moment of the
//! machine hits all of it.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use menace_model::{Call, CallStep, CallTarget, ModuleRef, TargetKind, Value, Verdict};
use menace_sandbox::interpreter::{HarnessSource, InterpreterSearch, PythonInterpreter};
use menace_sandbox::{
    BackendOptions, CallJob, CallScheduler, CallSession, CancelToken, LocalBackend, SandboxBackend,
    SandboxSpec, init,
};

const ROUNDS: usize = 40;
const FORKS_PER_ROUND: usize = 50;
const CALLS_PER_ROUND: usize = 50;
/// First calls, one right after the other, so that spares are used up as fast as they can be.
const CALLS_IN_A_ROW: u32 = 10;
const POOL_CALLS: usize = 600;
const POOL_ROUNDS: usize = 5;

const BENCH_MODULE: &str = "\
def f():
    return 1


def busy(milliseconds):
    from time import thread_time

    end = thread_time() + milliseconds / 1000
    while thread_time() < end:
        pass


def forks(count):
    import os, time

    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        pid = os.fork()
        if pid == 0:
            f()
            os._exit(0)
        os.waitpid(pid, 0)
        times.append(time.perf_counter_ns() - start)
    return sorted(times)[count // 2]
";

/// Forks, calls and waits, as many times as requested, in an interpreter that has the module and
/// nothing else. What the same costs in the interpreter that isolated calls are forked from is
/// measured by `forks` of the module itself.
const BARE_FORK_SCRIPT: &str = "\
import os, sys, time
sys.path.insert(0, sys.argv[1])
import m
for line in sys.stdin:
    for _ in range(int(line)):
        start = time.perf_counter_ns()
        pid = os.fork()
        if pid == 0:
            m.f()
            os._exit(0)
        os.waitpid(pid, 0)
        print(time.perf_counter_ns() - start)
    sys.stdout.flush()
";

/// A ratio that was promised.
struct BenchTarget {
    name: &'static str,
    measured: f64,
    limit: BenchLimit,
}

enum BenchLimit {
    AtMost(f64),
    AtLeast(f64),
}

impl BenchTarget {
    /// Says what came of it; whether the promise holds.
    fn print_and_check(&self) -> bool {
        let Self { name: what, measured: found, limit } = self;
        let (holds, words, wanted) = match limit {
            BenchLimit::AtMost(most) => (found <= most, "at most", most),
            BenchLimit::AtLeast(least) => (found >= least, "at least", least),
        };
        let verdict = if holds { "" } else { ": BROKEN" };
        println!("{what:<30} {found:6.2} ({words} {wanted}){verdict}");
        holds
    }
}

fn main() -> ExitCode {
    if init::is_requested() {
        init::run();
    }
    let bench = CallBench::new();
    let mut wanted = bench.measure_latencies().print_and_list_targets();
    for (what, milliseconds) in [
        ("trivial calls", 0),
        ("calls that compute for 5 ms", 5),
        ("calls that compute for 20 ms", 20),
    ] {
        let (one, two) = bench.measure_throughput(milliseconds);
        println!("{what}: {one:.0}/s with 1 worker, {two:.0}/s with 2: {:.2}x", two / one);
        // Calls that do nothing leave nothing to share.
        if milliseconds > 0 {
            wanted.push(BenchTarget {
                name: what,
                measured: two / one,
                limit: BenchLimit::AtLeast(1.7),
            });
        }
    }
    let broken = wanted.iter().filter(|one| !one.print_and_check()).count();
    if broken == 0 {
        return ExitCode::SUCCESS;
    }
    println!("{broken} of {} ratios are not what was promised", wanted.len());
    ExitCode::FAILURE
}

struct CallBench {
    repo: tempfile::TempDir,
    python: PathBuf,
    backend: LocalBackend,
}

impl CallBench {
    fn new() -> Self {
        let repo = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(repo.path().join("m.py"), BENCH_MODULE).expect("a module");
        let sources: Vec<HarnessSource> = menace_sandbox::harness_sources()
            .iter()
            .map(|(name, text)| HarnessSource {
                name: (*name).to_owned(),
                text: (*text).to_owned(),
            })
            .collect();
        let search = InterpreterSearch {
            python: None,
            repository: repo.path(),
            path: OsStr::new("/usr/local/bin:/usr/bin"),
            home: None,
            sources: &sources,
            cache: None,
        };
        let interpreter = PythonInterpreter::find(&search).expect("a Python");
        let python = interpreter.executable.clone();
        println!(
            "Python {}.{}.{} at {}",
            interpreter.version.0,
            interpreter.version.1,
            interpreter.version.2,
            python.display()
        );
        let backend = LocalBackend::new(BackendOptions::new(repo.path().to_owned(), interpreter))
            .expect("a sandbox");
        println!("tier: {}", backend.tier());
        Self { repo, python, backend }
    }

    fn call(name: &str, args: Vec<Value>) -> Call {
        let target =
            CallTarget { module: module(), qualname: name.to_owned(), kind: TargetKind::Function };
        Call { seed: 1, ..Call::of_step(CallStep { args, ..CallStep::new(target) }) }
    }

    fn measure_latencies(&self) -> BenchFigures {
        let mut figures = BenchFigures::default();
        let mut bare = BareForkServer::start(&self.python, self.repo.path());
        let mut warm = self.backend.open_session(&spec()).expect("a warm module");
        let call = Self::call("f", Vec::new());
        for _ in 0..CALLS_PER_ROUND {
            warm.run(&call).expect("a call");
        }
        bare.time_forks(FORKS_PER_ROUND);
        for round in 0..ROUNDS {
            figures.first_of_kind.push(self.measure_first_of_kind(round));
            let unknown = self.create_modules(round);
            let start = Instant::now();
            for spec in &unknown {
                drop(self.first_call(spec));
            }
            figures.cold.push(start.elapsed() / CALLS_IN_A_ROW);
            self.backend.prewarm(&spec());
            figures.plain_fork.extend(bare.time_forks(FORKS_PER_ROUND));
            figures.same_fork.push(time_forks_inside(&mut *warm));
            for _ in 0..CALLS_PER_ROUND {
                let start = Instant::now();
                let outcome = warm.run(&call).expect("a call");
                figures.warm.push(start.elapsed());
                assert_eq!(outcome.verdict, Verdict::Returned);
            }
            figures.plain.push(time_command(&mut self.plain_python()));
            figures.bwrap.push(time_command(&mut self.bwrap()));
            let start = Instant::now();
            let mut ready = self.backend.open_session(&spec()).expect("a warm module");
            ready.run(&call).expect("a call");
            figures.ready.push(start.elapsed());
        }
        figures
    }

    /// Where not even a sandbox for another module is there: none has been started with this seed.
    fn measure_first_of_kind(&self, round: usize) -> Duration {
        let spec = SandboxSpec { seed: round as u64 + 1, ..spec() };
        let start = Instant::now();
        let warm = self.first_call(&spec);
        let took = start.elapsed();
        drop(warm);
        took
    }

    /// Modules that were not called or announced yet.
    fn create_modules(&self, round: usize) -> Vec<SandboxSpec> {
        let name = |number| format!("unknown_{round}_{number}");
        let unknown = (0..CALLS_IN_A_ROW).map(|number| {
            let module = ModuleRef { name: name(number), path: None };
            std::fs::write(self.repo.path().join(format!("{}.py", module.name)), BENCH_MODULE)
                .expect("a module");
            SandboxSpec::new(Some(module))
        });
        unknown.collect()
    }

    /// Up to the result. Dropping what is returned ends the sandbox.
    fn first_call(&self, spec: &SandboxSpec) -> Box<dyn CallSession> {
        let module = spec.module.clone().expect("a module");
        let target = CallTarget { module, qualname: "f".to_owned(), kind: TargetKind::Function };
        let call = Call { seed: 1, ..Call::new(target) };
        let mut warm = self.backend.open_session(spec).expect("a warm module");
        assert_eq!(warm.run(&call).expect("a call").verdict, Verdict::Returned);
        warm
    }

    fn plain_python(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.arg("-I").arg("-c").arg(format!(
            "import sys; sys.path.insert(0, '{}'); import m",
            self.repo.path().display()
        ));
        command
    }

    fn bwrap(&self) -> Command {
        let mut command = Command::new("bwrap");
        command
            .args(["--unshare-all", "--ro-bind", "/", "/"])
            .arg(&self.python)
            .args(["-c", "import m; m.f()"])
            .current_dir(self.repo.path());
        command
    }

    /// Calls per second with one worker and with two, taking turns.
    fn measure_throughput(&self, milliseconds: i64) -> (f64, f64) {
        let name = if milliseconds == 0 { "f" } else { "busy" };
        let args = if milliseconds == 0 { vec![] } else { vec![Value::Int(milliseconds)] };
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..POOL_ROUNDS {
            for workers in [1, 2] {
                let jobs = (0..POOL_CALLS)
                    .map(|_| CallJob { spec: spec(), call: Self::call(name, args.clone()) });
                let pool = CallScheduler::new(&self.backend, workers);
                let start = Instant::now();
                let mut returned = 0;
                pool.run(&CancelToken::default(), jobs, |_, outcome| {
                    returned += usize::from(outcome.expect("a call").verdict == Verdict::Returned);
                });
                assert_eq!(returned, POOL_CALLS);
                rates[workers - 1].push(POOL_CALLS as f64 / start.elapsed().as_secs_f64());
            }
        }
        let [mut one, mut two] = rates;
        one.sort_by(f64::total_cmp);
        two.sort_by(f64::total_cmp);
        (one[POOL_ROUNDS / 2], two[POOL_ROUNDS / 2])
    }
}

fn module() -> ModuleRef {
    ModuleRef { name: "m".to_owned(), path: None }
}

fn spec() -> SandboxSpec {
    SandboxSpec::new(Some(module()))
}

fn time_command(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}");
    start.elapsed()
}

/// The median of bare forks in the warm interpreter itself.
fn time_forks_inside(warm: &mut dyn CallSession) -> Duration {
    let count = Value::Int(i64::try_from(FORKS_PER_ROUND).expect("few"));
    let outcome = warm.run(&CallBench::call("forks", vec![count])).expect("a call");
    match outcome.result.value.and_then(|returned| returned.value) {
        Some(Value::Int(nanos)) => Duration::from_nanos(nanos.cast_unsigned()),
        other => panic!("the forks reported {other:?}"),
    }
}

/// A Python that forks.
struct BareForkServer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl BareForkServer {
    fn start(python: &Path, repo: &Path) -> Self {
        let mut process = Command::new(python)
            .args(["-I", "-c", BARE_FORK_SCRIPT])
            .arg(repo)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a Python");
        let input = process.stdin.take().expect("its input");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        Self { process, input, output }
    }

    fn time_forks(&mut self, count: usize) -> Vec<Duration> {
        writeln!(self.input, "{count}").expect("it listens");
        let mut line = String::new();
        let mut next = || {
            line.clear();
            self.output.read_line(&mut line).expect("it answers");
            Duration::from_nanos(line.trim().parse().expect("nanoseconds"))
        };
        (0..count).map(|_| next()).collect()
    }
}

impl Drop for BareForkServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Default)]
struct BenchFigures {
    plain_fork: Vec<Duration>,
    same_fork: Vec<Duration>,
    warm: Vec<Duration>,
    plain: Vec<Duration>,
    bwrap: Vec<Duration>,
    ready: Vec<Duration>,
    cold: Vec<Duration>,
    first_of_kind: Vec<Duration>,
}

impl BenchFigures {
    fn print_and_list_targets(self) -> Vec<BenchTarget> {
        let [bare, same, warm] = [self.plain_fork, self.same_fork, self.warm].map(median);
        let [plain, bwrap, ready, cold, alone] =
            [self.plain, self.bwrap, self.ready, self.cold, self.first_of_kind].map(median);
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        println!("bare os.fork() + call + waitpid    {:8.3} ms", ms(same));
        println!("the same in a plain interpreter    {:8.3} ms", ms(bare));
        println!("warm call, isolated                {:8.3} ms", ms(warm));
        println!("python -I -c 'import m'            {:8.3} ms", ms(plain));
        println!("first call of a module, announced  {:8.3} ms", ms(ready));
        println!("the same, unannounced, in a row    {:8.3} ms", ms(cold));
        println!("the same, first sandbox of a kind  {:8.3} ms", ms(alone));
        println!("bwrap --unshare-all … python -c    {:8.3} ms", ms(bwrap));
        let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
        println!("warm / fork of a plain interpreter {:8.2}", ratio(warm, bare));
        vec![
            BenchTarget {
                name: "warm / bare fork",
                measured: ratio(warm, same),
                limit: BenchLimit::AtMost(3.0),
            },
            BenchTarget {
                name: "bwrap / warm",
                measured: ratio(bwrap, warm),
                limit: BenchLimit::AtLeast(10.0),
            },
            BenchTarget {
                name: "first call, announced / plain",
                measured: ratio(ready, plain),
                limit: BenchLimit::AtMost(1.5),
            },
            BenchTarget {
                name: "first call, cold / plain",
                measured: ratio(cold, plain),
                limit: BenchLimit::AtMost(1.5),
            },
            // No promise covers this one; it must not get worse unnoticed.
            BenchTarget {
                name: "first of its kind / plain",
                measured: ratio(alone, plain),
                limit: BenchLimit::AtMost(2.5),
            },
        ]
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

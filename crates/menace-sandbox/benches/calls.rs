//! What isolation costs, as ratios in one run: `cargo xtask bench sandbox`.
//!
//! Everything that is compared takes turns, round after round, so that a busy moment of the
//! machine hits all of it.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use menace_model::{Call, How, ModuleRef, Target, Value, Verdict};
use menace_sandbox::interpreter::{Interpreter, Search, Source};
use menace_sandbox::{Backend, Cancel, Job, LocalBackend, Options, Pool, Warm, WarmSpec, init};

const ROUNDS: usize = 40;
const FORKS_PER_ROUND: usize = 50;
const CALLS_PER_ROUND: usize = 50;
/// First calls, one right after the other, so that spares are used up as fast as they can be.
const IN_A_ROW: u32 = 10;
const POOL_CALLS: usize = 600;
const POOL_ROUNDS: usize = 5;

const MODULE: &str = "\
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

/// Forks, calls and waits, as many times as it is told to, in an interpreter that has the module and
/// nothing else. What the same costs in the interpreter that isolated calls are forked from is
/// measured by `forks` of the module itself.
const BARE: &str = "\
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
struct Wanted {
    what: &'static str,
    found: f64,
    limit: Limit,
}

enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Wanted {
    /// Says what came of it; whether the promise holds.
    fn holds(&self) -> bool {
        let Self { what, found, limit } = self;
        let (holds, words, wanted) = match limit {
            Limit::AtMost(most) => (found <= most, "at most", most),
            Limit::AtLeast(least) => (found >= least, "at least", least),
        };
        let verdict = if holds { "" } else { ": BROKEN" };
        println!("{what:<30} {found:6.2} ({words} {wanted}){verdict}");
        holds
    }
}

fn main() -> ExitCode {
    if init::requested() {
        init::run();
    }
    let bench = Bench::new();
    let mut wanted = bench.latencies().print();
    for (what, milliseconds) in [
        ("trivial calls", 0),
        ("calls that compute for 5 ms", 5),
        ("calls that compute for 20 ms", 20),
    ] {
        let (one, two) = bench.throughput(milliseconds);
        println!("{what}: {one:.0}/s with 1 worker, {two:.0}/s with 2: {:.2}x", two / one);
        // Calls that do nothing leave nothing to share.
        if milliseconds > 0 {
            wanted.push(Wanted { what, found: two / one, limit: Limit::AtLeast(1.7) });
        }
    }
    let broken = wanted.iter().filter(|one| !one.holds()).count();
    if broken == 0 {
        return ExitCode::SUCCESS;
    }
    println!("{broken} of {} ratios are not what was promised", wanted.len());
    ExitCode::FAILURE
}

struct Bench {
    repo: tempfile::TempDir,
    python: PathBuf,
    backend: LocalBackend,
}

impl Bench {
    fn new() -> Self {
        let repo = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(repo.path().join("m.py"), MODULE).expect("a module");
        let sources: Vec<Source> = menace_sandbox::harness_sources()
            .iter()
            .map(|(name, text)| Source { name: (*name).to_owned(), text: (*text).to_owned() })
            .collect();
        let search = Search {
            python: None,
            repository: repo.path(),
            path: OsStr::new("/usr/local/bin:/usr/bin"),
            home: None,
            sources: &sources,
            cache: None,
        };
        let interpreter = Interpreter::find(&search).expect("a Python");
        let python = interpreter.executable.clone();
        println!(
            "Python {}.{}.{} at {}",
            interpreter.version.0,
            interpreter.version.1,
            interpreter.version.2,
            python.display()
        );
        let backend = LocalBackend::new(Options::new(repo.path().to_owned(), interpreter))
            .expect("a sandbox");
        println!("tier: {}", backend.tier());
        Self { repo, python, backend }
    }

    fn call(name: &str, args: Vec<Value>) -> Call {
        let target = Target { module: module(), qualname: name.to_owned(), how: How::Function };
        Call { args, seed: 1, ..Call::new(target) }
    }

    fn latencies(&self) -> Figures {
        let mut figures = Figures::default();
        let mut bare = Bare::start(&self.python, self.repo.path());
        let mut warm = self.backend.warm(&spec()).expect("a warm module");
        let call = Self::call("f", Vec::new());
        for _ in 0..CALLS_PER_ROUND {
            warm.run(&call).expect("a call");
        }
        bare.forks(FORKS_PER_ROUND);
        for round in 0..ROUNDS {
            figures.alone.push(self.first_of_its_kind(round));
            let unknown = self.unknown_modules(round);
            let start = Instant::now();
            for spec in &unknown {
                drop(self.first_call(spec));
            }
            figures.cold.push(start.elapsed() / IN_A_ROW);
            self.backend.anticipate(&spec());
            figures.bare.extend(bare.forks(FORKS_PER_ROUND));
            figures.same.push(forks_inside(&mut *warm));
            for _ in 0..CALLS_PER_ROUND {
                let start = Instant::now();
                let outcome = warm.run(&call).expect("a call");
                figures.warm.push(start.elapsed());
                assert_eq!(outcome.verdict, Verdict::Returned);
            }
            figures.plain.push(timed(&mut self.plain_python()));
            figures.bwrap.push(timed(&mut self.bwrap()));
            let start = Instant::now();
            let mut ready = self.backend.warm(&spec()).expect("a warm module");
            ready.run(&call).expect("a call");
            figures.ready.push(start.elapsed());
        }
        figures
    }

    /// Where not even a sandbox for another module is there: none has been started with this seed.
    fn first_of_its_kind(&self, round: usize) -> Duration {
        let spec = WarmSpec { seed: round as u64 + 1, ..spec() };
        let start = Instant::now();
        let warm = self.first_call(&spec);
        let took = start.elapsed();
        drop(warm);
        took
    }

    /// Modules that nobody has called or announced yet.
    fn unknown_modules(&self, round: usize) -> Vec<WarmSpec> {
        let name = |number| format!("unknown_{round}_{number}");
        let unknown = (0..IN_A_ROW).map(|number| {
            let module = ModuleRef { name: name(number), path: None };
            std::fs::write(self.repo.path().join(format!("{}.py", module.name)), MODULE)
                .expect("a module");
            WarmSpec::new(Some(module))
        });
        unknown.collect()
    }

    /// Up to the result. Dropping what is returned ends the sandbox.
    fn first_call(&self, spec: &WarmSpec) -> Box<dyn Warm> {
        let module = spec.module.clone().expect("a module");
        let target = Target { module, qualname: "f".to_owned(), how: How::Function };
        let call = Call { seed: 1, ..Call::new(target) };
        let mut warm = self.backend.warm(spec).expect("a warm module");
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
    fn throughput(&self, milliseconds: i64) -> (f64, f64) {
        let name = if milliseconds == 0 { "f" } else { "busy" };
        let args = if milliseconds == 0 { vec![] } else { vec![Value::Int(milliseconds)] };
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..POOL_ROUNDS {
            for workers in [1, 2] {
                let jobs = (0..POOL_CALLS)
                    .map(|_| Job { spec: spec(), call: Self::call(name, args.clone()) });
                let pool = Pool::new(&self.backend, workers);
                let start = Instant::now();
                let mut returned = 0;
                pool.run(&Cancel::default(), jobs, |_, outcome| {
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

fn spec() -> WarmSpec {
    WarmSpec::new(Some(module()))
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}");
    start.elapsed()
}

/// The median of bare forks in the warm interpreter itself.
fn forks_inside(warm: &mut dyn Warm) -> Duration {
    let count = Value::Int(i64::try_from(FORKS_PER_ROUND).expect("few"));
    let outcome = warm.run(&Bench::call("forks", vec![count])).expect("a call");
    match outcome.value.and_then(|returned| returned.value) {
        Some(Value::Int(nanos)) => Duration::from_nanos(nanos.cast_unsigned()),
        other => panic!("the forks told {other:?}"),
    }
}

/// A Python that forks.
struct Bare {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Bare {
    fn start(python: &Path, repo: &Path) -> Self {
        let mut process = Command::new(python)
            .args(["-I", "-c", BARE])
            .arg(repo)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a Python");
        let input = process.stdin.take().expect("its input");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        Self { process, input, output }
    }

    fn forks(&mut self, count: usize) -> Vec<Duration> {
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

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Default)]
struct Figures {
    bare: Vec<Duration>,
    same: Vec<Duration>,
    warm: Vec<Duration>,
    plain: Vec<Duration>,
    bwrap: Vec<Duration>,
    ready: Vec<Duration>,
    cold: Vec<Duration>,
    alone: Vec<Duration>,
}

impl Figures {
    fn print(self) -> Vec<Wanted> {
        let [bare, same, warm] = [self.bare, self.same, self.warm].map(median);
        let [plain, bwrap, ready, cold, alone] =
            [self.plain, self.bwrap, self.ready, self.cold, self.alone].map(median);
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
            Wanted {
                what: "warm / bare fork",
                found: ratio(warm, same),
                limit: Limit::AtMost(3.0),
            },
            Wanted { what: "bwrap / warm", found: ratio(bwrap, warm), limit: Limit::AtLeast(10.0) },
            Wanted {
                what: "first call, announced / plain",
                found: ratio(ready, plain),
                limit: Limit::AtMost(1.5),
            },
            Wanted {
                what: "first call, cold / plain",
                found: ratio(cold, plain),
                limit: Limit::AtMost(1.5),
            },
            // Nobody promised this one; it shall not get worse unseen.
            Wanted {
                what: "first of its kind / plain",
                found: ratio(alone, plain),
                limit: Limit::AtMost(2.5),
            },
        ]
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

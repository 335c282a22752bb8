//! Project chores: `cargo xtask test` sets up and runs every check, `cargo xtask bench` measures.

mod python;
mod run;
mod summary;
mod tools;
mod vm;

use anyhow::{Context, Result, bail};

use run::cargo;

const HELP: &str = "\
cargo xtask test    set up what the tests need, then run formatting, lints, licences and all tests
cargo xtask bench   measure the analysis against ruff and radon on the standard library; radon
                    takes a quarter of an hour, which --without-radon spares
cargo xtask bench sandbox
                    measure isolated calls against bare forks and bubblewrap
cargo xtask bench reach
                    count what inputs reach of twenty modules of the standard library
cargo xtask bench power
                    measure what exploring finds in a repository with planted weaknesses
cargo xtask bench run
                    measure what a run costs beside its calls, on 500 and on 5,000 sections
cargo xtask bench forecast
                    measure forecasts of 100 metrics against statsmodels
cargo xtask bench serve
                    measure pages and /metrics over 100,000 runs and 10 million calls
cargo xtask long    plant all bugs and kill fifty runs, of which the usual tests do a part
cargo xtask vm      try limits with control groups of version 2, in a virtual machine; after it,
                    the names of other facts of the contract, such as bad_guests::root
cargo xtask docs    write the generated pages and tables below docs
";

/// Between these two, `docs/scenarios.md` is what the code says.
const TABLES: &str = "<!-- tables: written by `cargo xtask docs` -->";
const END_OF_TABLES: &str = "<!-- end of tables -->";

#[expect(clippy::print_stderr, reason = "this is the user interface of xtask")]
fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("test") => test(&arguments.collect::<Vec<_>>()),
        Some("bench") => bench(&arguments.collect::<Vec<_>>()),
        Some("long") => {
            let tests = "test --package menace --test it -- killed:: validity:: --test-threads=1";
            cargo(tests.split(' ')).env("MENACE_LONG_TESTS", "1").run()
        }
        Some("vm") => vm::run(&arguments.collect::<Vec<_>>()),
        Some("docs") => docs(),
        Some(other) => bail!("unknown chore `{other}`\n\n{HELP}"),
        None => {
            eprint!("{HELP}");
            Ok(())
        }
    }
}

/// Every check, cheapest first; the test runner's summary comes last.
fn test(filter: &[String]) -> Result<()> {
    cargo(["fmt", "--all", "--check"]).run()?;
    let has_nextest = tools::has_nextest();
    let runner = if has_nextest { "nextest run" } else { "test" };
    let runner = || runner.split(' ').chain(["--workspace"]);
    // What is fetched waits for the network, what is built for the processor.
    let venv = std::thread::scope(|scope| -> Result<_> {
        let fetched = scope.spawn(|| {
            let venv = python::test_venv()?;
            tools::browser()?;
            tools::deny()?;
            anyhow::Ok(venv)
        });
        cargo(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
            .run()?;
        cargo(runner().chain(["--no-run"])).run()?;
        fetched.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let filter = filter.iter().map(String::as_str);
    let tests = cargo(runner().chain(["--no-fail-fast"]).chain(filter));
    let tests = tests.env("MENACE_TEST_VENV", &venv);
    if has_nextest { tests.run() } else { summary::run(tests) }
}

fn bench(arguments: &[String]) -> Result<()> {
    if arguments.first().is_some_and(|what| what == "sandbox") {
        tools::bubblewrap()?;
        return cargo(["bench", "--package", "menace-sandbox", "--bench", "calls"]).run();
    }
    if arguments.first().is_some_and(|what| what == "reach") {
        // It counts and does not measure: there is no need to wait for an optimised build.
        let bench = "bench --profile dev --package menace-loop --bench reach --";
        let rest = arguments[1..].iter().map(String::as_str);
        return cargo(bench.split(' ').chain(rest)).run();
    }
    if arguments.first().is_some_and(|what| what == "power") {
        let bench = "bench --package menace-loop --bench power --";
        let rest = arguments[1..].iter().map(String::as_str);
        return cargo(bench.split(' ').chain(rest)).run();
    }
    if arguments.first().is_some_and(|what| what == "serve") {
        // What is wanted holds without optimisation, too: there is no need to wait for it.
        let bench = "bench --profile dev --package menace-serve --bench serve --";
        let rest = arguments[1..].iter().map(String::as_str);
        return cargo(bench.split(' ').chain(rest)).run();
    }
    if arguments.first().is_some_and(|what| what == "run") {
        let bench = "bench --package menace --bench run --";
        let rest = arguments[1..].iter().map(String::as_str);
        return cargo(bench.split(' ').chain(rest)).run();
    }
    if arguments.first().is_some_and(|what| what == "forecast") {
        let python = python::reference_venv()?.join("bin/python");
        let rest = arguments[1..].iter().map(String::as_str);
        let script = "crates/menace-track/benches/forecast.py";
        return run::program(python, [script].into_iter().chain(rest)).run();
    }
    let venv = python::test_venv()?;
    let bench = ["bench", "--package", "menace", "--bench", "analyze", "--"];
    cargo(bench.into_iter().chain(arguments.iter().map(String::as_str)))
        .env("MENACE_TEST_VENV", &venv)
        .run()
}

/// Writes what `menace` itself says as its reference.
fn docs() -> Result<()> {
    let printed = |arguments: &[&'static str]| {
        let menace = ["run", "--quiet", "--package", "menace", "--"];
        cargo(menace.into_iter().chain(arguments.iter().copied())).output()
    };
    let settings = printed(&["settings", "--markdown"])?;
    std::fs::write(run::root().join("docs/reference/settings.md"), settings)?;
    std::fs::write(run::root().join("docs/metrics.md"), menace_track::markdown())?;
    let tables = printed(&["presets", "list", "--markdown"])?;
    let path = run::root().join("docs/scenarios.md");
    let page = std::fs::read_to_string(&path)?;
    let (before, rest) = page.split_once(TABLES).context("the page has no place for tables")?;
    let (_, after) = rest.split_once(END_OF_TABLES).context("the tables have no end")?;
    std::fs::write(path, format!("{before}{TABLES}\n\n{tables}\n{END_OF_TABLES}{after}"))?;
    Ok(())
}

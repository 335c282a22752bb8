//! Project chores: `cargo xtask test` sets up and runs every check, `cargo xtask bench` measures.

mod bench;
mod fuzz;
mod python;
mod run;
mod summary;
mod tools;
mod vm;
mod words;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use run::cargo;

const HELP: &str = "\
cargo xtask test    set up what the tests need, then run formatting, lints, links in doc comments,
                    licences and all tests
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
cargo xtask bench corpus [--only ID] [--seconds 60] [--jobs 1] [--fixed] [--require N]
                    count which documented bugs of released packages are found
cargo xtask bench precision [--packages FILE] [--seconds 90] [--judgements FILE]
                    count how much of what is reported of released packages is worth reading
cargo xtask bench forecast
                    measure forecasts of 100 metrics against statsmodels
cargo xtask bench serve
                    measure pages and /metrics over 100,000 runs and 10 million calls
cargo xtask long    plant all bugs and kill fifty runs, of which the usual tests do a part
cargo xtask fuzz    look for bytes that break a parser, a minute for each target; --seconds changes
                    that, names of targets choose some; needs a nightly compiler
cargo xtask vm      try limits with control groups of version 2, in a virtual machine; after it,
                    the names of other facts of the contract, such as bad_guests::root
cargo xtask check   the quick loop: formatting, lints, words, links in doc comments, unit tests; no
                    root, no network
cargo xtask words   measure the language: unique type names, private words, long lines
cargo xtask docs    write the generated pages and tables below docs
";

/// Between these two, `docs/scenarios.md` is what the code says.
const TABLES: &str = "<!-- tables: written by `cargo xtask docs` -->";
const END_OF_TABLES: &str = "<!-- end of tables -->";

#[expect(clippy::print_stderr, reason = "this is the user interface of xtask")]
fn main() -> ExitCode {
    let Err(error) = run_chore(std::env::args().skip(1)) else { return ExitCode::SUCCESS };
    // Without a backtrace, which would hide the output of failed tests above it.
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

#[expect(clippy::print_stderr, reason = "this is the user interface of xtask")]
fn run_chore(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    match arguments.next().as_deref() {
        Some("test") => test(&arguments.collect::<Vec<_>>()),
        Some("bench") => bench(&arguments.collect::<Vec<_>>()),
        Some("long") => {
            let tests =
                "test --package menace --test it -- killed_run:: validity:: --test-threads=1";
            cargo(tests.split(' ')).env("MENACE_LONG_TESTS", "1").run()
        }
        Some("fuzz") => fuzz::run_targets(&arguments.collect::<Vec<_>>()),
        Some("vm") => vm::run_in_vm(&arguments.collect::<Vec<_>>()),
        Some("docs") => docs(),
        Some("words") => words::check(),
        Some("check") => check(),
        Some(other) => bail!("unknown chore `{other}`\n\n{HELP}"),
        None => {
            eprint!("{HELP}");
            Ok(())
        }
    }
}

/// The checks that need neither root nor a network, in less than two minutes once built.
fn check() -> Result<()> {
    cargo(["fmt", "--all", "--check"]).run()?;
    words::check()?;
    python::check_python_if_installed()?;
    cargo(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]).run()?;
    check_doc_links()?;
    // Tests named `real_tests` start sandboxes, control groups and interpreters.
    if tools::has_nextest() {
        let unit_tests = ["nextest", "run", "--workspace", "--lib", "--bins"];
        cargo(unit_tests.into_iter().chain(["-E", "not test(/real_tests/)"])).run()
    } else {
        let unit_tests = "test --workspace --lib --bins --quiet -- --skip real_tests";
        cargo(unit_tests.split(' ')).run()
    }
}

/// Links in doc comments lead somewhere: the workspace's lints deny those that do not.
fn check_doc_links() -> Result<()> {
    cargo(["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]).run()
}

/// Every check, cheapest first; the test runner's summary comes last.
fn test(filter: &[String]) -> Result<()> {
    cargo(["fmt", "--all", "--check"]).run()?;
    words::check()?;
    let has_nextest = tools::has_nextest();
    let runner = if has_nextest { "nextest run" } else { "test" };
    let runner = || runner.split(' ').chain(["--workspace"]);
    // What is fetched waits for the network, what is built for the processor.
    let venv = std::thread::scope(|scope| -> Result<_> {
        let fetched = scope.spawn(|| {
            let venv = python::ensure_test_venv()?;
            python::check_python(&venv)?;
            tools::ensure_browser()?;
            tools::run_cargo_deny()?;
            anyhow::Ok(venv)
        });
        cargo(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
            .run()?;
        check_doc_links()?;
        cargo(runner().chain(["--no-run"])).run()?;
        fetched.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let filter = filter.iter().map(String::as_str);
    let tests = cargo(runner().chain(["--no-fail-fast"]).chain(filter));
    let tests = tests.env("MENACE_TEST_VENV", &venv);
    if has_nextest { tests.run() } else { summary::run_with_summary(tests) }
}

fn bench(arguments: &[String]) -> Result<()> {
    let (name, rest) = arguments.split_first().map_or(("", arguments), |(name, rest)| match name {
        name if name.starts_with("--") => ("", arguments),
        name => (name.as_str(), rest),
    });
    // What is shipped is measured; counts hold without optimisation, too.
    match name {
        "" => {
            let venv = python::ensure_test_venv()?;
            cargo_bench("dist", "menace", "analyze", rest).env("MENACE_TEST_VENV", &venv).run()
        }
        "sandbox" => {
            tools::ensure_bubblewrap()?;
            cargo_bench("dist", "menace-sandbox", "calls", rest).run()
        }
        "reach" => cargo_bench("dev", "menace-loop", "reach", rest).run(),
        "power" => cargo_bench("dist", "menace-loop", "power", rest).run(),
        "serve" => cargo_bench("dev", "menace-serve", "serve", rest).run(),
        "run" => cargo_bench("dist", "menace", "run", rest).run(),
        "corpus" => bench::corpus::run(rest),
        "precision" => bench::precision::run(rest),
        "forecast" => {
            let python = python::ensure_reference_venv()?.join("bin/python");
            let script = "crates/menace-track/benches/forecast.py";
            run::program(python, std::iter::once(script).chain(rest.iter().map(String::as_str)))
                .run()
        }
        other => bail!("unknown benchmark `{other}`\n\n{HELP}"),
    }
}

fn cargo_bench(profile: &str, package: &str, bench: &str, rest: &[String]) -> run::ProgramCommand {
    let bench = ["bench", "--profile", profile, "--package", package, "--bench", bench, "--"];
    cargo(bench.into_iter().chain(rest.iter().map(String::as_str)))
}

/// Writes what `menace` itself says as its reference.
fn docs() -> Result<()> {
    let printed = |arguments: &[&'static str]| {
        let menace = ["run", "--quiet", "--package", "menace", "--"];
        cargo(menace.into_iter().chain(arguments.iter().copied())).output()
    };
    let settings = printed(&["settings", "--markdown"])?;
    std::fs::write(run::workspace_root().join("docs/reference/settings.md"), settings)?;
    std::fs::write(run::workspace_root().join("docs/metrics.md"), menace_track::render_markdown())?;
    let tables = printed(&["presets", "list", "--markdown"])?;
    let path = run::workspace_root().join("docs/scenarios.md");
    let page = std::fs::read_to_string(&path)?;
    let (before, rest) = page.split_once(TABLES).context("the page has no place for tables")?;
    let (_, after) = rest.split_once(END_OF_TABLES).context("the tables have no end")?;
    std::fs::write(path, format!("{before}{TABLES}\n\n{tables}\n{END_OF_TABLES}{after}"))?;
    Ok(())
}

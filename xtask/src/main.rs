//! Project chores: `cargo xtask test` sets up and runs every check, `cargo xtask bench` measures.

mod python;
mod run;
mod summary;
mod tools;

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
    let venv = python::test_venv()?;
    cargo(["fmt", "--all", "--check"]).run()?;
    cargo(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]).run()?;
    tools::deny()?;
    let filter = filter.iter().map(String::as_str);
    if tools::has_nextest() {
        let runner = ["nextest", "run", "--workspace", "--no-fail-fast"];
        return cargo(runner.into_iter().chain(filter)).env("MENACE_TEST_VENV", &venv).run();
    }
    let runner = ["test", "--workspace", "--no-fail-fast"];
    summary::run(cargo(runner.into_iter().chain(filter)).env("MENACE_TEST_VENV", &venv))
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
    let venv = python::test_venv()?;
    let bench = ["bench", "--package", "menace", "--bench", "analyze", "--"];
    cargo(bench.into_iter().chain(arguments.iter().map(String::as_str)))
        .env("MENACE_TEST_VENV", &venv)
        .run()
}

/// Writes what `menace` itself prints as its reference.
fn docs() -> Result<()> {
    let printed = |arguments: &[&'static str]| {
        let menace = ["run", "--quiet", "--package", "menace", "--"];
        cargo(menace.into_iter().chain(arguments.iter().copied())).output()
    };
    let settings = printed(&["settings", "--markdown"])?;
    std::fs::write(run::root().join("docs/reference/settings.md"), settings)?;
    let tables = printed(&["presets", "list", "--markdown"])?;
    let path = run::root().join("docs/scenarios.md");
    let page = std::fs::read_to_string(&path)?;
    let (before, rest) = page.split_once(TABLES).context("the page has no place for tables")?;
    let (_, after) = rest.split_once(END_OF_TABLES).context("the tables have no end")?;
    std::fs::write(path, format!("{before}{TABLES}\n\n{tables}\n{END_OF_TABLES}{after}"))?;
    Ok(())
}

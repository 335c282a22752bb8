//! Fuzzing of what reads files of a checkout and memory of a guest, with `fuzz/`.

use anyhow::{Context, Result, bail, ensure};

use crate::run::{ProgramCommand, program, target_dir, workspace_root};

const CARGO_FUZZ_VERSION: &str = "0.13.2";
const DEFAULT_SECONDS: &str = "60";
/// Of one input: all of them are small, and a longer one is a finding.
const INPUT_TIMEOUT_SECONDS: u32 = 10;
const MAX_INPUT_BYTES: u32 = 1 << 14;
const TARGETS: [&str; 11] = [
    "settings",
    "yaml",
    "presets",
    "history",
    "database",
    "marshal",
    "frame",
    "mailbox",
    "environment",
    "ignore",
    "packet",
];

/// Runs each target, or those that are named, for a time; all of them before it fails.
#[expect(clippy::print_stderr, reason = "this is the user interface of xtask")]
pub(crate) fn run_targets(arguments: &[String]) -> Result<()> {
    let (mut seconds, mut targets) = (DEFAULT_SECONDS.to_owned(), Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" => {
                seconds.clone_from(arguments.next().context("--seconds needs a number")?);
                ensure!(seconds.parse::<u32>().is_ok(), "`{seconds}` is no number of seconds");
            }
            name if TARGETS.contains(&name) => targets.push(name),
            other => bail!("unknown target `{other}`; there are: {}", TARGETS.join(", ")),
        }
    }
    ensure_cargo_fuzz()?;
    cargo_fuzz(&["build"]).run()?;
    let built = workspace_root().join("fuzz/target").join(host_triple()?).join("release/seeds");
    program(built, ["fuzz/corpus", "fixtures"]).run()?;
    let targets = if targets.is_empty() { TARGETS.to_vec() } else { targets };
    let mut failed = Vec::new();
    for target in targets {
        let run = cargo_fuzz(&["run", target, "--"])
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-timeout={INPUT_TIMEOUT_SECONDS}"))
            .arg(format!("-max_len={MAX_INPUT_BYTES}"))
            .arg("-print_final_stats=1");
        if run.run().is_err() {
            failed.push(target);
        }
    }
    ensure!(failed.is_empty(), "found something: {}; see fuzz/artifacts", failed.join(", "));
    eprintln!("no target found anything in {seconds} s");
    Ok(())
}

fn ensure_cargo_fuzz() -> Result<()> {
    if cargo_fuzz(&["--version"]).succeeds() {
        return Ok(());
    }
    let version = format!("cargo-fuzz@{CARGO_FUZZ_VERSION}");
    nightly(&["install", "--locked", "--quiet", "--root"])
        .arg(target_dir().join("tools"))
        .arg(version)
        .env("CARGO_TARGET_DIR", target_dir().join("tools-build"))
        .run()
        .context("fuzzing needs a nightly compiler: `rustup toolchain install nightly`")
}

fn cargo_fuzz(arguments: &[&str]) -> ProgramCommand {
    arguments.iter().fold(nightly(&["fuzz"]), ProgramCommand::arg)
}

/// Cargo of the nightly toolchain, which also finds what xtask has installed.
#[expect(clippy::disallowed_methods, reason = "the search path is that of the shell")]
fn nightly(arguments: &[&str]) -> ProgramCommand {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = target_dir().join("tools/bin");
    let path = std::iter::once(own.as_path().to_owned()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(path).unwrap_or_default();
    let command = program("rustup", ["run", "nightly", "cargo"].iter().chain(arguments));
    command.env("PATH", path).without_env("CARGO_TARGET_DIR")
}

fn host_triple() -> Result<String> {
    let version = program("rustup", ["run", "nightly", "rustc", "-vV"]).output()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc names no host")
}

#[test]
fn every_target_is_run() {
    let directory = workspace_root().join("fuzz/fuzz_targets");
    let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> =
        names.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    let mut expected = TARGETS;
    expected.sort_unstable();
    assert_eq!(names, expected);
}

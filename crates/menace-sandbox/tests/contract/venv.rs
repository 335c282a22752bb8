//! The repository's own virtual environment is what its code runs with.

use std::fs;
use std::path::Path;
use std::process::Command;

use menace_model::Value;
use menace_sandbox::Tier;
use menace_sandbox::interpreter::InterpreterOrigin;

use crate::bench::{ContractBench, build_call, find_interpreter, guest, items, text};

crate::on_every_tier![
    the_environment_of_the_repository_is_used,
    an_environment_of_copies_is_used,
    an_environment_that_is_named_through_a_link_is_used,
];

/// Makes a virtual environment with one package in it.
fn make(directory: &Path, flags: &[&str]) {
    let made = Command::new("/usr/bin/python3")
        .args(["-I", "-m", "venv", "--without-pip"])
        .args(flags)
        .arg(directory)
        .status()
        .expect("Python can make environments");
    assert!(made.success());
    let mut versions = fs::read_dir(directory.join("lib")).expect("it has a library");
    let library = versions.next().expect("of one version").expect("readable").path();
    fs::write(library.join("site-packages/only_in_the_environment.py"), "").expect("ours");
}

fn check(bench: &ContractBench) {
    for level in [3, 4, 5] {
        let mut spec = bench.spec();
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        let paths = session.value(build_call("where"));
        let paths: Vec<&str> = items(&paths).iter().map(text).collect();
        let [prefix, executable, package, on_path] = paths[..] else { panic!("{paths:?}") };
        // It is the copy of the sandbox, not the host's own.
        assert!(prefix.ends_with("/repo/.venv"), "{paths:?}");
        assert!(!prefix.starts_with(bench.repo().to_str().expect("a plain path")), "{paths:?}");
        assert_eq!(executable, format!("{prefix}/bin/python"));
        assert_eq!(on_path, executable);
        assert!(package.starts_with(&format!("{prefix}/lib/")), "{paths:?}");
        if level == 3 {
            assert_eq!(session.value(build_call("prefix_of_a_child")), Value::from(prefix));
        }
        session.assert_still_works();
    }
}

fn the_environment_of_the_repository_is_used(tier: Tier) {
    let bench = ContractBench::with_options(tier, guest!("venv.py"), |options| {
        make(&options.repo.join(".venv"), &[]);
        options.interpreter = find_interpreter(None, &options.repo, None);
        assert_eq!(options.interpreter.origin, InterpreterOrigin::Venv);
    });
    check(&bench);
}

fn an_environment_of_copies_is_used(tier: Tier) {
    let bench = ContractBench::with_options(tier, guest!("venv.py"), |options| {
        make(&options.repo.join(".venv"), &["--copies"]);
        options.interpreter = find_interpreter(None, &options.repo, None);
    });
    check(&bench);
}

/// As when one stands in a directory that is a link.
fn an_environment_that_is_named_through_a_link_is_used(tier: Tier) {
    let elsewhere = tempfile::tempdir().expect("writable");
    let link = elsewhere.path().join("link");
    let bench = ContractBench::with_options(tier, guest!("venv.py"), |options| {
        make(&options.repo.join(".venv"), &[]);
        std::os::unix::fs::symlink(&options.repo, &link).expect("writable");
        options.interpreter = find_interpreter(Some(&link.join(".venv/bin/python")), &link, None);
        options.repo.clone_from(&link);
    });
    check(&bench);
}

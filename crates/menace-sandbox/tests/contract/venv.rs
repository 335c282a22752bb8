//! The repository's own virtual environment is what its code runs with.

use std::fs;
use std::path::Path;
use std::process::Command;

use menace_model::Value;
use menace_sandbox::Tier;
use menace_sandbox::interpreter::Origin;

use crate::bench::{Bench, ask, found, guest, items, text};

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

fn check(bench: &Bench) {
    for level in [3, 4, 5] {
        let mut spec = bench.spec();
        spec.security_level = level;
        let mut session = bench.session_of(&spec);
        let told = session.value(ask("where"));
        let told: Vec<&str> = items(&told).iter().map(text).collect();
        let [prefix, executable, package, on_path] = told[..] else { panic!("{told:?}") };
        // It is the copy of the sandbox, not the host's own.
        assert!(prefix.ends_with("/repo/.venv"), "{told:?}");
        assert!(!prefix.starts_with(bench.repo().to_str().expect("a plain path")), "{told:?}");
        assert_eq!(executable, format!("{prefix}/bin/python"));
        assert_eq!(on_path, executable);
        assert!(package.starts_with(&format!("{prefix}/lib/")), "{told:?}");
        if level == 3 {
            assert_eq!(session.value(ask("prefix_of_a_child")), Value::from(prefix));
        }
        session.still_works();
    }
}

fn the_environment_of_the_repository_is_used(tier: Tier) {
    let bench = Bench::with_options(tier, guest!("venv.py"), |options| {
        make(&options.repo.join(".venv"), &[]);
        options.interpreter = found(None, &options.repo, None);
        assert_eq!(options.interpreter.origin, Origin::Venv);
    });
    check(&bench);
}

fn an_environment_of_copies_is_used(tier: Tier) {
    let bench = Bench::with_options(tier, guest!("venv.py"), |options| {
        make(&options.repo.join(".venv"), &["--copies"]);
        options.interpreter = found(None, &options.repo, None);
    });
    check(&bench);
}

/// As when one stands in a directory that is a link.
fn an_environment_that_is_named_through_a_link_is_used(tier: Tier) {
    let elsewhere = tempfile::tempdir().expect("writable");
    let link = elsewhere.path().join("link");
    let bench = Bench::with_options(tier, guest!("venv.py"), |options| {
        make(&options.repo.join(".venv"), &[]);
        std::os::unix::fs::symlink(&options.repo, &link).expect("writable");
        options.interpreter = found(Some(&link.join(".venv/bin/python")), &link, None);
        options.repo.clone_from(&link);
    });
    check(&bench);
}

//! The repository's own virtual environment is what its code runs with, and no more than that: it
//! is as untrusted as the code.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use menace_model::{CallStage, Outcome, SandboxSpec, Value, Verdict};
use menace_sandbox::Tier;
use menace_sandbox::interpreter::InterpreterOrigin;

use crate::bench::{
    CallBuilder, ContractBench, build_call, build_module_call, find_interpreter, guest, items, text,
};

crate::on_every_tier![
    the_environment_of_the_repository_is_used,
    an_environment_of_copies_is_used,
    an_environment_that_is_named_through_a_link_is_used,
    the_work_of_site_is_done_before_the_module_is_imported,
    a_pth_file_that_takes_memory_is_out_of_memory,
    a_pth_file_that_takes_processor_time_is_timed_out,
    a_pth_file_that_ends_the_interpreter_ends_the_import,
    what_a_pth_file_tries_is_recorded,
    a_pth_file_that_patches_the_interpreter_changes_no_verdict,
    a_program_in_place_of_the_interpreter_is_not_started,
    directories_that_the_environment_links_to_are_not_shown,
];

const MIB: u64 = 1 << 20;
/// What no guest may read.
const SECRET_TEXT: &str = "the secret of the environment";

/// Makes a virtual environment with one package in it.
fn make(directory: &Path, flags: &[&str]) {
    let made = Command::new("/usr/bin/python3")
        .args(["-I", "-m", "venv", "--without-pip"])
        .args(flags)
        .arg(directory)
        .status()
        .expect("Python can make environments");
    assert!(made.success());
    fs::write(site_packages(directory).join("only_in_the_environment.py"), "").expect("ours");
}

fn site_packages(environment: &Path) -> PathBuf {
    let mut versions = fs::read_dir(environment.join("lib")).expect("it has a library");
    versions.next().expect("of one version").expect("readable").path().join("site-packages")
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
        symlink(&options.repo, &link).expect("writable");
        options.interpreter = find_interpreter(Some(&link.join(".venv/bin/python")), &link, None);
        options.repo.clone_from(&link);
    });
    check(&bench);
}

/// A repository whose environment has these files in its `site-packages`.
fn bench_with(tier: Tier, files: &[(&str, &str)]) -> ContractBench {
    ContractBench::with_options(tier, guest!("site.py"), |options| {
        let environment = options.repo.join(".venv");
        make(&environment, &[]);
        for (name, text) in files {
            fs::write(site_packages(&environment).join(name), text).expect("ours");
        }
        options.interpreter = find_interpreter(None, &options.repo, None);
        assert_eq!(options.interpreter.origin, InterpreterOrigin::Venv);
    })
}

fn limited_spec(bench: &ContractBench) -> SandboxSpec {
    let mut spec = bench.spec();
    spec.import_limits.timeout_ms = 20_000;
    spec.import_limits.memory_bytes = Some(64 * MIB);
    spec.import_limits.cpu_ms = Some(1000);
    spec
}

/// The import as a call of its own, and a function that cannot be called because of the import.
fn broken_imports(tier: Tier, code: &str) -> [Outcome; 2] {
    let bench = bench_with(
        tier,
        &[("a.pth", "import of_the_environment\n"), ("of_the_environment.py", code)],
    );
    let spec = limited_spec(&bench);
    let limits = spec.import_limits.clone();
    let limited = |call: CallBuilder| call.limited(|its| its.clone_from(&limits));
    let mut session = bench.session_of(&spec);
    let outcomes =
        [session.run(limited(build_module_call())), session.run(limited(build_call("fine")))];
    for outcome in &outcomes {
        assert_ne!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    }
    assert_eq!(outcomes[1].stage, CallStage::Import, "{:#?}", outcomes[1]);
    outcomes
}

fn the_work_of_site_is_done_before_the_module_is_imported(tier: Tier) {
    let files = [
        ("customized.pth", "import os; os.environ['SITE_RAN'] = 'lines'\nmore\n"),
        // As packages with a namespace do it.
        (
            "spread.pth",
            "import sys, os; os.environ['SITE_DIR'] = sys._getframe(1).f_locals['sitedir']\n",
        ),
        (
            "failing.pth",
            "import os; os.environ['SITE_RAN'] += ' state'; raise OSError('ignored')\n",
        ),
        ("sitecustomize.py", ""),
        ("usercustomize.py", "raise SystemExit"),
    ];
    let bench = ContractBench::with_options(tier, guest!("site.py"), |options| {
        let environment = options.repo.join(".venv");
        make(&environment, &[]);
        let packages = site_packages(&environment);
        fs::create_dir(packages.join("more")).expect("ours");
        for (name, text) in files {
            fs::write(packages.join(name), text).expect("ours");
        }
        options.interpreter = find_interpreter(None, &options.repo, None);
    });
    let mut session = bench.session();
    let state = session.value(build_call("state"));
    let customized = Value::List(vec![Value::from("sitecustomize")]);
    let ran = Value::List(vec![Value::from("lines"), Value::from("state")]);
    let expected = [
        Value::Int(0),
        Value::Bool(false),
        Value::Bool(true),
        customized,
        ran,
        Value::Bool(true),
        Value::Bool(true),
    ];
    // The system's own `sitecustomize` may come first: both have that name.
    assert_eq!(items(&state), expected);
    session.assert_still_works();
}

fn a_pth_file_that_takes_memory_is_out_of_memory(tier: Tier) {
    let at_once = "import sys; sys.taken = bytearray(1200 << 20)\n";
    let in_pieces = "import sys; sys.taken = [b'x' * (1 << 20) + b'' for _ in range(1200)]\n";
    for line in [at_once, in_pieces] {
        for outcome in broken_imports(tier, line) {
            assert_eq!(outcome.verdict, Verdict::OutOfMemory, "{line}: {outcome:#?}");
        }
    }
}

fn a_pth_file_that_takes_processor_time_is_timed_out(tier: Tier) {
    let code = "import time\nwhile time.process_time() < 6:\n    pass\n";
    for outcome in broken_imports(tier, code) {
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    }
}

fn a_pth_file_that_ends_the_interpreter_ends_the_import(tier: Tier) {
    for line in ["import os; os._exit(0)\n", "import sys; sys.exit(0)\n"] {
        for outcome in broken_imports(tier, line) {
            assert_eq!(outcome.verdict, Verdict::Crashed, "{line}: {outcome:#?}");
        }
    }
}

fn what_a_pth_file_tries_is_recorded(tier: Tier) {
    let line = "import os; open('/proc/1/environ')\n";
    let bench = bench_with(tier, &[("a.pth", line)]);
    let mut session = bench.session();
    let import = session.run(build_module_call());
    assert_eq!(import.verdict, Verdict::Violated, "{import:#?}");
    let function = session.run(build_call("fine"));
    let is_noted = function.notes.iter().any(|note| note.contains("/proc/1/environ"));
    assert!(is_noted, "{:?}", function.notes);
}

/// What the harness uses is replaced: how it describes what happened, what it leaves with.
fn a_pth_file_that_patches_the_interpreter_changes_no_verdict(tier: Tier) {
    let forger = "
import marshal, posix

genuine = marshal.dumps

def dumps(value, *version):
    if isinstance(value, dict) and 'kind' in value:
        value = dict(value, kind='returned', stage='call', exception=None)
    return genuine(value, *version)

marshal.dumps = dumps
posix._exit = posix.pread = posix.fstat = None
";
    let bench = bench_with(tier, &[("a.pth", "import forger\n"), ("forger.py", forger)]);
    let mut session = bench.session();
    for _ in 0..2 {
        let outcome = session.run(build_call("fail"));
        assert_eq!(outcome.verdict, Verdict::Raised, "{outcome:#?}");
        assert_eq!(outcome.result.exception.expect("it raised").kind, "LookupError");
    }
}

/// It could answer in the name of the harness.
fn a_program_in_place_of_the_interpreter_is_not_started(tier: Tier) {
    let bench = ContractBench::with_options(tier, guest!("site.py"), |options| {
        let environment = options.repo.join(".venv");
        make(&environment, &["--copies"]);
        fs::copy("/bin/false", environment.join("bin/python")).expect("ours");
        options.interpreter = find_interpreter(None, &options.repo, None);
    });
    bench.session().assert_still_works();
}

fn directories_that_the_environment_links_to_are_not_shown(tier: Tier) {
    let outside = tempfile::Builder::new().prefix("secret-").tempdir_in("/var/lib");
    let outside = outside.or_else(|_| tempfile::tempdir()).expect("writable");
    let secret = fs::canonicalize(outside.path()).expect("there").join("secret");
    let environment = secret.join("environment");
    for name in ["environment", "library", "packages", "library/site-packages"] {
        fs::create_dir_all(secret.join(name)).expect("ours");
    }
    make(&environment, &[]);
    fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let packages = site_packages(&environment);
    for directory in [&packages, &secret.join("packages"), &secret.join("library/site-packages")] {
        fs::write(directory.join("secret.txt"), SECRET_TEXT).expect("ours");
    }
    let version = packages.parent().and_then(Path::file_name).expect("of Python").to_owned();
    let library = Path::new(".venv/lib").join(version);
    let cases: [(&Path, PathBuf); 4] = [
        (Path::new(".venv"), environment.clone()),
        (Path::new(".venv/lib"), environment.join("lib")),
        (&library, secret.join("library")),
        (&library.join("site-packages"), secret.join("packages")),
    ];
    for (link, target) in cases {
        let mut warnings = Vec::new();
        let bench = ContractBench::with_options(tier, guest!("site.py"), |options| {
            make(&options.repo.join(".venv"), &[]);
            let link = options.repo.join(link);
            fs::remove_dir_all(&link).expect("ours");
            symlink(&target, &link).expect("ours");
            options.interpreter = find_interpreter(None, &options.repo, None);
            warnings.clone_from(&options.interpreter.warnings);
        });
        let mut session = bench.session();
        let arguments = [SECRET_TEXT, ".", path_text(&secret)].map(Value::from);
        let seen = session.run(build_call("sees").with(arguments));
        let value = seen.value.as_ref().and_then(|value| value.value.as_ref());
        assert_eq!(value, Some(&Value::Bool(false)), "{}: {seen:#?}", link.display());
        let named = [&secret, &bench.repo().join(link)].map(|path| path_text(path).to_owned());
        let is_named = warnings.iter().any(|warning| named.iter().any(|it| warning.contains(it)));
        assert!(is_named, "{}: {warnings:?}", link.display());
        session.assert_still_works();
    }
}

fn path_text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

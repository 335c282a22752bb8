//! Each call starts from the pristine repository and from what the import left, nothing else.

use std::collections::BTreeSet;

use menace_model::{Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{ContractBench, build_call, entry, guest, items, text};

crate::on_every_tier![
    nothing_of_a_call_is_there_for_the_next,
    nothing_is_left_of_a_call_that_was_killed,
    what_the_import_left_is_there_for_each_call,
    changes_of_a_call_are_reported,
    the_environment_is_built_from_scratch,
    databases_are_inside_of_the_sandbox,
];

const GUEST: &str = guest!("pristine.py");

fn nothing_of_a_call_is_there_for_the_next(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let before = session.value(build_call("look"));
    for _ in 0..3 {
        assert_eq!(session.value(build_call("tamper")), Value::from("tampered"));
        assert_eq!(session.value(build_call("look")), before);
    }
}

fn nothing_is_left_of_a_call_that_was_killed(tier: Tier) {
    let source = format!("{GUEST}\n\ndef tamper_and_hang():\n    tamper()\n    while True: pass\n");
    let bench = ContractBench::new(tier, &source);
    let mut session = bench.session();
    let before = session.value(build_call("look"));
    let outcome = session.run(build_call("tamper_and_hang").timeout(500));
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    assert!(outcome.files.touched.iter().any(|file| file.path == "new.txt"), "{:?}", outcome.files);
    assert_eq!(session.value(build_call("look")), before);
}

fn what_the_import_left_is_there_for_each_call(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for _ in 0..2 {
        let seen = session.value(build_call("look"));
        assert_eq!(text(entry(&seen, "log")), "import\n");
        assert_eq!(text(entry(&seen, "log through the open file")), "import\n");
        assert_eq!(text(entry(&seen, "imported")), "import");
        assert!(items(entry(&seen, "home")).contains(&Value::from("imported.txt")));
        session.value(build_call("tamper"));
    }
}

fn changes_of_a_call_are_reported(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_call("tamper"));
    let changed = &outcome.state_changes;
    assert_eq!(changed.environment, ["HOME", "SET_BY_IMPORT", "TAMPERED"]);
    assert_eq!(changed.working_directory.as_deref(), Some("package"));
    assert!(changed.modules_loaded >= 1, "{changed:?}");
    assert_eq!((changed.signals.as_slice(), changed.recursion_limit), (&[2][..], Some(5000)));
    // And a call that changes nothing says nothing.
    let changed = bench.run(build_call("fine")).state_changes;
    assert_eq!((changed.environment.len(), changed.working_directory), (0, None));
}

fn the_environment_is_built_from_scratch(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let seen = bench.value(build_call("look"));
    let names: BTreeSet<&str> =
        items(entry(&seen, "environment")).iter().map(|pair| text(&items(pair)[0])).collect();
    let expected = BTreeSet::from([
        "BOT_DB_PATH",
        "BOT_PERFORMANCE_DB",
        "DATABASE_URL",
        "HOME",
        "LANG",
        "LC_ALL",
        "LOGNAME",
        "MAINTENANCE_DB",
        "MENACE_TEST_MARKER",
        "MKL_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "PATH",
        "PYTHONHASHSEED",
        "SET_BY_IMPORT",
        "TMPDIR",
        "TZ",
        "USER",
    ]);
    assert_eq!(names, expected);
}

fn databases_are_inside_of_the_sandbox(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let seen = bench.value(build_call("look"));
    let variable = |name: &str| {
        let pairs = items(entry(&seen, "environment")).iter().map(items);
        let found = pairs.into_iter().find(|pair| text(&pair[0]) == name);
        text(&found.unwrap_or_else(|| panic!("no {name}"))[1]).to_owned()
    };
    let home = variable("HOME");
    let room = home.strip_suffix("/home").expect("home is in the call's own room");
    for name in ["BOT_DB_PATH", "BOT_PERFORMANCE_DB", "MAINTENANCE_DB"] {
        assert!(variable(name).starts_with(room), "{name} is outside: {}", variable(name));
    }
    let url = variable("DATABASE_URL");
    assert!(url.starts_with(&format!("sqlite:///{room}")), "{url}");
}

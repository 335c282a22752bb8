//! Files and variables that are there before a call are the call's alone, and not its doing.

use menace_model::{FileChangeKind, FixtureFile, Outcome, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{CallBuilder, ContractBench, build_call, guest};
use crate::reading::returned;

crate::on_every_tier![
    a_call_finds_the_files_that_it_was_given,
    a_file_that_was_given_replaces_the_repository_s,
    files_that_were_given_are_not_the_call_s_doing,
    what_the_call_makes_of_them_is,
    a_place_outside_is_refused_and_noted,
    variables_are_there_for_the_call_and_its_children,
    the_next_call_and_the_import_know_nothing_of_it,
];

const GUEST: &str = guest!("fixtures.py");

impl CallBuilder {
    fn given(mut self, path: &str, content: &[u8]) -> Self {
        let file = FixtureFile { path: path.to_owned(), content: content.to_vec() };
        self.0.fixtures.files.push(file);
        self
    }

    fn given_variable(mut self, name: &str, value: &str) -> Self {
        self.0.fixtures.environment.push((name.to_owned(), value.to_owned()));
        self
    }
}

fn on(name: &str, path: &str) -> CallBuilder {
    build_call(name).with([Value::from(path)])
}

fn touched(outcome: &Outcome) -> Vec<(&str, FileChangeKind)> {
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert_eq!(outcome.files.total, outcome.files.touched.len() as u64);
    outcome.files.touched.iter().map(|file| (file.path.as_str(), file.change)).collect()
}

fn a_call_finds_the_files_that_it_was_given(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let content = b"a\0b\xff";
    for path in ["given.bin", "given/deep/in.bin"] {
        let found = session.value(on("read", path).given(path, content));
        assert_eq!(found, Value::Bytes(content.to_vec()), "{path}");
    }
    // Where a call has a `/tmp` of its own, files can be put there.
    if tier.has_namespaces() {
        let found = session.value(on("read", "/tmp/in/x").given("/tmp/in/x", content));
        assert_eq!(found, Value::Bytes(content.to_vec()));
    }
}

fn a_file_that_was_given_replaces_the_repository_s(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let found = session.value(on("read", "data.txt").given("data.txt", b"given"));
    assert_eq!(found, Value::Bytes(b"given".to_vec()));
    assert_eq!(session.value(on("read", "data.txt")), Value::Bytes(b"some data\n".to_vec()));
}

fn files_that_were_given_are_not_the_call_s_doing(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let ask = on("read", "in/a.txt").given("in/a.txt", b"a").given("in/b.txt", b"");
    assert_eq!(touched(&session.run(ask)), []);
}

fn what_the_call_makes_of_them_is(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for (name, what) in [
        ("append", FileChangeKind::Changed),
        ("overwrite", FileChangeKind::Changed),
        ("remove", FileChangeKind::Deleted),
    ] {
        let outcome = session.run(on(name, "x.txt").given("x.txt", b"abcd").given("y.txt", b"y"));
        assert_eq!(touched(&outcome), [("x.txt", what)], "{name}");
    }
    session.assert_still_works();
}

fn a_place_outside_is_refused_and_noted(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for path in ["/etc/given", "../given", "/tmp/../etc/given", "a/../../given"] {
        let outcome = session.run(build_call("fine").given(path, b"x"));
        assert_eq!(returned(&outcome), &Value::from("fine"));
        let noted = |note: &String| note.contains(path) && note.contains("was not put in place");
        assert!(outcome.notes.iter().any(noted), "{path}: {:?}", outcome.notes);
        assert_eq!(outcome.files.total, 0, "{path}");
    }
}

fn variables_are_there_for_the_call_and_its_children(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for name in ["variable", "variable_below"] {
        let outcome = session.run(on(name, "GIVEN").given_variable("GIVEN", "wert\u{e4}"));
        assert_eq!(returned(&outcome), &Value::from("wert\u{e4}"), "{name}");
        assert_eq!(outcome.state_changes.environment, Vec::<String>::new(), "{name}");
    }
    let outcome = session.run(on("change_variable", "GIVEN").given_variable("GIVEN", "one"));
    assert_eq!(outcome.state_changes.environment, ["GIVEN"]);
}

fn the_next_call_and_the_import_know_nothing_of_it(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for _ in 0..3 {
        let given = |ask: CallBuilder| ask.given("given.txt", b"x").given_variable("GIVEN", "x");
        assert_eq!(session.value(given(on("exists", "given.txt"))), Value::Bool(true));
        let imported = session.value(given(build_call("at_import")));
        assert_eq!(imported, Value::List(vec![Value::None, Value::Bool(false)]));
        assert_eq!(session.value(on("exists", "given.txt")), Value::Bool(false));
        assert_eq!(session.value(on("variable", "GIVEN")), Value::None);
    }
    session.assert_still_works();
}

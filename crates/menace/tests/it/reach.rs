//! What is learnt from calls that fail reaches code that guessing does not.

use std::ffi::OsStr;
use std::path::PathBuf;

use menace_loop::{Reach, Reached, reach};
use menace_model::{SectionKind, Seed};
use menace_sandbox::interpreter::{Interpreter, Search, Source};
use menace_sandbox::{Cancel, LocalBackend, Options};
use menace_scenario::input::{InputSettings, Strategy};

const MODULE: &str = r#"
_KEY = object()


class Gauge:
    def __init__(self, zq):
        self.zq = zq

    def half(self):
        if self.zq is not _KEY:
            raise RuntimeError("made by somebody else")
        return 1


def gauge():
    return Gauge(_KEY)


class Machine:
    def __init__(self):
        self.warm = False

    def ignite(self):
        self.warm = True

    def turn(self):
        if not self.warm:
            raise RuntimeError("cold")
        return 1


def told(zq):
    return {2} | getattr(zq, "symmetric_" + "difference")({1})


def never():
    raise NotImplementedError
"#;

fn reached(learn: bool) -> Vec<Reached> {
    let repository = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(repository.path().join("machines.py"), MODULE).expect("a module");
    let sources: Vec<Source> = menace_sandbox::harness_sources()
        .iter()
        .map(|(name, text)| Source { name: (*name).to_owned(), text: (*text).to_owned() })
        .collect();
    let search = Search {
        python: None,
        repository: repository.path(),
        path: OsStr::new("/usr/local/bin:/usr/bin"),
        home: None,
        sources: &sources,
        cache: None,
    };
    let interpreter = Interpreter::find(&search).expect("a Python");
    let options = Options {
        init: PathBuf::from(env!("CARGO_BIN_EXE_menace")),
        ..Options::new(repository.path().to_owned(), interpreter)
    };
    let backend = LocalBackend::new(options).expect("a sandbox");
    let analysis =
        menace_source::analyze(repository.path(), &menace_source::Options::default(), &|_, _| {})
            .expect("an analysis");
    let plan = Reach {
        seed: Seed(1),
        calls: 40,
        round: 8,
        learn,
        workers: 2,
        cancel: Cancel::default(),
        inputs: InputSettings {
            strategies: vec![Strategy::Signature, Strategy::Smart],
            ..InputSettings::default()
        },
    };
    let is_called = |kind: SectionKind| kind != SectionKind::Module;
    reach(&analysis, &backend, &plan, &|_, section| is_called(section.kind)).expect("calls")
}

#[test]
fn a_section_is_reached_by_what_others_taught() {
    let reached = reached(true);
    let of = |name: &str| {
        let found = reached.iter().find(|one| one.section.qualname() == name);
        found.unwrap_or_else(|| panic!("{name} is a section"))
    };
    // Its instance comes from another function, which returned one.
    assert!(of("Gauge.half").returned, "{:?}", of("Gauge.half"));
    // It needs a method that no name betrays, and that has returned before.
    assert!(of("Machine.turn").returned, "{:?}", of("Machine.turn"));
    // An exception names what is missing.
    assert!(of("told").returned, "{:?}", of("told"));
    let never = of("never");
    assert!(!never.returned && never.reasons[0].0.contains("NotImplementedError"), "{never:?}");
}

#[test]
fn nothing_of_it_is_reached_by_guessing() {
    for one in reached(false) {
        let is_hard = ["Gauge.half", "Machine.turn", "told", "never"];
        let name = one.section.qualname();
        assert_eq!(!one.returned, is_hard.contains(&name), "{one:?}");
    }
}

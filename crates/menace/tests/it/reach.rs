//! What is learnt from calls that fail reaches code that guessing does not.

use menace_loop::{ReachOptions, ReachResult, reach};
use menace_model::{Section, SectionKind, Seed};
use menace_sandbox::CancelToken;
use menace_scenario::input::{InputSettings, InputStrategy};

use crate::single_module::SingleModuleSandbox;

const REACHED_MODULE: &str = r#"
_KEY = object()


class Gauge:
    def __init__(self, zq):
        self.zq = zq

    def half(self):
        if self.zq is not _KEY:
            raise RuntimeError("made elsewhere")
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


def hinted(zq):
    return {2} | getattr(zq, "symmetric_" + "difference")({1})


def never():
    raise NotImplementedError
"#;

const KINDS_MODULE: &str = include_str!("reach/kinds.py");

fn explore_reached(learn: bool) -> Vec<ReachResult> {
    let strategies = vec![InputStrategy::Signature, InputStrategy::Smart];
    explore_reached_of("machines.py", REACHED_MODULE, strategies, learn)
}

fn explore_reached_of(
    name: &str,
    text: &str,
    strategies: Vec<InputStrategy>,
    learn: bool,
) -> Vec<ReachResult> {
    let trial = SingleModuleSandbox::new(name, text);
    let plan = ReachOptions {
        seed: Seed(1),
        calls: 40,
        round: 8,
        learn,
        workers: 2,
        cancel: CancelToken::default(),
        input_settings: InputSettings { strategies, ..InputSettings::default() },
    };
    let is_called = |kind: SectionKind| kind != SectionKind::Module;
    let wanted = |_: &_, section: &Section| is_called(section.kind);
    reach(&trial.analysis, &trial.backend, &plan, &wanted).expect("calls")
}

#[test]
fn a_section_is_reached_by_what_others_taught() {
    let reached = explore_reached(true);
    let of = |name: &str| {
        let found = reached.iter().find(|one| one.section.qualname() == name);
        found.unwrap_or_else(|| panic!("{name} is a section"))
    };
    // Its instance comes from another function, which returned one.
    assert!(of("Gauge.half").returned, "{:?}", of("Gauge.half"));
    // It needs a method that no name betrays, and that has returned before.
    assert!(of("Machine.turn").returned, "{:?}", of("Machine.turn"));
    // An exception names what is missing.
    assert!(of("hinted").returned, "{:?}", of("hinted"));
    let never = of("never");
    assert!(!never.returned && never.reasons[0].0.contains("NotImplementedError"), "{never:?}");
}

#[test]
fn nothing_of_it_is_reached_by_guessing() {
    for one in explore_reached(false) {
        let is_hard = ["Gauge.half", "Machine.turn", "hinted", "never"];
        let name = one.section.qualname();
        assert_eq!(!one.returned, is_hard.contains(&name), "{one:?}");
    }
}

#[test]
fn every_kind_of_parameter_gets_what_it_asks_for() {
    let strategies = vec![InputStrategy::Signature, InputStrategy::Synthetic];
    let reached = explore_reached_of("kinds.py", KINDS_MODULE, strategies, false);
    let functions = reached.iter().filter(|one| !one.section.qualname().contains('.'));
    let asked: Vec<&ReachResult> = functions.collect();
    assert!(asked.len() > 35, "{}", asked.len());
    let missed: Vec<_> = asked.iter().filter(|one| !one.returned).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

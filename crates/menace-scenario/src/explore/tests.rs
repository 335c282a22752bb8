//! With made-up outcomes: what is asked next depends on nothing else.

use menace_model::{
    Classes, FileChange, Files, Frame, Hints, How, ModuleRef, Raised, Returned, Stage, Touched,
    TypeNames, Value,
};

use super::*;
use crate::input::{Facts, InputSettings};
use crate::judge::WeaknessKind;

const SECTION: &str = r#"{"id": "shop.py::f", "kind": "function", "is_async": false,
    "is_generator": false, "line": 1, "start_line": 1, "end_line": 2, "decorators": [],
    "docstring": null, "params": [{"name": "count", "kind": "positional_or_keyword",
    "annotation": "int", "resolved": {"Name": "builtins.int"}, "default": null}],
    "returns": null, "complexity": 1, "calls": [], "construction": null}"#;

fn returned(repr: &str) -> Outcome {
    let value = Returned {
        kind: "str".to_owned(),
        repr: repr.to_owned(),
        truncated: false,
        length: None,
        hash: Some(repr.to_owned()),
        value: Some(Value::from(repr)),
        items: None,
        more: false,
    };
    Outcome { value: Some(value), ..Outcome::of(Verdict::Returned, Stage::Call) }
}

fn divided_by_zero() -> Outcome {
    let frame = Frame { file: "shop.py".to_owned(), line: 2, function: "f".to_owned(), own: true };
    let exception = Raised {
        kind: "ZeroDivisionError".to_owned(),
        message: "division by zero".to_owned(),
        bases: vec!["ArithmeticError".to_owned()],
        explicit: false,
        frames: vec![frame],
        errno: None,
        cause: None,
        group: Vec::new(),
        notes: Vec::new(),
    };
    Outcome { exception: Some(exception), ..Outcome::of(Verdict::Raised, Stage::Call) }
}

/// Enough to go up a ladder by chance.
const BUDGET: Budget = Budget {
    inputs: 60,
    edges: 40,
    words: 12,
    drifted: 4,
    mutations: 64,
    most_mutations: 2048,
    barren: 2,
    weaknesses: 4,
};

/// Gives an explorer of a section with one number for a parameter to `with`.
fn explorer<R>(seed: u64, terms: Terms, with: impl FnOnce(Explorer<'_>) -> R) -> R {
    let section: Section = serde_json::from_str(SECTION).expect("a section");
    explorer_of(&section, &Hints::default(), terms, BUDGET, seed, with)
}

fn explorer_of<R>(
    section: &Section,
    hints: &Hints,
    terms: Terms,
    budget: Budget,
    seed: u64,
    with: impl FnOnce(Explorer<'_>) -> R,
) -> R {
    let (classes, types) = (Classes::default(), TypeNames::default());
    let mut facts = Facts::new(&classes, &types);
    facts.add("shop", section, hints);
    let settings = InputSettings::default();
    let inputs = Inputs::new(section, hints, &facts, &settings);
    let module = ModuleRef { name: "shop".to_owned(), path: None };
    let target = Target { module, qualname: "f".to_owned(), how: How::Function };
    with(Explorer::new(section, target, terms, inputs, budget, Seed(seed)))
}

/// Explores with a section that does what `f` says, to the end: the calls and the findings.
fn explored(seed: u64, mut f: impl FnMut(&Call) -> Outcome) -> (Vec<Call>, Vec<Finding>) {
    explorer(seed, Terms::default(), |mut explorer| {
        let mut all = Vec::new();
        loop {
            let calls = explorer.next_generation();
            if calls.is_empty() {
                return (all, explorer.findings().to_vec());
            }
            let outcomes: Vec<Option<Outcome>> = calls.iter().map(|call| Some(f(call))).collect();
            explorer.learn(&outcomes);
            all.extend(calls);
        }
    })
}

fn is_zero(call: &Call) -> bool {
    call.args == [Value::Int(0)]
}

#[test]
fn the_same_seed_and_outcomes_give_the_same_calls() {
    let run = |seed| explored(seed, |call| returned(&format!("{:?}", call.args))).0;
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_weakness_is_seen_twice_before_it_is_found() {
    let divide = |call: &Call| if is_zero(call) { divided_by_zero() } else { returned("1") };
    let (_, found) = explored(1, divide);
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(finding.weakness.kind, WeaknessKind::Unhandled);
    assert_eq!(finding.weakness.place, Some(("shop.py".to_owned(), 2)));

    let mut first = true;
    let (_, found) = explored(1, |call| {
        let once = is_zero(call) && std::mem::take(&mut first);
        if once { divided_by_zero() } else { returned("1") }
    });
    assert_eq!(found, []);
}

#[test]
fn what_hangs_gets_more_time_before_it_is_blamed() {
    let hangs = |call: &Call| {
        let verdict = if is_zero(call) { Verdict::TimedOut } else { Verdict::Returned };
        Outcome::of(verdict, Stage::Call)
    };
    let (calls, found) = explored(1, hangs);
    assert_eq!(found[0].weakness.kind, WeaknessKind::Hang);
    let zeros: Vec<u64> =
        calls.iter().filter(|call| is_zero(call)).map(|call| call.limits.timeout_ms).collect();
    assert!(zeros.len() >= 2 && zeros[0] < zeros[zeros.len() - 1], "{zeros:?}");
    // Busy machines are slow: it came to an end after all.
    let (_, found) = explored(1, |call| {
        let slow = is_zero(call) && call.limits.timeout_ms <= 1000;
        let verdict = if slow { Verdict::TimedOut } else { Verdict::Returned };
        Outcome::of(verdict, Stage::Call)
    });
    assert_eq!(found, []);
}

#[test]
fn what_fills_the_memory_is_found_on_a_busy_machine_too() {
    // The same call runs out of memory, or out of time before: whichever look came so far tells.
    for (first, then) in [
        (Verdict::TimedOut, Verdict::OutOfMemory),
        (Verdict::OutOfMemory, Verdict::TimedOut),
        (Verdict::OutOfMemory, Verdict::OutOfMemory),
    ] {
        let (_, found) = explored(1, |call| {
            let bad = if call.limits.timeout_ms <= 1000 { first } else { then };
            let verdict = if is_zero(call) { bad } else { Verdict::Returned };
            Outcome::of(verdict, Stage::Call)
        });
        let told: Vec<_> =
            found.iter().map(|one| (one.weakness.kind, one.outcome.verdict)).collect();
        assert_eq!(told, [(WeaknessKind::Memory, Verdict::OutOfMemory)], "{first}, then {then}");
    }
}

#[test]
fn who_writes_gets_a_failing_disk_at_every_opportunity() {
    let writes = |call: &Call| {
        let touched = Touched {
            path: "out.txt".to_owned(),
            what: FileChange::Created,
            bytes: 3,
            hash: Some("whole".to_owned()),
        };
        let mut outcome = returned("1");
        outcome.files = Files { touched: vec![touched], total: 1 };
        if let Some(fault) = call.conditions.faults.first() {
            let felt = menace_model::Felt {
                mode: fault.mode,
                offered: 3,
                struck: u64::from(fault.when != menace_model::When::Nth(u64::MAX)),
                first: None,
                last_ms: None,
            };
            outcome.felt = vec![felt];
            if outcome.felt[0].struck > 0 {
                outcome.files.touched[0].hash = Some("half".to_owned());
            }
        }
        outcome
    };
    let (calls, found) = explored(1, writes);
    let faulty = |call: &&Call| !call.conditions.faults.is_empty();
    // Two modes: once to count, and then each of three, and one of them again to be sure.
    assert_eq!(calls.iter().filter(faulty).count(), 2 * (1 + 3) + 1);
    assert_eq!(found[0].weakness.kind, WeaknessKind::PartialWrite);
}

#[test]
fn of_a_generation_that_was_cut_short_the_calls_that_were_made_count() {
    let divide = |call: &Call| if is_zero(call) { divided_by_zero() } else { returned("1") };
    explorer(1, Terms::default(), |mut explorer| {
        let calls = explorer.next_generation();
        let made = |call: &Call| is_zero(call).then(|| divide(call));
        explorer.learn(&calls.iter().map(made).collect::<Vec<_>>());
        assert!(!explorer.is_done());
        assert_eq!((explorer.unproven(), explorer.findings().len()), (1, 0));
        explorer.conclude();
        let calls = explorer.next_generation();
        assert!(calls.len() == 1 && is_zero(&calls[0]), "{calls:?}");
        explorer.learn(&[Some(divided_by_zero())]);
        assert_eq!((explorer.unproven(), explorer.findings().len()), (0, 1));
        assert_eq!(explorer.next_generation(), []);
        assert!(explorer.is_done());
    });
}

#[test]
fn every_call_is_held_to_the_terms() {
    let network = menace_model::Network { latency_ms: 5.0, ..menace_model::Network::default() };
    let terms = Terms {
        limits: menace_model::Limits { memory_bytes: Some(1 << 20), ..Default::default() },
        timeout_ms: Some(700),
        conditions: Conditions { network: network.clone(), ..Conditions::default() },
        confinement: Some(menace_model::Confinement { security_level: 5, safe_mode: true }),
        is_watched_for_free: false,
    };
    explorer(1, terms, |mut explorer| {
        let mut in_company = 0;
        loop {
            let calls = explorer.next_generation();
            if calls.is_empty() {
                break;
            }
            for call in &calls {
                assert_eq!(call.limits.memory_bytes, Some(1 << 20));
                assert_eq!(call.conditions.network, network);
                assert!(call.confinement.is_some_and(|confined| confined.safe_mode));
                let is_patient = call.conditions.burst.is_some();
                in_company += usize::from(is_patient);
                assert_eq!(call.limits.timeout_ms, if is_patient { 3_000 } else { 700 });
            }
            let outcomes: Vec<_> = calls.iter().map(|_| Some(returned("1"))).collect();
            explorer.learn(&outcomes);
        }
        assert!(in_company > 0, "what returned in peace gets company");
    });
}

/// Numbers are steps of a ladder when they are three times a power of two; how far up.
fn step(call: &Call) -> Option<u32> {
    match call.args[..] {
        [Value::Int(number)] if number > 0 && number >> number.trailing_zeros() == 3 => {
            Some(number.trailing_zeros())
        }
        _ => None,
    }
}

/// Breaks on a step that is too high to be guessed.
fn ladder(call: &Call, is_seen: bool) -> Outcome {
    const TOP: u32 = 9;
    let step = step(call).unwrap_or(0);
    let mut outcome = if step >= TOP { divided_by_zero() } else { returned("1") };
    let lines = (1..=step + 1).collect();
    let file = menace_model::FileCoverage { file: "shop.py".to_owned(), lines, branches: vec![] };
    outcome.coverage = is_seen.then(|| menace_model::Coverage { files: vec![file] });
    outcome
}

#[test]
fn mutating_what_reached_something_new_leads_to_where_nothing_else_does() {
    for seed in 1..=3 {
        let (_, found) = explored(seed, |call| ladder(call, true));
        assert_eq!(found.len(), 1, "seed {seed}: {found:?}");
        // The same inputs are made at first, but nobody knows which are worth changing.
        let (_, found) = explored(seed, |call| ladder(call, false));
        assert_eq!(found, [], "seed {seed}");
    }
}

/// Something that reached these lines and returned.
fn reaching(lines: Vec<u32>) -> Outcome {
    let file = menace_model::FileCoverage { file: "shop.py".to_owned(), lines, branches: vec![] };
    Outcome { coverage: Some(menace_model::Coverage { files: vec![file] }), ..returned("1") }
}

/// Explores to the end: how many calls there were to look at, and how many of them were watched. Each
/// that is watched reaches a line that none before had if `is_new` says so of its number.
fn watched(is_free: bool, is_new: impl Fn(u32) -> bool) -> (usize, usize) {
    let section: Section = serde_json::from_str(SECTION).expect("a section");
    let terms = Terms { is_watched_for_free: is_free, ..Terms::default() };
    explorer_of(&section, &Hints::default(), terms, Budget::default(), 1, |mut explorer| {
        let (mut looks, mut watched, mut line) = (0, 0, 1);
        loop {
            let calls = explorer.next_generation();
            if calls.is_empty() {
                return (looks, watched);
            }
            let is_look = explorer.stage.is_look();
            let mut outcomes = Vec::new();
            for call in &calls {
                looks += usize::from(is_look);
                watched += usize::from(is_look && call.coverage);
                line += u32::from(is_look && is_new(watched as u32));
                let seen = reaching(vec![if call.coverage { line } else { 1 }]);
                outcomes.push(Some(if call.coverage { seen } else { returned("1") }));
            }
            explorer.learn(&outcomes);
        }
    })
}

#[test]
fn where_watching_is_dear_it_stops_when_it_shows_nothing_new() {
    let (looks, all) = watched(true, |_| false);
    assert_eq!(all, looks, "it costs nothing");
    let (same, few) = watched(false, |_| false);
    // The same calls are made; of the first generation all are watched, of what follows a fourth.
    assert_eq!(same, looks);
    assert!(few < looks * 3 / 4, "{few} of {looks}");
    // What brings something new is watched to the end.
    assert_eq!(watched(false, |_| true), (looks, looks));
    assert_eq!(watched(false, |number| number % 16 == 0), (looks, looks));
    assert!(watched(false, |number| number % 48 == 0).1 < looks);
}

/// Explores to the end; each generation of mutations reaches a new line if `is_new` says so. How many
/// mutations each had.
fn mutations(explorer: &mut Explorer<'_>, is_new: impl Fn(usize) -> bool) -> Vec<usize> {
    let (mut sizes, mut line) = (Vec::new(), 1);
    while !explorer.next_generation().is_empty() {
        if matches!(explorer.stage, super::Stage::Mutate(_)) {
            line += u32::from(is_new(sizes.len()));
            sizes.push(explorer.asked.len());
        }
        let outcome = Some(reaching(vec![line]));
        explorer.learn(&vec![outcome; explorer.asked.len()]);
    }
    sizes
}

#[test]
fn mutations_end_with_the_second_generation_in_a_row_that_reached_nothing_new() {
    let mutations = |is_new: fn(usize) -> bool| {
        explorer(1, Terms::default(), |mut explorer| mutations(&mut explorer, is_new).len())
    };
    assert_eq!(mutations(|_| false), 2);
    assert_eq!(mutations(|generation| generation < 3), 5);
    assert_eq!(mutations(|generation| generation % 2 == 1 && generation < 6), 8);
}

#[test]
fn more_is_mutated_while_that_reaches_something_new_and_never_more_than_the_share() {
    let section: Section = serde_json::from_str(SECTION).expect("a section");
    let Budget { mutations: size, most_mutations, .. } = Budget::default();
    let sizes = |is_new: fn(usize) -> bool| {
        let (hints, terms) = (Hints::default(), Terms::default());
        explorer_of(&section, &hints, terms, Budget::default(), 1, |mut explorer| {
            mutations(&mut explorer, is_new)
        })
    };
    // Two that are alike are made once.
    let about = |sizes: &[usize], wanted: &[usize]| {
        let fits = |(size, wanted): (&usize, &usize)| size <= wanted && *size >= wanted / 2;
        sizes.len() == wanted.len() && sizes.iter().zip(wanted).all(fits)
    };
    let barren = sizes(|_| false);
    assert!(about(&barren, &[size, size]), "{barren:?}");
    let once = sizes(|generation| generation == 0);
    assert!(about(&once, &[size, 2 * size, size]) && once[1] > size, "{once:?}");
    assert_eq!(sizes(|_| true).iter().sum::<usize>(), most_mutations);
}

#[test]
fn who_still_yields_gets_what_others_left() {
    let section: Section = serde_json::from_str(SECTION).expect("a section");
    let hints = Hints::default();
    let most = Budget::default().most_mutations;
    // Sections that yield while `others` do not: mutations of each.
    let made = |yielding: usize, others: usize| -> Vec<usize> {
        let (classes, types) = (Classes::default(), TypeNames::default());
        let mut facts = Facts::new(&classes, &types);
        facts.add("shop", &section, &hints);
        let settings = InputSettings::default();
        let mut explorers: Vec<Explorer<'_>> = (0..yielding + others)
            .map(|number| {
                let inputs = Inputs::new(&section, &hints, &facts, &settings);
                let module = ModuleRef { name: "shop".to_owned(), path: None };
                let target = Target { module, qualname: "f".to_owned(), how: How::Function };
                let (budget, seed) = (Budget::default(), Seed(number as u64));
                Explorer::new(&section, target, Terms::default(), inputs, budget, seed)
            })
            .collect();
        let mut sums = vec![0; explorers.len()];
        for line in 1.. {
            hand_on(&mut explorers);
            let mut is_over = true;
            for (number, explorer) in explorers.iter_mut().enumerate() {
                is_over &= explorer.next_generation().is_empty();
                let is_mutating = matches!(explorer.stage, super::Stage::Mutate(_));
                sums[number] += if is_mutating { explorer.asked.len() } else { 0 };
                let lines = vec![if number < yielding { line } else { 1 }];
                explorer.learn(&vec![Some(reaching(lines)); explorer.asked.len()]);
            }
            if is_over {
                break;
            }
        }
        sums
    };
    assert_eq!(made(1, 0), [most]);
    let few = made(1, 1);
    assert_eq!(few[0], 2 * most - few[1], "all that is left: {few:?}");
    assert!(few[1] < most / 4, "{few:?}");
    let many = made(2, 9);
    assert_eq!(many[..2], [2 * most, 2 * most], "and no more than as much again");
    assert!(many.iter().sum::<usize>() <= many.len() * most, "{many:?}");
    assert_eq!(many, made(2, 9));
}

#[test]
fn a_text_is_found_sign_by_sign_with_the_usual_budget() {
    let section = SECTION.replace("builtins.int", "builtins.str").replace("count", "code");
    let section: Section = serde_json::from_str(&section).expect("a section");
    let mut hints = Hints::default();
    hints.literals.strings = ["q", "z", "7"].map(str::to_owned).to_vec();
    // `if s[0] == "q": if s[1] == "z": if s[2] == "7": 1 / 0`.
    let climb = |call: &Call| {
        let text = match &call.args[..] {
            [Value::Str(text)] => text.as_str().unwrap_or_default(),
            _ => "",
        };
        let signs = text.chars().zip("qz7".chars()).take_while(|(one, other)| one == other);
        let steps = signs.count() as u32;
        let outcome = if steps == 3 { divided_by_zero() } else { returned("1") };
        Outcome { coverage: reaching((1..=steps + 1).collect()).coverage, ..outcome }
    };
    let is_found = |seed: &u64| {
        let (terms, budget) = (Terms::default(), Budget::default());
        explorer_of(&section, &hints, terms, budget, *seed, |mut explorer| {
            loop {
                let calls = explorer.next_generation();
                if calls.is_empty() {
                    return !explorer.findings().is_empty();
                }
                explorer.learn(&calls.iter().map(|call| Some(climb(call))).collect::<Vec<_>>());
            }
        })
    };
    let found = (0..20).filter(is_found).count();
    assert!(found >= 15, "{found} of 20");
}

#[test]
fn every_edge_of_every_parameter_comes_in_time() {
    let kinds = ["str", "int", "float", "bytes", "list"];
    for count in [1, 3, 5] {
        let params: Vec<String> = (0..count)
            .map(|number| {
                let kind = kinds[number];
                format!(
                    r#"{{"name": "p{number}", "kind": "positional_or_keyword", "annotation": "{kind}",
                        "resolved": {{"Name": "builtins.{kind}"}}, "default": null}}"#
                )
            })
            .collect();
        let mut section: serde_json::Value = serde_json::from_str(SECTION).expect("JSON");
        section["params"] =
            serde_json::from_str(&format!("[{}]", params.join(","))).expect("parameters");
        let section: Section = serde_json::from_value(section).expect("a section");
        let (hints, settings) = (Hints::default(), InputSettings::default());
        let (classes, types) = (Classes::default(), TypeNames::default());
        let facts = Facts::new(&classes, &types);
        let inputs = Inputs::new(&section, &hints, &facts, &settings);
        let mut missing: Vec<(usize, Value)> = inputs
            .at_edges(10_000, Seed(1))
            .into_iter()
            .flat_map(|input| input.args.into_iter().enumerate())
            .collect();
        let mut most = 0;
        for seed in 0..8 {
            let terms = Terms::default();
            // The edges come when the first have been looked at.
            let calls = explorer_of(&section, &hints, terms, Budget::default(), seed, |mut one| {
                let mut calls = one.next_generation();
                one.learn(&vec![Some(returned("1")); calls.len()]);
                calls.extend(one.next_generation());
                assert_eq!(one.stage, super::Stage::Look);
                calls
            });
            most = calls.len().max(most);
            let is_there = |(at, value): &(usize, Value)| {
                calls.iter().any(|call| call.args.get(*at) == Some(value))
            };
            missing.retain(|edge| !is_there(edge));
        }
        assert_eq!(missing, [], "{count} parameters");
        assert!(most < 180, "{most} calls for {count} parameters");
    }
}

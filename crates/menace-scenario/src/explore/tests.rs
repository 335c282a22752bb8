//! Exploring with made-up outcomes: the next calls depend on nothing else.

use menace_model::{
    CallResult, CallStage, ClassIndex, FileChangeKind, ModuleRef, NamedTypeIndex, RaisedException,
    ReturnedValue, SectionHints, StackFrame, TargetKind, TouchedFile, TouchedFiles, Value,
};

use super::*;
use crate::input::{InputSettings, RepositoryFacts};
use crate::judge::WeaknessKind;

const SECTION_JSON: &str = r#"{"id": "shop.py::f", "kind": "function", "is_async": false,
    "is_generator": false, "line": 1, "start_line": 1, "end_line": 2, "decorators": [],
    "docstring": null, "params": [{"name": "count", "kind": "positional_or_keyword",
    "annotation": "int", "resolved": {"Name": "builtins.int"}, "default": null}],
    "returns": null, "complexity": 1, "calls": [], "construction": null}"#;

fn returned(repr: &str) -> Outcome {
    let value = ReturnedValue {
        kind: "str".to_owned(),
        repr: repr.to_owned(),
        truncated: false,
        length: None,
        hash: Some(repr.to_owned()),
        value: Some(Value::from(repr)),
        items: None,
        more: false,
    };
    Outcome::of_result(CallResult {
        value: Some(value),
        ..CallResult::new(Verdict::Returned, CallStage::Call)
    })
}

fn divided_by_zero() -> Outcome {
    let frame = StackFrame {
        file: "shop.py".to_owned(),
        line: 2,
        function: "f".to_owned(),
        in_repository: true,
    };
    let exception = RaisedException {
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
    Outcome::of_result(CallResult {
        exception: Some(exception),
        ..CallResult::new(Verdict::Raised, CallStage::Call)
    })
}

/// Enough mutations to climb `ladder_outcome` by chance.
const SMALL_BUDGET: ExploreBudget = ExploreBudget {
    inputs: 60,
    boundary_inputs: 40,
    word_inputs: 12,
    drifted_inputs: 4,
    mutations_per_generation: 64,
    max_mutations: 2048,
    max_barren_generations: 2,
    enough_weaknesses: 4,
};

/// Calls `with` with an explorer of a section that has one integer parameter.
fn explorer<R>(seed: u64, defaults: CallDefaults, with: impl FnOnce(Explorer<'_>) -> R) -> R {
    let section: Section = serde_json::from_str(SECTION_JSON).expect("a section");
    explorer_of(&section, &SectionHints::default(), defaults, SMALL_BUDGET, seed, with)
}

fn explorer_of<R>(
    section: &Section,
    hints: &SectionHints,
    defaults: CallDefaults,
    budget: ExploreBudget,
    seed: u64,
    with: impl FnOnce(Explorer<'_>) -> R,
) -> R {
    let (classes, types) = (ClassIndex::default(), NamedTypeIndex::default());
    let mut facts = RepositoryFacts::new(&classes, &types);
    facts.add_section("shop", section, hints);
    let settings = InputSettings::default();
    let inputs = InputGenerator::new(section, hints, &facts, &settings);
    let module = ModuleRef { name: "shop".to_owned(), path: None };
    let target = CallTarget { module, qualname: "f".to_owned(), kind: TargetKind::Function };
    with(Explorer::new(section, target, defaults, inputs, budget, Seed(seed)))
}

/// Explores a section whose outcomes come from `f` to the end: the calls and the findings.
fn explore_with(
    seed: u64,
    mut f: impl FnMut(&Call) -> Outcome,
) -> (Vec<Call>, Vec<ConfirmedFinding>) {
    explorer(seed, CallDefaults::default(), |mut explorer| {
        let mut all = Vec::new();
        loop {
            let calls = explorer.next_generation();
            if calls.is_empty() {
                return (all, explorer.findings().to_vec());
            }
            let outcomes: Vec<Option<Outcome>> = calls.iter().map(|call| Some(f(call))).collect();
            explorer.record_outcomes(&outcomes);
            all.extend(calls);
        }
    })
}

fn is_zero(call: &Call) -> bool {
    call.args == [Value::Int(0)]
}

#[test]
fn the_same_seed_and_outcomes_give_the_same_calls() {
    let run = |seed| explore_with(seed, |call| returned(&format!("{:?}", call.args))).0;
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_weakness_is_a_finding_after_its_rerun() {
    let divide = |call: &Call| if is_zero(call) { divided_by_zero() } else { returned("1") };
    let (_, found) = explore_with(1, divide);
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(finding.weakness.kind, WeaknessKind::Unhandled);
    assert_eq!(finding.weakness.place, Some(("shop.py".to_owned(), 2)));

    let mut first = true;
    let (_, found) = explore_with(1, |call| {
        let once = is_zero(call) && std::mem::take(&mut first);
        if once { divided_by_zero() } else { returned("1") }
    });
    assert_eq!(found, []);
}

#[test]
fn a_hang_is_confirmed_with_a_longer_timeout() {
    let hangs = |call: &Call| {
        let verdict = if is_zero(call) { Verdict::TimedOut } else { Verdict::Returned };
        Outcome::new(verdict, CallStage::Call)
    };
    let (calls, found) = explore_with(1, hangs);
    assert_eq!(found[0].weakness.kind, WeaknessKind::Hang);
    let zeros: Vec<u64> =
        calls.iter().filter(|call| is_zero(call)).map(|call| call.limits.timeout_ms).collect();
    assert!(zeros.len() >= 2 && zeros[0] < zeros[zeros.len() - 1], "{zeros:?}");
    // With a longer timeout the call returns: no finding.
    let (_, found) = explore_with(1, |call| {
        let slow = is_zero(call) && call.limits.timeout_ms <= 1000;
        let verdict = if slow { Verdict::TimedOut } else { Verdict::Returned };
        Outcome::new(verdict, CallStage::Call)
    });
    assert_eq!(found, []);
}

#[test]
fn exhausted_memory_is_found_on_a_busy_machine_too() {
    // The same call runs out of memory or, on a busy machine, out of time first.
    for (first, then) in [
        (Verdict::TimedOut, Verdict::OutOfMemory),
        (Verdict::OutOfMemory, Verdict::TimedOut),
        (Verdict::OutOfMemory, Verdict::OutOfMemory),
    ] {
        let (_, found) = explore_with(1, |call| {
            let bad = if call.limits.timeout_ms <= 1000 { first } else { then };
            let verdict = if is_zero(call) { bad } else { Verdict::Returned };
            Outcome::new(verdict, CallStage::Call)
        });
        let probes: Vec<_> =
            found.iter().map(|one| (one.weakness.kind, one.outcome.verdict)).collect();
        assert_eq!(probes, [(WeaknessKind::Memory, Verdict::OutOfMemory)], "{first}, then {then}");
    }
}

#[test]
fn a_section_that_writes_files_gets_disk_faults_at_every_opportunity() {
    let writes = |call: &Call| {
        let touched = TouchedFile {
            path: "out.txt".to_owned(),
            change: FileChangeKind::Created,
            bytes: 3,
            hash: Some("whole".to_owned()),
        };
        let mut outcome = returned("1");
        outcome.files = TouchedFiles { touched: vec![touched], total: 1 };
        if let Some(fault) = call.conditions.faults.first() {
            let stats = menace_model::FaultStats {
                mode: fault.mode,
                opportunities: 3,
                injected: u64::from(fault.trigger != menace_model::FaultTrigger::Nth(u64::MAX)),
                first_injected: None,
                last_injected_ms: None,
            };
            outcome.fault_stats = vec![stats];
            if outcome.fault_stats[0].injected > 0 {
                outcome.files.touched[0].hash = Some("half".to_owned());
            }
        }
        outcome
    };
    let (calls, found) = explore_with(1, writes);
    let faulty = |call: &&Call| !call.conditions.faults.is_empty();
    // Two modes: one call that counts opportunities, then three with a fault, and one rerun.
    assert_eq!(calls.iter().filter(faulty).count(), 2 * (1 + 3) + 1);
    assert_eq!(found[0].weakness.kind, WeaknessKind::PartialWrite);
}

#[test]
fn outcomes_of_an_incomplete_generation_count() {
    let divide = |call: &Call| if is_zero(call) { divided_by_zero() } else { returned("1") };
    explorer(1, CallDefaults::default(), |mut explorer| {
        let calls = explorer.next_generation();
        let made = |call: &Call| is_zero(call).then(|| divide(call));
        explorer.record_outcomes(&calls.iter().map(made).collect::<Vec<_>>());
        assert!(!explorer.is_done());
        assert_eq!((explorer.unconfirmed_count(), explorer.findings().len()), (1, 0));
        explorer.skip_to_confirmation();
        let calls = explorer.next_generation();
        assert!(calls.len() == 1 && is_zero(&calls[0]), "{calls:?}");
        explorer.record_outcomes(&[Some(divided_by_zero())]);
        assert_eq!((explorer.unconfirmed_count(), explorer.findings().len()), (0, 1));
        assert_eq!(explorer.next_generation(), []);
        assert!(explorer.is_done());
    });
}

#[test]
fn every_call_has_the_call_defaults() {
    let network = menace_model::NetworkConditions {
        latency_ms: 5.0,
        ..menace_model::NetworkConditions::default()
    };
    let defaults = CallDefaults {
        limits: menace_model::CallLimits { memory_bytes: Some(1 << 20), ..Default::default() },
        timeout_ms: Some(700),
        conditions: CallConditions { network: network.clone(), ..CallConditions::default() },
        confinement: Some(menace_model::CallConfinement {
            security_level: menace_model::SecurityLevel::STRICTEST,
            safe_mode: true,
        }),
        has_cheap_coverage: false,
    };
    explorer(1, defaults, |mut explorer| {
        let mut burst_calls = 0;
        loop {
            let calls = explorer.next_generation();
            if calls.is_empty() {
                break;
            }
            for call in &calls {
                assert_eq!(call.limits.memory_bytes, Some(1 << 20));
                assert_eq!(call.conditions.network, network);
                assert!(call.confinement.is_some_and(|confined| confined.safe_mode));
                let has_burst = call.conditions.burst.is_some();
                burst_calls += usize::from(has_burst);
                assert_eq!(call.limits.timeout_ms, if has_burst { 3_000 } else { 700 });
            }
            let outcomes: Vec<_> = calls.iter().map(|_| Some(returned("1"))).collect();
            explorer.record_outcomes(&outcomes);
        }
        assert!(burst_calls > 0, "an input that returned is repeated in a burst");
    });
}

/// The step of the ladder: numbers that are three times a power of two.
fn step(call: &Call) -> Option<u32> {
    match call.args[..] {
        [Value::Int(number)] if number > 0 && number >> number.trailing_zeros() == 3 => {
            Some(number.trailing_zeros())
        }
        _ => None,
    }
}

/// Fails on a step that is too high to be guessed.
fn ladder_outcome(call: &Call, is_seen: bool) -> Outcome {
    const LADDER_STEPS: u32 = 9;
    let step = step(call).unwrap_or(0);
    let mut outcome = if step >= LADDER_STEPS { divided_by_zero() } else { returned("1") };
    let lines = (1..=step + 1).collect();
    let file = menace_model::FileCoverage { file: "shop.py".to_owned(), lines, branches: vec![] };
    outcome.coverage = is_seen.then(|| menace_model::CallCoverage { files: vec![file] });
    outcome
}

#[test]
fn mutating_the_corpus_reaches_deep_code() {
    for seed in 1..=3 {
        let (_, found) = explore_with(seed, |call| ladder_outcome(call, true));
        assert_eq!(found.len(), 1, "seed {seed}: {found:?}");
        // The same inputs come first, but without coverage none of them is mutated.
        let (_, found) = explore_with(seed, |call| ladder_outcome(call, false));
        assert_eq!(found, [], "seed {seed}");
    }
}

/// A call that reached these lines and returned.
fn outcome_reaching(lines: Vec<u32>) -> Outcome {
    let file = menace_model::FileCoverage { file: "shop.py".to_owned(), lines, branches: vec![] };
    Outcome { coverage: Some(menace_model::CallCoverage { files: vec![file] }), ..returned("1") }
}

/// Explores to the end: number of baseline calls, and number of traced ones. Each traced call
/// reaches a new line if `is_new` says so of its number.
fn count_traced(is_free: bool, is_new: impl Fn(u32) -> bool) -> (usize, usize) {
    let section: Section = serde_json::from_str(SECTION_JSON).expect("a section");
    let defaults = CallDefaults { has_cheap_coverage: is_free, ..CallDefaults::default() };
    explorer_of(
        &section,
        &SectionHints::default(),
        defaults,
        ExploreBudget::default(),
        1,
        |mut explorer| {
            let (mut looks, mut watched, mut line) = (0, 0, 1);
            loop {
                let calls = explorer.next_generation();
                if calls.is_empty() {
                    return (looks, watched);
                }
                let is_look = explorer.stage.is_baseline_stage();
                let mut outcomes = Vec::new();
                for call in &calls {
                    looks += usize::from(is_look);
                    watched += usize::from(is_look && call.coverage);
                    line += u32::from(is_look && is_new(watched as u32));
                    let seen = outcome_reaching(vec![if call.coverage { line } else { 1 }]);
                    outcomes.push(Some(if call.coverage { seen } else { returned("1") }));
                }
                explorer.record_outcomes(&outcomes);
            }
        },
    )
}

#[test]
fn expensive_coverage_is_sampled_while_nothing_new_is_reached() {
    let (looks, all) = count_traced(true, |_| false);
    assert_eq!(all, looks, "it costs nothing");
    let (same, few) = count_traced(false, |_| false);
    // The same calls are made. Of the first generation all are traced, of later ones a fourth.
    assert_eq!(same, looks);
    assert!(few < looks * 3 / 4, "{few} of {looks}");
    // While calls reach new lines, all are traced.
    assert_eq!(count_traced(false, |_| true), (looks, looks));
    assert_eq!(count_traced(false, |number| number % 16 == 0), (looks, looks));
    assert!(count_traced(false, |number| number % 48 == 0).1 < looks);
}

/// Explores to the end; each generation of mutations reaches a new line if `is_new` says so.
/// Returns the sizes of the generations.
fn mutation_counts(explorer: &mut Explorer<'_>, is_new: impl Fn(usize) -> bool) -> Vec<usize> {
    let (mut sizes, mut line) = (Vec::new(), 1);
    while !explorer.next_generation().is_empty() {
        if matches!(explorer.stage, super::ExploreStage::Mutate(_)) {
            line += u32::from(is_new(sizes.len()));
            sizes.push(explorer.pending_probes.len());
        }
        let outcome = Some(outcome_reaching(vec![line]));
        explorer.record_outcomes(&vec![outcome; explorer.pending_probes.len()]);
    }
    sizes
}

#[test]
fn mutations_end_after_two_generations_without_new_lines() {
    let mutations = |is_new: fn(usize) -> bool| {
        explorer(1, CallDefaults::default(), |mut explorer| {
            mutation_counts(&mut explorer, is_new).len()
        })
    };
    assert_eq!(mutations(|_| false), 2);
    assert_eq!(mutations(|generation| generation < 3), 5);
    assert_eq!(mutations(|generation| generation % 2 == 1 && generation < 6), 8);
}

#[test]
fn generations_grow_while_they_reach_new_lines_up_to_the_share() {
    let section: Section = serde_json::from_str(SECTION_JSON).expect("a section");
    let ExploreBudget { mutations_per_generation: size, max_mutations, .. } =
        ExploreBudget::default();
    let sizes = |is_new: fn(usize) -> bool| {
        let hints = SectionHints::default();
        let defaults = CallDefaults::default();
        explorer_of(&section, &hints, defaults, ExploreBudget::default(), 1, |mut explorer| {
            mutation_counts(&mut explorer, is_new)
        })
    };
    // Equal mutations are made once.
    let about = |sizes: &[usize], wanted: &[usize]| {
        let fits = |(size, wanted): (&usize, &usize)| size <= wanted && *size >= wanted / 2;
        sizes.len() == wanted.len() && sizes.iter().zip(wanted).all(fits)
    };
    let barren = sizes(|_| false);
    assert!(about(&barren, &[size, size]), "{barren:?}");
    let once = sizes(|generation| generation == 0);
    assert!(about(&once, &[size, 2 * size, size]) && once[1] > size, "{once:?}");
    assert_eq!(sizes(|_| true).iter().sum::<usize>(), max_mutations);
}

#[test]
fn a_productive_section_receives_unused_mutations() {
    let section: Section = serde_json::from_str(SECTION_JSON).expect("a section");
    let hints = SectionHints::default();
    let most = ExploreBudget::default().max_mutations;
    // Number of mutations per section; `yielding` sections reach new lines, `others` do not.
    let made = |yielding: usize, others: usize| -> Vec<usize> {
        let (classes, types) = (ClassIndex::default(), NamedTypeIndex::default());
        let mut facts = RepositoryFacts::new(&classes, &types);
        facts.add_section("shop", &section, &hints);
        let settings = InputSettings::default();
        let mut explorers: Vec<Explorer<'_>> = (0..yielding + others)
            .map(|number| {
                let inputs = InputGenerator::new(&section, &hints, &facts, &settings);
                let module = ModuleRef { name: "shop".to_owned(), path: None };
                let target =
                    CallTarget { module, qualname: "f".to_owned(), kind: TargetKind::Function };
                let (budget, seed) = (ExploreBudget::default(), Seed(number as u64));
                Explorer::new(&section, target, CallDefaults::default(), inputs, budget, seed)
            })
            .collect();
        let mut sums = vec![0; explorers.len()];
        for line in 1.. {
            redistribute_mutations(&mut explorers);
            let mut is_over = true;
            for (number, explorer) in explorers.iter_mut().enumerate() {
                is_over &= explorer.next_generation().is_empty();
                let is_mutating = matches!(explorer.stage, super::ExploreStage::Mutate(_));
                sums[number] += if is_mutating { explorer.pending_probes.len() } else { 0 };
                let lines = vec![if number < yielding { line } else { 1 }];
                explorer.record_outcomes(&vec![
                    Some(outcome_reaching(lines));
                    explorer.pending_probes.len()
                ]);
            }
            if is_over {
                break;
            }
        }
        sums
    };
    assert_eq!(made(1, 0), [most]);
    let few = made(1, 1);
    assert_eq!(few[0], 2 * most - few[1], "all unused mutations: {few:?}");
    assert!(few[1] < most / 4, "{few:?}");
    let many = made(2, 9);
    assert_eq!(many[..2], [2 * most, 2 * most], "at most twice the share");
    assert!(many.iter().sum::<usize>() <= many.len() * most, "{many:?}");
    assert_eq!(many, made(2, 9));
}

#[test]
fn a_text_is_found_character_by_character_within_the_default_budget() {
    let section = SECTION_JSON.replace("builtins.int", "builtins.str").replace("count", "code");
    let section: Section = serde_json::from_str(&section).expect("a section");
    let mut hints = SectionHints::default();
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
        Outcome { coverage: outcome_reaching((1..=steps + 1).collect()).coverage, ..outcome }
    };
    let is_found = |seed: &u64| {
        let defaults = CallDefaults::default();
        let budget = ExploreBudget::default();
        explorer_of(&section, &hints, defaults, budget, *seed, |mut explorer| {
            loop {
                let calls = explorer.next_generation();
                if calls.is_empty() {
                    return !explorer.findings().is_empty();
                }
                explorer.record_outcomes(
                    &calls.iter().map(|call| Some(climb(call))).collect::<Vec<_>>(),
                );
            }
        })
    };
    let found = (0..20).filter(is_found).count();
    assert!(found >= 15, "{found} of 20");
}

#[test]
fn every_boundary_value_of_every_parameter_is_tried() {
    let kinds = ["str", "int", "float", "bytes", "list"];
    for count in [1, 3, 5] {
        let params: Vec<String> = (0..count)
            .map(|number| {
                let kind = kinds[number];
                format!(
                    r#"{{"name": "p{number}", "kind": "positional_or_keyword",
                        "annotation": "{kind}", "resolved": {{"Name": "builtins.{kind}"}},
                        "default": null}}"#
                )
            })
            .collect();
        let mut section: serde_json::Value = serde_json::from_str(SECTION_JSON).expect("JSON");
        section["params"] =
            serde_json::from_str(&format!("[{}]", params.join(","))).expect("parameters");
        let section: Section = serde_json::from_value(section).expect("a section");
        let (hints, settings) = (SectionHints::default(), InputSettings::default());
        let (classes, types) = (ClassIndex::default(), NamedTypeIndex::default());
        let facts = RepositoryFacts::new(&classes, &types);
        let inputs = InputGenerator::new(&section, &hints, &facts, &settings);
        let mut missing: Vec<(usize, Value)> = inputs
            .boundary_inputs(10_000, Seed(1))
            .into_iter()
            .flat_map(|input| input.args.into_iter().enumerate())
            .collect();
        let mut most = 0;
        for seed in 0..8 {
            let defaults = CallDefaults::default();
            // Boundary inputs are in the second generation.
            let calls = explorer_of(
                &section,
                &hints,
                defaults,
                ExploreBudget::default(),
                seed,
                |mut one| {
                    let mut calls = one.next_generation();
                    one.record_outcomes(&vec![Some(returned("1")); calls.len()]);
                    calls.extend(one.next_generation());
                    assert_eq!(one.stage, super::ExploreStage::Baseline);
                    calls
                },
            );
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

/// Number of repetitions of a text in the first argument.
fn count_pumps(call: &Call, pump: &str) -> u64 {
    fn count(value: &Value, pump: &str) -> u64 {
        match value {
            Value::Repeat { value, times } if **value == Value::from(pump) => *times,
            Value::Method { on, args, .. } => {
                count(on, pump) + args.iter().map(|value| count(value, pump)).sum::<u64>()
            }
            _ => 0,
        }
    }
    call.args.first().map_or(0, |value| count(value, pump))
}

/// Explores a section with one text parameter that uses a pattern: the calls and the findings.
fn explore_pattern(
    pattern: Option<&str>,
    outcome_of: impl Fn(&Call) -> Outcome,
) -> (usize, Vec<ConfirmedFinding>) {
    let section = SECTION_JSON.replace("builtins.int", "builtins.str").replace("count", "line");
    let section: Section = serde_json::from_str(&section).expect("a section");
    let mut hints = SectionHints::default();
    hints.literals.pattern_uses.extend(pattern.map(|pattern| menace_model::PatternUse {
        pattern: pattern.to_owned(),
        flags: 0,
        is_bytes: false,
        method: menace_model::PatternMethod::Match,
    }));
    let defaults = CallDefaults::default();
    explorer_of(&section, &hints, defaults, ExploreBudget::default(), 1, |mut explorer| {
        let mut count = 0;
        loop {
            let calls = explorer.next_generation();
            if calls.is_empty() {
                return (count, explorer.findings().to_vec());
            }
            count += calls.len();
            let outcomes: Vec<_> = calls.iter().map(|call| Some(outcome_of(call))).collect();
            explorer.record_outcomes(&outcomes);
        }
    })
}

#[test]
fn a_text_that_a_pattern_matches_in_ever_more_ways_is_a_hang() {
    let hangs_when_pumped = |call: &Call| {
        let hangs = count_pumps(call, ",") > 30;
        if hangs { Outcome::new(Verdict::TimedOut, CallStage::Call) } else { returned("1") }
    };
    let (_, found) = explore_pattern(Some("k=(?:,*)*;"), hangs_when_pumped);
    let kinds: Vec<WeaknessKind> = found.iter().map(|finding| finding.weakness.kind).collect();
    assert_eq!(kinds, [WeaknessKind::Hang]);
    assert_eq!(explore_pattern(None, hangs_when_pumped).1, []);
}

#[test]
fn a_text_that_a_pattern_searches_for_long_is_grown_within_bounds() {
    let takes = |call: &Call, power: i32| {
        let mut outcome = returned("1");
        let size = count_pumps(call, ",") as f64;
        outcome.runtime_metrics.user_cpu_ms = 30.0 * (size / 4096.0).powi(power);
        if outcome.runtime_metrics.user_cpu_ms > 1_000.0 {
            outcome.verdict = Verdict::TimedOut;
        }
        outcome
    };
    let pattern = "k=,*,*;";
    let (slow_calls, found) = explore_pattern(Some(pattern), |call| takes(call, 2));
    let slow = found.iter().find(|finding| finding.weakness.kind == WeaknessKind::Slow);
    let slow = slow.unwrap_or_else(|| panic!("{found:?}"));
    assert!(count_pumps(&slow.call, ",") > 1_000, "{:?}", slow.call);
    let (_, found) = explore_pattern(Some(pattern), |call| takes(call, 1));
    assert_eq!(found, []);
    let (calls, _) = explore_pattern(None, |call| takes(call, 2));
    // Twice 24 first calls; of four slow ones three sizes, twice and three times more.
    assert!(slow_calls <= calls + 2 * 24 + 4 * 3 * (2 + 3), "{slow_calls} after {calls}");
}

use menace_model::{
    Call, Confidence, Finding, How, Intent, ModuleRef, Numbers, Outcome, Severity, Stage, Target,
    Verdict,
};
use proptest::prelude::*;

use super::*;
use crate::metric::metric;
use crate::series::assert_close;
use crate::{Profiles, roi};

const BASELINE: usize = 0;
const LOW: usize = 1;
const HIGH: usize = 2;

fn scenarios() -> Vec<Scenario> {
    let scenario = |name: &str, severity, is_baseline| Scenario {
        name: name.to_owned(),
        severity,
        is_baseline,
        is_trouble: !is_baseline,
        round_trip_ms: None,
    };
    vec![
        scenario("normal", None, true),
        scenario("hostile_input", Some(Level::Low), false),
        scenario("hostile_input", Some(Level::High), false),
    ]
}

fn call(intent: Intent) -> Call {
    let module = ModuleRef { name: "shop".to_owned(), path: None };
    let target = Target { module, qualname: "pay".to_owned(), how: How::Function };
    Call { intent, ..Call::new(target) }
}

/// A call that takes `cpu_ms`.
fn ended(verdict: Verdict, cpu_ms: f64) -> Outcome {
    let mut outcome = Outcome::of(verdict, Stage::Call);
    outcome.runtime_metrics.user_cpu_ms = cpu_ms;
    outcome.runtime_metrics.wall_ms = cpu_ms;
    outcome
}

fn tally(calls: &[(Intent, Verdict, bool)]) -> Tally {
    let mut tally = Tally::default();
    for (intent, verdict, blamed) in calls {
        tally.add(&call(*intent), &ended(*verdict, 1.0), *blamed);
    }
    tally
}

/// So many calls returned, so many raised without blame.
fn answers(returned: usize, raised: usize) -> Tally {
    let good = [(Intent::Valid, Verdict::Returned, false)].repeat(returned);
    let bad = [(Intent::Valid, Verdict::Raised, false)].repeat(raised);
    tally(&[good, bad].concat())
}

fn section(name: &str) -> SectionId {
    SectionId::new("shop.py", name)
}

fn facts(sections: &[&str]) -> ModuleFacts {
    let mut numbers = Numbers { statements: 50, maintainability: 80.0, ..Numbers::default() };
    numbers.lines.lloc = 200;
    numbers.entropy = 5.0;
    ModuleFacts {
        path: "shop.py".to_owned(),
        name: "shop".to_owned(),
        numbers,
        findings: Vec::new(),
        lints: 0,
        fan_in: 0,
        severity: 0.5,
        sections: sections
            .iter()
            .map(|name| SectionFacts {
                id: section(name),
                start_line: 1,
                end_line: 10,
                fan_in: 0,
                lines: None,
            })
            .collect(),
        patch_complexity: None,
    }
}

fn cell(name: &str, scenario: usize, tally: Tally) -> Cell {
    Cell { section: section(name), scenario, tally }
}

fn measured(modules: &[ModuleFacts], cells: &[Cell], failures: &[Confirmed]) -> Measured {
    measure(&Cycle {
        scenarios: &scenarios(),
        modules,
        cells,
        failures,
        prices: &Prices::default(),
        budget: &Budget::default(),
        extras: &Extras::default(),
    })
}

/// Metrics of the section `pay` alone.
fn of_section(cells: &[Cell]) -> Metrics {
    measured(&[facts(&["pay"])], cells, &[]).sections[&section("pay")].clone()
}

fn confirmed(name: &str, id: &str) -> Confirmed {
    Confirmed {
        id: FailureId(id.to_owned()),
        section: section(name),
        scenario: "hostile_input".to_owned(),
        kind: WeaknessKind::Unhandled,
    }
}

#[track_caller]
fn assert_metric(metrics: &Metrics, name: &str, expected: f64) {
    let value = metrics.get(name).unwrap_or_else(|| panic!("{name} is absent"));
    assert!((value - expected).abs() < 1e-9, "{name} is {value}, not {expected}");
}

#[test]
fn reliability_is_the_share_of_valid_calls_that_returned_in_peace() {
    let calls = tally(&[
        (Intent::Valid, Verdict::Returned, false),
        (Intent::Valid, Verdict::Returned, true),
        (Intent::Valid, Verdict::Raised, false),
        (Intent::Valid, Verdict::Returned, false),
        (Intent::Boundary, Verdict::Raised, true),
    ]);
    assert_metric(&of_section(&[cell("pay", BASELINE, calls)]), "reliability", 0.5);
    let troubled = of_section(&[cell("pay", LOW, answers(1, 0))]);
    assert_eq!(troubled.get("reliability"), None);
}

#[test]
fn resilience_is_measured_against_the_baseline() {
    let metrics = of_section(&[
        cell("pay", BASELINE, answers(8, 2)),
        cell("pay", LOW, answers(6, 4)),
        cell("pay", HIGH, answers(2, 8)),
    ]);
    assert_metric(&metrics, "resilience", 0.4 / 0.8);
    assert_metric(&metrics, "antifragility", 0.2 / 0.8 - 0.6 / 0.8);
}

#[test]
fn resilience_has_ends() {
    let better =
        of_section(&[cell("pay", BASELINE, answers(1, 1)), cell("pay", LOW, answers(1, 0))]);
    assert_metric(&better, "resilience", 1.0);
    assert_eq!(better.get("antifragility"), None, "there is no high severity to compare with");
    let broken =
        of_section(&[cell("pay", BASELINE, answers(0, 2)), cell("pay", LOW, answers(1, 0))]);
    assert_metric(&broken, "resilience", 0.0);
    let alone = of_section(&[cell("pay", LOW, answers(1, 0))]);
    assert_eq!(alone.get("resilience"), None);
}

#[test]
fn safety_falls_with_harm() {
    let calls = tally(&[
        (Intent::Valid, Verdict::Crashed, true),
        (Intent::Valid, Verdict::Crashed, false),
        (Intent::Valid, Verdict::Returned, false),
        (Intent::Valid, Verdict::Returned, false),
        (Intent::Valid, Verdict::Unreachable, false),
    ]);
    assert_metric(&of_section(&[cell("pay", LOW, calls)]), "safety_rating", 1.0 - 1.25 / 4.0);
}

#[test]
fn risk_is_the_share_of_bad_calls_times_severity() {
    let calls = tally(&[
        (Intent::Valid, Verdict::Raised, true),
        (Intent::Valid, Verdict::TimedOut, false),
        (Intent::Valid, Verdict::Raised, false),
        (Intent::Valid, Verdict::Returned, false),
    ]);
    assert_metric(&of_section(&[cell("pay", BASELINE, calls.clone())]), "risk_index", 0.25);
    assert_metric(&of_section(&[cell("pay", HIGH, calls)]), "risk_index", 0.125);
}

#[test]
fn every_confirmed_failure_halves_the_chance_of_being_sound() {
    let modules = [facts(&["pay"])];
    let cells = [cell("pay", BASELINE, answers(4, 0)), cell("pay", LOW, answers(4, 0))];
    let failures = [confirmed("pay", "f1"), confirmed("pay", "f2"), confirmed("pay", "f2")];
    let measured = measured(&modules, &cells, &failures);
    assert_metric(&measured.sections[&section("pay")], "risk_index", 0.75 * 0.5);
    assert_metric(&measured.cells[0].metrics, "risk_index", 0.0);
    assert_metric(&measured.cells[1].metrics, "risk_index", 0.75 * 0.5);
    assert_metric(&measured.scenarios["hostile_input"], "risk_index", 0.75 * 0.5);
}

#[test]
fn a_failure_counts_where_no_call_did() {
    let measured = measured(&[facts(&["pay"])], &[], &[confirmed("pay", "f1")]);
    assert_metric(&measured.sections[&section("pay")], "risk_index", 0.25);
    assert_eq!(measured.sections[&section("pay")].len(), 1);
}

#[test]
fn flexibility_is_the_mean_over_kinds_of_inputs() {
    let calls = tally(&[
        (Intent::Valid, Verdict::Returned, false),
        (Intent::Misuse, Verdict::Refused, false),
        (Intent::Misuse, Verdict::Raised, false),
        (Intent::Hostile, Verdict::Raised, true),
    ]);
    assert_metric(&of_section(&[cell("pay", LOW, calls)]), "flexibility", 0.5);
}

#[test]
fn adaptability_is_the_share_of_lines_that_any_call_reached() {
    let mut module = facts(&["pay", "help"]);
    module.sections[0].lines = Some(vec![2, 3, 4, 6]);
    let mut direct = answers(1, 0);
    direct.covered.insert("shop.py".to_owned(), [2, 3, 9].into_iter().collect());
    let mut indirect = answers(1, 0);
    indirect.covered.insert("shop.py".to_owned(), [4].into_iter().collect());
    let mut alone = answers(1, 0);
    alone.covered.insert("shop.py".to_owned(), [3].into_iter().collect());
    let cells =
        [cell("pay", BASELINE, direct), cell("help", HIGH, indirect), cell("pay", HIGH, alone)];
    let measured = measured(&[module], &cells, &[]);
    assert_metric(&measured.sections[&section("pay")], "adaptability", 0.75);
    assert_metric(&measured.cells[0].metrics, "adaptability", 0.5);
    assert_eq!(measured.cells[2].metrics.get("adaptability"), None, "not all was looked at");
    assert_eq!(measured.sections[&section("help")].get("adaptability"), None);
}

#[test]
fn costs_are_those_in_peace() {
    let metrics = of_section(&[
        cell("pay", BASELINE, answers(3, 1)),
        cell("pay", HIGH, {
            let mut slow = Tally::default();
            slow.add(&call(Intent::Valid), &ended(Verdict::Returned, 5000.0), false);
            slow
        }),
    ]);
    // A median of 1 ms, known to one part in 32, at one credit a second, of a budget of 0.01.
    let efficiency = metrics.get("efficiency").unwrap();
    assert!((efficiency - 1.0 / 1.1).abs() < 0.003, "{efficiency}");
    let throughput = metrics.get("throughput").unwrap();
    assert!((throughput - 1000.0).abs() < 32.0, "{throughput}");
    assert_metric(&metrics, "energy_consumption", 0.001 * 10.0);
    assert_metric(&metrics, "revenue", 0.75 * 0.1);
    let profit = metrics.get("profitability").unwrap();
    let expected = 0.075 - 0.001 - 0.01 / 3.6e6 * 100.0;
    assert!((profit - expected).abs() < 0.0001, "{profit}");
}

#[test]
fn waiting_costs_and_noise_does_not() {
    let waits = |wall_ms: f64| {
        let mut tally = Tally::default();
        for _ in 0..4 {
            let mut outcome = ended(Verdict::Returned, 1.0);
            outcome.runtime_metrics.wall_ms = wall_ms;
            tally.add(&call(Intent::Valid), &outcome, false);
        }
        of_section(&[cell("pay", BASELINE, tally)]).get("efficiency").unwrap()
    };
    assert_close(waits(1.0), waits(9.0));
    assert!(waits(500.0) < waits(1.0) - 0.5);
}

#[test]
fn whoever_answers_nothing_is_not_efficient() {
    let metrics = of_section(&[cell("pay", BASELINE, answers(0, 3))]);
    assert_metric(&metrics, "efficiency", 0.0);
    assert_metric(&metrics, "throughput", 0.0);
    assert_metric(&metrics, "revenue", 0.0);
    assert!(metrics.get("profitability").unwrap() < 0.0);
}

#[test]
fn recovery_time_is_the_median_of_those_who_recovered() {
    let mut struck = answers(1, 0);
    for nanoseconds in [10, 20, 60] {
        struck.recovery.add(nanoseconds);
    }
    assert_metric(&of_section(&[cell("pay", LOW, struck)]), "recovery_time", 20e-9);
    let calm = of_section(&[cell("pay", LOW, answers(1, 0))]);
    assert_eq!(calm.get("recovery_time"), None);
}

#[test]
fn text_has_its_metrics() {
    let mut module = facts(&[]);
    let finding = |rule: &str, severity, confidence| Finding {
        rule: rule.to_owned(),
        severity,
        confidence,
        line: 1,
        message: String::new(),
    };
    module.findings = vec![
        finding("B602", Severity::High, Confidence::High),
        finding("B101", Severity::Medium, Confidence::Low),
        finding("M901", Severity::High, Confidence::High),
    ];
    module.lints = 5;
    let measured = measured(&[module], &[], &[]);
    let metrics = &measured.modules["shop.py"];
    // Nine and one in two hundred lines.
    assert_metric(metrics, "security_score", 1.0 / (1.0 + 5.0 / 9.0));
    assert_metric(metrics, "code_quality", 0.5);
    assert_metric(metrics, "maintainability", 0.8);
    assert_metric(metrics, "shannon_entropy", 5.0);
    assert_eq!(metrics.get("patch_complexity"), None);
}

#[test]
fn a_module_without_text_has_no_score() {
    let mut module = facts(&[]);
    module.numbers = Numbers::default();
    assert!(measured(&[module], &[], &[]).modules["shop.py"].is_empty());
}

#[test]
fn a_module_is_the_mean_of_its_sections_by_fan_in() {
    let mut module = facts(&["pay", "help", "unseen"]);
    module.sections[0].fan_in = 2;
    let cells = [cell("pay", BASELINE, answers(1, 0)), cell("help", BASELINE, answers(0, 1))];
    let measured = measured(&[module], &cells, &[]);
    assert_metric(&measured.modules["shop.py"], "reliability", 0.75);
    assert_metric(&measured.scenarios["normal"], "reliability", 0.75);
    assert!(!measured.sections.contains_key(&section("unseen")));
}

#[test]
fn a_run_is_the_mean_of_its_modules_by_fan_in() {
    let (mut known, mut other) = (facts(&["pay"]), facts(&[]));
    other.path = "other.py".to_owned();
    other.sections =
        vec![SectionFacts { id: SectionId::new("other.py", "go"), ..known.sections[0].clone() }];
    known.fan_in = 3;
    let mut missing = cell("go", BASELINE, answers(0, 1));
    missing.section = SectionId::new("other.py", "go");
    let cells = [cell("pay", BASELINE, answers(1, 0)), missing];
    assert_metric(&measured(&[known, other], &cells, &[]).run, "reliability", 0.8);
}

#[test]
fn a_meter_and_plugins_are_heard() {
    let extras = Extras {
        joules: Some(6.0),
        projected_lucrativity: Some(0.5),
        custom: [("cpu_delta", -3.0), ("safety_rating", 0.1)].into_iter().collect(),
    };
    let mut scenarios = scenarios();
    scenarios[HIGH].round_trip_ms = Some(40.0);
    let measured = measure(&Cycle {
        scenarios: &scenarios,
        modules: &[facts(&["pay"])],
        cells: &[cell("pay", HIGH, answers(3, 0))],
        failures: &[],
        prices: &Prices::default(),
        budget: &Budget::default(),
        extras: &extras,
    });
    assert_metric(&measured.run, "energy_consumption", 2.0);
    assert_metric(&measured.run, "projected_lucrativity", 0.5);
    assert_metric(&measured.run, "cpu_delta", -3.0);
    assert_metric(&measured.run, "safety_rating", 1.0);
    assert_metric(&measured.scenarios["hostile_input"], "network_latency", 40.0);
}

/// ROI of the module under the default profile.
fn module_roi(cells: &[Cell], failures: &[Confirmed]) -> f64 {
    let measured = measured(&[facts(&["pay", "help"])], cells, failures);
    let profiles = Profiles::shipped();
    let profile = profiles.get(Profiles::DEFAULT).unwrap();
    roi(profile, &measured.modules["shop.py"]).unwrap().value
}

#[test]
fn a_bug_lowers_roi_and_a_fix_raises_it() {
    let sound = [
        cell("pay", BASELINE, answers(8, 0)),
        cell("pay", LOW, answers(8, 0)),
        cell("help", BASELINE, answers(8, 0)),
    ];
    let mut buggy = sound.clone();
    buggy[1].tally = answers(7, 0);
    buggy[1].tally.merge(&tally(&[(Intent::Hostile, Verdict::Raised, true)]));
    let one = module_roi(&buggy, &[confirmed("pay", "f1")]);
    let two = module_roi(&buggy, &[confirmed("pay", "f1"), confirmed("pay", "f2")]);
    assert!(module_roi(&sound, &[]) > one + 0.01);
    assert!(one > two);
}

#[test]
fn a_bug_in_peace_lowers_roi_although_trouble_adds_nothing_to_it() {
    let before = [cell("pay", BASELINE, answers(9, 1)), cell("pay", LOW, answers(5, 5))];
    let after = [cell("pay", BASELINE, answers(6, 4)), cell("pay", LOW, answers(5, 5))];
    assert!(module_roi(&before, &[]) > module_roi(&after, &[]) + 0.01);
}

#[test]
fn failing_at_once_is_no_way_to_be_fast() {
    let slow = {
        let mut tally = Tally::default();
        tally.add(&call(Intent::Valid), &ended(Verdict::Returned, 2000.0), false);
        tally
    };
    let before = module_roi(&[cell("pay", BASELINE, slow)], &[]);
    assert!(before > module_roi(&[cell("pay", BASELINE, answers(0, 1))], &[]));
}

#[test]
fn ten_times_slower_is_less_efficient() {
    let takes = |cpu_ms: f64| {
        let mut tally = Tally::default();
        for _ in 0..5 {
            tally.add(&call(Intent::Valid), &ended(Verdict::Returned, cpu_ms), false);
        }
        of_section(&[cell("pay", BASELINE, tally)]).get("efficiency").unwrap()
    };
    for cpu_ms in [0.05, 0.5, 5.0, 50.0] {
        let (quick, slow) = (takes(cpu_ms), takes(cpu_ms * 10.0));
        assert!(slow < quick - 0.03, "{cpu_ms} ms: {quick} and {slow}");
    }
}

#[test]
fn a_call_that_was_disturbed_changes_nothing() {
    let quiet = answers(9, 0);
    let mut busy = quiet.clone();
    let mut late = ended(Verdict::Returned, 1.0);
    late.runtime_metrics.wall_ms = 900.0;
    busy.add(&call(Intent::Valid), &late, false);
    let of = |tally| of_section(&[cell("pay", BASELINE, tally)]).get("efficiency").unwrap();
    assert_close(of(quiet), of(busy));
}

fn any_cells() -> impl Strategy<Value = Vec<Cell>> {
    let intents = prop::sample::select(vec![Intent::Valid, Intent::Hostile, Intent::Misuse]);
    let one = (
        intents,
        prop::sample::select(Verdict::ALL.to_vec()),
        any::<bool>(),
        prop::num::f64::ANY,
        any::<u64>(),
    );
    let calls = prop::collection::vec(one, 0..12);
    let cell_of = (prop::sample::select(vec!["pay", "help"]), 0..3_usize, calls);
    let filled = cell_of.prop_map(|(name, scenario, calls)| {
        let mut tally = Tally::default();
        for (intent, verdict, blamed, ms, bytes) in calls {
            let mut outcome = ended(verdict, ms);
            outcome.runtime_metrics.peak_memory_bytes = bytes;
            outcome.runtime_metrics.bytes_written = bytes;
            tally.add(&call(intent), &outcome, blamed);
        }
        cell(name, scenario, tally)
    });
    prop::collection::vec(filled, 0..8)
}

proptest! {
    #[test]
    fn every_value_is_in_its_range(cells in any_cells(), failures in 0..40_usize) {
        let failures: Vec<Confirmed> =
            (0..failures).map(|number| confirmed("pay", &number.to_string())).collect();
        let measured = measured(&[facts(&["pay", "help"])], &cells, &failures);
        let all = measured
            .cells
            .iter()
            .map(|cell| &cell.metrics)
            .chain(measured.sections.values())
            .chain(measured.modules.values())
            .chain(measured.scenarios.values())
            .chain([&measured.run]);
        let profiles = Profiles::shipped();
        for metrics in all {
            for (name, value) in metrics.iter() {
                let known = metric(name).expect("it is in the table");
                prop_assert!(known.range.holds(value), "{} is {}", name, value);
            }
            for profile in profiles.iter() {
                if let Some(roi) = roi(profile, metrics) {
                    prop_assert!((-1.0 - 1e-9..=1.0 + 1e-9).contains(&roi.value));
                }
            }
        }
    }

    #[test]
    fn the_order_of_cells_does_not_matter(cells in any_cells()) {
        let modules = [facts(&["pay", "help"])];
        let mut reversed = cells.clone();
        reversed.reverse();
        let (forth, back) = (measured(&modules, &cells, &[]), measured(&modules, &reversed, &[]));
        prop_assert_eq!(forth.sections, back.sections);
        prop_assert_eq!(forth.run, back.run);
    }
}

#[test]
fn what_bursts_started_is_told_of_their_scenario_and_of_no_other() {
    let in_company = |threads, tasks| {
        let mut outcome = ended(Verdict::Returned, 1.0);
        outcome.burst = Some(menace_model::BurstReport {
            threads_spawned: threads,
            tasks_spawned: tasks,
            finished: threads + tasks,
            distinct_results: 1,
            ..menace_model::BurstReport::default()
        });
        let mut tally = Tally::default();
        tally.add(&call(Intent::Valid), &outcome, false);
        tally
    };
    let mut twice = in_company(8, 0);
    twice.merge(&in_company(8, 0));
    let cells = [
        cell("pay", BASELINE, answers(1, 0)),
        cell("pay", LOW, twice),
        cell("refund", HIGH, in_company(0, 128)),
    ];
    let measured = measured(&[facts(&["pay", "refund"])], &cells, &[]);
    let told = |name: &str, metric: &str| measured.scenarios[name].get(metric);
    assert_eq!(told("hostile_input", "concurrency_threads"), Some(16.0));
    assert_eq!(told("hostile_input", "concurrency_tasks"), Some(128.0));
    assert_eq!(told("normal", "concurrency_threads"), None);
    assert_eq!(measured.run.get("concurrency_threads"), None);
}

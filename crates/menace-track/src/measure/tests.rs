use menace_model::{
    Call, CallStage, CallStep, CallTarget, CodeMetrics, FindingConfidence, FindingSeverity,
    InputIntent, ModuleRef, Outcome, StaticFinding, TargetKind, Verdict,
};
use proptest::prelude::*;

use super::*;
use crate::metric::find_metric;
use crate::series::assert_close;
use crate::{RoiProfiles, compute_roi};

const BASELINE_SCENARIO: usize = 0;
const LOW_SCENARIO: usize = 1;
const HIGH_SCENARIO: usize = 2;

fn scenarios() -> Vec<MeasuredScenario> {
    let scenario = |name: &str, severity, is_baseline| MeasuredScenario {
        name: name.to_owned(),
        severity,
        is_baseline,
        is_adverse: !is_baseline,
        round_trip_ms: None,
    };
    vec![
        scenario("normal", None, true),
        scenario("hostile_input", Some(ScenarioSeverity::Low), false),
        scenario("hostile_input", Some(ScenarioSeverity::High), false),
    ]
}

fn call(intent: InputIntent) -> Call {
    let module = ModuleRef { name: "shop".to_owned(), path: None };
    let target = CallTarget { module, qualname: "pay".to_owned(), kind: TargetKind::Function };
    Call::of_step(CallStep { intent, ..CallStep::new(target) })
}

/// A call that takes `cpu_ms`.
fn outcome_with_cpu(verdict: Verdict, cpu_ms: f64) -> Outcome {
    let mut outcome = Outcome::new(verdict, CallStage::Call);
    outcome.runtime_metrics.user_cpu_ms = cpu_ms;
    outcome.runtime_metrics.wall_ms = cpu_ms;
    outcome
}

fn tally(calls: &[(InputIntent, Verdict, bool)]) -> CallTally {
    let mut tally = CallTally::default();
    for (intent, verdict, attributed) in calls {
        tally.add(&call(*intent), &outcome_with_cpu(*verdict, 1.0), *attributed);
    }
    tally
}

/// A tally of calls that returned, and calls that raised without being attributed.
fn tally_of_answers(returned: usize, raised: usize) -> CallTally {
    let good = [(InputIntent::Valid, Verdict::Returned, false)].repeat(returned);
    let bad = [(InputIntent::Valid, Verdict::Raised, false)].repeat(raised);
    tally(&[good, bad].concat())
}

fn section(name: &str) -> SectionId {
    SectionId::new("shop.py", name)
}

fn facts(sections: &[&str]) -> ModuleFacts {
    let mut code_metrics =
        CodeMetrics { statements: 50, maintainability: 80.0, ..CodeMetrics::default() };
    code_metrics.lines.lloc = 200;
    code_metrics.entropy = 5.0;
    ModuleFacts {
        path: "shop.py".to_owned(),
        name: "shop".to_owned(),
        code_metrics,
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
        source_change_size: None,
    }
}

fn cell(name: &str, scenario: usize, tally: CallTally) -> TalliedCell {
    TalliedCell { section: section(name), scenario, tally }
}

fn measure_sample(
    modules: &[ModuleFacts],
    cells: &[TalliedCell],
    failures: &[ConfirmedFailure],
) -> CycleMetrics {
    measure_cycle(&MeasuringInput {
        scenarios: &scenarios(),
        modules,
        cells,
        failures,
        prices: &ResourcePrices::default(),
        budget: &CallCostModel::default(),
        extras: &ExternalMeasurements::default(),
    })
}

/// Metrics of the section `pay`.
fn section_metrics(cells: &[TalliedCell]) -> MetricValues {
    measure_sample(&[facts(&["pay"])], cells, &[]).sections[&section("pay")].clone()
}

fn confirmed(name: &str, id: &str) -> ConfirmedFailure {
    ConfirmedFailure {
        id: FailureId(id.to_owned()),
        section: section(name),
        scenario: "hostile_input".to_owned(),
        kind: WeaknessKind::Unhandled,
    }
}

#[track_caller]
fn assert_metric(metrics: &MetricValues, name: &str, expected: f64) {
    let value = metrics.get(name).unwrap_or_else(|| panic!("{name} is absent"));
    assert!((value - expected).abs() < 1e-9, "{name} is {value}, not {expected}");
}

#[test]
fn reliability_is_the_share_of_valid_baseline_calls_that_returned() {
    let calls = tally(&[
        (InputIntent::Valid, Verdict::Returned, false),
        (InputIntent::Valid, Verdict::Returned, true),
        (InputIntent::Valid, Verdict::Raised, false),
        (InputIntent::Valid, Verdict::Returned, false),
        (InputIntent::Boundary, Verdict::Raised, true),
    ]);
    assert_metric(&section_metrics(&[cell("pay", BASELINE_SCENARIO, calls)]), "reliability", 0.5);
    let adverse = section_metrics(&[cell("pay", LOW_SCENARIO, tally_of_answers(1, 0))]);
    assert_eq!(adverse.get("reliability"), None);
}

#[test]
fn resilience_is_measured_against_the_baseline() {
    let metrics = section_metrics(&[
        cell("pay", BASELINE_SCENARIO, tally_of_answers(8, 2)),
        cell("pay", LOW_SCENARIO, tally_of_answers(6, 4)),
        cell("pay", HIGH_SCENARIO, tally_of_answers(2, 8)),
    ]);
    assert_metric(&metrics, "resilience", 0.4 / 0.8);
    assert_metric(&metrics, "antifragility", 0.2 / 0.8 - 0.6 / 0.8);
}

#[test]
fn resilience_has_ends() {
    let better = section_metrics(&[
        cell("pay", BASELINE_SCENARIO, tally_of_answers(1, 1)),
        cell("pay", LOW_SCENARIO, tally_of_answers(1, 0)),
    ]);
    assert_metric(&better, "resilience", 1.0);
    assert_eq!(better.get("antifragility"), None, "there is no high severity to compare with");
    let broken = section_metrics(&[
        cell("pay", BASELINE_SCENARIO, tally_of_answers(0, 2)),
        cell("pay", LOW_SCENARIO, tally_of_answers(1, 0)),
    ]);
    assert_metric(&broken, "resilience", 0.0);
    let alone = section_metrics(&[cell("pay", LOW_SCENARIO, tally_of_answers(1, 0))]);
    assert_eq!(alone.get("resilience"), None);
}

#[test]
fn safety_falls_with_harm() {
    let calls = tally(&[
        (InputIntent::Valid, Verdict::Crashed, true),
        (InputIntent::Valid, Verdict::Crashed, false),
        (InputIntent::Valid, Verdict::Returned, false),
        (InputIntent::Valid, Verdict::Returned, false),
        (InputIntent::Valid, Verdict::Unreachable, false),
    ]);
    assert_metric(
        &section_metrics(&[cell("pay", LOW_SCENARIO, calls)]),
        "safety_rating",
        1.0 - 1.25 / 4.0,
    );
}

#[test]
fn risk_is_the_share_of_bad_calls_times_severity() {
    let calls = tally(&[
        (InputIntent::Valid, Verdict::Raised, true),
        (InputIntent::Valid, Verdict::TimedOut, false),
        (InputIntent::Valid, Verdict::Raised, false),
        (InputIntent::Valid, Verdict::Returned, false),
    ]);
    assert_metric(
        &section_metrics(&[cell("pay", BASELINE_SCENARIO, calls.clone())]),
        "risk_index",
        0.25,
    );
    assert_metric(&section_metrics(&[cell("pay", HIGH_SCENARIO, calls)]), "risk_index", 0.125);
}

#[test]
fn every_confirmed_failure_halves_the_chance_of_being_sound() {
    let modules = [facts(&["pay"])];
    let cells = [
        cell("pay", BASELINE_SCENARIO, tally_of_answers(4, 0)),
        cell("pay", LOW_SCENARIO, tally_of_answers(4, 0)),
    ];
    let failures = [confirmed("pay", "f1"), confirmed("pay", "f2"), confirmed("pay", "f2")];
    let measured = measure_sample(&modules, &cells, &failures);
    assert_metric(&measured.sections[&section("pay")], "risk_index", 0.75 * 0.5);
    assert_metric(&measured.cells[0].metrics, "risk_index", 0.0);
    assert_metric(&measured.cells[1].metrics, "risk_index", 0.75 * 0.5);
    assert_metric(&measured.scenarios["hostile_input"], "risk_index", 0.75 * 0.5);
}

#[test]
fn a_failure_counts_where_no_call_did() {
    let measured = measure_sample(&[facts(&["pay"])], &[], &[confirmed("pay", "f1")]);
    assert_metric(&measured.sections[&section("pay")], "risk_index", 0.25);
    assert_eq!(measured.sections[&section("pay")].len(), 1);
}

#[test]
fn flexibility_is_the_mean_over_kinds_of_inputs() {
    let calls = tally(&[
        (InputIntent::Valid, Verdict::Returned, false),
        (InputIntent::Misuse, Verdict::Refused, false),
        (InputIntent::Misuse, Verdict::Raised, false),
        (InputIntent::Hostile, Verdict::Raised, true),
    ]);
    assert_metric(&section_metrics(&[cell("pay", LOW_SCENARIO, calls)]), "flexibility", 0.5);
}

#[test]
fn adaptability_is_the_share_of_lines_that_any_call_reached() {
    let mut module = facts(&["pay", "help"]);
    module.sections[0].lines = Some(vec![2, 3, 4, 6]);
    let mut direct = tally_of_answers(1, 0);
    direct.reached_lines.insert("shop.py".to_owned(), [2, 3, 9].into_iter().collect());
    let mut indirect = tally_of_answers(1, 0);
    indirect.reached_lines.insert("shop.py".to_owned(), [4].into_iter().collect());
    let mut alone = tally_of_answers(1, 0);
    alone.reached_lines.insert("shop.py".to_owned(), [3].into_iter().collect());
    let cells = [
        cell("pay", BASELINE_SCENARIO, direct),
        cell("help", HIGH_SCENARIO, indirect),
        cell("pay", HIGH_SCENARIO, alone),
    ];
    let measured = measure_sample(&[module], &cells, &[]);
    assert_metric(&measured.sections[&section("pay")], "adaptability", 0.75);
    assert_metric(&measured.cells[0].metrics, "adaptability", 0.5);
    assert_eq!(measured.cells[2].metrics.get("adaptability"), None, "not all was looked at");
    assert_eq!(measured.sections[&section("help")].get("adaptability"), None);
}

#[test]
fn costs_are_those_of_the_baseline() {
    let metrics = section_metrics(&[
        cell("pay", BASELINE_SCENARIO, tally_of_answers(3, 1)),
        cell("pay", HIGH_SCENARIO, {
            let mut slow = CallTally::default();
            slow.add(
                &call(InputIntent::Valid),
                &outcome_with_cpu(Verdict::Returned, 5000.0),
                false,
            );
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
        let mut tally = CallTally::default();
        for _ in 0..4 {
            let mut outcome = outcome_with_cpu(Verdict::Returned, 1.0);
            outcome.runtime_metrics.wall_ms = wall_ms;
            tally.add(&call(InputIntent::Valid), &outcome, false);
        }
        section_metrics(&[cell("pay", BASELINE_SCENARIO, tally)]).get("efficiency").unwrap()
    };
    assert_close(waits(1.0), waits(9.0));
    assert!(waits(500.0) < waits(1.0) - 0.5);
}

#[test]
fn a_section_that_answers_nothing_is_not_efficient() {
    let metrics = section_metrics(&[cell("pay", BASELINE_SCENARIO, tally_of_answers(0, 3))]);
    assert_metric(&metrics, "efficiency", 0.0);
    assert_metric(&metrics, "throughput", 0.0);
    assert_metric(&metrics, "revenue", 0.0);
    assert!(metrics.get("profitability").unwrap() < 0.0);
}

#[test]
fn recovery_time_is_the_median_of_recovered_calls() {
    let mut faulted = tally_of_answers(1, 0);
    for nanoseconds in [10, 20, 60] {
        faulted.recovery.add(nanoseconds);
    }
    assert_metric(&section_metrics(&[cell("pay", LOW_SCENARIO, faulted)]), "recovery_time", 20e-9);
    let calm = section_metrics(&[cell("pay", LOW_SCENARIO, tally_of_answers(1, 0))]);
    assert_eq!(calm.get("recovery_time"), None);
}

#[test]
fn text_has_its_metrics() {
    let mut module = facts(&[]);
    let finding = |rule: &str, severity, confidence| StaticFinding {
        rule: rule.to_owned(),
        severity,
        confidence,
        line: 1,
        message: String::new(),
    };
    module.findings = vec![
        finding("B602", FindingSeverity::High, FindingConfidence::High),
        finding("B101", FindingSeverity::Medium, FindingConfidence::Low),
        finding("M901", FindingSeverity::High, FindingConfidence::High),
    ];
    module.lints = 5;
    let measured = measure_sample(&[module], &[], &[]);
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
    module.code_metrics = CodeMetrics::default();
    assert!(measure_sample(&[module], &[], &[]).modules["shop.py"].is_empty());
}

#[test]
fn a_module_is_the_mean_of_its_sections_by_fan_in() {
    let mut module = facts(&["pay", "help", "unseen"]);
    module.sections[0].fan_in = 2;
    let cells = [
        cell("pay", BASELINE_SCENARIO, tally_of_answers(1, 0)),
        cell("help", BASELINE_SCENARIO, tally_of_answers(0, 1)),
    ];
    let measured = measure_sample(&[module], &cells, &[]);
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
    let mut missing = cell("go", BASELINE_SCENARIO, tally_of_answers(0, 1));
    missing.section = SectionId::new("other.py", "go");
    let cells = [cell("pay", BASELINE_SCENARIO, tally_of_answers(1, 0)), missing];
    assert_metric(&measure_sample(&[known, other], &cells, &[]).run, "reliability", 0.8);
}

#[test]
fn a_meter_and_plugins_add_metrics() {
    let extras = ExternalMeasurements {
        joules: Some(6.0),
        projected_lucrativity: Some(0.5),
        custom: [("cpu_delta", -3.0), ("safety_rating", 0.1)].into_iter().collect(),
    };
    let mut scenarios = scenarios();
    scenarios[HIGH_SCENARIO].round_trip_ms = Some(40.0);
    let measured = measure_cycle(&MeasuringInput {
        scenarios: &scenarios,
        modules: &[facts(&["pay"])],
        cells: &[cell("pay", HIGH_SCENARIO, tally_of_answers(3, 0))],
        failures: &[],
        prices: &ResourcePrices::default(),
        budget: &CallCostModel::default(),
        extras: &extras,
    });
    assert_metric(&measured.run, "energy_consumption", 2.0);
    assert_metric(&measured.run, "projected_lucrativity", 0.5);
    assert_metric(&measured.run, "cpu_delta", -3.0);
    assert_metric(&measured.run, "safety_rating", 1.0);
    assert_metric(&measured.scenarios["hostile_input"], "network_latency", 40.0);
}

/// ROI of the module under the default profile.
fn module_roi(cells: &[TalliedCell], failures: &[ConfirmedFailure]) -> f64 {
    let measured = measure_sample(&[facts(&["pay", "help"])], cells, failures);
    let profiles = RoiProfiles::shipped();
    let profile = profiles.get(RoiProfiles::DEFAULT_NAME).unwrap();
    compute_roi(profile, &measured.modules["shop.py"]).unwrap().value
}

#[test]
fn a_bug_lowers_roi_and_a_fix_raises_it() {
    let sound = [
        cell("pay", BASELINE_SCENARIO, tally_of_answers(8, 0)),
        cell("pay", LOW_SCENARIO, tally_of_answers(8, 0)),
        cell("help", BASELINE_SCENARIO, tally_of_answers(8, 0)),
    ];
    let mut buggy = sound.clone();
    buggy[1].tally = tally_of_answers(7, 0);
    buggy[1].tally.merge(&tally(&[(InputIntent::Hostile, Verdict::Raised, true)]));
    let one = module_roi(&buggy, &[confirmed("pay", "f1")]);
    let two = module_roi(&buggy, &[confirmed("pay", "f1"), confirmed("pay", "f2")]);
    assert!(module_roi(&sound, &[]) > one + 0.01);
    assert!(one > two);
}

#[test]
fn a_bug_under_the_baseline_lowers_roi_although_faults_add_nothing_to_it() {
    let before = [
        cell("pay", BASELINE_SCENARIO, tally_of_answers(9, 1)),
        cell("pay", LOW_SCENARIO, tally_of_answers(5, 5)),
    ];
    let after = [
        cell("pay", BASELINE_SCENARIO, tally_of_answers(6, 4)),
        cell("pay", LOW_SCENARIO, tally_of_answers(5, 5)),
    ];
    assert!(module_roi(&before, &[]) > module_roi(&after, &[]) + 0.01);
}

#[test]
fn failing_at_once_is_no_way_to_be_fast() {
    let slow = {
        let mut tally = CallTally::default();
        tally.add(&call(InputIntent::Valid), &outcome_with_cpu(Verdict::Returned, 2000.0), false);
        tally
    };
    let before = module_roi(&[cell("pay", BASELINE_SCENARIO, slow)], &[]);
    assert!(before > module_roi(&[cell("pay", BASELINE_SCENARIO, tally_of_answers(0, 1))], &[]));
}

#[test]
fn ten_times_slower_is_less_efficient() {
    let takes = |cpu_ms: f64| {
        let mut tally = CallTally::default();
        for _ in 0..5 {
            tally.add(
                &call(InputIntent::Valid),
                &outcome_with_cpu(Verdict::Returned, cpu_ms),
                false,
            );
        }
        section_metrics(&[cell("pay", BASELINE_SCENARIO, tally)]).get("efficiency").unwrap()
    };
    for cpu_ms in [0.05, 0.5, 5.0, 50.0] {
        let (quick, slow) = (takes(cpu_ms), takes(cpu_ms * 10.0));
        assert!(slow < quick - 0.03, "{cpu_ms} ms: {quick} and {slow}");
    }
}

#[test]
fn a_call_that_was_disturbed_changes_nothing() {
    let quiet = tally_of_answers(9, 0);
    let mut busy = quiet.clone();
    let mut late = outcome_with_cpu(Verdict::Returned, 1.0);
    late.runtime_metrics.wall_ms = 900.0;
    busy.add(&call(InputIntent::Valid), &late, false);
    let of = |tally| {
        section_metrics(&[cell("pay", BASELINE_SCENARIO, tally)]).get("efficiency").unwrap()
    };
    assert_close(of(quiet), of(busy));
}

fn any_cells() -> impl Strategy<Value = Vec<TalliedCell>> {
    let intents =
        prop::sample::select(vec![InputIntent::Valid, InputIntent::Hostile, InputIntent::Misuse]);
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
        let mut tally = CallTally::default();
        for (intent, verdict, attributed, ms, bytes) in calls {
            let mut outcome = outcome_with_cpu(verdict, ms);
            outcome.runtime_metrics.peak_memory_bytes = bytes;
            outcome.runtime_metrics.bytes_written = bytes;
            tally.add(&call(intent), &outcome, attributed);
        }
        cell(name, scenario, tally)
    });
    prop::collection::vec(filled, 0..8)
}

proptest! {
    #[test]
    fn every_value_is_in_its_range(cells in any_cells(), failures in 0..40_usize) {
        let failures: Vec<ConfirmedFailure> =
            (0..failures).map(|number| confirmed("pay", &number.to_string())).collect();
        let measured = measure_sample(&[facts(&["pay", "help"])], &cells, &failures);
        let all = measured
            .cells
            .iter()
            .map(|cell| &cell.metrics)
            .chain(measured.sections.values())
            .chain(measured.modules.values())
            .chain(measured.scenarios.values())
            .chain([&measured.run]);
        let profiles = RoiProfiles::shipped();
        for metrics in all {
            for (name, value) in metrics.iter() {
                let known = find_metric(name).expect("it is in the table");
                prop_assert!(known.range.contains(value), "{} is {}", name, value);
            }
            for profile in profiles.iter() {
                if let Some(roi) = compute_roi(profile, metrics) {
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
        let forth = measure_sample(&modules, &cells, &[]);
        let back = measure_sample(&modules, &reversed, &[]);
        prop_assert_eq!(forth.sections, back.sections);
        prop_assert_eq!(forth.run, back.run);
    }
}

#[test]
fn what_bursts_started_is_counted_for_their_scenario_only() {
    let in_burst = |threads, tasks| {
        let mut outcome = outcome_with_cpu(Verdict::Returned, 1.0);
        outcome.burst = Some(menace_model::BurstReport {
            threads_spawned: threads,
            tasks_spawned: tasks,
            finished: threads + tasks,
            distinct_results: 1,
            ..menace_model::BurstReport::default()
        });
        let mut tally = CallTally::default();
        tally.add(&call(InputIntent::Valid), &outcome, false);
        tally
    };
    let mut twice = in_burst(8, 0);
    twice.merge(&in_burst(8, 0));
    let cells = [
        cell("pay", BASELINE_SCENARIO, tally_of_answers(1, 0)),
        cell("pay", LOW_SCENARIO, twice),
        cell("refund", HIGH_SCENARIO, in_burst(0, 128)),
    ];
    let measured = measure_sample(&[facts(&["pay", "refund"])], &cells, &[]);
    let metric_of = |name: &str, metric: &str| measured.scenarios[name].get(metric);
    assert_eq!(metric_of("hostile_input", "concurrency_threads"), Some(16.0));
    assert_eq!(metric_of("hostile_input", "concurrency_tasks"), Some(128.0));
    assert_eq!(metric_of("normal", "concurrency_threads"), None);
    assert_eq!(measured.run.get("concurrency_threads"), None);
}

use super::*;
use crate::metric::synergy_metric_name;
use crate::series::assert_close;
use crate::stats::evidence::DecisionAnswer;
use crate::{CycleMetrics, ModuleFacts, RoiProfile, RoiProfiles, SynergyDelta, score_cycle};
use menace_model::{CodeMetrics, SectionId};
use serde_json::json;

fn profile() -> RoiProfile {
    let text = "profiles: {mine: {weights: {reliability: 0.5, risk_index: -0.5}}}";
    RoiProfiles::parse(text, &[]).unwrap().get("mine").unwrap().clone()
}

fn facts() -> ModuleFacts {
    ModuleFacts {
        path: "shop.py".to_owned(),
        name: "shop".to_owned(),
        code_metrics: CodeMetrics::default(),
        findings: Vec::new(),
        lints: 0,
        fan_in: 0,
        severity: 0.5,
        sections: Vec::new(),
        source_change_size: None,
    }
}

fn cycle_metrics(reliability: f64, risk: f64) -> CycleMetrics {
    let metrics: MetricValues =
        [("reliability", reliability), ("risk_index", risk)].into_iter().collect();
    let mut measured = CycleMetrics { run: metrics.clone(), ..CycleMetrics::default() };
    measured.modules.insert("shop.py".to_owned(), metrics.clone());
    measured.sections.insert(SectionId::new("shop.py", "pay"), metrics.clone());
    measured.scenarios.insert("hostile_input".to_owned(), metrics);
    measured
}

/// A tracker with one cycle for each reliability.
fn tracker_after(cycles: &[f64]) -> Tracker {
    let mut tracker = Tracker::default();
    for reliability in cycles {
        let report =
            score_cycle(&cycle_metrics(*reliability, 0.0), &[facts()], &profile(), &tracker);
        tracker.update(&report);
    }
    tracker
}

#[test]
fn deltas_are_against_the_cycle_before() {
    let tracker = tracker_after(&[0.4, 0.8, 0.6]);
    let history = tracker.history();
    assert_eq!(history.cycles, 3);
    assert_eq!(history.roi_history.len(), 3);
    for deltas in [
        &history.roi_deltas,
        &history.module_deltas["shop.py"],
        &history.section_deltas["shop.py::pay"],
        &history.scenario_roi_deltas["hostile_input"],
    ] {
        assert_eq!(deltas.len(), 2, "the first cycle has nothing to compare with");
        assert_close(deltas[0], 0.2);
        assert_close(deltas[1], -0.1);
    }
    assert_eq!(history.metrics_history["reliability"], [0.4, 0.8, 0.6]);
    assert_eq!(history.metrics_history["hostile_input:reliability"], [0.4, 0.8, 0.6]);
}

#[test]
fn raroi_knows_risk_and_restlessness() {
    let calm = tracker_after(&[1.0]);
    let report = score_cycle(&cycle_metrics(1.0, 0.25), &[facts()], &profile(), &calm);
    let module = &report.modules["shop.py"];
    let roi = 0.5 - 0.125;
    // With a single delta, stability is 1. A risk index is probability × severity already.
    assert_close(module.roi_value().unwrap(), roi);
    assert_close(module.raroi.unwrap(), roi * 0.75);
    assert_close(report.run.raroi.unwrap(), roi * 0.75);
    assert_eq!(report.worst_scenario(), Some("hostile_input"));
}

#[test]
fn returns_diminish_when_deltas_are_small_and_steady() {
    let rule =
        DiminishingReturnsRule { threshold: 0.01, consecutive: 3, epsilon: 0.005, confidence: 0.9 };
    let decided = |cycles: &[f64], rule: DiminishingReturnsRule| {
        let decisions =
            tracker_after(cycles).check_diminishing_returns(rule, ["shop.py", "new.py"]);
        assert_eq!(decisions["new.py"].answer, DecisionAnswer::TooFewSamples);
        decisions["shop.py"].answer
    };
    assert_eq!(decided(&[0.1, 0.8, 0.801, 0.802, 0.803], rule), DecisionAnswer::Yes);
    assert_eq!(decided(&[0.801, 0.802, 0.803], rule), DecisionAnswer::TooFewSamples);
    assert_eq!(decided(&[0.8, 0.7, 0.8, 0.7, 0.8], rule), DecisionAnswer::No, "it swings");
    assert_eq!(decided(&[0.1, 0.3, 0.5, 0.7], rule), DecisionAnswer::No, "it still grows");
    let wide = DiminishingReturnsRule { threshold: 0.1, ..rule };
    assert_eq!(
        decided(&[0.8, 0.7, 0.8, 0.7], wide),
        DecisionAnswer::No,
        "the mean alone does not decide"
    );
}

#[test]
fn synergy_is_attributed_and_ranked() {
    let mut tracker = tracker_after(&[0.5]);
    let mut report = score_cycle(&cycle_metrics(0.5, 0.0), &[facts()], &profile(), &tracker);
    let metrics: MetricValues =
        [(SYNERGY_ROI.to_owned(), 0.25), (synergy_metric_name("revenue"), 1.0)]
            .into_iter()
            .collect();
    let synergy = SynergyDelta { metrics, modules: ["shop.py".to_owned()].into() };
    report.scenario_synergy.insert("hostile_input".to_owned(), synergy.clone());
    report.synergy = Some(synergy);
    tracker.update(&report);
    let history = tracker.history();
    assert_eq!(history.metrics_history["synergy_roi"], [0.25]);
    assert_eq!(history.metrics_history["hostile_input:synergy_revenue"], [1.0]);
    assert_eq!(history.synergy_history.len(), 1);
    assert_eq!(history.scenario_synergy["hostile_input"].len(), 1);
    let ranks = tracker.rankings();
    assert_eq!(ranks[0].module, "shop.py");
    assert_close(ranks[0].gain, 0.25);
}

#[test]
fn modules_are_ranked_by_raroi() {
    let history: RoiHistory = serde_json::from_value(json!({
        "module_roi": {"a.py": [0.9], "b.py": [0.5]},
        "module_raroi": {"a.py": [0.1], "b.py": [0.4]},
        "module_deltas": {"old.py": [0.1, 0.1]},
    }))
    .unwrap();
    let ranks = Tracker::new(history).rankings();
    let order: Vec<&str> = ranks.iter().map(|rank| rank.module.as_str()).collect();
    assert_eq!(order, ["b.py", "old.py", "a.py"]);
    assert_close(ranks[1].roi, 0.2);
}

#[test]
fn forecasts_are_compared_with_what_came() {
    let mut tracker = Tracker::default();
    assert_eq!(tracker.rolling_mae(None), None);
    tracker.record_prediction(0.5, 0.6);
    tracker.record_prediction(0.5, 0.8);
    tracker.record_metric_prediction("flexibility", 1.0, 0.5);
    tracker.record_metric_prediction("flexibility", f64::NAN, 0.5);
    assert_close(tracker.rolling_mae(None).unwrap(), 0.2);
    assert_close(tracker.rolling_mae(Some(1)).unwrap(), 0.3);
    assert_close(tracker.rolling_mae_metric("flexibility", None).unwrap(), 0.5);
    assert_eq!(tracker.reliability(Some("flexibility"), None), None, "nothing was before it");
    assert_eq!(tracker.history().predicted_metrics["flexibility"], [1.0]);
}

#[test]
fn reliability_is_measured_against_saying_that_all_stays_as_it_is() {
    // The history has a value before the first pair.
    let of = |predicted: &[f64], window| {
        Tracker::new(RoiHistory {
            roi_history: vec![0.1, 0.3, 0.2, 0.4],
            predicted_roi: predicted.to_vec(),
            actual_roi: vec![0.3, 0.2, 0.4],
            ..RoiHistory::default()
        })
        .reliability(None, window)
        .unwrap()
    };
    assert_close(of(&[0.3, 0.2, 0.4], None), 1.0);
    assert_close(of(&[0.1, 0.3, 0.2], None), 0.5);
    assert_close(of(&[0.0, 0.0, 0.0], None), 0.5 / 1.4);
    assert_close(of(&[0.0, 0.0, 0.4], Some(1)), 1.0);
    let still = |predicted: f64| {
        let mut tracker =
            Tracker::new(RoiHistory { roi_history: vec![0.5], ..RoiHistory::default() });
        tracker.record_prediction(predicted, 0.5);
        tracker.history.roi_history.push(0.5);
        tracker.reliability(None, None)
    };
    assert_eq!((still(0.5), still(0.6)), (Some(1.0), Some(0.0)));
}

#[test]
fn a_projection_follows_the_recent_values() {
    assert_eq!(tracker_after(&[0.1, 0.2]).project_metric("reliability"), None);
    assert_close(tracker_after(&[0.1, 0.2, 0.3]).project_metric("reliability").unwrap(), 0.4);
}

#[test]
fn a_history_comes_back_with_what_it_does_not_know() {
    let written = json!({
        "roi_history": [0.2, 0.4, 0.5],
        "metrics_history": {"synergy_security_score": [0.01, 0.03, 0.02]},
        "module_entropy_deltas": {"m.py": [0.5]},
        "version": 7,
    });
    let history: RoiHistory = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(history.roi_history, [0.2, 0.4, 0.5]);
    let back = serde_json::to_value(&history).unwrap();
    for (key, value) in written.as_object().unwrap() {
        assert_eq!(&back[key], value, "{key}");
    }
    assert_eq!(serde_json::from_value::<RoiHistory>(back).unwrap(), history);
}

#[test]
fn the_keys_of_the_file_stay() {
    let tracker = tracker_after(&[0.5, 0.75]);
    insta::assert_json_snapshot!(tracker.history());
}

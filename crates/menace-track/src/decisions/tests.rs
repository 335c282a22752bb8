use super::*;
use crate::series::assert_close;
use crate::stats::entropy::SourceDelta;
use crate::stats::evidence::DecisionCheck;
use crate::{MetricValues, RoiHistory};

fn history_after(deltas: &[f64]) -> RoiHistory {
    let mut history = RoiHistory { roi_deltas: deltas.to_vec(), ..RoiHistory::default() };
    history.module_deltas.insert("m.py".to_owned(), deltas.to_vec());
    history
}

fn decide(history: RoiHistory, rules: &ConvergenceRules) -> ConvergenceReport {
    Tracker::new(history).decide_convergence(rules, ["m.py"])
}

#[test]
fn converged_gains_end_a_run_with_evidence_and_others_do_not() {
    let converged = decide(history_after(&[0.2, 0.0, 0.0, 0.0]), &ConvergenceRules::default());
    assert!(converged.converged);
    assert_eq!(converged.converged_modules().collect::<Vec<_>>(), ["m.py"]);
    let evidence = converged.modules["m.py"].evidence_for(DecisionCheck::Equivalence).unwrap();
    assert_eq!((evidence.samples, evidence.p_value), (3, Some(0.0)));
    let gaining = decide(history_after(&[0.2, 0.1, 0.1, 0.1]), &ConvergenceRules::default());
    assert!(!gaining.converged);
    assert_eq!(gaining.converged_modules().count(), 0);
    let new = decide(RoiHistory::default(), &ConvergenceRules::default());
    assert_eq!(new.roi.answer, DecisionAnswer::TooFewSamples);
    assert!(!new.converged);
}

#[test]
fn steady_gains_have_not_converged_however_noisy_earlier_cycles_are() {
    for deltas in [
        &[0.25, 0.1, 0.1, 0.1][..],
        &[0.9, -0.9, 0.04, 0.04, 0.04],
        &[0.0, 0.0, 0.0, 0.0, 0.05, 0.05, 0.05],
        &[-0.3, -0.05, -0.05, -0.05],
    ] {
        let judged = decide(history_after(deltas), &ConvergenceRules::default());
        assert!(!judged.converged && judged.converged_modules().count() == 0, "{deltas:?}");
    }
    let restless = decide(history_after(&[0.9, 0.0, 0.0, 0.0]), &ConvergenceRules::default());
    assert_eq!(restless.roi_threshold_source, ThresholdSource::History);
    assert_close(restless.roi_threshold, 0.02);
    assert!(restless.converged, "what is nothing stays nothing");
}

#[test]
fn a_confidence_that_three_noisy_gains_cannot_give_keeps_a_run_going() {
    let noisy = [0.004, -0.004, 0.003];
    let rules =
        |confidence| ConvergenceRules { roi_confidence: confidence, ..ConvergenceRules::default() };
    assert!(decide(history_after(&noisy), &rules(0.9)).converged);
    assert!(!decide(history_after(&noisy), &rules(0.99)).converged);
}

#[test]
fn cycles_and_threshold_are_what_the_settings_say() {
    let deltas = [0.0, 0.03, 0.03, 0.03];
    let rules = ConvergenceRules { roi_threshold: Some(0.05), ..ConvergenceRules::default() };
    let wide = decide(history_after(&deltas), &rules);
    assert!(wide.converged);
    assert_eq!(wide.roi_threshold_source, ThresholdSource::Fixed);
    assert!(!decide(history_after(&deltas), &ConvergenceRules::default()).converged);
    let more = ConvergenceRules { roi_cycles: Some(5), ..rules };
    assert_eq!(decide(history_after(&deltas), &more).roi.needed, 5);
}

#[test]
fn forecasts_better_than_the_last_value_lower_the_threshold_and_worse_ones_raise_it() {
    let mut history = history_after(&[0.0; 4]);
    let came = [0.2, -0.4, 0.6, -0.1, 0.3];
    history.actual_roi = came.to_vec();
    let tolerance = |off: f64, history: &RoiHistory| {
        let predicted_roi = came.iter().map(|value| value + off).collect();
        decide(RoiHistory { predicted_roi, ..history.clone() }, &ConvergenceRules::default())
            .roi_tolerance
    };
    // Predicting the last value has an error of 0.675 on average.
    assert!(tolerance(0.8, &history) > 0.0102);
    assert!(tolerance(-0.3, &history) < 0.0085);
    let trusted = decide(
        RoiHistory { predicted_roi: came.to_vec(), ..history.clone() },
        &ConvergenceRules::default(),
    );
    assert_close(trusted.roi_tolerance, 0.005);
    assert_eq!(trusted.roi_threshold_source, ThresholdSource::Tolerance);
}

#[test]
fn modules_that_cancel_each_other_out_keep_a_run_going() {
    let mut history = RoiHistory { roi_deltas: vec![0.0; 4], ..RoiHistory::default() };
    history.module_deltas.insert("up.py".to_owned(), vec![0.1; 4]);
    history.module_deltas.insert("down.py".to_owned(), vec![-0.1; 4]);
    let tracker = Tracker::new(history);
    let both = tracker.decide_convergence(&ConvergenceRules::default(), ["up.py", "down.py"]);
    assert!(both.roi.is_yes() && !both.converged, "{both:?}");
    // A module with too little history prevents convergence, too.
    let new = tracker.decide_convergence(&ConvergenceRules::default(), ["new.py"]);
    assert!(new.roi.is_yes() && !new.converged);
    assert!(tracker.decide_convergence(&ConvergenceRules::default(), []).converged);
}

#[test]
fn synergy_that_still_moves_keeps_a_run_going() {
    let mut history = history_after(&[0.0; 6]);
    let moving: Vec<f64> = (0..8_u32).map(|step| f64::from(step) * 0.1).collect();
    history.metrics_history.insert("synergy_roi".to_owned(), moving);
    let judged_moving = decide(history.clone(), &ConvergenceRules::default());
    assert!(judged_moving.roi.is_yes() && !judged_moving.converged);
    history.metrics_history.insert("synergy_roi".to_owned(), vec![0.0; 8]);
    let rules = ConvergenceRules { synergy_threshold: Some(0.01), ..ConvergenceRules::default() };
    let calm = decide(history, &rules);
    assert!(calm.converged, "{:?}", calm.synergy);
}

#[test]
fn the_synergy_threshold_follows_from_how_far_predictions_were_off() {
    let mut history = history_after(&[0.0; 6]);
    history.metrics_history.insert("synergy_roi".to_owned(), vec![0.0; 6]);
    assert_close(decide(history.clone(), &ConvergenceRules::default()).synergy_threshold, 0.0);
    history.predicted_metrics.insert("synergy_roi".to_owned(), vec![0.1, -0.1, 0.1, -0.1]);
    history.actual_metrics.insert("synergy_roi".to_owned(), vec![0.0; 4]);
    assert!(decide(history, &ConvergenceRules::default()).synergy_threshold > 0.05);
}

#[test]
fn a_synergy_history_without_predictions_has_a_threshold_too() {
    let mut history = history_after(&[0.0; 6]);
    let restless = vec![0.05, 0.04, 0.05, 0.06, 0.05, 0.04, 0.06, 0.05];
    history.metrics_history.insert("synergy_roi".to_owned(), restless);
    let alone = decide(history.clone(), &ConvergenceRules::default());
    assert!(alone.synergy_threshold > 0.01, "{}", alone.synergy_threshold);
    assert!(alone.converged, "{:?}", alone.synergy);
    // The errors of good predictions are used instead.
    for of in [&mut history.predicted_metrics, &mut history.actual_metrics] {
        of.insert("synergy_roi".to_owned(), vec![0.05; 4]);
    }
    assert_close(decide(history, &ConvergenceRules::default()).synergy_threshold, 0.0);
}

#[test]
fn synergy_that_stays_where_it_is_has_come_to_rest() {
    let mut history = history_after(&[0.0; 6]);
    for histories in
        [&mut history.metrics_history, &mut history.predicted_metrics, &mut history.actual_metrics]
    {
        histories.insert("synergy_roi".to_owned(), vec![0.05; 8]);
    }
    assert!(decide(history.clone(), &ConvergenceRules::default()).converged);
    // An explicit threshold requires synergy close to zero.
    let near = ConvergenceRules { synergy_threshold: Some(0.01), ..ConvergenceRules::default() };
    assert!(!decide(history, &near).converged);
}

#[test]
fn a_synergy_metric_that_is_not_measured_any_more_keeps_nothing_open() {
    let mut history = history_after(&[0.0; 6]);
    history.metrics_history.insert("synergy_roi".to_owned(), vec![0.0; 6]);
    history.metrics_history.insert("synergy_flexibility".to_owned(), vec![0.5]);
    let phase = |names: &[&str]| names.iter().map(|name| (*name, 0.0)).collect::<MetricValues>();
    history.synergy_history = vec![phase(&["synergy_roi", "synergy_flexibility"])];
    assert!(!decide(history.clone(), &ConvergenceRules::default()).converged, "it is new");
    history.synergy_history.extend(vec![phase(&["synergy_roi"]); 3]);
    let gone = decide(history, &ConvergenceRules::default());
    assert!(gone.converged, "{:?}", gone.synergy);
    assert_eq!(gone.synergy.metrics.len(), 1);
}

#[test]
fn a_module_whose_entropy_no_longer_pays_is_complete() {
    let mut history = history_after(&[0.1]);
    let source_change =
        SourceDelta { roi_delta: 0.0001, entropy_delta: 0.5, complexity_delta: 5.0 };
    history.module_source_changes.insert("m.py".to_owned(), vec![source_change; 3]);
    history.module_entropy_deltas.insert("m.py".to_owned(), vec![0.1; 3]);
    let complete = decide(history.clone(), &ConvergenceRules::default());
    assert_eq!(complete.entropy_capped_modules().collect::<Vec<_>>(), ["m.py"]);
    let strict = ConvergenceRules { entropy_threshold: Some(0.0), ..ConvergenceRules::default() };
    assert_eq!(decide(history.clone(), &strict).entropy_capped_modules().count(), 0);
    let level = ConvergenceRules { entropy_plateau_threshold: Some(0.2), ..strict };
    assert_eq!(decide(history, &level).entropy_capped_modules().collect::<Vec<_>>(), ["m.py"]);
}

use super::*;
use crate::series::assert_close;
use crate::stats::entropy::Patch;
use crate::stats::evidence::Check;
use crate::{History, Metrics};

fn after(deltas: &[f64]) -> History {
    let mut history = History { roi_deltas: deltas.to_vec(), ..History::default() };
    history.module_deltas.insert("m.py".to_owned(), deltas.to_vec());
    history
}

fn judged(history: History, rules: &Rules) -> Judgement {
    Tracker::new(history).judge(rules, ["m.py"])
}

#[test]
fn gains_that_fade_end_a_run_with_evidence_and_gains_that_do_not_go_on() {
    let faded = judged(after(&[0.2, 0.0, 0.0, 0.0]), &Rules::default());
    assert!(faded.converged);
    assert_eq!(faded.faded().collect::<Vec<_>>(), ["m.py"]);
    let evidence = faded.modules["m.py"].about(Check::Equivalence).unwrap();
    assert_eq!((evidence.samples, evidence.p_value), (3, Some(0.0)));
    let gaining = judged(after(&[0.2, 0.1, 0.1, 0.1]), &Rules::default());
    assert!(!gaining.converged);
    assert_eq!(gaining.faded().count(), 0);
    let new = judged(History::default(), &Rules::default());
    assert_eq!(new.roi.verdict, Verdict::TooFewSamples);
    assert!(!new.converged);
}

#[test]
fn steady_gains_have_not_faded_however_restless_the_cycles_before_them() {
    for deltas in [
        &[0.25, 0.1, 0.1, 0.1][..],
        &[0.9, -0.9, 0.04, 0.04, 0.04],
        &[0.0, 0.0, 0.0, 0.0, 0.05, 0.05, 0.05],
        &[-0.3, -0.05, -0.05, -0.05],
    ] {
        let judged = judged(after(deltas), &Rules::default());
        assert!(!judged.converged && judged.faded().count() == 0, "{deltas:?}");
    }
    let restless = judged(after(&[0.9, 0.0, 0.0, 0.0]), &Rules::default());
    assert_eq!(restless.roi_threshold_source, Source::History);
    assert_close(restless.roi_threshold, 0.02);
    assert!(restless.converged, "what is nothing stays nothing");
}

#[test]
fn a_confidence_that_three_noisy_gains_cannot_give_keeps_a_run_going() {
    let noisy = [0.004, -0.004, 0.003];
    let rules = |confidence| Rules { roi_confidence: confidence, ..Rules::default() };
    assert!(judged(after(&noisy), &rules(0.9)).converged);
    assert!(!judged(after(&noisy), &rules(0.99)).converged);
}

#[test]
fn cycles_and_threshold_are_what_the_settings_say() {
    let deltas = [0.0, 0.03, 0.03, 0.03];
    let rules = Rules { roi_threshold: Some(0.05), ..Rules::default() };
    let wide = judged(after(&deltas), &rules);
    assert!(wide.converged);
    assert_eq!(wide.roi_threshold_source, Source::Fixed);
    assert!(!judged(after(&deltas), &Rules::default()).converged);
    let more = Rules { roi_cycles: Some(5), ..rules };
    assert_eq!(judged(after(&deltas), &more).roi.needed, 5);
}

#[test]
fn forecasts_better_than_the_last_value_lower_the_threshold_and_worse_ones_raise_it() {
    let mut history = after(&[0.0; 4]);
    let came = [0.2, -0.4, 0.6, -0.1, 0.3];
    history.actual_roi = came.to_vec();
    let tolerance = |off: f64, history: &History| {
        let predicted_roi = came.iter().map(|value| value + off).collect();
        judged(History { predicted_roi, ..history.clone() }, &Rules::default()).roi_tolerance
    };
    // The last value is off by 0.675 on average.
    assert!(tolerance(0.8, &history) > 0.0102);
    assert!(tolerance(-0.3, &history) < 0.0085);
    let trusted =
        judged(History { predicted_roi: came.to_vec(), ..history.clone() }, &Rules::default());
    assert_close(trusted.roi_tolerance, 0.005);
    assert_eq!(trusted.roi_threshold_source, Source::Tolerance);
}

#[test]
fn modules_that_cancel_each_other_out_keep_a_run_going() {
    let mut history = History { roi_deltas: vec![0.0; 4], ..History::default() };
    history.module_deltas.insert("up.py".to_owned(), vec![0.1; 4]);
    history.module_deltas.insert("down.py".to_owned(), vec![-0.1; 4]);
    let tracker = Tracker::new(history);
    let both = tracker.judge(&Rules::default(), ["up.py", "down.py"]);
    assert!(both.roi.is_yes() && !both.converged, "{both:?}");
    // One of which too little is known keeps it going, too.
    let new = tracker.judge(&Rules::default(), ["new.py"]);
    assert!(new.roi.is_yes() && !new.converged);
    assert!(tracker.judge(&Rules::default(), []).converged);
}

#[test]
fn synergy_that_still_moves_keeps_a_run_going() {
    let mut history = after(&[0.0; 6]);
    let moving: Vec<f64> = (0..8_u32).map(|step| f64::from(step) * 0.1).collect();
    history.metrics_history.insert("synergy_roi".to_owned(), moving);
    let judged_moving = judged(history.clone(), &Rules::default());
    assert!(judged_moving.roi.is_yes() && !judged_moving.converged);
    history.metrics_history.insert("synergy_roi".to_owned(), vec![0.0; 8]);
    let rules = Rules { synergy_threshold: Some(0.01), ..Rules::default() };
    let calm = judged(history, &rules);
    assert!(calm.converged, "{:?}", calm.synergy);
}

#[test]
fn the_synergy_threshold_follows_from_how_far_predictions_were_off() {
    let mut history = after(&[0.0; 6]);
    history.metrics_history.insert("synergy_roi".to_owned(), vec![0.0; 6]);
    assert_close(judged(history.clone(), &Rules::default()).synergy_threshold, 0.0);
    history.predicted_metrics.insert("synergy_roi".to_owned(), vec![0.1, -0.1, 0.1, -0.1]);
    history.actual_metrics.insert("synergy_roi".to_owned(), vec![0.0; 4]);
    assert!(judged(history, &Rules::default()).synergy_threshold > 0.05);
}

#[test]
fn a_synergy_history_without_predictions_has_a_threshold_too() {
    let mut history = after(&[0.0; 6]);
    let restless = vec![0.05, 0.04, 0.05, 0.06, 0.05, 0.04, 0.06, 0.05];
    history.metrics_history.insert("synergy_roi".to_owned(), restless);
    let alone = judged(history.clone(), &Rules::default());
    assert!(alone.synergy_threshold > 0.01, "{}", alone.synergy_threshold);
    assert!(alone.converged, "{:?}", alone.synergy);
    // Whoever has predicted well is believed instead.
    for of in [&mut history.predicted_metrics, &mut history.actual_metrics] {
        of.insert("synergy_roi".to_owned(), vec![0.05; 4]);
    }
    assert_close(judged(history, &Rules::default()).synergy_threshold, 0.0);
}

#[test]
fn synergy_that_stays_where_it_is_has_come_to_rest() {
    let mut history = after(&[0.0; 6]);
    for histories in
        [&mut history.metrics_history, &mut history.predicted_metrics, &mut history.actual_metrics]
    {
        histories.insert("synergy_roi".to_owned(), vec![0.05; 8]);
    }
    assert!(judged(history.clone(), &Rules::default()).converged);
    // Who names a threshold asks for synergy close to nothing.
    let near = Rules { synergy_threshold: Some(0.01), ..Rules::default() };
    assert!(!judged(history, &near).converged);
}

#[test]
fn a_synergy_metric_that_is_not_measured_any_more_keeps_nothing_open() {
    let mut history = after(&[0.0; 6]);
    history.metrics_history.insert("synergy_roi".to_owned(), vec![0.0; 6]);
    history.metrics_history.insert("synergy_flexibility".to_owned(), vec![0.5]);
    let phase = |names: &[&str]| names.iter().map(|name| (*name, 0.0)).collect::<Metrics>();
    history.synergy_history = vec![phase(&["synergy_roi", "synergy_flexibility"])];
    assert!(!judged(history.clone(), &Rules::default()).converged, "it is new");
    history.synergy_history.extend(vec![phase(&["synergy_roi"]); 3]);
    let gone = judged(history, &Rules::default());
    assert!(gone.converged, "{:?}", gone.synergy);
    assert_eq!(gone.synergy.metrics.len(), 1);
}

#[test]
fn a_module_whose_entropy_no_longer_pays_is_complete() {
    let mut history = after(&[0.1]);
    let patch = Patch { roi_delta: 0.0001, entropy_delta: 0.5, complexity_delta: 5.0 };
    history.module_patches.insert("m.py".to_owned(), vec![patch; 3]);
    history.module_entropy_deltas.insert("m.py".to_owned(), vec![0.1; 3]);
    let complete = judged(history.clone(), &Rules::default());
    assert_eq!(complete.complete().collect::<Vec<_>>(), ["m.py"]);
    let strict = Rules { entropy_threshold: Some(0.0), ..Rules::default() };
    assert_eq!(judged(history.clone(), &strict).complete().count(), 0);
    let level = Rules { entropy_plateau_threshold: Some(0.2), ..strict };
    assert_eq!(judged(history, &level).complete().collect::<Vec<_>>(), ["m.py"]);
}

//! Whatever goes in: no panic, no NaN, and answers within their ranges.

use std::collections::BTreeMap;

use menace_track::predict::{Errors, Models, Panel, remember};
use menace_track::stats::adf::adf;
use menace_track::stats::arima::{Grid, Order, fit};
use menace_track::stats::calibration::{Sample, compare};
use menace_track::stats::convergence::{
    Diminishing, Following, adaptive_threshold, diminishing, roi_tolerance,
};
use menace_track::stats::correlation::{critical, p_value, rolling_with_index, with_index};
use menace_track::stats::describe::{Ema, deviation, ema, mean, median, quantile};
use menace_track::stats::distribution::{f_above, normal_cdf, t_cdf, t_quantile};
use menace_track::stats::drift::{Bins, Gaps, kolmogorov_smirnov, kolmogorov_smirnov_p_value, psi};
use menace_track::stats::entropy::{Patch, ceiling, plateau};
use menace_track::stats::forecast::{Outlook, Resource, forecast, forecast_with};
use menace_track::stats::foresight::{Cycle, Foresight, Limits};
use menace_track::stats::levene::{Center, levene};
use menace_track::stats::smoothing::Smoothed;
use menace_track::stats::synergy::{Convergence, Rest, metric_converged};
use menace_track::stats::trend::Line;
use menace_track::stats::truth::{Limits as DriftLimits, TruthAdapter};
use menace_track::{History, Risk, Rules, Tracker, confidence, raroi};
use proptest::prelude::*;

/// A measurement, sometimes tiny, huge, repeated, or missing.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -10.0..10.0,
        2 => (-3_i32..3).prop_map(f64::from),
        1 => prop::num::f64::NORMAL,
        1 => prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::MAX), Just(-f64::MAX), Just(f64::MIN_POSITIVE)],
    ]
}

fn series() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(value(), 0..40)
}

fn numbers(values: &[f64]) -> bool {
    values.iter().all(|value| !value.is_nan())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn descriptions_are_numbers(values in series(), other in series(), share in -1.0..2.0) {
        prop_assert!(numbers(&[mean(&values), median(&values), deviation(&values), quantile(&values, share)]));
        prop_assert!(numbers(&ema(&values, 4)));
        let mut average = Ema::new(share);
        average.extend(&values);
        prop_assert!(average.mean().is_finite() && average.deviation() >= 0.0);
        let trend = with_index(&values);
        prop_assert!((-1.0..=1.0).contains(&trend));
        prop_assert!((0.0..=1.0).contains(&p_value(trend, values.len())));
        prop_assert!((0.0..=1.0).contains(&critical(values.len(), share.clamp(0.0, 1.0))));
        prop_assert!(rolling_with_index(&values, 4).iter().all(|r| (-1.0..=1.0).contains(r)));
        prop_assert!((0.0..=1.0).contains(&kolmogorov_smirnov(&values, &other)));
        let drift = psi(&values, &other);
        prop_assert!(drift.is_finite() && drift >= 0.0);
    }

    #[test]
    fn the_chance_of_a_drift_is_a_probability(
        values in series(), other in series(), distance in value(), left in 0_usize..50, right in 0_usize..50, bins in 0_usize..20,
    ) {
        let whole = kolmogorov_smirnov_p_value(distance, left, right);
        prop_assert!((0.0..=1.0).contains(&whole));
        let gaps = Gaps::between(&values, &other);
        let at_most = kolmogorov_smirnov_p_value(gaps.distance(), values.len(), other.len());
        prop_assert!((0.0..=at_most + 1e-12).contains(&gaps.p_value(values.len(), other.len())));
        prop_assert!((0.0..=1.0).contains(&gaps.p_value(left, usize::MAX)));
        let bins = Bins::of(&values, bins);
        prop_assert!(bins.least_p_value(left, other.len()) <= bins.p_value(left, &other) + 1e-12);
        prop_assert!((0.0..=1.0).contains(&kolmogorov_smirnov_p_value(distance, left, usize::MAX)));
        prop_assert!((0.0..=1.0).contains(&bins.p_value(left, &other)));
        // Further apart is never more likely.
        let gap = distance.abs().min(1.0);
        prop_assert!(
            kolmogorov_smirnov_p_value(gap, left, right) <= kolmogorov_smirnov_p_value(gap / 2.0, left, right)
        );
    }

    #[test]
    fn raroi_is_a_number_and_no_further_from_zero_than_roi(
        roi in prop_oneof![-2.0..2.0, prop::num::f64::NORMAL],
        rollback in prop::num::f64::NORMAL,
        impact in -1.0..2.0,
        safety in prop_oneof![-1.0..2.0, prop::num::f64::NORMAL],
        deltas in series(),
    ) {
        let risk = Risk {
            rollback_probability: rollback,
            impact_severity: impact,
            stability: Risk::stability_of(&deltas),
            safety,
        };
        let adjusted = raroi(roi, &risk);
        prop_assert!(adjusted.is_finite() && adjusted.abs() <= roi.abs(), "{adjusted} of {roi}");
    }

    #[test]
    fn tests_answer_with_numbers_or_not_at_all(values in series(), other in series()) {
        for center in [Center::Median, Center::Mean] {
            if let Some(test) = levene(&[&values, &other], center) {
                prop_assert!(test.statistic >= 0.0 && (0.0..=1.0).contains(&test.p_value));
            }
        }
        if let Some(test) = adf(&values) {
            prop_assert!(test.statistic.is_finite() && (0.0..=1.0).contains(&test.p_value));
        }
    }

    #[test]
    fn distributions_are_probabilities(x in value(), freedom in value(), other in value(), p in 0.0..1.0) {
        prop_assume!(!x.is_nan());
        prop_assert!((0.0..=1.0).contains(&t_cdf(x, freedom)));
        prop_assert!((0.0..=1.0).contains(&normal_cdf(x)));
        prop_assert!((0.0..=1.0).contains(&f_above(x, freedom, other)));
        prop_assert!(!t_quantile(p, freedom).is_nan());
    }

    #[test]
    fn decisions_hold_numbers(values in series(), other in series(), cycles in 0_usize..30) {
        let decision = diminishing(&values, Diminishing { consecutive: cycles, ..Diminishing::default() });
        prop_assert!((0.0..=1.0).contains(&decision.confidence));
        prop_assert!(decision.evidence.iter().all(|e| !e.statistic.is_nan() && e.p_value.is_none_or(|p| (0.0..=1.0).contains(&p))));
        let threshold = adaptive_threshold(&values, Following { window: cycles, ..Following::default() });
        prop_assert!(threshold.threshold >= 0.0 && threshold.mean.is_finite());
        let histories = BTreeMap::from([("a".to_owned(), values.clone()), ("b".to_owned(), other)]);
        let rest = Rest { cycles, window: Some(cycles), ..Rest::default() };
        let decisions = histories.iter().map(|(name, one)| (name.clone(), metric_converged(one, rest)));
        let whole = Convergence::of(decisions.collect());
        prop_assert!((0.0..=1.0).contains(&whole.confidence));
        for piece in whole.metrics.values().flat_map(|decision| &decision.evidence) {
            prop_assert!(!piece.statistic.is_nan() && !piece.threshold.is_nan());
        }
        prop_assert!(plateau(&values, 0.1, cycles).evidence.iter().all(|e| !e.statistic.is_nan()));
        let patches: Vec<Patch> = values
            .windows(3)
            .map(|w| Patch { roi_delta: w[0], entropy_delta: w[1], complexity_delta: w[2] })
            .collect();
        prop_assert!(ceiling(&patches, 0.1, cycles).evidence.iter().all(|e| !e.statistic.is_nan()));
    }

    #[test]
    fn judgements_of_any_history_hold_numbers(
        deltas in series(),
        synergy in series(),
        predicted in series(),
        returns in series(),
    ) {
        let mut history = History { roi_deltas: deltas.clone(), ..History::default() };
        history.predicted_roi.clone_from(&predicted);
        history.actual_roi.clone_from(&returns);
        history.module_deltas.insert("m.py".to_owned(), deltas);
        history.module_roi.insert("m.py".to_owned(), returns.clone());
        history.module_errors.insert("m.py".to_owned(), predicted.clone());
        history.metrics_history.insert("synergy_roi".to_owned(), synergy.clone());
        history.predicted_metrics.insert("synergy_roi".to_owned(), predicted);
        history.actual_metrics.insert("synergy_roi".to_owned(), synergy);
        let patches = returns.windows(3).map(|three| Patch {
            roi_delta: three[0],
            entropy_delta: three[1],
            complexity_delta: three[2],
        });
        history.module_patches.insert("m.py".to_owned(), patches.collect());
        let tracker = Tracker::new(history);
        let rules = Rules { entropy_plateau_threshold: Some(0.1), ..Rules::default() };
        let judged = tracker.judge(&rules, ["m.py", "unknown.py"]);
        prop_assert!(numbers(&[judged.roi_tolerance, judged.roi_threshold, judged.synergy_threshold]));
        prop_assert!(judged.reliability.is_none_or(|it| (0.0..=1.0).contains(&it)), "{:?}", judged.reliability);
        let entropy = judged.entropy.values().flat_map(|one| std::iter::once(&one.ceiling).chain(&one.plateau));
        let decisions = judged.modules.values().chain([&judged.roi]).chain(judged.synergy.metrics.values());
        for decision in decisions.chain(entropy) {
            prop_assert!((0.0..=1.0).contains(&decision.confidence));
            let pieces = decision.evidence.iter();
            prop_assert!(pieces.clone().all(|one| !one.statistic.is_nan() && !one.threshold.is_nan()));
            prop_assert!(pieces.clone().all(|one| one.p_value.is_none_or(|p| (0.0..=1.0).contains(&p))));
        }
        let confidence = tracker.workflow_confidence("m.py");
        prop_assert!(confidence.is_none_or(|it| (0.0..=1.0).contains(&it)), "{confidence:?}");
        prop_assert!((0.0..=1.0).contains(&tracker.confidence_with("m.py", 0.3)));
    }

    #[test]
    fn a_steady_gain_well_above_the_tolerance_never_fades(
        before in prop::collection::vec(-1.0..1.0, 0..20),
        gain in 0.031..1.0,
        cycles in 3_usize..12,
        predicted in prop::collection::vec(-1.0..1.0, 0..12),
    ) {
        let mut deltas = before;
        deltas.extend(std::iter::repeat_n(gain, cycles));
        let mut history = History { roi_deltas: deltas.clone(), ..History::default() };
        history.actual_roi = vec![0.0; predicted.len()];
        history.predicted_roi = predicted;
        history.module_deltas.insert("m.py".to_owned(), deltas);
        // Twice the tolerance, when no forecast ever came true.
        let judged = Tracker::new(history).judge(&Rules::default(), ["m.py"]);
        prop_assert!(!judged.converged && judged.faded().count() == 0, "{:?}", judged.roi);
    }

    #[test]
    fn confidence_is_a_share(mae in value(), variance in value()) {
        prop_assert!((0.0..=1.0).contains(&confidence(mae, variance)));
    }

    #[test]
    fn tolerance_is_never_negative(base in value(), reliability in value()) {
        prop_assert!(roi_tolerance(base, reliability) >= 0.0);
    }

    #[test]
    fn foresight_holds_numbers(values in series(), template in series()) {
        let mut foresight = Foresight::with_template(Limits::default(), &template);
        for pair in values.chunks(2) {
            foresight.record(Cycle { roi: pair[0], stress: pair.get(1).copied(), ..Cycle::default() });
        }
        let outline = foresight.outline();
        prop_assert!(numbers(&[outline.slope, outline.curvature, outline.volatility]));
        prop_assert!((0.0..=1.0).contains(&outline.stability));
        prop_assert!(numbers(&foresight.predict_collapse().trajectory));
        let text = serde_json::to_string(&foresight).unwrap();
        prop_assert_eq!(serde_json::from_str::<Foresight>(&text).unwrap(), foresight);
    }

    #[test]
    fn lines_and_smoothing_are_numbers(values in series(), alpha in value()) {
        if let Some(line) = Line::through(&values) {
            prop_assert!(line.ahead(3).is_finite());
            prop_assert!(line.margin(3, 0.95).is_none_or(|margin| margin >= 0.0));
        }
        if let Some(smoothed) = Smoothed::with(&values, alpha) {
            prop_assert!(smoothed.level.is_finite() && smoothed.error(4) >= 0.0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn predictions_are_numbers_whoever_was_right_before(
        values in prop::collection::vec(value(), 0..16),
        past in series(),
        actual in value(),
    ) {
        let mut errors = Errors::new();
        let past: Vec<f64> = past.into_iter().filter(|error| error.is_finite()).map(f64::abs).collect();
        for name in ["last_value", "smoothed_value"] {
            errors.entry(name.to_owned()).or_default().insert("resilience".to_owned(), past.clone());
        }
        let said = Panel::bundled().predict("resilience", &values, &errors, &mut Models::default());
        if let Some(said) = said {
            prop_assert!((0.0..=1.0).contains(&said.value));
            let total: f64 = said.answers.iter().map(|answer| answer.weight).sum();
            prop_assert!((total - 1.0).abs() < 1e-9);
            remember(&mut errors, &said, actual);
            prop_assert!(errors.values().flat_map(BTreeMap::values).flatten().all(|error| error.is_finite()));
        }
    }

    #[test]
    fn forecasts_of_any_history_are_numbers(
        roi in series(),
        used in series(),
        share in prop::collection::vec(value(), 0..20),
        synergy in prop::collection::vec(value(), 0..34),
        heard in value(),
    ) {
        let mut history = History { roi_history: roi.clone(), ..History::default() };
        history.resource_history.insert("cpu".to_owned(), used);
        history.metrics_history.insert("resilience".to_owned(), share.clone());
        history.metrics_history.insert("synergy_roi".to_owned(), synergy.clone());
        let mut tracker = Tracker::new(history);
        tracker.hear("plugin:prophet", "resilience", heard, None);
        let is_known = |values: &[f64]| values.iter().any(|v| v.is_finite() && v.abs() <= 1e100);
        let made = tracker.forecast(Outlook { grid: Grid { p: 1, d: 1, q: 1 }, ..Outlook::default() });
        prop_assert_eq!(made.is_some(), is_known(&roi));
        for point in made.into_iter().flat_map(|made| made.points) {
            prop_assert!(point.mean.is_finite());
            prop_assert!(point.interval.is_none_or(|(low, high)| low <= point.mean && point.mean <= high));
        }
        let said = tracker.predict_all_metrics(&tracker.panel());
        prop_assert!(said.iter().all(|(_, value)| value.is_finite()));
        prop_assert!(said.get("pred_resilience").is_some() || !is_known(&share));
        prop_assert!(said.get("pred_resilience").is_none_or(|value| (0.0..=1.0).contains(&value)));
        prop_assert_eq!(said.get("pred_synergy_roi").is_some(), is_known(&synergy));
    }

    #[test]
    fn forecasts_are_numbers_and_intervals_hold_them(values in series(), past in series(), horizon in 0_usize..5) {
        let outlook = Outlook { horizon, confidence: 0.9, grid: Grid { p: 1, d: 2, q: 1 } };
        let resources = [Resource { past, future: vec![1.0] }];
        for made in [forecast(&values, outlook), forecast_with(&values, &resources, outlook)] {
            let usable = values.iter().any(|v| v.is_finite() && v.abs() <= 1e100);
            prop_assert_eq!(made.is_some(), usable);
            let Some(made) = made else { continue };
            prop_assert_eq!(made.points.len(), horizon);
            for point in made.points {
                prop_assert!(point.mean.is_finite());
                if let Some((low, high)) = point.interval {
                    prop_assert!(low.is_finite() && low <= point.mean && point.mean <= high);
                }
            }
        }
    }

    #[test]
    fn a_model_forecasts_numbers_and_holds_no_more_than_its_order_needs(
        values in prop::collection::vec(-5.0..5.0, 16..40), p in 0_usize..3, d in 0_usize..3, q in 0_usize..3,
    ) {
        let Some(model) = fit(&values, &[], Order::new(p, d, q)) else { return Ok(()) };
        let told = serde_json::to_value(&model).unwrap();
        let rows = told["covariance"].as_array().unwrap();
        let cells = rows.iter().map(|row| row.as_array().unwrap().len()).sum::<usize>();
        prop_assert!(told["state"].as_array().unwrap().len() <= 5 && cells <= 25, "{told}");
        let ahead = model.forecast(3, &[]);
        prop_assert!(ahead.iter().all(|(mean, error)| mean.is_finite() && *error >= 0.0));
    }

    #[test]
    fn calibration_predicts_numbers(rows in prop::collection::vec(prop::collection::vec(value(), 2..4), 0..30), targets in series()) {
        prop_assert!(compare(&Sample::of(&rows, &targets)).iter().all(|score| !score.error.is_nan()));
        let names = ["a".to_owned(), "b".to_owned()];
        if let Ok(mut adapter) = TruthAdapter::train(&names, &rows, &targets, DriftLimits::default(), "") {
            for drift in adapter.check(&rows, "") {
                prop_assert!(drift.psi.is_finite() && (0.0..=1.0).contains(&drift.ks));
            }
            for row in &rows {
                prop_assert!(adapter.predict(row).value.is_finite());
            }
        }
    }
}

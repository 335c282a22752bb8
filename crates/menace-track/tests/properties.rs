//! Whatever goes in: no panic, no NaN, and answers within their ranges.

use std::collections::BTreeMap;

use menace_track::predict::{ForecastModelCache, PredictorErrors, PredictorPanel, record_errors};
use menace_track::stats::adf::adf_test;
use menace_track::stats::arima::{ArimaOrder, ArimaOrderGrid, fit};
use menace_track::stats::calibration::{CalibrationSample, cross_validate};
use menace_track::stats::convergence::{
    AdaptiveThresholdRule, DiminishingReturnsRule, check_diminishing_returns,
    compute_adaptive_threshold, scale_roi_tolerance,
};
use menace_track::stats::correlation::{
    correlation_p_value, correlation_with_index, critical_correlation,
    rolling_correlation_with_index,
};
use menace_track::stats::describe::{
    ExponentialAverage, ema_series, mean, median, quantile, sample_deviation,
};
use menace_track::stats::distribution::{f_above, normal_cdf, t_cdf, t_quantile};
use menace_track::stats::drift::{
    EcdfGaps, QuantileBins, kolmogorov_smirnov, kolmogorov_smirnov_p_value, psi,
};
use menace_track::stats::entropy::{SourceDelta, check_entropy_ceiling, check_entropy_plateau};
use menace_track::stats::forecast::{ForecastOptions, ResourceSeries, forecast, forecast_with};
use menace_track::stats::forecast_calibrator::{DriftLimits, ForecastCalibrator};
use menace_track::stats::foresight::{ForesightCycle, ForesightLimits, ForesightTracker};
use menace_track::stats::levene::{LeveneCenter, levene_test};
use menace_track::stats::smoothing::ExponentialSmoothing;
use menace_track::stats::synergy::{
    SynergyConvergence, SynergyConvergenceRule, check_metric_convergence,
};
use menace_track::stats::trend::TrendLine;
use menace_track::{
    ConvergenceRules, RoiHistory, RoiRisk, Tracker, compute_confidence, compute_raroi,
};
use proptest::prelude::*;

/// A measurement, sometimes tiny, huge, repeated, or missing.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -10.0..10.0,
        2 => (-3_i32..3).prop_map(f64::from),
        1 => prop::num::f64::NORMAL,
        1 => prop::sample::select(vec![
            f64::NAN,
            f64::INFINITY,
            f64::MAX,
            -f64::MAX,
            f64::MIN_POSITIVE,
        ]),
    ]
}

fn series() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(value(), 0..40)
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

fn is_share(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}

fn are_finite(values: &[f64]) -> bool {
    values.iter().all(|value| !value.is_nan())
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn descriptions_are_numbers(values in series(), other in series(), share in -1.0..2.0) {
        let quantile = quantile(&values, share);
        let deviation = sample_deviation(&values);
        prop_assert!(are_finite(&[mean(&values), median(&values), deviation, quantile]));
        prop_assert!(are_finite(&ema_series(&values, 4)));
        let mut average = ExponentialAverage::new(share);
        average.extend(&values);
        prop_assert!(average.mean().is_finite() && average.deviation() >= 0.0);
        let trend = correlation_with_index(&values);
        prop_assert!((-1.0..=1.0).contains(&trend));
        prop_assert!((0.0..=1.0).contains(&correlation_p_value(trend, values.len())));
        prop_assert!(is_share(critical_correlation(values.len(), share.clamp(0.0, 1.0))));
        let rolling = rolling_correlation_with_index(&values, 4);
        prop_assert!(rolling.iter().all(|r| (-1.0..=1.0).contains(r)));
        prop_assert!((0.0..=1.0).contains(&kolmogorov_smirnov(&values, &other)));
        let drift = psi(&values, &other);
        prop_assert!(drift.is_finite() && drift >= 0.0);
    }

    #[test]
    fn the_chance_of_a_drift_is_a_probability(
        values in series(),
        other in series(),
        distance in value(),
        left in 0_usize..50,
        right in 0_usize..50,
        bins in 0_usize..20,
    ) {
        let whole = kolmogorov_smirnov_p_value(distance, left, right);
        prop_assert!((0.0..=1.0).contains(&whole));
        let gaps = EcdfGaps::between(&values, &other);
        let at_most = kolmogorov_smirnov_p_value(gaps.distance(), values.len(), other.len());
        prop_assert!((0.0..=at_most + 1e-12).contains(&gaps.p_value(values.len(), other.len())));
        prop_assert!((0.0..=1.0).contains(&gaps.p_value(left, usize::MAX)));
        let bins = QuantileBins::from_reference(&values, bins);
        prop_assert!(bins.min_p_value(left, other.len()) <= bins.p_value(left, &other) + 1e-12);
        prop_assert!((0.0..=1.0).contains(&kolmogorov_smirnov_p_value(distance, left, usize::MAX)));
        prop_assert!((0.0..=1.0).contains(&bins.p_value(left, &other)));
        // Further apart is never more likely.
        let gap = distance.abs().min(1.0);
        prop_assert!(
            kolmogorov_smirnov_p_value(gap, left, right)
                <= kolmogorov_smirnov_p_value(gap / 2.0, left, right)
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
        let risk = RoiRisk {
            rollback_probability: rollback,
            impact_severity: impact,
            stability: RoiRisk::compute_stability(&deltas),
            safety,
        };
        let adjusted = compute_raroi(roi, &risk);
        prop_assert!(adjusted.is_finite() && adjusted.abs() <= roi.abs(), "{adjusted} of {roi}");
    }

    #[test]
    fn tests_answer_with_numbers_or_not_at_all(values in series(), other in series()) {
        for center in [LeveneCenter::Median, LeveneCenter::Mean] {
            if let Some(test) = levene_test(&[&values, &other], center) {
                prop_assert!(test.statistic >= 0.0 && (0.0..=1.0).contains(&test.p_value));
            }
        }
        if let Some(test) = adf_test(&values) {
            prop_assert!(test.statistic.is_finite() && (0.0..=1.0).contains(&test.p_value));
        }
    }

    #[test]
    fn distributions_are_probabilities(
        x in value(),
        freedom in value(),
        other in value(),
        p in 0.0..1.0,
    ) {
        prop_assume!(!x.is_nan());
        prop_assert!((0.0..=1.0).contains(&t_cdf(x, freedom)));
        prop_assert!((0.0..=1.0).contains(&normal_cdf(x)));
        prop_assert!((0.0..=1.0).contains(&f_above(x, freedom, other)));
        prop_assert!(!t_quantile(p, freedom).is_nan());
    }

    #[test]
    fn decisions_hold_numbers(values in series(), other in series(), cycles in 0_usize..30) {
        let rule =
            DiminishingReturnsRule { consecutive: cycles, ..DiminishingReturnsRule::default() };
        let decision = check_diminishing_returns(&values, rule);
        prop_assert!((0.0..=1.0).contains(&decision.confidence));
        prop_assert!(decision.evidence.iter().all(|e| !e.statistic.is_nan()));
        prop_assert!(decision.evidence.iter().all(|e| e.p_value.is_none_or(is_share)));
        let rule = AdaptiveThresholdRule { window: cycles, ..AdaptiveThresholdRule::default() };
        let threshold = compute_adaptive_threshold(&values, rule);
        prop_assert!(threshold.threshold >= 0.0 && threshold.mean.is_finite());
        let histories = BTreeMap::from([("a".to_owned(), values.clone()), ("b".to_owned(), other)]);
        let window = Some(cycles);
        let rule = SynergyConvergenceRule { cycles, window, ..SynergyConvergenceRule::default() };
        let decide = |history: &[f64]| check_metric_convergence(history, rule);
        let decisions = histories.iter().map(|(name, one)| (name.clone(), decide(one)));
        let whole = SynergyConvergence::from_decisions(decisions.collect());
        prop_assert!((0.0..=1.0).contains(&whole.confidence));
        for piece in whole.metrics.values().flat_map(|decision| &decision.evidence) {
            prop_assert!(!piece.statistic.is_nan() && !piece.threshold.is_nan());
        }
        let plateau = check_entropy_plateau(&values, 0.1, cycles);
        prop_assert!(plateau.evidence.iter().all(|e| !e.statistic.is_nan()));
        let source_changes: Vec<SourceDelta> = values
            .windows(3)
            .map(|w| SourceDelta { roi_delta: w[0], entropy_delta: w[1], complexity_delta: w[2] })
            .collect();
        let ceiling = check_entropy_ceiling(&source_changes, 0.1, cycles);
        prop_assert!(ceiling.evidence.iter().all(|e| !e.statistic.is_nan()));
    }

    #[test]
    fn judgements_of_any_history_hold_numbers(
        deltas in series(),
        synergy in series(),
        predicted in series(),
        returns in series(),
    ) {
        let mut history = RoiHistory { roi_deltas: deltas.clone(), ..RoiHistory::default() };
        history.predicted_roi.clone_from(&predicted);
        history.actual_roi.clone_from(&returns);
        history.module_deltas.insert("m.py".to_owned(), deltas);
        history.module_roi.insert("m.py".to_owned(), returns.clone());
        history.module_errors.insert("m.py".to_owned(), predicted.clone());
        history.metrics_history.insert("synergy_roi".to_owned(), synergy.clone());
        history.predicted_metrics.insert("synergy_roi".to_owned(), predicted);
        history.actual_metrics.insert("synergy_roi".to_owned(), synergy);
        let source_changes = returns.windows(3).map(|three| SourceDelta {
            roi_delta: three[0],
            entropy_delta: three[1],
            complexity_delta: three[2],
        });
        history.module_source_changes.insert("m.py".to_owned(), source_changes.collect());
        let tracker = Tracker::new(history);
        let rules = ConvergenceRules {
            entropy_plateau_threshold: Some(0.1),
            ..ConvergenceRules::default()
        };
        let judged = tracker.decide_convergence(&rules, ["m.py", "unknown.py"]);
        let thresholds = [judged.roi_tolerance, judged.roi_threshold, judged.synergy_threshold];
        prop_assert!(are_finite(&thresholds));
        prop_assert!(judged.reliability.is_none_or(is_share), "{:?}", judged.reliability);
        let entropy = judged.entropy.values();
        let entropy = entropy.flat_map(|one| std::iter::once(&one.ceiling).chain(&one.plateau));
        let synergy = judged.synergy.metrics.values();
        let decisions = judged.modules.values().chain([&judged.roi]).chain(synergy);
        for decision in decisions.chain(entropy) {
            prop_assert!((0.0..=1.0).contains(&decision.confidence));
            let pieces = decision.evidence.iter();
            prop_assert!(pieces.clone().all(|one| are_finite(&[one.statistic, one.threshold])));
            prop_assert!(pieces.clone().all(|one| one.p_value.is_none_or(is_share)));
        }
        let confidence = tracker.module_confidence("m.py");
        prop_assert!(confidence.is_none_or(|it| (0.0..=1.0).contains(&it)), "{confidence:?}");
        prop_assert!((0.0..=1.0).contains(&tracker.module_confidence_with("m.py", 0.3)));
    }

    #[test]
    fn a_steady_gain_well_above_the_tolerance_never_converges(
        before in prop::collection::vec(-1.0..1.0, 0..20),
        gain in 0.031..1.0,
        cycles in 3_usize..12,
        predicted in prop::collection::vec(-1.0..1.0, 0..12),
    ) {
        let mut deltas = before;
        deltas.extend(std::iter::repeat_n(gain, cycles));
        let mut history = RoiHistory { roi_deltas: deltas.clone(), ..RoiHistory::default() };
        history.actual_roi = vec![0.0; predicted.len()];
        history.predicted_roi = predicted;
        history.module_deltas.insert("m.py".to_owned(), deltas);
        // Twice the tolerance, when no forecast ever came true.
        let rules = ConvergenceRules::default();
        let judged = Tracker::new(history).decide_convergence(&rules, ["m.py"]);
        prop_assert!(!judged.converged, "{:?}", judged.roi);
        prop_assert_eq!(judged.converged_modules().count(), 0, "{:?}", judged.roi);
    }

    #[test]
    fn confidence_is_a_share(mae in value(), variance in value()) {
        prop_assert!((0.0..=1.0).contains(&compute_confidence(mae, variance)));
    }

    #[test]
    fn tolerance_is_never_negative(base in value(), reliability in value()) {
        prop_assert!(scale_roi_tolerance(base, reliability) >= 0.0);
    }

    #[test]
    fn foresight_holds_numbers(values in series(), curve in series()) {
        let mut foresight = ForesightTracker::with_cold_start(ForesightLimits::default(), &curve);
        for pair in values.chunks(2) {
            let stress = pair.get(1).copied();
            foresight.record(ForesightCycle { roi: pair[0], stress, ..ForesightCycle::default() });
        }
        let outline = foresight.stability_trend();
        prop_assert!(are_finite(&[outline.slope, outline.curvature, outline.volatility]));
        prop_assert!((0.0..=1.0).contains(&outline.stability));
        prop_assert!(are_finite(&foresight.predict_collapse().trajectory));
        let text = serde_json::to_string(&foresight).unwrap();
        prop_assert_eq!(serde_json::from_str::<ForesightTracker>(&text).unwrap(), foresight);
    }

    #[test]
    fn lines_and_smoothing_are_numbers(values in series(), alpha in value()) {
        if let Some(line) = TrendLine::fit(&values) {
            prop_assert!(line.predict(3).is_finite());
            prop_assert!(line.interval_half_width(3, 0.95).is_none_or(|margin| margin >= 0.0));
        }
        if let Some(smoothed) = ExponentialSmoothing::with_alpha(&values, alpha) {
            prop_assert!(smoothed.level.is_finite() && smoothed.standard_error(4) >= 0.0);
        }
    }
}

proptest! {
    #![proptest_config(config(32))]

    #[test]
    fn predictions_are_numbers_whatever_the_errors_were(
        values in prop::collection::vec(value(), 0..16),
        past in series(),
        actual in value(),
    ) {
        let mut errors = PredictorErrors::new();
        let past = past.into_iter().filter(|error| error.is_finite());
            let past: Vec<f64> = past.map(f64::abs).collect();
        for name in ["last_value", "smoothed_value"] {
            let errors = errors.entry(name.to_owned()).or_default();
            errors.insert("resilience".to_owned(), past.clone());
        }
        let panel = PredictorPanel::bundled();
        let mut models = ForecastModelCache::default();
        let said = panel.predict("resilience", &values, &errors, &mut models);
        if let Some(said) = said {
            prop_assert!((0.0..=1.0).contains(&said.value));
            let total: f64 = said.answers.iter().map(|answer| answer.weight).sum();
            prop_assert!((total - 1.0).abs() < 1e-9);
            record_errors(&mut errors, &said, actual);
            let all = errors.values().flat_map(BTreeMap::values);
        prop_assert!(all.flatten().all(|error| error.is_finite()));
        }
    }

    #[test]
    fn forecasts_of_any_history_are_numbers(
        roi in series(),
        used in series(),
        share in prop::collection::vec(value(), 0..20),
        synergy in prop::collection::vec(value(), 0..34),
        external in value(),
    ) {
        let mut history = RoiHistory { roi_history: roi.clone(), ..RoiHistory::default() };
        history.resource_history.insert("cpu".to_owned(), used);
        history.metrics_history.insert("resilience".to_owned(), share.clone());
        history.metrics_history.insert("synergy_roi".to_owned(), synergy.clone());
        let mut tracker = Tracker::new(history);
        tracker.record_external_prediction("plugin:prophet", "resilience", external, None);
        let is_known = |values: &[f64]| values.iter().any(|v| v.is_finite() && v.abs() <= 1e100);
        let grid = ArimaOrderGrid { p: 1, d: 1, q: 1 };
        let made = tracker.forecast_roi(ForecastOptions { grid, ..ForecastOptions::default() });
        prop_assert_eq!(made.is_some(), is_known(&roi));
        for point in made.into_iter().flat_map(|made| made.points) {
            prop_assert!(point.mean.is_finite());
            let holds_mean = |(low, high)| low <= point.mean && point.mean <= high;
            prop_assert!(point.interval.is_none_or(holds_mean));
        }
        let said = tracker.predict_all_metrics(&tracker.predictor_panel());
        prop_assert!(said.iter().all(|(_, value)| value.is_finite()));
        prop_assert!(said.get("pred_resilience").is_some() || !is_known(&share));
        prop_assert!(said.get("pred_resilience").is_none_or(|value| (0.0..=1.0).contains(&value)));
        prop_assert_eq!(said.get("pred_synergy_roi").is_some(), is_known(&synergy));
    }

    #[test]
    fn forecasts_are_numbers_and_intervals_hold_them(
        values in series(),
        past in series(),
        horizon in 0_usize..5,
    ) {
        let grid = ArimaOrderGrid { p: 1, d: 2, q: 1 };
        let outlook = ForecastOptions { horizon, confidence: 0.9, grid };
        let past = past.into_iter().map(Some).collect();
        let resources = [ResourceSeries { past, future: vec![1.0] }];
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
        values in prop::collection::vec(-5.0..5.0, 16..40),
        p in 0_usize..3,
        d in 0_usize..3,
        q in 0_usize..3,
    ) {
        let Some(model) = fit(&values, &[], ArimaOrder::new(p, d, q)) else { return Ok(()) };
        let json = serde_json::to_value(&model).unwrap();
        let rows = json["covariance"].as_array().unwrap();
        let cells = rows.iter().map(|row| row.as_array().unwrap().len()).sum::<usize>();
        prop_assert!(json["state"].as_array().unwrap().len() <= 5 && cells <= 25, "{json}");
        let ahead = model.forecast(3, &[]);
        prop_assert!(ahead.iter().all(|(mean, error)| mean.is_finite() && *error >= 0.0));
    }

    #[test]
    fn calibration_predicts_numbers(
        rows in prop::collection::vec(prop::collection::vec(value(), 2..4), 0..30),
        targets in series(),
    ) {
        let sample = CalibrationSample::from_complete_rows(&rows, &targets);
        prop_assert!(cross_validate(&sample).iter().all(|score| !score.error.is_nan()));
        let names = ["a".to_owned(), "b".to_owned()];
        let limits = DriftLimits::default();
        if let Ok(mut calibrator) = ForecastCalibrator::train(&names, &rows, &targets, limits, "") {
            for drift in calibrator.check_drift(&rows, "") {
                prop_assert!(drift.psi.is_finite() && (0.0..=1.0).contains(&drift.ks));
            }
            for row in &rows {
                prop_assert!(calibrator.predict(row).value.is_finite());
            }
        }
    }
}

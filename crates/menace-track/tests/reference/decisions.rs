//! What decisions rest on.

use menace_track::stats::convergence::{
    AdaptiveThreshold, AdaptiveThresholdRule, DiminishingReturnsRule, check_diminishing_returns,
    compute_adaptive_threshold, compute_synergy_threshold,
};
use menace_track::stats::drift::{QuantileBins, kolmogorov_smirnov, kolmogorov_smirnov_p_value};
use menace_track::stats::evidence::DecisionCheck;
use menace_track::stats::smoothing::ExponentialSmoothing;
use serde::Deserialize;

use crate::{assert_close, read_fixture, read_series};

/// What decisions rest on.
#[derive(Deserialize)]
struct DecisionFixture {
    /// Of the last values, within a threshold: the p-value.
    equivalence: Vec<(usize, f64, f64)>,
    /// Window and weight, then the mean and twice the deviation.
    adaptive: Vec<(usize, f64, f64, f64)>,
    ks_p: Option<f64>,
    bins_p: Option<f64>,
    smoothed: Option<SmoothingFixture>,
}

#[derive(Deserialize)]
struct SmoothingFixture {
    share: f64,
    squares: f64,
    /// Where statsmodels' own search ends.
    own_share: f64,
    own_squares: f64,
}

fn read_decision_fixtures() -> impl Iterator<Item = (String, Vec<f64>, DecisionFixture)> {
    let known: Vec<DecisionFixture> = read_fixture(include_str!("decided.json"));
    let series = read_series();
    assert_eq!(known.len(), series.len());
    series.into_iter().zip(known).enumerate().map(|(index, (series, known))| {
        (format!("series {index} ({})", series.kind), series.present_values(), known)
    })
}

#[test]
fn the_test_that_gains_have_converged_equals_statsmodels() {
    let (mut compared, mut between) = (0, 0);
    for (name, values, known) in read_decision_fixtures() {
        for (consecutive, threshold, p) in known.equivalence {
            let rule = DiminishingReturnsRule {
                threshold,
                consecutive,
                ..DiminishingReturnsRule::default()
            };
            let decision = check_diminishing_returns(&values, rule);
            let ours =
                decision.evidence_for(DecisionCheck::Equivalence).and_then(|one| one.p_value);
            let ours = ours.unwrap_or_else(|| panic!("{name} has no answer"));
            assert_close(
                ours,
                p,
                1e-9,
                &format!("equivalence of the last {consecutive} of {name}"),
            );
            compared += 1;
            between += usize::from((1e-3..0.999).contains(&p));
        }
    }
    assert!(compared >= 2000 && between >= 1000, "{between} of {compared}");
}

#[test]
fn the_chance_of_a_drift_equals_scipy() {
    let (mut compared, mut drifted) = (0, 0);
    for (name, values, known) in read_decision_fixtures() {
        let (first, second) = values.split_at(values.len() / 2);
        let (Some(ks), Some(bins)) = (known.ks_p, known.bins_p) else { continue };
        let distance = kolmogorov_smirnov(first, second);
        let ours = kolmogorov_smirnov_p_value(distance, first.len(), second.len());
        assert_close(ours, ks, 1e-9, &format!("p of KS of {name}"));
        let ours = QuantileBins::from_reference(first, 10).p_value(first.len(), second);
        assert_close(ours, bins, 1e-9, &format!("p of the bins of {name}"));
        compared += 1;
        drifted += usize::from(ks < 0.05 && bins < 0.05);
    }
    assert!(compared >= 200 && drifted >= 40, "{drifted} of {compared}");
}

#[test]
fn the_chance_of_a_distance_of_very_many_values_comes_close_to_scipy() {
    let known: Vec<(f64, usize, usize, f64)> = read_fixture(include_str!("limits.json"));
    for (distance, left, right, p) in known {
        let ours = kolmogorov_smirnov_p_value(distance, left, right);
        assert_close(ours, p, 2e-2, &format!("p of KS {distance} of {left} and {right}"));
        assert!(ours >= p - 1e-9, "{distance} of {left} and {right} would be found too easily");
    }
}

#[test]
fn adaptive_thresholds_equal_pandas_with_any_window_and_weight() {
    let mut compared = 0;
    for (name, values, known) in read_decision_fixtures() {
        let predicted: Vec<f64> = values.iter().map(|value| value + 1.0).collect();
        let nothing = vec![1.0; values.len()];
        for (window, weight, mean, threshold) in known.adaptive {
            let rule = AdaptiveThresholdRule { window, weight, factor: 2.0 };
            // The same from values, and from how far predictions were off.
            let of_errors = compute_synergy_threshold(&predicted, &nothing, rule);
            for ours in [compute_adaptive_threshold(&values, rule), of_errors] {
                let about = format!("{name}, the last {window} with weight {weight}");
                assert_close(ours.mean, mean, 1e-9, &about);
                assert_close(ours.threshold, threshold, 1e-9, &about);
                let AdaptiveThreshold { samples, .. } = ours;
                assert_eq!(samples, window.min(values.len()), "{about}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 1600, "{compared}");
}

#[test]
fn the_share_that_smoothing_finds_is_the_best_there_is() {
    let (mut compared, mut own, mut early) = (0, 0, Vec::new());
    for (name, values, known) in read_decision_fixtures() {
        let Some(known) = known.smoothed else { continue };
        let ours = ExponentialSmoothing::fit(&values).expect("there are values");
        let squares = ours.deviation.powi(2) * (ours.samples - 1) as f64;
        assert_close(squares / known.squares, 1.0, 1e-9, &format!("squares of {name}"));
        assert_close(ours.alpha, known.share, 1e-5, &format!("share of {name}"));
        compared += 1;
        // Statsmodels stops early where squares are small numbers, never at less.
        assert!(squares <= known.own_squares * (1.0 + 1e-9), "{name}");
        if (ours.alpha - known.own_share).abs() <= 1e-3 {
            own += 1;
        } else {
            early.push(format!("{name}: {} instead of {}", ours.alpha, known.own_share));
        }
    }
    println!("{own} of {compared} shares are those of statsmodels' search\n{}", early.join("\n"));
    assert!(compared >= 210 && early.len() <= 6, "docs/statistics.md says six: {early:?}");
}

//! Settings → when ROI and synergy count as converged.

use menace_settings::Settings;
use menace_track::ConvergenceRules;
use menace_track::stats::convergence::AdaptiveThresholdRule;
use menace_track::stats::synergy::SynergyConvergenceRule;

pub(super) fn convergence_rules(settings: &Settings) -> ConvergenceRules {
    let roi = &settings.convergence;
    let synergy = &settings.synergy;
    let count = |value: Option<std::num::NonZeroU64>| {
        value.map(|value| usize::try_from(value.get()).unwrap_or(usize::MAX))
    };
    let defaults = ConvergenceRules::default();
    ConvergenceRules {
        roi_tolerance: roi.roi_tolerance.value,
        roi_threshold: roi.roi_threshold.value,
        roi_cycles: count(roi.roi_cycles.value),
        roi_confidence: roi.roi_confidence.value.get(),
        entropy_threshold: roi.entropy_threshold.value,
        entropy_plateau_threshold: roi.entropy_plateau_threshold.value,
        entropy_plateau_consecutive: count(Some(roi.entropy_plateau_consecutive.value))
            .unwrap_or(defaults.entropy_plateau_consecutive),
        synergy_threshold: synergy.threshold.value,
        synergy_cycles: count(synergy.cycles.value),
        adaptive_threshold: AdaptiveThresholdRule {
            window: count(synergy.threshold_window.value)
                .unwrap_or(defaults.adaptive_threshold.window),
            weight: synergy.threshold_weight.value.unwrap_or(defaults.adaptive_threshold.weight),
            ..defaults.adaptive_threshold
        },
        synergy_convergence: SynergyConvergenceRule {
            confidence: synergy.confidence.value.get(),
            window: count(synergy.ma_window.value),
            stationarity_confidence: synergy.stationarity_confidence.value.get(),
            variance_confidence: synergy.variance_confidence.value.get(),
            ..defaults.synergy_convergence
        },
        ..defaults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_settings::SettingsSources;
    use menace_track::stats::entropy::SourceDelta;
    use menace_track::{RoiHistory, Tracker};

    fn with(variables: &[(&str, &str)]) -> ConvergenceRules {
        let environment =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let sources =
            SettingsSources { environment: environment.collect(), ..SettingsSources::default() };
        convergence_rules(&Settings::resolve(&sources).unwrap())
    }

    #[test]
    fn every_setting_of_convergence_reaches_its_rule() {
        let rules = with(&[
            ("SANDBOX_ROI_TOLERANCE", "0.02"),
            ("ROI_THRESHOLD", "0.03"),
            ("ROI_CYCLES", "4"),
            ("ROI_CONFIDENCE", "0.9"),
            ("ENTROPY_THRESHOLD", "0.05"),
            ("ENTROPY_PLATEAU_THRESHOLD", "0.06"),
            ("ENTROPY_PLATEAU_CONSECUTIVE", "7"),
            ("SYNERGY_THRESHOLD", "0.08"),
            ("SYNERGY_CYCLES", "9"),
            ("SYNERGY_THRESHOLD_WINDOW", "11"),
            ("SYNERGY_THRESHOLD_WEIGHT", "1.5"),
            ("SYNERGY_CONFIDENCE", "0.91"),
            ("SYNERGY_MA_WINDOW", "12"),
            ("SYNERGY_STATIONARITY_CONFIDENCE", "0.92"),
            ("SYNERGY_VARIANCE_CONFIDENCE", "0.93"),
        ]);
        let defaults = ConvergenceRules::default();
        let expected = ConvergenceRules {
            roi_tolerance: 0.02,
            roi_threshold: Some(0.03),
            roi_cycles: Some(4),
            roi_confidence: 0.9,
            epsilon: defaults.epsilon,
            entropy_threshold: Some(0.05),
            entropy_plateau_threshold: Some(0.06),
            entropy_plateau_consecutive: 7,
            synergy_threshold: Some(0.08),
            synergy_cycles: Some(9),
            adaptive_threshold: AdaptiveThresholdRule {
                window: 11,
                weight: 1.5,
                factor: defaults.adaptive_threshold.factor,
            },
            synergy_convergence: SynergyConvergenceRule {
                threshold: defaults.synergy_convergence.threshold,
                target: defaults.synergy_convergence.target,
                cycles: defaults.synergy_convergence.cycles,
                confidence: 0.91,
                window: Some(12),
                stationarity_confidence: 0.92,
                variance_confidence: 0.93,
                compared_metrics: defaults.synergy_convergence.compared_metrics,
            },
        };
        assert_eq!(rules, expected);
        assert_eq!(with(&[]), defaults, "the defaults of both are the same");
    }

    const MODULE: &str = "m.py";

    /// A run that has converged long ago.
    fn converged() -> RoiHistory {
        let mut history = RoiHistory { roi_deltas: vec![0.0; 6], ..RoiHistory::default() };
        history.module_deltas.insert(MODULE.to_owned(), vec![0.0; 6]);
        history
    }

    fn gains(deltas: &[f64]) -> RoiHistory {
        let mut history = RoiHistory { roi_deltas: deltas.to_vec(), ..RoiHistory::default() };
        history.module_deltas.insert(MODULE.to_owned(), deltas.to_vec());
        history
    }

    fn synergy(values: Vec<f64>) -> RoiHistory {
        let mut history = converged();
        history.metrics_history.insert("synergy_roi".to_owned(), values);
        history
    }

    /// Synergy that alternates by a hundredth, with these prediction errors.
    fn predicted(errors: &[f64]) -> RoiHistory {
        let mut history = synergy([0.01, -0.01].repeat(10));
        history.predicted_metrics.insert("synergy_roi".to_owned(), errors.to_vec());
        history.actual_metrics.insert("synergy_roi".to_owned(), vec![0.0; errors.len()]);
        history
    }

    fn with_source_changes() -> RoiHistory {
        let mut history = gains(&[0.1]);
        let source_change =
            SourceDelta { roi_delta: 0.01, entropy_delta: 0.5, complexity_delta: 5.0 };
        history.module_source_changes.insert(MODULE.to_owned(), vec![source_change; 3]);
        history.module_entropy_deltas.insert(MODULE.to_owned(), vec![0.1; 3]);
        history
    }

    /// Deterministic, and looks random.
    fn noise(place: u32) -> f64 {
        (f64::from(place * place) * 0.37).sin()
    }

    type RuleVariables = &'static [(&'static str, &'static str)];
    /// A variable, a value with which the history has converged, one with which it has not, other
    /// variables, and the history.
    type RuleCase = (&'static str, &'static str, &'static str, RuleVariables, RoiHistory);

    #[test]
    fn every_variable_changes_the_decision() {
        const WIDE: RuleVariables = &[("SYNERGY_THRESHOLD", "1000")];
        const NEAR: RuleVariables = &[("SYNERGY_THRESHOLD", "0.01")];
        let restless: Vec<f64> = (0..20).map(|place| noise(place) * 0.02).collect();
        let jump: Vec<f64> =
            (0..20).map(|place| if place < 19 { noise(place) * 2e-3 } else { 0.025 }).collect();
        let moved_long_ago: Vec<f64> = [vec![0.5; 3], vec![0.0; 9]].concat();
        // A random walk and its way back: no trend, and not stationary.
        let way = (0..60).scan(0.0, |level, place| {
            *level += noise(place);
            Some(*level)
        });
        let way: Vec<f64> = way.collect();
        let walk: Vec<f64> = way.iter().chain(way.iter().rev()).copied().collect();
        let wilder: Vec<f64> =
            (0..30).map(|place| noise(place) * if place < 15 { 1e-3 } else { 1e-2 }).collect();
        let large_long_ago = [vec![0.3, -0.3, 0.3, -0.3], vec![0.0; 4]].concat();
        let cases: Vec<RuleCase> = vec![
            ("SANDBOX_ROI_TOLERANCE", "0.05", "0.01", &[], gains(&[0.03; 4])),
            ("ROI_THRESHOLD", "0.05", "0.01", &[], gains(&[0.03; 4])),
            ("ROI_CYCLES", "3", "4", &[], gains(&[0.3, 0.0, 0.0, 0.0])),
            ("ROI_CONFIDENCE", "0.9", "0.99", &[], gains(&[0.004, -0.004, 0.003])),
            ("ENTROPY_THRESHOLD", "0.03", "0.01", &[], with_source_changes()),
            (
                "ENTROPY_PLATEAU_THRESHOLD",
                "0.2",
                "0.05",
                &[("ENTROPY_THRESHOLD", "0")],
                with_source_changes(),
            ),
            (
                "ENTROPY_PLATEAU_CONSECUTIVE",
                "3",
                "4",
                &[("ENTROPY_THRESHOLD", "0"), ("ENTROPY_PLATEAU_THRESHOLD", "0.2")],
                with_source_changes(),
            ),
            ("SYNERGY_THRESHOLD", "0.06", "0.01", &[], synergy(vec![0.05; 8])),
            ("SYNERGY_CYCLES", "8", "12", NEAR, synergy(moved_long_ago)),
            ("SYNERGY_THRESHOLD_WINDOW", "8", "4", &[], predicted(&large_long_ago)),
            ("SYNERGY_THRESHOLD_WEIGHT", "1", "30", &[], predicted(&large_long_ago)),
            ("SYNERGY_CONFIDENCE", "0.8", "0.999999", NEAR, synergy(restless)),
            ("SYNERGY_MA_WINDOW", "20", "3", NEAR, synergy(jump)),
            ("SYNERGY_STATIONARITY_CONFIDENCE", "0.01", "0.95", WIDE, synergy(walk)),
            ("SYNERGY_VARIANCE_CONFIDENCE", "0.999999999", "0.95", WIDE, synergy(wilder)),
        ];
        for (variable, yes, no, others, history) in cases {
            let answer = |value: &str| {
                let variables: Vec<_> = others.iter().copied().chain([(variable, value)]).collect();
                let judged =
                    Tracker::new(history.clone()).decide_convergence(&with(&variables), [MODULE]);
                let is_capped = judged.entropy_capped_modules().count() == 1;
                let is_yes =
                    if variable.starts_with("ENTROPY") { is_capped } else { judged.converged };
                (is_yes, judged)
            };
            let (with_yes, one) = answer(yes);
            let (with_no, other) = answer(no);
            assert!(with_yes, "{variable}={yes}: {one:#?}");
            assert!(!with_no, "{variable}={no}: {other:#?}");
        }
    }
}

//! Settings → when gains have faded.

use menace_settings::Settings;
use menace_track::Rules;
use menace_track::stats::convergence::Following;
use menace_track::stats::synergy::Rest;

pub(super) fn of(settings: &Settings) -> Rules {
    let (roi, synergy) = (&settings.convergence, &settings.synergy);
    let count = |value: Option<std::num::NonZeroU64>| {
        value.map(|value| usize::try_from(value.get()).unwrap_or(usize::MAX))
    };
    let usual = Rules::default();
    Rules {
        roi_tolerance: roi.roi_tolerance.value,
        roi_threshold: roi.roi_threshold.value,
        roi_cycles: count(roi.roi_cycles.value),
        roi_confidence: roi.roi_confidence.value.get(),
        entropy_threshold: roi.entropy_threshold.value,
        entropy_plateau_threshold: roi.entropy_plateau_threshold.value,
        entropy_plateau_consecutive: count(Some(roi.entropy_plateau_consecutive.value))
            .unwrap_or(usual.entropy_plateau_consecutive),
        synergy_threshold: synergy.threshold.value,
        synergy_cycles: count(synergy.cycles.value),
        following: Following {
            window: count(synergy.threshold_window.value).unwrap_or(usual.following.window),
            weight: synergy.threshold_weight.value.unwrap_or(usual.following.weight),
            ..usual.following
        },
        rest: Rest {
            confidence: synergy.confidence.value.get(),
            window: count(synergy.ma_window.value),
            stationarity_confidence: synergy.stationarity_confidence.value.get(),
            variance_confidence: synergy.variance_confidence.value.get(),
            ..usual.rest
        },
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_settings::Sources;

    fn with(variables: &[(&str, &str)]) -> Rules {
        let environment =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let sources = Sources { environment: environment.collect(), ..Sources::default() };
        of(&Settings::resolve(&sources).unwrap())
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
        let usual = Rules::default();
        let expected = Rules {
            roi_tolerance: 0.02,
            roi_threshold: Some(0.03),
            roi_cycles: Some(4),
            roi_confidence: 0.9,
            epsilon: usual.epsilon,
            entropy_threshold: Some(0.05),
            entropy_plateau_threshold: Some(0.06),
            entropy_plateau_consecutive: 7,
            synergy_threshold: Some(0.08),
            synergy_cycles: Some(9),
            following: Following { window: 11, weight: 1.5, factor: usual.following.factor },
            rest: Rest {
                threshold: usual.rest.threshold,
                around: usual.rest.around,
                cycles: usual.rest.cycles,
                confidence: 0.91,
                window: Some(12),
                stationarity_confidence: 0.92,
                variance_confidence: 0.93,
                among: usual.rest.among,
            },
        };
        assert_eq!(rules, expected);
        assert_eq!(with(&[]), usual, "the defaults of both are the same");
    }
}

//! Predicts whether a module's ROI will collapse.
//!
//! Callers run the stages and read cold-start curves. Invariant: the history has usable numbers
//! only, and is never longer than its window.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::describe::{is_usable, sample_deviation};
use super::trend::TrendLine;

/// The number of cycles after which a cold-start curve has no weight any more.
pub const COLD_START_CYCLES: usize = 5;

/// One cycle of a module, or one stage of a trajectory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ForesightCycle {
    /// The ROI.
    pub roi: f64,
    /// How adverse the conditions were, in [0, 1]: entropy, degradation or severity.
    pub stress: Option<f64>,
    /// The stage of a trajectory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The resilience.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resilience: Option<f64>,
    /// How far the ROI is below that of the first stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degradation: Option<f64>,
    /// The stability of the window when the cycle was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<f64>,
    /// The same figures with the stage in their names, such as `latency_spike_roi`.
    #[serde(flatten)]
    pub by_stage: BTreeMap<String, f64>,
}

/// The limits between the classes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ForesightLimits {
    /// How many cycles are kept.
    pub window: usize,
    /// The standard deviation from which a module is volatile.
    pub volatility: f64,
    /// The ROI at which a module has collapsed.
    pub floor: f64,
    /// Cycles within which a collapse is imminent.
    pub imminent: usize,
    /// How many cycles ahead a collapse is searched.
    pub horizon: usize,
    /// Up to this change, stress counts as small.
    pub small_stress: f64,
    /// The share of its ROI that a brittle module loses to a small stress.
    pub large_drop: f64,
}

impl Default for ForesightLimits {
    fn default() -> Self {
        Self {
            window: 10,
            volatility: 1.0,
            floor: 0.0,
            imminent: 2,
            horizon: 20,
            small_stress: 0.1,
            large_drop: 0.5,
        }
    }
}

/// The classes of a module's development.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollapseRisk {
    /// Its ROI does not fall.
    Stable,
    /// It loses a little each cycle.
    #[serde(rename = "Slow decay")]
    SlowDecay,
    /// It varies too much for a prediction.
    Volatile,
    /// It reaches the floor within `imminent` cycles.
    #[serde(rename = "Immediate collapse risk")]
    ImmediateCollapse,
}

/// A prediction of collapse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CollapsePrediction {
    /// The class.
    pub risk: CollapseRisk,
    /// Cycles until the trend line reaches the floor; `None` if not within the horizon.
    pub collapse_in: Option<usize>,
    /// Whether the ROI fell by a large share when the stress rose only a little.
    pub brittle: bool,
    /// The ROI of the next cycles on the trend line.
    pub trajectory: Vec<f64>,
    /// Number of measured cycles, without the cold-start curve.
    pub samples: usize,
    /// The trend that the class follows from; all zero in summaries of older programs.
    #[serde(default)]
    pub outline: StabilityTrend,
    /// The limits that were applied; `None` in summaries of older programs.
    #[serde(default)]
    pub limits: Option<ForesightLimits>,
}

/// Slope, volatility and stability of the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct StabilityTrend {
    /// The change of ROI per cycle.
    pub slope: f64,
    /// The change of the slope per cycle.
    pub curvature: f64,
    /// The standard deviation around the line.
    pub volatility: f64,
    /// 1 / (1 + volatility), in (0, 1].
    pub stability: f64,
    /// Whether the ROI does not fall and does not jump; never below three cycles.
    pub stable: bool,
    /// Number of cycles used.
    pub samples: usize,
}

/// The last cycles of one module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForesightTracker {
    limits: ForesightLimits,
    history: VecDeque<ForesightCycle>,
    #[serde(alias = "seen")]
    recorded_cycles: usize,
    #[serde(rename = "template")]
    cold_start_curve: Vec<f64>,
}

impl ForesightTracker {
    /// An empty history.
    pub fn new(limits: ForesightLimits) -> Self {
        Self { limits, history: VecDeque::new(), recorded_cycles: 0, cold_start_curve: Vec::new() }
    }

    /// An empty history that is blended with a cold-start curve during its first cycles.
    pub fn with_cold_start(limits: ForesightLimits, cold_start_curve: &[f64]) -> Self {
        let cold_start_curve =
            cold_start_curve.iter().copied().filter(|value| is_usable(*value)).collect();
        Self { cold_start_curve, ..Self::new(limits) }
    }

    /// Records a cycle; one without a usable ROI is ignored.
    pub fn record(&mut self, cycle: ForesightCycle) {
        if !is_usable(cycle.roi) {
            return;
        }
        let known = |value: Option<f64>| value.filter(|value| is_usable(*value));
        // The cold-start curve's weight shrinks with each cycle; after its end its last value is
        // used.
        let weight = (self.recorded_cycles + 1) as f64 / COLD_START_CYCLES as f64;
        let expected =
            self.cold_start_curve.get(self.recorded_cycles).or(self.cold_start_curve.last());
        let roi = match expected {
            Some(expected) if weight < 1.0 => weight * cycle.roi + (1.0 - weight) * expected,
            _ => cycle.roi,
        };
        self.recorded_cycles += 1;
        let mut by_stage = cycle.by_stage;
        by_stage.retain(|_, value| is_usable(*value));
        self.history.push_back(ForesightCycle {
            roi,
            stress: known(cycle.stress),
            stage: cycle.stage,
            resilience: known(cycle.resilience),
            degradation: known(cycle.degradation),
            stability: known(cycle.stability),
            by_stage,
        });
        while self.history.len() > self.limits.window.max(1) {
            self.history.pop_front();
        }
    }

    /// The cycles that are kept, oldest first, blended with the cold-start curve.
    pub fn history(&self) -> impl Iterator<Item = &ForesightCycle> {
        self.history.iter()
    }

    /// Slope, volatility and stability of the window; zero for an empty one.
    pub fn stability_trend(&self) -> StabilityTrend {
        let values: Vec<f64> = self.history.iter().map(|cycle| cycle.roi).collect();
        let line = TrendLine::fit(&values);
        let slope = line.map_or(0.0, |line| line.slope);
        let around: Vec<f64> =
            values.iter().enumerate().map(|(place, value)| value - slope * place as f64).collect();
        let volatility = sample_deviation(&around);
        let changes: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        StabilityTrend {
            slope,
            curvature: TrendLine::fit(&changes).map_or(0.0, |line| line.slope),
            volatility,
            stability: 1.0 / (1.0 + volatility),
            stable: values.len() >= 3 && slope >= 0.0 && volatility < self.limits.volatility,
            samples: values.len(),
        }
    }

    /// Predicts the class of the module.
    ///
    /// A collapse within `imminent` cycles takes precedence, then volatility, then decay: a
    /// negative slope that reaches the floor within the horizon, or is more than a hundredth of the
    /// volatility.
    pub fn predict_collapse(&self) -> CollapsePrediction {
        let values: Vec<f64> = self.history.iter().map(|cycle| cycle.roi).collect();
        let outline = self.stability_trend();
        let trajectory: Vec<f64> = TrendLine::fit(&values)
            .map(|line| (0..self.limits.horizon).map(|step| line.predict(step)).collect())
            .unwrap_or_default();
        let fallen = values.last().is_some_and(|last| *last <= self.limits.floor);
        let collapse_in = if fallen {
            Some(0)
        } else if outline.slope < 0.0 {
            trajectory.iter().position(|roi| *roi <= self.limits.floor).map(|step| step + 1)
        } else {
            None
        };
        let risk = if collapse_in.is_some_and(|cycles| cycles <= self.limits.imminent) {
            CollapseRisk::ImmediateCollapse
        } else if outline.volatility >= self.limits.volatility {
            CollapseRisk::Volatile
        } else if collapse_in.is_some() || outline.slope < -0.01 * outline.volatility {
            CollapseRisk::SlowDecay
        } else {
            CollapseRisk::Stable
        };
        CollapsePrediction {
            risk,
            collapse_in,
            brittle: self.is_brittle(),
            trajectory,
            samples: self.history.len(),
            outline,
            limits: Some(self.limits),
        }
    }

    fn is_brittle(&self) -> bool {
        self.history.iter().zip(self.history.iter().skip(1)).any(|(before, after)| {
            let (Some(calm), Some(strained)) = (before.stress, after.stress) else { return false };
            let more = strained - calm;
            let lost = before.roi - after.roi;
            more > 0.0
                && more <= self.limits.small_stress
                && before.roi > 0.0
                && lost >= self.limits.large_drop * before.roi
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One stage of a trajectory: a module under increasingly adverse conditions.
    #[derive(Debug, Clone, PartialEq)]
    struct TrajectoryStage {
        /// `baseline`, `latency_spike` …
        name: String,
        roi: f64,
        resilience: Option<f64>,
        /// How adverse its conditions were, in [0, 1].
        stress: Option<f64>,
    }

    impl ForesightTracker {
        /// Records a trajectory, one cycle per stage, with the degradation against the first stage
        /// and the stability of the window.
        fn record_trajectory(&mut self, stages: &[TrajectoryStage]) {
            let Some(first) = stages.first().map(|stage| stage.roi) else { return };
            for stage in stages.iter().filter(|stage| is_usable(stage.roi)) {
                let degradation = Some(first - stage.roi).filter(|value| is_usable(*value));
                let numbers = [
                    ("roi", Some(stage.roi)),
                    ("resilience", stage.resilience),
                    ("degradation", degradation),
                ];
                let by_stage = numbers
                    .into_iter()
                    .filter_map(|(what, value)| Some((format!("{}_{what}", stage.name), value?)));
                self.record(ForesightCycle {
                    roi: stage.roi,
                    stress: stage.stress,
                    stage: Some(stage.name.clone()),
                    resilience: stage.resilience,
                    degradation,
                    stability: None,
                    by_stage: by_stage.collect(),
                });
                let stability = self.stability_trend().stability;
                if let Some(last) = self.history.back_mut() {
                    last.stability = Some(stability);
                }
            }
        }

        /// Whether the history is still blended with a cold-start curve.
        fn is_cold_start(&self) -> bool {
            !self.cold_start_curve.is_empty() && self.recorded_cycles < COLD_START_CYCLES
        }
    }

    fn foresight_after(values: &[f64]) -> ForesightTracker {
        let mut foresight = ForesightTracker::new(ForesightLimits::default());
        for roi in values {
            foresight.record(ForesightCycle {
                roi: *roi,
                stress: None,
                ..ForesightCycle::default()
            });
        }
        foresight
    }

    #[test]
    fn a_trajectory_is_kept_stage_by_stage() {
        let stage = |name: &str, roi, resilience| TrajectoryStage {
            name: name.to_owned(),
            roi,
            resilience,
            stress: None,
        };
        let mut foresight = ForesightTracker::new(ForesightLimits::default());
        foresight.record_trajectory(&[
            stage("baseline", 0.75, Some(1.0)),
            stage("latency_spike", 0.5, Some(0.75)),
            stage("schema_drift", 0.25, None),
        ]);
        let text = serde_json::to_string(&foresight).unwrap();
        let again: ForesightTracker = serde_json::from_str(&text).unwrap();
        assert_eq!(again, foresight);
        let kept: Vec<&ForesightCycle> = again.history().collect();
        assert_eq!(kept[1].stage.as_deref(), Some("latency_spike"));
        assert_eq!(kept[1].by_stage.get("latency_spike_roi"), Some(&0.5));
        assert_eq!(kept[1].by_stage.get("latency_spike_resilience"), Some(&0.75));
        assert_eq!(kept[2].by_stage.get("schema_drift_degradation"), Some(&0.5));
        assert_eq!((kept[2].degradation, kept[2].resilience), (Some(0.5), None));
        assert!(kept.iter().all(|cycle| cycle.stability.is_some_and(|it| it > 0.0 && it <= 1.0)));
        assert!(text.contains("\"latency_spike_roi\":0.5"), "{text}");
        assert_eq!(foresight.predict_collapse().limits, Some(ForesightLimits::default()));
    }

    #[test]
    fn a_history_without_stages_is_read_and_written_as_before() {
        let cycle = r#"{"roi":0.5,"stress":0.1}"#;
        let read: ForesightCycle = serde_json::from_str(cycle).unwrap();
        assert_eq!((read.roi, read.stress, &read.stage), (0.5, Some(0.1), &None));
        assert_eq!(serde_json::to_string(&read).unwrap(), cycle);
    }

    #[test]
    fn each_class_has_its_series() {
        let risk = |values: &[f64]| foresight_after(values).predict_collapse().risk;
        assert_eq!(risk(&[1.0, 1.1, 1.2, 1.3]), CollapseRisk::Stable);
        assert_eq!(risk(&[1.0; 6]), CollapseRisk::Stable);
        assert_eq!(risk(&[5.0, 4.9, 4.8, 4.7]), CollapseRisk::SlowDecay);
        assert_eq!(risk(&[5.0, 9.0, 5.0, 9.0, 5.0, 9.0]), CollapseRisk::Volatile);
        assert_eq!(risk(&[4.0, 3.0, 2.0, 1.0]), CollapseRisk::ImmediateCollapse);
        assert_eq!(risk(&[]), CollapseRisk::Stable);
    }

    #[test]
    fn a_collapse_is_dated() {
        assert_eq!(foresight_after(&[10.0, 9.0, 8.0, 7.0]).predict_collapse().collapse_in, Some(7));
        assert_eq!(foresight_after(&[1.0, -0.5]).predict_collapse().collapse_in, Some(0));
        assert_eq!(foresight_after(&[1.0, 2.0]).predict_collapse().collapse_in, None);
    }

    #[test]
    fn a_small_stress_that_costs_much_shows_a_brittle_module() {
        let brittle = |stress: f64, roi: f64| {
            let mut foresight = ForesightTracker::new(ForesightLimits::default());
            foresight.record(ForesightCycle {
                roi: 1.0,
                stress: Some(0.0),
                ..ForesightCycle::default()
            });
            foresight.record(ForesightCycle {
                roi,
                stress: Some(stress),
                ..ForesightCycle::default()
            });
            foresight.predict_collapse().brittle
        };
        assert!(brittle(0.05, 0.3));
        assert!(!brittle(0.05, 0.9));
        assert!(!brittle(0.9, 0.3));
    }

    #[test]
    fn the_weight_of_a_cold_start_curve_shrinks_over_five_cycles() {
        let mut foresight =
            ForesightTracker::with_cold_start(ForesightLimits::default(), &[1.0, 1.0]);
        for _ in 0..5 {
            assert!(foresight.is_cold_start());
            foresight.record(ForesightCycle {
                roi: 0.0,
                stress: None,
                ..ForesightCycle::default()
            });
        }
        let values: Vec<f64> = foresight.history().map(|cycle| cycle.roi).collect();
        for (value, expected) in values.iter().zip([0.8, 0.6, 0.4, 0.2, 0.0]) {
            assert!((value - expected).abs() < 1e-12);
        }
        assert!(!foresight.is_cold_start());
    }

    #[test]
    fn the_window_forgets_and_json_remembers() {
        let mut foresight = foresight_after(&[1.0; 30]);
        foresight.record(ForesightCycle {
            roi: f64::NAN,
            stress: None,
            ..ForesightCycle::default()
        });
        assert_eq!(foresight.history().count(), 10);
        let text = serde_json::to_string(&foresight).unwrap();
        assert_eq!(serde_json::from_str::<ForesightTracker>(&text).unwrap(), foresight);
        assert!(
            serde_json::to_string(&foresight.predict_collapse()).unwrap().contains("\"Stable\"")
        );
    }

    #[test]
    fn too_few_cycles_are_not_stable() {
        let stable = |values: &[f64]| foresight_after(values).predict_collapse().outline.stable;
        assert!(!stable(&[]) && !stable(&[1.0, 2.0]));
        assert!(stable(&[1.0, 1.1, 1.2]) && !stable(&[1.0, 0.9, 0.8]));
    }
}

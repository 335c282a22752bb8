//! Where a workflow's ROI is heading, and whether it will collapse.
//!
//! Running the stages and reading templates belongs to others. Invariant: the history holds usable
//! numbers only and is never longer than its window.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::describe::{deviation, usable};
use super::trend::Line;

/// Cycles over which a template gives way to what was measured.
pub const COLD_START: usize = 5;

/// One cycle of a workflow, or one stage of a trajectory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cycle {
    /// The ROI.
    pub roi: f64,
    /// How hard the conditions were, in [0, 1]; entropy, degradation or severity.
    pub stress: Option<f64>,
    /// Which stage of a trajectory it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The resilience.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resilience: Option<f64>,
    /// How far the ROI lies below that of the first stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degradation: Option<f64>,
    /// The stability of the window when it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<f64>,
    /// The same under the names of stages: `latency_spike_roi`, `schema_drift_degradation` …
    #[serde(flatten)]
    pub by_stage: BTreeMap<String, f64>,
}

/// What one stage of a trajectory came to: the same workflow under harder and harder conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// `baseline`, `latency_spike` …
    pub name: String,
    pub roi: f64,
    pub resilience: Option<f64>,
    /// How hard its conditions were, in [0, 1].
    pub stress: Option<f64>,
}

/// Where the line between the classes lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Cycles that are kept.
    pub window: usize,
    /// The standard deviation from which a workflow is volatile.
    pub volatility: f64,
    /// The ROI at which a workflow has collapsed.
    pub floor: f64,
    /// Cycles within which a collapse is imminent.
    pub imminent: usize,
    /// Cycles that are looked ahead.
    pub horizon: usize,
    /// The change of stress up to which it is small.
    pub small_stress: f64,
    /// The share of its ROI that a brittle workflow loses to a small stress.
    pub large_drop: f64,
}

impl Default for Limits {
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

/// What a workflow is heading for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Risk {
    /// It holds its ROI.
    Stable,
    /// It loses a little each cycle.
    #[serde(rename = "Slow decay")]
    SlowDecay,
    /// It jumps too much to say.
    Volatile,
    /// It reaches the floor within the next cycles.
    #[serde(rename = "Immediate collapse risk")]
    ImmediateCollapse,
}

/// A prediction of collapse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Collapse {
    /// The class.
    pub risk: Risk,
    /// Cycles until the line reaches the floor; none within the horizon.
    pub collapse_in: Option<usize>,
    /// Whether a small stress has cost a large part of the ROI.
    pub brittle: bool,
    /// The ROI of the next cycles, as the line has it.
    pub trajectory: Vec<f64>,
    /// Cycles it rests on, templates not counted.
    pub samples: usize,
    /// The numbers behind the class; level and still in summaries of older programs.
    #[serde(default)]
    pub outline: Outline,
    /// What they were compared with; none in summaries of older programs.
    #[serde(default)]
    pub limits: Option<Limits>,
}

/// Slope, volatility and stability of the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    /// The change of ROI per cycle.
    pub slope: f64,
    /// The change of that change.
    pub curvature: f64,
    /// The standard deviation around the line.
    pub volatility: f64,
    /// 1 / (1 + volatility), in (0, 1].
    pub stability: f64,
    /// Whether the ROI does not fall and does not jump; never below three cycles.
    pub stable: bool,
    /// Cycles it rests on.
    pub samples: usize,
}

/// The last cycles of one workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Foresight {
    limits: Limits,
    history: VecDeque<Cycle>,
    seen: usize,
    template: Vec<f64>,
}

impl Foresight {
    /// An empty history.
    pub fn new(limits: Limits) -> Self {
        Self { limits, history: VecDeque::new(), seen: 0, template: Vec::new() }
    }

    /// An empty history that leans on a template's ROI curve during its first cycles.
    pub fn with_template(limits: Limits, template: &[f64]) -> Self {
        let template = template.iter().copied().filter(|value| usable(*value)).collect();
        Self { template, ..Self::new(limits) }
    }

    /// Takes in one cycle; one without a usable ROI is not remembered.
    pub fn record(&mut self, cycle: Cycle) {
        if !usable(cycle.roi) {
            return;
        }
        let known = |value: Option<f64>| value.filter(|value| usable(*value));
        // The template's share fades from cycle to cycle; where it ends, its last value goes on.
        let weight = (self.seen + 1) as f64 / COLD_START as f64;
        let expected = self.template.get(self.seen).or(self.template.last());
        let roi = match expected {
            Some(expected) if weight < 1.0 => weight * cycle.roi + (1.0 - weight) * expected,
            _ => cycle.roi,
        };
        self.seen += 1;
        let mut by_stage = cycle.by_stage;
        by_stage.retain(|_, value| usable(*value));
        self.history.push_back(Cycle {
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

    /// Takes in a trajectory, one cycle per stage: how far each falls from the first, and how stable the
    /// window is after it.
    pub fn record_trajectory(&mut self, stages: &[Stage]) {
        let Some(first) = stages.first().map(|stage| stage.roi) else { return };
        for stage in stages.iter().filter(|stage| usable(stage.roi)) {
            let degradation = Some(first - stage.roi).filter(|value| usable(*value));
            let numbers = [
                ("roi", Some(stage.roi)),
                ("resilience", stage.resilience),
                ("degradation", degradation),
            ];
            let by_stage = numbers
                .into_iter()
                .filter_map(|(what, value)| Some((format!("{}_{what}", stage.name), value?)));
            self.record(Cycle {
                roi: stage.roi,
                stress: stage.stress,
                stage: Some(stage.name.clone()),
                resilience: stage.resilience,
                degradation,
                stability: None,
                by_stage: by_stage.collect(),
            });
            let stability = self.outline().stability;
            if let Some(last) = self.history.back_mut() {
                last.stability = Some(stability);
            }
        }
    }

    /// The cycles that are kept, oldest first, blended with the template.
    pub fn history(&self) -> impl Iterator<Item = &Cycle> {
        self.history.iter()
    }

    /// Whether what is known still leans on a template.
    pub fn is_cold(&self) -> bool {
        !self.template.is_empty() && self.seen < COLD_START
    }

    /// Slope, volatility and stability of the window; level and still when it is empty.
    pub fn outline(&self) -> Outline {
        let values: Vec<f64> = self.history.iter().map(|cycle| cycle.roi).collect();
        let line = Line::through(&values);
        let slope = line.map_or(0.0, |line| line.slope);
        let around: Vec<f64> =
            values.iter().enumerate().map(|(place, value)| value - slope * place as f64).collect();
        let volatility = deviation(&around);
        let changes: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        Outline {
            slope,
            curvature: Line::through(&changes).map_or(0.0, |line| line.slope),
            volatility,
            stability: 1.0 / (1.0 + volatility),
            stable: values.len() >= 3 && slope >= 0.0 && volatility < self.limits.volatility,
            samples: values.len(),
        }
    }

    /// What the workflow is heading for.
    ///
    /// A collapse within `imminent` cycles comes first, then volatility, then decay: any slope below
    /// zero that reaches the floor within the horizon or is more than a hundredth of the volatility.
    pub fn predict_collapse(&self) -> Collapse {
        let values: Vec<f64> = self.history.iter().map(|cycle| cycle.roi).collect();
        let outline = self.outline();
        let trajectory: Vec<f64> = Line::through(&values)
            .map(|line| (0..self.limits.horizon).map(|step| line.ahead(step)).collect())
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
            Risk::ImmediateCollapse
        } else if outline.volatility >= self.limits.volatility {
            Risk::Volatile
        } else if collapse_in.is_some() || outline.slope < -0.01 * outline.volatility {
            Risk::SlowDecay
        } else {
            Risk::Stable
        };
        Collapse {
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

    fn after(values: &[f64]) -> Foresight {
        let mut foresight = Foresight::new(Limits::default());
        for roi in values {
            foresight.record(Cycle { roi: *roi, stress: None, ..Cycle::default() });
        }
        foresight
    }

    #[test]
    fn a_trajectory_is_kept_stage_by_stage() {
        let stage = |name: &str, roi, resilience| Stage {
            name: name.to_owned(),
            roi,
            resilience,
            stress: None,
        };
        let mut foresight = Foresight::new(Limits::default());
        foresight.record_trajectory(&[
            stage("baseline", 0.75, Some(1.0)),
            stage("latency_spike", 0.5, Some(0.75)),
            stage("schema_drift", 0.25, None),
        ]);
        let text = serde_json::to_string(&foresight).unwrap();
        let again: Foresight = serde_json::from_str(&text).unwrap();
        assert_eq!(again, foresight);
        let kept: Vec<&Cycle> = again.history().collect();
        assert_eq!(kept[1].stage.as_deref(), Some("latency_spike"));
        assert_eq!(kept[1].by_stage.get("latency_spike_roi"), Some(&0.5));
        assert_eq!(kept[1].by_stage.get("latency_spike_resilience"), Some(&0.75));
        assert_eq!(kept[2].by_stage.get("schema_drift_degradation"), Some(&0.5));
        assert_eq!((kept[2].degradation, kept[2].resilience), (Some(0.5), None));
        assert!(kept.iter().all(|cycle| cycle.stability.is_some_and(|it| it > 0.0 && it <= 1.0)));
        assert!(text.contains("\"latency_spike_roi\":0.5"), "{text}");
        assert_eq!(foresight.predict_collapse().limits, Some(Limits::default()));
    }

    #[test]
    fn a_history_without_stages_is_read_and_written_as_before() {
        let cycle = r#"{"roi":0.5,"stress":0.1}"#;
        let read: Cycle = serde_json::from_str(cycle).unwrap();
        assert_eq!((read.roi, read.stress, &read.stage), (0.5, Some(0.1), &None));
        assert_eq!(serde_json::to_string(&read).unwrap(), cycle);
    }

    #[test]
    fn each_class_has_its_series() {
        let risk = |values: &[f64]| after(values).predict_collapse().risk;
        assert_eq!(risk(&[1.0, 1.1, 1.2, 1.3]), Risk::Stable);
        assert_eq!(risk(&[1.0; 6]), Risk::Stable);
        assert_eq!(risk(&[5.0, 4.9, 4.8, 4.7]), Risk::SlowDecay);
        assert_eq!(risk(&[5.0, 9.0, 5.0, 9.0, 5.0, 9.0]), Risk::Volatile);
        assert_eq!(risk(&[4.0, 3.0, 2.0, 1.0]), Risk::ImmediateCollapse);
        assert_eq!(risk(&[]), Risk::Stable);
    }

    #[test]
    fn a_collapse_is_dated() {
        assert_eq!(after(&[10.0, 9.0, 8.0, 7.0]).predict_collapse().collapse_in, Some(7));
        assert_eq!(after(&[1.0, -0.5]).predict_collapse().collapse_in, Some(0));
        assert_eq!(after(&[1.0, 2.0]).predict_collapse().collapse_in, None);
    }

    #[test]
    fn a_small_stress_that_costs_much_shows_a_brittle_workflow() {
        let brittle = |stress: f64, roi: f64| {
            let mut foresight = Foresight::new(Limits::default());
            foresight.record(Cycle { roi: 1.0, stress: Some(0.0), ..Cycle::default() });
            foresight.record(Cycle { roi, stress: Some(stress), ..Cycle::default() });
            foresight.predict_collapse().brittle
        };
        assert!(brittle(0.05, 0.3));
        assert!(!brittle(0.05, 0.9));
        assert!(!brittle(0.9, 0.3));
    }

    #[test]
    fn a_template_fades_over_five_cycles() {
        let mut foresight = Foresight::with_template(Limits::default(), &[1.0, 1.0]);
        for _ in 0..5 {
            assert!(foresight.is_cold());
            foresight.record(Cycle { roi: 0.0, stress: None, ..Cycle::default() });
        }
        let values: Vec<f64> = foresight.history().map(|cycle| cycle.roi).collect();
        for (value, expected) in values.iter().zip([0.8, 0.6, 0.4, 0.2, 0.0]) {
            assert!((value - expected).abs() < 1e-12);
        }
        assert!(!foresight.is_cold());
    }

    #[test]
    fn the_window_forgets_and_json_remembers() {
        let mut foresight = after(&[1.0; 30]);
        foresight.record(Cycle { roi: f64::NAN, stress: None, ..Cycle::default() });
        assert_eq!(foresight.history().count(), 10);
        let text = serde_json::to_string(&foresight).unwrap();
        assert_eq!(serde_json::from_str::<Foresight>(&text).unwrap(), foresight);
        assert!(
            serde_json::to_string(&foresight.predict_collapse()).unwrap().contains("\"Stable\"")
        );
    }

    #[test]
    fn too_few_cycles_are_not_stable() {
        let stable = |values: &[f64]| after(values).predict_collapse().outline.stable;
        assert!(!stable(&[]) && !stable(&[1.0, 2.0]));
        assert!(stable(&[1.0, 1.1, 1.2]) && !stable(&[1.0, 0.9, 0.8]));
    }
}

//! Records what source changes changed in modules: entropy and complexity against ROI.
//!
//! `stats::entropy` evaluates them. Invariant: a module that did not change has no new source
//! change.

use serde::{Deserialize, Serialize};

use super::Tracker;
use crate::stats::entropy::SourceDelta;
use crate::{CycleScores, ModuleFacts};

/// The most source changes of a module that are kept.
const MAX_CHANGES_PER_MODULE: usize = 50;

/// A module when it was last measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ModuleShape {
    /// Shannon entropy of its tokens, in bits.
    pub entropy: f64,
    /// Cyclomatic complexity of the whole module.
    pub complexity: f64,
    /// Its ROI.
    pub roi: f64,
    /// Logical lines; not recorded by older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<f64>,
    /// The complexity of the last source change, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "patch_complexity")]
    pub source_change_size: Option<f64>,
}

impl Tracker {
    /// Compares modules with their state in the last cycle that measured them; a module with
    /// another entropy or complexity was changed in between.
    pub fn record_source_changes(&mut self, modules: &[ModuleFacts], report: &CycleScores) {
        for module in modules {
            let scored = report.modules.get(&module.path);
            let Some(roi) = scored.and_then(crate::ScoredMetrics::roi_value) else { continue };
            let shape = self.measure_shape(module, roi);
            self.record_shape(&module.path, shape);
        }
    }

    /// The size of a module's last source change: the absolute changes of logical lines and of
    /// complexity, added. `None` before the first source change.
    pub fn source_change_size(&self, module: &ModuleFacts) -> Option<f64> {
        let before = self.history.module_shapes.get(&module.path)?;
        let complexity = f64::from(module.code_metrics.complexity);
        let lines = f64::from(module.code_metrics.lines.lloc);
        let change = complexity - before.complexity;
        if module.code_metrics.entropy - before.entropy == 0.0 && change == 0.0 {
            return before.source_change_size;
        }
        let size = before.lines.map_or(0.0, |before| (lines - before).abs());
        Some(size + change.abs())
    }

    fn measure_shape(&self, module: &ModuleFacts, roi: f64) -> ModuleShape {
        ModuleShape {
            entropy: module.code_metrics.entropy,
            complexity: f64::from(module.code_metrics.complexity),
            roi,
            lines: Some(f64::from(module.code_metrics.lines.lloc)),
            source_change_size: self.source_change_size(module),
        }
    }

    fn record_shape(&mut self, module: &str, shape: ModuleShape) {
        let history = &mut self.history;
        let Some(before) = history.module_shapes.insert(module.to_owned(), shape) else { return };
        let source_change = SourceDelta {
            roi_delta: shape.roi - before.roi,
            entropy_delta: shape.entropy - before.entropy,
            complexity_delta: shape.complexity - before.complexity,
        };
        if source_change.entropy_delta == 0.0 && source_change.complexity_delta == 0.0 {
            return;
        }
        push_bounded(
            history.module_source_changes.entry(module.to_owned()).or_default(),
            source_change,
        );
        if let Some(ratio) = source_change.entropy_ratio() {
            push_bounded(
                history.module_entropy_deltas.entry(module.to_owned()).or_default(),
                ratio,
            );
        }
    }
}

fn push_bounded<T>(values: &mut Vec<T>, value: T) {
    values.push(value);
    let surplus = values.len().saturating_sub(MAX_CHANGES_PER_MODULE);
    values.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(entropy: f64, complexity: f64, roi: f64) -> ModuleShape {
        ModuleShape { entropy, complexity, roi, lines: None, source_change_size: None }
    }

    #[test]
    fn the_last_change_is_measured_by_what_it_changed() {
        let mut module = ModuleFacts {
            path: "m.py".to_owned(),
            name: "m".to_owned(),
            code_metrics: menace_model::CodeMetrics {
                entropy: 4.0,
                complexity: 10,
                ..Default::default()
            },
            findings: Vec::new(),
            lints: 0,
            fan_in: 0,
            severity: 0.5,
            sections: Vec::new(),
            source_change_size: None,
        };
        module.code_metrics.lines.lloc = 40;
        let mut tracker = Tracker::default();
        assert_eq!(tracker.source_change_size(&module), None, "nothing is known of it");
        let note = |tracker: &mut Tracker, module: &ModuleFacts| {
            let shape = tracker.measure_shape(module, 0.1);
            tracker.record_shape("m.py", shape);
        };
        note(&mut tracker, &module);
        assert_eq!(tracker.source_change_size(&module), None, "it did not change");
        module.code_metrics.entropy = 4.5;
        module.code_metrics.complexity = 8;
        module.code_metrics.lines.lloc = 45;
        assert_eq!(tracker.source_change_size(&module), Some(7.0));
        note(&mut tracker, &module);
        assert_eq!(tracker.source_change_size(&module), Some(7.0), "it is still the last one");
    }

    #[test]
    fn only_what_changed_is_a_source_change() {
        let mut tracker = Tracker::default();
        tracker.record_shape("m.py", shape(4.0, 10.0, 0.1));
        tracker.record_shape("m.py", shape(4.0, 10.0, 0.2));
        assert!(tracker.history().module_source_changes.is_empty());
        tracker.record_shape("m.py", shape(4.5, 12.0, 0.3));
        let source_changes = &tracker.history().module_source_changes["m.py"];
        assert_eq!(source_changes.len(), 1);
        // The difference is to the last cycle, not to the first.
        assert!((source_changes[0].roi_delta - 0.1).abs() < 1e-12);
        assert_eq!(tracker.history().module_entropy_deltas["m.py"], [0.25]);
        // Complexity did not change: a source change, but without a ratio.
        tracker.record_shape("m.py", shape(5.0, 12.0, 0.3));
        assert_eq!(tracker.history().module_source_changes["m.py"].len(), 2);
        assert_eq!(tracker.history().module_entropy_deltas["m.py"].len(), 1);
    }
}

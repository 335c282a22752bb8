//! Records what patches changed in modules: entropy and complexity against ROI.
//!
//! `stats::entropy` evaluates them. Invariant: a module that did not change has no new patch.

use serde::{Deserialize, Serialize};

use super::Tracker;
use crate::stats::entropy::PatchDelta;
use crate::{CycleReport, ModuleFacts};

/// The most patches of a module that are kept.
const MAX_PATCHES_PER_MODULE: usize = 50;

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
    /// The complexity of the last patch, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_complexity: Option<f64>,
}

impl Tracker {
    /// Compares modules with their state in the last cycle that measured them; a module with
    /// another entropy or complexity was patched in between.
    pub fn record_patches(&mut self, modules: &[ModuleFacts], report: &CycleReport) {
        for module in modules {
            let scored = report.modules.get(&module.path);
            let Some(roi) = scored.and_then(crate::ScoredMetrics::roi_value) else { continue };
            let shape = self.measure_shape(module, roi);
            self.record_shape(&module.path, shape);
        }
    }

    /// The size of a module's last patch: the absolute changes of logical lines and of complexity,
    /// added. `None` before the first patch.
    pub fn patch_complexity(&self, module: &ModuleFacts) -> Option<f64> {
        let before = self.history.module_shapes.get(&module.path)?;
        let complexity = f64::from(module.numbers.complexity);
        let lines = f64::from(module.numbers.lines.lloc);
        let change = complexity - before.complexity;
        if module.numbers.entropy - before.entropy == 0.0 && change == 0.0 {
            return before.patch_complexity;
        }
        let size = before.lines.map_or(0.0, |before| (lines - before).abs());
        Some(size + change.abs())
    }

    fn measure_shape(&self, module: &ModuleFacts, roi: f64) -> ModuleShape {
        ModuleShape {
            entropy: module.numbers.entropy,
            complexity: f64::from(module.numbers.complexity),
            roi,
            lines: Some(f64::from(module.numbers.lines.lloc)),
            patch_complexity: self.patch_complexity(module),
        }
    }

    fn record_shape(&mut self, module: &str, shape: ModuleShape) {
        let history = &mut self.history;
        let Some(before) = history.module_shapes.insert(module.to_owned(), shape) else { return };
        let patch = PatchDelta {
            roi_delta: shape.roi - before.roi,
            entropy_delta: shape.entropy - before.entropy,
            complexity_delta: shape.complexity - before.complexity,
        };
        if patch.entropy_delta == 0.0 && patch.complexity_delta == 0.0 {
            return;
        }
        push_bounded(history.module_patches.entry(module.to_owned()).or_default(), patch);
        if let Some(ratio) = patch.entropy_ratio() {
            push_bounded(
                history.module_entropy_deltas.entry(module.to_owned()).or_default(),
                ratio,
            );
        }
    }
}

fn push_bounded<T>(values: &mut Vec<T>, value: T) {
    values.push(value);
    let surplus = values.len().saturating_sub(MAX_PATCHES_PER_MODULE);
    values.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(entropy: f64, complexity: f64, roi: f64) -> ModuleShape {
        ModuleShape { entropy, complexity, roi, lines: None, patch_complexity: None }
    }

    #[test]
    fn the_last_patch_is_measured_by_what_it_changed() {
        let mut module = ModuleFacts {
            path: "m.py".to_owned(),
            name: "m".to_owned(),
            numbers: menace_model::CodeMetrics {
                entropy: 4.0,
                complexity: 10,
                ..Default::default()
            },
            findings: Vec::new(),
            lints: 0,
            fan_in: 0,
            severity: 0.5,
            sections: Vec::new(),
            patch_complexity: None,
        };
        module.numbers.lines.lloc = 40;
        let mut tracker = Tracker::default();
        assert_eq!(tracker.patch_complexity(&module), None, "nothing is known of it");
        let note = |tracker: &mut Tracker, module: &ModuleFacts| {
            let shape = tracker.measure_shape(module, 0.1);
            tracker.record_shape("m.py", shape);
        };
        note(&mut tracker, &module);
        assert_eq!(tracker.patch_complexity(&module), None, "it did not change");
        module.numbers.entropy = 4.5;
        module.numbers.complexity = 8;
        module.numbers.lines.lloc = 45;
        assert_eq!(tracker.patch_complexity(&module), Some(7.0));
        note(&mut tracker, &module);
        assert_eq!(tracker.patch_complexity(&module), Some(7.0), "it is still the last one");
    }

    #[test]
    fn only_what_changed_was_patched() {
        let mut tracker = Tracker::default();
        tracker.record_shape("m.py", shape(4.0, 10.0, 0.1));
        tracker.record_shape("m.py", shape(4.0, 10.0, 0.2));
        assert!(tracker.history().module_patches.is_empty());
        tracker.record_shape("m.py", shape(4.5, 12.0, 0.3));
        let patches = &tracker.history().module_patches["m.py"];
        assert_eq!(patches.len(), 1);
        // The difference is to the last cycle, not to the first.
        assert!((patches[0].roi_delta - 0.1).abs() < 1e-12);
        assert_eq!(tracker.history().module_entropy_deltas["m.py"], [0.25]);
        // Complexity did not change: a patch, but without a ratio.
        tracker.record_shape("m.py", shape(5.0, 12.0, 0.3));
        assert_eq!(tracker.history().module_patches["m.py"].len(), 2);
        assert_eq!(tracker.history().module_entropy_deltas["m.py"].len(), 1);
    }
}

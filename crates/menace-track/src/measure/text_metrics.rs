//! The metrics of a module's source text.

use menace_model::{FindingConfidence, FindingSeverity, StaticFinding};

use crate::{MetricValues, ModuleFacts};

/// One finding of the greatest weight per hundred lines halves the score.
const WORST_FINDING_WEIGHT: f64 = 9.0;
/// Smaller modules count as having this many lines: in ten lines, one finding would dominate the
/// score.
const MIN_SCORED_LINES: u32 = 100;
/// One lint finding for every ten statements halves the score.
const STATEMENTS_PER_LINT: f64 = 10.0;

/// Adds the metrics of the source text; a module that could not be read has none.
pub(super) fn add_text_metrics(metrics: &mut MetricValues, module: &ModuleFacts) {
    metrics.set("patch_complexity", module.source_change_size.filter(|points| *points >= 0.0));
    let code_metrics = &module.code_metrics;
    if code_metrics.statements == 0 {
        return;
    }
    let weights =
        module.findings.iter().filter(|finding| finding.is_bandit_rule()).map(finding_weight);
    // Logical lines, so that formatting and comments do not matter.
    let hundreds = f64::from(code_metrics.lines.lloc.max(MIN_SCORED_LINES)) / 100.0;
    let density = weights.sum::<f64>() / hundreds;
    metrics.set("security_score", 1.0 / (1.0 + density / WORST_FINDING_WEIGHT));
    let lints = f64::from(module.lints) / f64::from(code_metrics.statements);
    metrics.set("code_quality", 1.0 / (1.0 + STATEMENTS_PER_LINT * lints));
    metrics.set("maintainability", (code_metrics.maintainability / 100.0).clamp(0.0, 1.0));
    metrics.set("shannon_entropy", code_metrics.entropy.max(0.0));
}

/// Severity × confidence of a finding, at most 9.
pub(crate) fn finding_weight(finding: &StaticFinding) -> f64 {
    let severity = match finding.severity {
        FindingSeverity::Low => 1.0,
        FindingSeverity::Medium => 3.0,
        FindingSeverity::High => WORST_FINDING_WEIGHT,
    };
    let confidence = match finding.confidence {
        FindingConfidence::Low => 1.0 / 3.0,
        FindingConfidence::Medium => 2.0 / 3.0,
        FindingConfidence::High => 1.0,
    };
    severity * confidence
}

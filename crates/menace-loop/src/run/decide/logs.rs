//! `threshold_log.jsonl` and the forecast log: one line per cycle, with the evidence of each
//! decision.

use menace_store::files::append_line;
use menace_track::ConvergenceReport;
use menace_track::stats::evidence::{DecisionAnswer, StatisticalDecision};
use serde_json::{Value, json};

use super::super::RunError;
use super::{CycleDecisions, DecisionInput};

const THRESHOLDS_FILE: &str = "threshold_log.jsonl";

/// Adds a line to each log.
pub(super) fn append(
    input: &DecisionInput<'_>,
    decisions: &CycleDecisions,
) -> Result<(), RunError> {
    let timestamp = timestamp(input.at_ms);
    let line = threshold_line(input, &decisions.convergence, &timestamp);
    append_line(&input.request.data_dir.join(THRESHOLDS_FILE), &line)?;
    trace_thresholds(input, decisions);
    if let Some(file) = input.request.forecast_log {
        append_line(file, &forecast_line(input, decisions, &timestamp))?;
    }
    Ok(())
}

fn threshold_line(
    input: &DecisionInput<'_>,
    convergence: &ConvergenceReport,
    timestamp: &str,
) -> Value {
    json!({
        "timestamp": timestamp,
        "run": input.request.id.0,
        "cycle": input.cycle + 1,
        "roi_threshold": convergence.roi_threshold,
        "roi_threshold_source": convergence.roi_threshold_source,
        "roi_adaptive": convergence.roi_adaptive,
        "roi_tolerance": convergence.roi_tolerance,
        "reliability": convergence.reliability,
        "synergy_threshold": convergence.synergy_threshold,
        "synergy_adaptive": convergence.synergy_adaptive,
        "converged": convergence.converged,
        "roi": convergence.roi,
        "modules": module_decisions(convergence),
        "synergy": convergence.synergy,
        "entropy": convergence.entropy,
        "converged_modules": convergence.converged_modules().collect::<Vec<_>>(),
        // The key for modules at their entropy cap.
        "complete": convergence.entropy_capped_modules().collect::<Vec<_>>(),
    })
}

fn trace_thresholds(input: &DecisionInput<'_>, decisions: &CycleDecisions) {
    let convergence = &decisions.convergence;
    let next = decisions.forecast.as_ref().and_then(|forecast| forecast.points.first());
    tracing::debug!(
        prediction = next.map(|point| point.mean),
        interval = ?next.and_then(|point| point.interval),
        roi_threshold = convergence.roi_threshold,
        roi_p_values = ?p_values(&convergence.roi),
        synergy_threshold = convergence.synergy_threshold,
        largest_ema = convergence.synergy.largest_average(),
        synergy_confidence = convergence.synergy.confidence,
        converged = convergence.converged,
        "thresholds of cycle {}",
        input.cycle + 1
    );
    for (metric, decision) in &convergence.synergy.metrics {
        tracing::debug!(
            metric,
            verdict = ?decision.answer,
            confidence = decision.confidence,
            p_values = ?p_values(decision),
            "synergy convergence"
        );
    }
}

fn forecast_line(input: &DecisionInput<'_>, decisions: &CycleDecisions, timestamp: &str) -> Value {
    let CycleDecisions { convergence, calibration, .. } = decisions;
    let forecast = decisions.forecast.as_ref();
    let next = forecast.and_then(|forecast| forecast.points.first());
    json!({
        "timestamp": timestamp,
        "run": input.request.id.0,
        "cycle": input.cycle + 1,
        "roi": input.evaluation.scores.run.roi_value(),
        "forecast": next.map(|point| point.mean),
        "interval": next.and_then(|point| point.interval),
        "confidence": forecast.map(|forecast| forecast.confidence),
        "method": forecast.map(|forecast| forecast.method),
        "samples": forecast.map(|forecast| forecast.samples),
        "calibrated": calibration.next.map(|calibrated| calibrated.value),
        "low_confidence": calibration.next.map(|calibrated| calibrated.low_confidence),
        "drifts": calibration.drifts,
        "reliability": convergence.reliability,
        "roi_threshold": convergence.roi_threshold,
        "synergy_threshold": convergence.synergy_threshold,
        "converged": convergence.converged,
        "evidence": {
            "roi": convergence.roi.evidence,
            "synergy": convergence.synergy.metrics,
            "modules": module_decisions(convergence),
            "entropy": convergence.entropy,
        },
        "predictions": input.evaluation.predictions,
    })
}

/// Decisions about modules, except those with too few cycles.
fn module_decisions(convergence: &ConvergenceReport) -> serde_json::Map<String, Value> {
    let modules = convergence.modules.iter();
    modules
        .filter(|(_, decision)| decision.answer != DecisionAnswer::TooFewSamples)
        .map(|(path, decision)| (path.clone(), json!(decision)))
        .collect()
}

fn p_values(decision: &StatisticalDecision) -> Vec<f64> {
    decision.evidence.iter().filter_map(|evidence| evidence.p_value).collect()
}

/// `2026-11-16T21:35:00Z`.
pub(super) fn timestamp(ms: i64) -> String {
    menace_model::format_utc(ms, "%Y-%m-%dT%H:%M:%SZ")
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn timestamps_are_rfc_3339_in_utc() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(1_794_865_204_999), "2026-11-16T21:40:04Z");
    }
}

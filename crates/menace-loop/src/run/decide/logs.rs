//! `threshold_log.jsonl` and the forecast log: one line per cycle, for people who ask why.

use menace_store::RunId;
use menace_store::files::append_line;
use menace_track::Judgement;
use menace_track::stats::evidence::{Decision, Verdict};
use serde_json::{Value, json};

use super::super::{Run, RunError, date, now_ms};
use super::Conclusions;
use super::calibration::Calibration;

const THRESHOLDS: &str = "threshold_log.jsonl";

/// Adds a line to each log.
pub(super) fn write(
    run: &Run<'_>,
    id: &RunId,
    cycle: u32,
    concluded: &Conclusions,
    calibration: &Calibration,
) -> Result<(), RunError> {
    let timestamp = timestamp(now_ms());
    // People count from one.
    let cycle = cycle + 1;
    let judged = &concluded.judgement;
    let next = concluded.forecast.as_ref().and_then(|forecast| forecast.points.first());
    let line = json!({
        "timestamp": timestamp,
        "run": id.0,
        "cycle": cycle,
        "roi_threshold": judged.roi_threshold,
        "roi_threshold_source": judged.roi_threshold_source,
        "roi_adaptive": judged.roi_adaptive,
        "roi_tolerance": judged.roi_tolerance,
        "reliability": judged.reliability,
        "synergy_threshold": judged.synergy_threshold,
        "synergy_adaptive": judged.synergy_adaptive,
        "converged": judged.converged,
        "roi": judged.roi,
        "modules": decided(judged),
        "synergy": judged.synergy,
        "entropy": judged.entropy,
        "faded": judged.faded().collect::<Vec<_>>(),
        "complete": judged.complete().collect::<Vec<_>>(),
    });
    append_line(&run.data_dir.join(THRESHOLDS), &line)?;
    tracing::debug!(
        prediction = next.map(|point| point.mean),
        interval = ?next.and_then(|point| point.interval),
        roi_threshold = judged.roi_threshold,
        roi_p_values = ?p_values(&judged.roi),
        synergy_threshold = judged.synergy_threshold,
        largest_ema = judged.synergy.largest_average(),
        synergy_confidence = judged.synergy.confidence,
        converged = judged.converged,
        "thresholds of cycle {cycle}"
    );
    for (metric, decision) in &judged.synergy.metrics {
        tracing::debug!(
            metric,
            verdict = ?decision.verdict,
            confidence = decision.confidence,
            p_values = ?p_values(decision),
            "synergy convergence"
        );
    }
    let Some(file) = run.forecast_log else { return Ok(()) };
    let forecast = concluded.forecast.as_ref();
    let line = json!({
        "timestamp": timestamp,
        "run": id.0,
        "cycle": cycle,
        "roi": concluded.roi,
        "forecast": next.map(|point| point.mean),
        "interval": next.and_then(|point| point.interval),
        "confidence": forecast.map(|forecast| forecast.confidence),
        "method": forecast.map(|forecast| forecast.method),
        "samples": forecast.map(|forecast| forecast.samples),
        "calibrated": calibration.next.map(|calibrated| calibrated.value),
        "low_confidence": calibration.next.map(|calibrated| calibrated.low_confidence),
        "drifts": calibration.drifts,
        "reliability": judged.reliability,
        "roi_threshold": judged.roi_threshold,
        "synergy_threshold": judged.synergy_threshold,
        "converged": judged.converged,
        "evidence": {
            "roi": judged.roi.evidence,
            "synergy": judged.synergy.metrics,
            "modules": decided(judged),
            "entropy": judged.entropy,
        },
        "predictions": concluded.predictions,
    });
    append_line(file, &line)?;
    Ok(())
}

/// Decisions on modules; those that have too short a past are none.
fn decided(judged: &Judgement) -> serde_json::Map<String, Value> {
    let modules = judged.modules.iter();
    modules
        .filter(|(_, decision)| decision.verdict != Verdict::TooFewSamples)
        .map(|(path, decision)| (path.clone(), json!(decision)))
        .collect()
}

fn p_values(decision: &Decision) -> Vec<f64> {
    decision.evidence.iter().filter_map(|evidence| evidence.p_value).collect()
}

/// `2026-11-16T21:35:00Z`.
pub(super) fn timestamp(ms: i64) -> String {
    let seconds = ms.div_euclid(1000);
    let (year, month, day) = date(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn moments_are_written_as_everybody_reads_them() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(1_794_865_204_999), "2026-11-16T21:40:04Z");
    }
}

//! Profiles, severities, templates, calibrations and histories of what calls were worth.

use menace_track::stats::cold_start::ColdStartCurves;
use menace_track::stats::forecast_calibrator::ForecastCalibrator;
use menace_track::{ImpactTable, RoiHistory, RoiProfiles};

/// Reads the text as each of them.
pub fn read_all(text: &str) {
    let _ = RoiProfiles::parse(text, &[]);
    let _ = ImpactTable::parse(text);
    let _ = ColdStartCurves::parse(text);
    let _ = ForecastCalibrator::from_json(text);
    if let Ok(history) = serde_json::from_str::<RoiHistory>(text) {
        // What was read can be written.
        let _ = serde_json::to_string(&history);
    }
}

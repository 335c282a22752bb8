INSERT OR REPLACE INTO scenarios (run, cycle, scenario, severity, roi, roi_delta, metrics)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

INSERT OR REPLACE INTO modules (run, cycle, module, roi, raroi, metrics, flagged, risk_flags)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

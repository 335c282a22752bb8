INSERT OR REPLACE INTO sections (run, cycle, section, signature, roi, raroi, metrics, unreachable)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

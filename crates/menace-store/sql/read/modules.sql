SELECT cycle, module.text, roi, raroi, metrics, flagged, risk_flags
FROM modules
JOIN names AS module ON module.key = modules.module
WHERE run = (SELECT key FROM runs WHERE id = ?1) AND cycle = ?2
ORDER BY module.text;

SELECT cycle, scenario.text, severity.text, roi, roi_delta, metrics
FROM scenarios
JOIN names AS scenario ON scenario.key = scenarios.scenario
LEFT JOIN names AS severity ON severity.key = scenarios.severity
WHERE run = (SELECT key FROM runs WHERE id = ?1) AND cycle = ?2
ORDER BY scenario.text;

SELECT cycle, section.text, scenario.text, severity.text, calls, verdicts, roi, metrics
FROM cells
JOIN names AS section ON section.key = cells.section
JOIN names AS scenario ON scenario.key = cells.scenario
LEFT JOIN names AS severity ON severity.key = cells.severity
WHERE
    run = (SELECT key FROM runs WHERE id = ?1)
    AND cycle = ?2
    AND section = (SELECT key FROM names WHERE text = ?3)
ORDER BY scenario.text;

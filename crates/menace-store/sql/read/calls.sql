SELECT
    cells.cycle, scenario.text, calls.number, intent.text, verdict.text, wall_us, cpu_us,
    memory_bytes, exception.text, message, file.text, line, failure.text, calls_in_full.call
FROM cells
JOIN calls ON calls.cell = cells.key
LEFT JOIN calls_in_full ON calls_in_full.cell = calls.cell AND calls_in_full.number = calls.number
JOIN names AS scenario ON scenario.key = cells.scenario
JOIN names AS intent ON intent.key = calls.intent
JOIN names AS verdict ON verdict.key = calls.verdict
LEFT JOIN names AS exception ON exception.key = calls.exception
LEFT JOIN names AS file ON file.key = calls.file
LEFT JOIN names AS failure ON failure.key = calls.failure
WHERE
    cells.run = (SELECT key FROM runs WHERE id = ?1)
    AND cells.section = (SELECT key FROM names WHERE text = ?2)
    AND cells.cycle = ?3
ORDER BY failure.key IS NULL, verdict.text IN ('returned', 'refused'), scenario.text, calls.number
LIMIT ?4 OFFSET ?5;

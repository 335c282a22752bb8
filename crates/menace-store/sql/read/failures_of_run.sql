SELECT
    failures.id, section.text, kind.text, scenario.text, verdict.text, exception.text, message, file.text,
    line, call, outcome, first_run, first_ms, last_run, last_ms, failures.count, shrunk, gone_ms, sightings.count
FROM sightings
JOIN failures ON failures.key = sightings.failure
JOIN names AS section ON section.key = failures.section
JOIN names AS kind ON kind.key = failures.kind
JOIN names AS scenario ON scenario.key = failures.scenario
JOIN names AS verdict ON verdict.key = failures.verdict
LEFT JOIN names AS exception ON exception.key = failures.exception
JOIN names AS file ON file.key = failures.file
WHERE sightings.run = (SELECT key FROM runs WHERE id = ?1)
ORDER BY failures.first_ms DESC, failures.id;

-- One page of the filtered failures, in the order that the code puts in. Names are looked up for
-- its rows only, except those that are searched or sorted by.
SELECT
    page.id, section.text, kind.text, scenario.text, verdict.text, exception.text,
    (SELECT substr(message, 1, 500) FROM failures WHERE failures.key = page.key),
    file.text, page.line, page.count, page.first_ms, page.last_ms, page.gone_ms,
    (SELECT new FROM sightings WHERE failure = page.key
        AND run = (SELECT key FROM runs WHERE id = ?5))
FROM (
    SELECT
        failures.key, failures.id, failures.section, failures.kind, failures.scenario,
        failures.verdict, failures.exception, failures.file, failures.line, failures.count,
        failures.first_ms, failures.last_ms, failures.gone_ms, place.text AS place,
            sort.text AS sort
    {filter}
    ORDER BY {order}
    LIMIT ?7 OFFSET ?8
) AS page
JOIN names AS section ON section.key = page.section
JOIN names AS kind ON kind.key = page.kind
JOIN names AS scenario ON scenario.key = page.scenario
JOIN names AS verdict ON verdict.key = page.verdict
LEFT JOIN names AS exception ON exception.key = page.exception
JOIN names AS file ON file.key = page.file;

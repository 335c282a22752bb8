-- The code puts in one of its fixed orders, and a search or nothing. Names are looked up for the page only, but for
-- what is searched and sorted by.
SELECT
    page.id, section.text, kind.text, scenario.text, verdict.text, exception.text,
    (SELECT substr(message, 1, 500) FROM failures WHERE failures.key = page.key),
    file.text, page.line, page.count, page.first_ms, page.last_ms, page.gone_ms
FROM (
    SELECT
        failures.key, failures.id, failures.section, failures.kind, failures.scenario, failures.verdict,
        failures.exception, failures.file, failures.line, failures.count, failures.first_ms,
        failures.last_ms, failures.gone_ms, place.text AS place, sort.text AS sort
    FROM failures
    JOIN names AS place ON place.key = failures.section
    JOIN names AS sort ON sort.key = failures.kind
    WHERE
        (?1 OR failures.gone_ms IS NULL)
        AND (?2 IS NULL OR sort.text = ?2)
        -- A scenario of some severity has it behind a colon; `;` comes right after.
        AND (?3 IS NULL OR failures.scenario IN (
            SELECT key FROM names WHERE text = ?3 OR (text > ?3 || ':' AND text < ?3 || ';')
        ))
        AND (?4 IS NULL OR place.text = ?4 OR substr(place.text, 1, length(?4) + 2) = ?4 || '::')
        AND (?5 IS NULL OR failures.key IN (
            SELECT failure FROM sightings WHERE run = (SELECT key FROM runs WHERE id = ?5)
        ))
        {search}
    ORDER BY {order}
    LIMIT ?7 OFFSET ?8
) AS page
JOIN names AS section ON section.key = page.section
JOIN names AS kind ON kind.key = page.kind
JOIN names AS scenario ON scenario.key = page.scenario
JOIN names AS verdict ON verdict.key = page.verdict
LEFT JOIN names AS exception ON exception.key = page.exception
JOIN names AS file ON file.key = page.file;

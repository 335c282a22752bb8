-- The failures that a filter lets through; part of the list and the count. The code adds a text
-- search where one is wanted: without one, an index holds all columns that the query needs.
FROM failures
JOIN names AS place ON place.key = failures.section
JOIN names AS sort ON sort.key = failures.kind
WHERE
    (?1 OR failures.gone_ms IS NULL)
    AND (?2 IS NULL OR sort.text = ?2)
    -- The severity follows the scenario and a colon; `;` is the next character after `:`.
    AND (?3 IS NULL OR failures.scenario IN (
        SELECT key FROM names WHERE text = ?3 OR (text > ?3 || ':' AND text < ?3 || ';')
    ))
    AND (?4 IS NULL OR place.text = ?4 OR substr(place.text, 1, length(?4) + 2) = ?4 || '::')
    AND (?5 IS NULL OR failures.key IN (
        SELECT failure FROM sightings WHERE run = (SELECT key FROM runs WHERE id = ?5)
    ))
    {search}

-- The calls of one section in one cycle that a filter lets through; part of the list and the count.
FROM cells
JOIN calls ON calls.cell = cells.key
WHERE
    cells.run = (SELECT key FROM runs WHERE id = ?1)
    AND cells.cycle = ?2
    AND cells.section = (SELECT key FROM names WHERE text = ?3)
    AND (?4 IS NULL OR calls.verdict = (SELECT key FROM names WHERE text = ?4))
    AND (?5 IS NULL OR cells.scenario = (SELECT key FROM names WHERE text = ?5))
    AND (?6 IS NULL OR calls.message LIKE ?6 ESCAPE '\'
        OR calls.exception IN (SELECT key FROM names WHERE text LIKE ?6 ESCAPE '\'))

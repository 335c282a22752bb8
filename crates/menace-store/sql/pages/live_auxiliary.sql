SELECT count(*)
FROM cells
JOIN calls ON calls.cell = cells.key
WHERE
    cells.run = (SELECT key FROM runs WHERE id = ?1)
    AND cells.scenario = (SELECT key FROM names WHERE text = ?2);

-- The cell that a running run is in.
SELECT section.text, scenario.text
FROM cells
JOIN names AS section ON section.key = cells.section
JOIN names AS scenario ON scenario.key = cells.scenario
WHERE cells.run = (SELECT key FROM runs WHERE id = ?1)
ORDER BY cells.key DESC
LIMIT 1;

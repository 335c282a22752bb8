-- The cells of a cycle without what weighs.
SELECT section.text, scenario.text, calls, roi, verdicts
FROM cells
JOIN names AS section ON section.key = cells.section
JOIN names AS scenario ON scenario.key = cells.scenario
WHERE run = (SELECT key FROM runs WHERE id = ?1) AND cycle = ?2;

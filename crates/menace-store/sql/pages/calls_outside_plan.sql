-- Verdicts of a section's calls in cells without numbers: the depth phase and auxiliary calls.
SELECT scenario.text, verdict.text, found.count
FROM (
    SELECT cells.scenario, calls.verdict, count(*) AS count
    FROM cells
    JOIN calls ON calls.cell = cells.key
    WHERE
        cells.run = (SELECT key FROM runs WHERE id = ?1)
        AND cells.cycle = ?2
        AND cells.section = (SELECT key FROM names WHERE text = ?3)
        AND cells.calls IS NULL
    GROUP BY cells.scenario, calls.verdict
) AS found
JOIN names AS scenario ON scenario.key = found.scenario
JOIN names AS verdict ON verdict.key = found.verdict;

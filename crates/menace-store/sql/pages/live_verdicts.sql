-- Verdicts of a running run so far, without the calls of scenario `?2`.
SELECT verdict.text, found.count
FROM (
    SELECT calls.verdict, count(*) AS count
    FROM cells
    JOIN calls ON calls.cell = cells.key
    WHERE
        cells.run = (SELECT key FROM runs WHERE id = ?1)
        AND cells.scenario IS NOT (SELECT key FROM names WHERE text = ?2)
    GROUP BY calls.verdict
) AS found
JOIN names AS verdict ON verdict.key = found.verdict;

-- Sums per module and scenario of one cycle; a large run has tens of thousands of cells. A path
-- contains no `::`.
SELECT found.module, scenario.text, found.calls, found.ok_calls, found.weighted_roi, found.roi_calls
FROM (
    SELECT
        place.module, cells.scenario,
        sum(cells.calls) AS calls,
        sum(
            coalesce(cells.verdicts ->> '$.returned', 0)
            + coalesce(cells.verdicts ->> '$.refused', 0)
        ) AS ok_calls,
        total(cells.roi * cells.calls) AS weighted_roi,
        total(iif(cells.roi IS NULL, 0, cells.calls)) AS roi_calls
    FROM cells
    JOIN (SELECT key, substr(text, 1, instr(text, '::') - 1) AS module FROM names) AS place
        ON place.key = cells.section
    WHERE cells.run = (SELECT key FROM runs WHERE id = ?1) AND cells.cycle = ?2 AND cells.calls > 0
    GROUP BY place.module, cells.scenario
) AS found
JOIN names AS scenario ON scenario.key = found.scenario;

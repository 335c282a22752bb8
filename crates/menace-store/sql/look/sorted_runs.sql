-- The code puts in one of its fixed orders. Names are looked for in the ids.
SELECT
    runs.id, runs.repository, runs.started_ms, runs.finished_ms, runs.status, runs.cycles,
    facts.calls, facts.sections, facts.failures, facts.new_failures, facts.roi, facts.roi_delta,
    facts.elapsed_s, facts.worst_scenario, facts.verdicts
FROM (
    SELECT runs.key
    FROM runs
    LEFT JOIN run_facts AS facts ON facts.run = runs.key
    WHERE ?1 IS NULL OR runs.id LIKE ?1 ESCAPE '\'
    ORDER BY {order}, runs.key DESC
    LIMIT ?2 OFFSET ?3
) AS page
JOIN runs ON runs.key = page.key
LEFT JOIN run_facts AS facts ON facts.run = runs.key
ORDER BY {order}, runs.key DESC;

-- The page is found in the index alone; what it shows is read for its rows only, without summaries.
SELECT
    runs.id, runs.repository, runs.started_ms, runs.finished_ms, runs.status, runs.cycles,
    facts.calls, facts.sections, facts.failures, facts.new_failures, facts.roi, facts.roi_delta,
    facts.elapsed_s, facts.worst_scenario, facts.verdicts
FROM (SELECT key FROM runs ORDER BY started_ms DESC, key DESC LIMIT ?1 OFFSET ?2) AS page
JOIN runs ON runs.key = page.key
LEFT JOIN run_facts AS facts ON facts.run = runs.key
ORDER BY runs.started_ms DESC, runs.key DESC;

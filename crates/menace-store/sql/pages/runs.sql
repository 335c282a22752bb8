-- The runs of one page, without their summaries.
SELECT
    runs.id, runs.repository, runs.started_ms, runs.finished_ms, runs.status, runs.cycles,
    facts.calls, facts.sections, facts.failures, facts.new_failures, facts.roi, facts.roi_delta,
    facts.elapsed_s, facts.worst_scenario, facts.verdicts
FROM ({page}) AS page
JOIN runs ON runs.key = page.key
LEFT JOIN run_facts AS facts ON facts.run = runs.key
ORDER BY {order}, runs.key DESC;

-- The latest run that has a finished cycle.
SELECT id, seed, repository, started_ms, finished_ms, status, settings, cycles, summary
FROM runs
WHERE EXISTS (SELECT 1 FROM sections WHERE sections.run = runs.key)
ORDER BY started_ms DESC, key DESC
LIMIT 1;

SELECT id, seed, repository, started_ms, finished_ms, status, settings, cycles, summary
FROM runs
ORDER BY started_ms DESC, key DESC
LIMIT ?1 OFFSET ?2;

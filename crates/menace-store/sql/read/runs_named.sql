-- The run with exactly this id first, then those whose ids start with it.
SELECT id, seed, repository, started_ms, finished_ms, status, settings, cycles, summary
FROM runs
WHERE id >= ?1 AND id < ?1 || char(0x10ffff)
ORDER BY id <> ?1, id
LIMIT ?2;

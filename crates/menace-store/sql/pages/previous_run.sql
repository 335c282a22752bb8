-- The run before this one.
SELECT id FROM runs
WHERE (started_ms, key) < (SELECT started_ms, key FROM runs WHERE id = ?1)
ORDER BY started_ms DESC, key DESC
LIMIT 1;
